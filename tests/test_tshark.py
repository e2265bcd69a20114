"""Every TCP frame of real captures against tshark.

Where the two differ on purpose, a named rule says which is right and why; there are no tolerances.
"""

from __future__ import annotations

import shutil
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from conftest import unavailable
from observe import run
from oracles import SAMPLES, SHARED, ask_tshark, kept, nanoseconds, parse

from bdpcap import _core

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FIN, SYN, RST, ACK = 1, 2, 4, 16
# Layers that bdpcap does not open. It counts such frames as not decoded.
OUTSIDE = {
    "juniper": "a vendor's own link layer",
    "sflow": "samples of packets are no packets",
    "icmp": "the packet that an error quotes was seen before, or elsewhere",
    "icmpv6": "the packet that an error quotes was seen before, or elsewhere",
}
INDEX = SHARED / "captures/public/INDEX.tsv"


def captures() -> list:
    """The samples, laboratory transfers at the sender and some elsewhere, other projects' captures of TCP."""
    found = [pytest.param((path, "kept"), id=f"{path.name} as kept") for path in SAMPLES]
    found += [pytest.param((path, "live"), id=path.name) for path in SAMPLES]
    for path in sorted((SHARED / "captures/lab").glob("*/*.pcap.zst")):
        if path.name.startswith("sender") or path.parent.name in ("cwnd_loss_2pct", "rwnd_no_timestamps"):
            found.append(pytest.param((path, "live"), id=f"{path.parent.name}/{path.name}"))
    if INDEX.exists():
        index = pd.read_csv(INDEX, sep="\t")
        names = index.loc[index["tcp_packets"] > 0, "file"]
        found += [pytest.param((INDEX.parent / name, "live"), id=name) for name in names]
    else:
        found.append(pytest.param((INDEX, "live"), id="shared captures"))
    return found


def integers(values: np.ndarray) -> pd.Series:
    return pd.Series(pd.arrays.IntegerArray(values.astype(np.int64), values == _core.NULL))


class Compared:
    """What the core and tshark say of one capture."""

    def __init__(self, path: Path, answers: str) -> None:
        self.path = path
        events, self.directions = run(str(path))
        names = ["frame", "stream", "direction", "sequence", "length"]
        names += ["advertised_bytes", "own_acknowledgment", "tap_in_flight_bytes"]
        table = pd.DataFrame({name: integers(events[name]) for name in names})
        sent = table["length"].notna()
        table["end"] = table["direction"].where(sent, 1 - table["direction"])  # 0 where the client sent it
        self.ours = table.drop_duplicates("frame", keep="last").set_index(
            "frame"
        )  # the sent row, if there is one
        self.theirs = parse(answers)
        self.frames = self.ours.merge(
            self.theirs, left_index=True, right_index=True, suffixes=("", "_theirs")
        )

    def factor(self, stream: int, end: int) -> int:
        """What `end` multiplies its windows by, as tshark writes it: -2 for no scaling, -1 for unknown."""
        row = 2 * stream + 1 - end  # a direction has the scale of its receiver
        source = _core.SCALE_SOURCES[self.directions["window_scale_source"][row]]
        return {"declined": -2, "unknown": -1}.get(source) or 2 ** int(self.directions["window_scale"][row])


@pytest.fixture(scope="module")
def answers(request) -> Iterator[dict[Path, Future[str]]]:
    """What tshark says, asked for on the other core while the core's own answers are compared."""
    wanted = [item.callspec.params["both"] for item in request.session.items if "both" in item.fixturenames]
    live = dict.fromkeys(path for path, how in wanted if how == "live" and path.exists())
    with ThreadPoolExecutor(2) as pool:
        yield {path: pool.submit(ask_tshark, path) for path in live if shutil.which("tshark")}
        pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module", params=captures())
def both(request, answers) -> Compared:
    path, how = request.param
    if not path.exists():
        unavailable("../shared")
    if how == "kept":
        return Compared(path, kept(path))
    if path not in answers:
        unavailable("tshark")
    return Compared(path, answers.pop(path).result())


def same(frames: pd.DataFrame, mine: pd.Series, theirs: pd.Series) -> None:
    differ = (mine != theirs).fillna(True) & ~(mine.isna() & theirs.isna())
    assert not differ.any(), frames.assign(mine=mine, theirs=theirs)[differ].head(5).T.to_string()


def test_the_same_frames_hold_tcp(both):
    theirs = both.theirs
    outside = theirs["protocols"].map(lambda layers: any(layer in layers.split(":") for layer in OUTSIDE))
    fragments = theirs["more_fragments"].isin(
        ["1", "True"]
    )  # the first of a datagram that nobody put together
    wccp = theirs["gre"] == "0x883e"  # a redirected packet, behind a header of its own
    expected = theirs[~(outside | fragments | wccp)]
    assert sorted(set(expected.index) ^ set(both.ours.index)) == []


def test_stream_numbers(both):
    frames = both.frames
    same(frames, frames["stream"], frames["stream_theirs"])


def test_relative_sequence_and_acknowledgment_numbers(both):
    frames = both.frames
    sent = frames[frames["length"].notna()]
    # tshark's numbers have 32 bits: negative ones and those past 4 GiB come out modulo 2**32.
    same(sent, sent["sequence"] % 2**32, sent["sequence_theirs"])
    acks = frames[frames["flags"] & ACK > 0]
    same(acks, acks["own_acknowledgment"] % 2**32, acks["acknowledgment"])


def test_windows_as_scaled(both):
    frames = both.frames
    known = frames[frames["advertised_bytes"].notna()]
    same(known, known["advertised_bytes"], known["window"])


def test_window_scale(both):
    frames = both.frames
    frames = frames[frames["scale"].notna()]
    mine = [both.factor(stream, end) for stream, end in zip(frames["stream"], frames["end"], strict=True)]
    same(frames, pd.Series(mine, index=frames.index, dtype="Int64"), frames["scale"])


def test_initial_round_trip_times(both):
    frames = both.frames
    if both.path.name.startswith("timestamp_invalid"):
        pytest.skip("fractions of more than a second: tshark reads them as signed numbers")
    # tshark takes the reset that refuses a connection for the end of a handshake.
    answered = frames.loc[(frames["flags"] & (SYN | ACK)) == (SYN | ACK), "stream"]
    stated = frames[(frames["initial_rtt"] != "") & frames["stream"].isin(answered)].drop_duplicates("stream")
    mine = pd.Series(
        [both.directions["initial_rtt_ns"][2 * stream] for stream in stated["stream"]], index=stated.index
    )
    same(stated, mine, stated["initial_rtt"].map(nanoseconds))


def test_bytes_in_flight(both):
    frames = both.frames
    # tshark subtracts what the latest packet of the other side SACKs, takes that packet's acknowledgment for
    # SND.UNA even if it was overtaken (SND.UNA never goes back, RFC 9293 section 3.4), and leaves out a FIN's
    # number.
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
