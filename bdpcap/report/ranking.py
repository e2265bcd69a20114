"""Which flows a report treats one by one, and which it only counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from bdpcap.explain.capacity import INITIAL_WINDOW
from bdpcap.words import units
from bdpcap.words.palette import LIMIT_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bdpcap.capture import Capture, Flow

DETAILED_FLOWS: Final = 8
"""Most verdicts that a report treats one by one; the other flows stand in its table."""

LEAST_SHARE: Final = 0.01
"""Part of all bytes, or of the largest importance, below which a flow has no place on the first page."""

LOSING: Final = ("rwnd", "cwnd", "sndbuf")
"""Limits that a setting or a cleaner path would lift: time under them is lost."""

_WAITED: Final = {
    "rwnd": "they waited for the receive window",
    "cwnd": "they waited for congestion control",
    "sndbuf": "they waited for the send buffer",
    "link": "they waited for the link",
    "app": "they waited for the application",
    "unknown": "the evidence does not decide what held them",
}


@dataclass(frozen=True)
class Group:
    """Flows between the same hosts with the same verdict."""

    flow: Flow
    """The one that matters most."""
    others: pd.DataFrame
    """The other ones' rows of the ``flows`` table; may be empty."""
    to_server: bool
    """Whether they send to the server, that is the end which they have in common."""

    @property
    def same(self) -> str:
        """Say how many flows have the same verdict, and which; empty for a flow alone."""
        if self.others.empty:
            return ""
        way = f"to {self.flow.receiver}" if self.to_server else f"from {self.flow.sender}"
        streams = [str(stream) for stream in sorted(self.others["stream"].tolist())]
        named = f"{', '.join(streams[:8])}{', ...' if len(streams) > 8 else ''}"
        which = "stream" if len(streams) == 1 else "streams"
        return f"{units.number(len(streams), 'more flow')} {way}: the same ({which} {named})."


def lost_ns(flows: pd.DataFrame) -> pd.Series[float]:
    """Return the time that each flow lost to a window, a buffer or congestion control."""
    parts: pd.Series[float] = flows[[f"{limit}_share" for limit in LOSING]].sum(axis=1)
    return parts * (flows["end_ns"] - flows["start_ns"])


def importance(flows: pd.DataFrame) -> pd.Series[float]:
    """Return how much each flow matters: its part of all bytes plus its part of all time lost, 0 to 2."""
    return _importance(flows["payload_bytes"], lost_ns(flows))


def _importance(payload_bytes: pd.Series[int], lost: pd.Series[float]) -> pd.Series[float]:
    carried = payload_bytes.astype("float64")
    total: pd.Series[float] = carried / max(carried.sum(), 1.0) + lost / max(lost.sum(), 1.0)
    return total


def ranked(capture: Capture) -> pd.DataFrame:
    """Return the ``flows`` table, the flows that matter most first; see `importance`."""
    flows = capture.flows
    return flows.loc[importance(flows).sort_values(ascending=False, kind="stable").index]


def groups(capture: Capture) -> list[Group]:
    """
    Return the verdicts worth a place on the first page, at most `DETAILED_FLOWS`, the one that matters most first.

    A flow has a place from ten full segments or a hundredth of all bytes on, if it has a hundredth of the largest
    importance. Where no flow carried ten segments and there are more than have room, none is singled out.
    """
    found = alike(standing(capture))
    shown = listed(capture, leaders(found))
    capture.load_events([flow.stream for flow in shown])
    return [
        Group(flow, capture.flows.loc[own.index[1:]], to_server=bool(own["to_server"].iloc[0]))
        for flow, own in zip(shown, found, strict=True)
    ]


def first(capture: Capture) -> list[Flow]:
    """Return what `that_matter` does, and read no packets again."""
    return listed(capture, leaders(alike(standing(capture))))


def standing(capture: Capture) -> pd.DataFrame:
    """Return what ranks each row of ``flows``; of flows that are not `bulk`, no names."""
    flows = capture.flows
    large = bulk(flows)
    named = flows[large]
    return pd.DataFrame(
        {
            "stream": flows["stream"],
            "payload_bytes": flows["payload_bytes"],
            "lost_ns": lost_ns(flows),
            "ten_segments": _ten_segments(flows),
            "sender": named["sender"],
            "receiver": named["receiver"],
            "limit": named["limit"],
            "detail": pd.Series(capture.main_details, index=flows.index)[large],
            "to_server": _to_server(capture, flows),
        },
        index=flows.index,
    )


