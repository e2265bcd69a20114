"""Every TCP frame of real captures against tshark.

Where the two differ on purpose, a named rule says which is right and why; there are no tolerances.
"""

from __future__ import annotations

import shutil
from functools import cache

import numpy as np
import pandas as pd
import pytest
from conftest import unavailable
from observe import run
from oracles import KEPT, SAMPLES, SHARED, nanoseconds, tshark

from bdpcap import _core

FIN, SYN, RST, ACK = 1, 2, 4, 16
# Layers that bdpcap does not open. It counts such frames as not decoded.
OUTSIDE = {
    "arcnet": "a link layer of the past",
    "ipoib": "a link layer of clusters",
    "juniper": "a vendor's own link layer",
    "sflow": "samples of packets are no packets",
    "icmp": "the packet that an error quotes was seen before, or elsewhere",
    "icmpv6": "the packet that an error quotes was seen before, or elsewhere",
}
INDEX = SHARED / "captures/public/INDEX.tsv"


def captures() -> list:
    """The samples, all laboratory transfers at the sender, some elsewhere, and those of other projects with TCP."""
    found = [pytest.param(path, id=path.name) for path in SAMPLES]
    for path in sorted((SHARED / "captures/lab").glob("*/*.pcap.zst")):
        if path.name.startswith("sender") or path.parent.name in ("cwnd_loss_2pct", "rwnd_no_timestamps"):
            found.append(pytest.param(path, id=f"{path.parent.name}/{path.name}"))
    if INDEX.exists():
        index = pd.read_csv(INDEX, sep="\t")
        found += [
            pytest.param(INDEX.parent / name, id=name) for name in index.loc[index["tcp_packets"] > 0, "file"]
        ]
    return found


def integers(values: np.ndarray) -> pd.Series:
    return pd.Series(pd.arrays.IntegerArray(values.astype(np.int64), values == _core.NULL))


@cache
def ours(capture):
    """What the core says, one row a frame, and of both directions of every stream."""
    columns, directions = run(str(capture))
    names = (
        "frame",
        "stream",
        "direction",
        "sequence",
        "length",
        "advertised_bytes",
        "own_acknowledgment",
        "tap_in_flight_bytes",
    )
    events = pd.DataFrame({name: integers(columns[name]) for name in names})
    sent = events["length"].notna()
    events["end"] = events["direction"].where(sent, 1 - events["direction"])  # 0 where the client sent it
    return events[sent | ~events["frame"].duplicated(keep="last")].drop_duplicates(
        "frame", keep="last"
    ).set_index("frame"), directions


@cache
def side_by_side(capture):
    """The frames that both take for TCP."""
    if not shutil.which("tshark") and not (KEPT / f"{capture.name}.csv.gz").exists():
        unavailable("tshark")
    events, _ = ours(capture)
    return events.join(tshark(capture), how="inner", suffixes=("", "_theirs"))


@cache
def factor(capture, stream: int, end: int) -> int:
    """What `end` multiplies its windows by, as tshark writes it: -2 for no scaling, -1 for unknown."""
    _, directions = ours(capture)
    row = 2 * stream + 1 - end  # a direction has the scale of its receiver
    source = directions["window_scale_source"][row]
    return {"declined": -2, "unknown": -1}.get(source) or 2 ** int(directions["window_scale"][row])


def same(frames: pd.DataFrame, mine: pd.Series, theirs: pd.Series) -> None:
    differ = (mine != theirs).fillna(True) & ~(mine.isna() & theirs.isna())
    assert not differ.any(), frames.assign(mine=mine, theirs=theirs)[differ].head(5).T.to_string()


@pytest.mark.parametrize("capture", captures())
def test_the_same_frames_hold_tcp(capture):
    side_by_side(capture)
    events, _ = ours(capture)
    theirs = tshark(capture)
    outside = theirs["protocols"].map(lambda layers: any(layer in layers.split(":") for layer in OUTSIDE))
    fragments = theirs["more_fragments"].isin(
        ["1", "True"]
    )  # the first of a datagram that nobody put together
    wccp = theirs["gre"] == "0x883e"  # a redirected packet, behind a header of its own
    expected = theirs[~(outside | fragments | wccp)]
    assert sorted(set(expected.index) ^ set(events.index)) == []


@pytest.mark.parametrize("capture", captures())
def test_stream_numbers(capture):
    frames = side_by_side(capture)
    same(frames, frames["stream"], frames["stream_theirs"])


@pytest.mark.parametrize("capture", captures())
def test_relative_sequence_and_acknowledgment_numbers(capture):
    frames = side_by_side(capture)
    sent = frames[frames["length"].notna()]
    # tshark's numbers have 32 bits: negative ones and those past 4 GiB come out modulo 2**32.
    same(sent, sent["sequence"] % 2**32, sent["sequence_theirs"])
    acks = frames[frames["flags"] & ACK > 0]
    same(acks, acks["own_acknowledgment"] % 2**32, acks["acknowledgment"])


@pytest.mark.parametrize("capture", captures())
def test_windows_as_scaled(capture):
    frames = side_by_side(capture)
    known = frames[frames["advertised_bytes"].notna()]
    same(known, known["advertised_bytes"], known["window"])


@pytest.mark.parametrize("capture", captures())
def test_window_scale(capture):
    frames = side_by_side(capture)
    frames = frames[frames["scale"].notna()]
    mine = [factor(capture, stream, end) for stream, end in zip(frames["stream"], frames["end"], strict=True)]
    same(frames, pd.Series(mine, index=frames.index, dtype="Int64"), frames["scale"])


@pytest.mark.parametrize("capture", captures())
def test_initial_round_trip_times(capture):
    frames = side_by_side(capture)
    stated = frames[frames["initial_rtt"] != ""].drop_duplicates("stream")
    _, directions = ours(capture)
    mine = pd.Series(
        [directions["initial_rtt_ns"][2 * stream] for stream in stated["stream"]], index=stated.index
    )
    same(stated, mine, stated["initial_rtt"].map(nanoseconds))


@pytest.mark.parametrize("capture", captures())
def test_bytes_in_flight(capture):
    frames = side_by_side(capture)
    # tshark subtracts what the latest packet of the other side SACKs, takes that packet's acknowledgment for SND.UNA
    # even if it was overtaken (it never goes back, RFC 9293 section 3.4), and leaves out the number of a FIN.
    ack = frames["own_acknowledgment"].where(frames["flags"] & (ACK | RST) == ACK)
    overtaken = ack.groupby([frames["stream"], frames["end"]]).cummax() - ack
    excess = frames["sacked"] - overtaken.fillna(0)
    latest = pd.Series(0, index=frames.index, dtype="Int64")
    for end in (0, 1):
        other = excess.where(frames["end"] != end).groupby(frames["stream"]).ffill().fillna(0)
        latest = latest.where(frames["end"] != end, other)
    expected = frames["in_flight"] + latest + (frames["flags"] & FIN)
    # Before the first acknowledgment nobody knows what is outstanding; tshark counts from its first segment.
    stated = frames["in_flight"].notna() & frames["tap_in_flight_bytes"].notna()
    same(frames[stated], frames["tap_in_flight_bytes"][stated], expected[stated])
