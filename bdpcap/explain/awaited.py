"""Time that clients waited for the answers of servers that a reader can change, added up over the flows of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bdpcap.explain import first_answer, place
from bdpcap.explain.exchange_shares import sends_on
from bdpcap.explain.findings import requests
from bdpcap.explain.notable import NOTICED_NS
from bdpcap.explain.once import once
from bdpcap.words.endpoints import host, is_public

if TYPE_CHECKING:
    from bdpcap.capture import Capture

__all__ = ["awaited_ns"]


@once
def awaited_ns(capture: Capture) -> pd.Series[float]:
    """Return by stream the time in ns that a client waited for the first bytes of answers, without round trips.

    It has the streams of clients and servers whose waits add up to so much that a person notices. A single wait that a
    person notices may be one for news, so it does not count. Nor does a stream whose client often sends on meanwhile.
    """
    if not capture._contents.has_exchanges:
        return pd.Series(dtype="float64")
    each = capture.exchanges
    owed_ns = first_answer.owed_ns(each).astype("Float64").fillna(0.0).astype("float64")
    own = set(place.own(capture))
    client, server = each["client"].map(host), each["server"].map(host)
    ours = server.isin(own) | ~server.map(is_public).astype("bool")
    messages = sends_on(each).groupby(each["stream"]).transform("mean") >= requests.OFTEN
    counts = ours & ~messages & ~each["tls_handshake"].astype("bool") & (owed_ns < NOTICED_NS)
    waited_ns = owed_ns.where(counts, 0.0)
    adds_up = waited_ns.groupby([client, server]).transform("sum") >= NOTICED_NS
    return waited_ns[adds_up].groupby(each["stream"]).sum()