def alike(standing: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the flows of each of `groups`, the one that matters most first; rows as those of `standing`."""
    if standing.empty or (len(standing) > DETAILED_FLOWS and not standing["ten_segments"].any()):
        return []
    important = _importance(standing["payload_bytes"], standing["lost_ns"])
    large = standing["ten_segments"] | _is_hundredth(standing["payload_bytes"])
    counts = large & (important >= LEAST_SHARE * important.max())
    flows = standing.loc[important.sort_values(ascending=False, kind="stable").index]
    flows = flows[counts.loc[flows.index]]
    to_server = flows["to_server"]
    server = flows["receiver"].where(to_server, flows["sender"])
    client = flows["sender"].where(to_server, flows["receiver"]).str.rpartition(":")[0]
    keys = [server, client, to_server, flows["limit"], flows["detail"]]
    return [own for _, own in flows.groupby(keys, sort=False, dropna=False)][:DETAILED_FLOWS]


def leaders(alike: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the first row of each, with ``stream`` and ``sender``."""
    return pd.concat([own.head(1) for own in alike]) if alike else pd.DataFrame(columns=["stream", "sender"])


def that_matter(capture: Capture) -> list[Flow]:
    """Return the flows worth a section of their own: of each of `groups` the one that matters most."""
    return [group.flow for group in groups(capture)]


def no_bulk(capture: Capture) -> str:
    """Say what a capture of many flows holds none of which carried ten full segments; empty for any other."""
    flows = capture.flows
    if len(flows) <= DETAILED_FLOWS or _ten_segments(flows).any():
        return ""
    lasting = flows["end_ns"] - flows["start_ns"]
    held = {limit: float((flows[f"{limit}_share"] * lasting).sum()) for limit in _WAITED}
    limit = max(held, key=lambda name: held[name])
    part = units.spoken_share(held[limit] / max(1.0, float(lasting.sum())))
    return (
        f"No bulk transfer here: {units.number(len(flows), 'flow')} carried "
        f"{units.data_size(flows['payload_bytes'].sum())}, and for {part} of the time {_WAITED[limit]}."
    )


def rest(capture: Capture, shown: list[Group]) -> str:
    """Say how many flows are not shown, and which of them lost most time if no shown one lost more; may be empty."""
    known = {key for group in shown for key in _keys(group.others)}
    known |= {(group.flow.stream, group.flow.sender) for group in shown}
    if not shown:
        return ""
    flows = ranked(capture)
    hidden = flows[[key not in known for key in _keys(flows)]]
    if hidden.empty:
        return ""
    said = f"{units.number(len(hidden), 'smaller flow')} beside: see bdpcap flows."
    lost = lost_ns(hidden)
    if lost.max() > lost_ns(flows.drop(hidden.index)).max():
        flow = hidden.iloc[int(lost.to_numpy().argmax())]
        limit = max(LOSING, key=lambda name: float(flow[f"{name}_share"]))
        said += f" Of them, stream {flow['stream']} lost {units.duration(lost.max())}: {LIMIT_NAMES[limit]}."
    return said


def _keys(flows: pd.DataFrame) -> list[tuple[int, str]]:
    return list(zip(flows["stream"].tolist(), flows["sender"].tolist(), strict=True))


def listed(capture: Capture, flows: pd.DataFrame) -> list[Flow]:
    """Return the flows of a table's rows, whose rounds are looked at."""
    capture.load_rounds(flows["stream"].tolist())
    return [capture.flow(stream, sender) for stream, sender in _keys(flows)]


def bulk(flows: pd.DataFrame, all_bytes: int | None = None) -> pd.Series[bool]:
    """
    Tell which flows carried enough for their limit to matter: ten full segments, or 1 % of all bytes.

    Parameters
    ----------
    flows
        Rows of the ``flows`` table.
    all_bytes
        Payload of the whole capture, where these are not all of its flows.
    """
    return _ten_segments(flows) | _is_hundredth(flows["payload_bytes"], all_bytes)


def _is_hundredth(payload_bytes: pd.Series[int], all_bytes: int | None = None) -> pd.Series[bool]:
    large: pd.Series[bool] = payload_bytes >= LEAST_SHARE * (
        payload_bytes.sum() if all_bytes is None else all_bytes
    )
    return large


def _ten_segments(flows: pd.DataFrame) -> pd.Series[bool]:
    """Tell which flows are bulk transfers: the initial window carries less in one round trip."""
    large: pd.Series[bool] = flows["payload_bytes"] >= INITIAL_WINDOW * flows["mss_bytes"]
    return large


def _to_server(capture: Capture, flows: pd.DataFrame) -> pd.Series[bool]:
    """Whether each flow is sent by the client: the end that sent the SYN, or the first packet."""
    clients = np.asarray(capture.directions("sender")["sender"], dtype=object)[2 * flows["stream"].to_numpy()]
    same: pd.Series[bool] = flows["sender"] == clients
    return same
