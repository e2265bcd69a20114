"""Both ends of a path: each thing that two captures show together, on transfers whose truth is chosen or known."""

from __future__ import annotations

import json

import dpkt
import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from oracles import ROOT, SHARED
from packets import Address
from two_taps import MS, MSS, START_NS, Taps, lossless

import bdpcap
from bdpcap.cli import main
from bdpcap.pairing.clocks import Clock, Differences, estimate

SAMPLES = ROOT / "sample_captures"
LABS = SHARED / "captures"
US = 1000


def paired(taps, where):
    return bdpcap.pair(*taps.files(where))


def lost(both):
    return [(row.place, row.sequence, row.length) for row in both.losses.itertuples()]


# clocks


@pytest.mark.parametrize("offset_ns", [0, 3 * MS, -5_000_000_123, 86_400 * 10**9])
def test_an_offset_of_clocks_is_found_on_a_path_alike_both_ways(offset_ns, tmp_path):
    clock = paired(lossless(offset_ns=offset_ns), tmp_path).clock
    assert clock.offset_ns == pytest.approx(offset_ns, abs=US)
    assert clock.offset_error_ns == pytest.approx(10 * MS, abs=US)
    assert not clock.jumped


@pytest.mark.parametrize("reverse_ms", [1, 30])
def test_a_path_that_differs_either_way_leaves_the_offset_within_its_error(reverse_ms, tmp_path):
    clock = paired(lossless(offset_ns=7 * MS, reverse_ns=reverse_ms * MS), tmp_path).clock
    assert clock.offset_error_ns == pytest.approx((10 + reverse_ms) / 2 * MS, abs=US)
    assert abs(clock.offset_ns - 7 * MS) <= clock.offset_error_ns
    # Half of what the ways differ by, which no measurement from the ends alone can tell from an offset.
    assert clock.offset_ns - 7 * MS == pytest.approx((10 - reverse_ms) / 2 * MS, abs=US)


@pytest.mark.parametrize("drift", [150e-6, -40e-6])
def test_a_drift_is_found_and_taken_out_of_the_delays(drift, tmp_path):
    taps = Taps(offset_ns=2 * MS, drift=drift)
    taps.handshake()
    taps.transfer(300, gap_ns=100 * MS)
    both = paired(taps, tmp_path)
    assert both.clock.drift == pytest.approx(drift, abs=both.clock.drift_error)
    assert both.clock.drift_error < 1e-6
    (row,) = both.delays.to_dict("records")
    # Over 30 s the drift is more than a millisecond; what is left of it is below the error of the slope.
    assert row["forward_p95_ns"] - row["forward_min_ns"] < 30 * US


def test_a_clock_that_was_set_is_told(tmp_path):
    taps = lossless()
    later = START_NS + 250 * MS
    taps.receiver = [
        packet
        if packet.time_ns < later
        else type(packet)(packet.time_ns + 10**9, packet.data, packet.wire_length)
        for packet in taps.receiver
    ]
    assert paired(taps, tmp_path).clock.jumped


@given(
    offset=st.integers(-(10**12), 10**12),
    ways=st.tuples(st.integers(0, 50 * MS), st.integers(0, 50 * MS)),
    queues=st.lists(st.tuples(st.integers(0, 40 * MS), st.integers(0, 40 * MS)), min_size=3, max_size=40),
)
def test_the_true_offset_lies_within_the_error_whatever_queues_there_are(offset, ways, queues):
    """Without drift, over 100 s: a drift that is wrongly found would break this, so it must not be applied."""
    times = START_NS + np.arange(len(queues)) * (100 * 10**9 // len(queues))
    forward, reverse = np.array(queues).T
    forward[[0, -1]] = reverse[[0, -1]] = 0  # the path is empty at both ends
    clock = estimate(
        Differences(times, offset + ways[0] + forward), Differences(times, offset - ways[1] - reverse), US
    )
    assert clock is not None
    assert clock.applied_drift == 0
    assert abs(clock.offset_ns - offset) <= clock.offset_error_ns + 1
    assert clock.offset_error_ns == pytest.approx(sum(ways) / 2, abs=1)


@given(st.integers(-(10**15), 10**15), st.floats(-2e-4, 2e-4), st.lists(st.integers(0, 10**11), min_size=1))
def test_times_of_one_clock_are_those_of_the_other_and_back(offset, drift, times):
    clock = Clock(5 * 10**10, offset, 10 * MS, drift, 0.0, jumped=False)
    there = clock.to_receiver(np.array(times))
    assert np.abs(clock.to_sender(there) - times).max() <= 1


# losses


def with_loss(first_seen, *, sack=True, acked=False):
    """Return a transfer whose sixth segment is seen at some taps; it is sent again unless it is acknowledged."""
    taps = Taps()
    taps.handshake()
    taps.transfer(5)
    at, hole = 100 * MS, 1 + 5 * MSS
    taps.send(at, hole, seen=first_seen)
    for number in range(1, 6):
        sent = at + number * MS
        taps.send(sent, hole + number * MSS)
        block = f"sack {hole + MSS}:{hole + (number + 1) * MSS}" if sack else ""
        answered = {"number": hole + (number + 1) * MSS} if acked else {"number": hole, "options": block}
        taps.answer(sent + 10 * MS + US, **answered)
    if not acked:
        taps.send(at + 30 * MS, hole)
    end = hole + 6 * MSS
    taps.answer(at + 40 * MS + US, end)
    for number in range(10):
        taps.send(at + 60 * MS + number * MS, end + number * MSS)
        taps.answer(at + 70 * MS + number * MS + US, end + (number + 1) * MSS)
    return taps


@pytest.mark.parametrize("sack", [True, False])
@pytest.mark.parametrize(
    ("seen", "acked", "place"),
    [
        ("neither", False, "before"),
        ("sender", False, "between"),
        ("both", False, "after"),
        ("sender", True, "far capture"),
        ("receiver", True, "near capture"),
    ],
)
def test_a_loss_has_its_place(seen, acked, place, sack, tmp_path):
    both = paired(with_loss(seen, sack=sack, acked=acked), tmp_path)
    assert lost(both) == [(place, 1 + 5 * MSS, MSS)]
    (row,) = both.losses.itertuples()
    # The time of the segment; one that no tap saw went out before the one after it.
    assert row.time_ns - START_NS == pytest.approx(100 * MS, abs=1 * MS)


def test_a_copy_that_nobody_sent_was_made_on_the_way(tmp_path):
    taps = lossless()
    taps.send(100 * MS + 2 * MS, 1 + 5 * MSS, seen="receiver")
    assert lost(paired(taps, tmp_path)) == [("duplicated", 1 + 5 * MSS, MSS)]


def test_what_is_under_way_when_a_capture_ends_is_not_lost(tmp_path):
    taps = lossless()
    for number in range(5):
        taps.send(50 * MS + 400 * MS + number * MS, 1 + (40 + number) * MSS, seen="sender")
    assert lost(paired(taps, tmp_path)) == []


def test_a_retransmission_in_vain_is_no_loss(tmp_path):
    """Both copies came: the first was only late."""
    taps = lossless()
    taps.send(100 * MS + 30 * MS, 1 + 5 * MSS)
    assert lost(paired(taps, tmp_path)) == []


def test_offload_at_one_tap_hides_no_loss_and_makes_none(tmp_path):
    """The sender's tap sees packets of four segments, the receiver's those of the wire, and one of them not."""
    taps = Taps()
    taps.handshake()
    for number in range(20):
        sent, start = 50 * MS + number * 10 * MS, 1 + 4 * number * MSS
        taps.send(sent, start, 4 * MSS, seen="sender")
        for part in range(4):
            if (number, part) != (7, 2):
                taps.send(sent, start + part * MSS, seen="receiver")
    taps.send(300 * MS, 1 + 30 * MSS)
    assert lost(paired(taps, tmp_path)) == [("between", 1 + 30 * MSS, MSS)]


def test_what_the_other_end_sends_passes_its_own_tap_first(tmp_path):
    """Requests of 3,000 bytes, responses of 1,000, of which one is lost on the way back."""
    taps = Taps(offset_ns=-9 * MS, forward_ns=12 * MS, reverse_ns=12 * MS)
    taps.handshake()
    for number in range(20):
        sent = 50 * MS + number * 40 * MS
        request, response = 1 + number * 3 * MSS, 1 + number * MSS
        for part in range(3):
            taps.send(sent, request + part * MSS, ack=response)
        came = sent + 12 * MS + US
        lost_now = number == 7
        taps.answer(
            came, request + 3 * MSS, start=response, length=MSS, seen="receiver" if lost_now else "both"
        )
        if lost_now:
            taps.answer(came + 10 * MS, request + 3 * MSS, start=response, length=MSS)
    both = paired(taps, tmp_path)
    assert not both.swapped
    (row,) = both.losses.to_dict("records")
    assert (row["sender"], row["place"], row["sequence"]) == ("198.51.100.2:5001", "between", 1 + 7 * MSS)
    # On the sender's clock: when it went out at the receiver's tap.
    assert row["time_ns"] - START_NS == pytest.approx(50 * MS + 7 * 40 * MS + 12 * MS, abs=10 * US)
    assert both.delays["forward_min_ns"].tolist() == pytest.approx([12 * MS, 12 * MS], abs=10 * US)


def test_acknowledgments_that_were_lost_are_counted(tmp_path):
    taps = lossless()
    for number in range(3):
        taps.answer(500 * MS + number * MS, 100 * MSS + number, seen="receiver")
    assert paired(taps, tmp_path).delays["acknowledgments_lost"].tolist() == [3]


# matching and options


def test_a_connection_is_found_behind_nat(tmp_path):
    both = paired(lossless(translated=Address("203.0.113.9", 61234)), tmp_path)
    (row,) = both.streams.to_dict("records")
    assert (row["client"], row["receiver_client"]) == ("192.0.2.1:40000", "203.0.113.9:61234")
    assert row["matched_by"] == "initial sequence numbers"
    assert lost(both) == []


def test_rewritten_sequence_numbers_leave_the_timestamps(tmp_path):
    """As firewalls that choose initial sequence numbers anew."""
    both = paired(lossless(rewritten=(123_456_789, -5)), tmp_path)
    assert both.streams["matched_by"].tolist() == ["timestamps"]
    assert lost(both) == []
    changed = both.options[both.options["rewritten"]]
    assert set(changed["field"]) == {"initial sequence number"}


def test_without_a_handshake_sequence_numbers_overlap(tmp_path):
    """One capture began later than the other, so relative numbers differ."""
    taps = Taps()
    taps.transfer(40)
    taps.receiver = taps.receiver[20:]
    both = paired(taps, tmp_path)
    assert both.streams["matched_by"].tolist() == ["sequence numbers"]
    assert lost(both) == []
    assert both.delays["forward_median_ns"][0] == pytest.approx(10 * MS, abs=US)


def test_options_that_a_middlebox_took_are_shown_beside_what_was_sent(tmp_path):
    taps = Taps()
    taps.handshake(seen_syn="mss 1380,nop,nop,nop,nop")
    taps.transfer(10)
    both = paired(taps, tmp_path)
    changed = both.options[both.options["rewritten"]].drop(columns=["stream", "rewritten"])
    none = {"sender_tap": "77", "receiver_tap": None}
    assert changed.astype(object).where(changed.notna(), None).to_dict("records") == [
        {"segment": "SYN", "field": "MSS", "sender_tap": "1460", "receiver_tap": "1380"},
        {"segment": "SYN", "field": "window scale", "sender_tap": "7", "receiver_tap": None},
        {"segment": "SYN", "field": "SACK permitted", "sender_tap": "yes", "receiver_tap": None},
        {"segment": "SYN", "field": "timestamps", **none},
    ]


def test_captures_that_are_given_the_wrong_way_round_are_exchanged(tmp_path, capsys):
    sender, receiver = with_loss("sender").files(tmp_path)
    both = bdpcap.pair(receiver, sender)
    assert both.swapped
    assert lost(both) == [("between", 1 + 5 * MSS, MSS)]
    assert main(["pair", str(receiver), str(sender), "--format", "json"]) == 0
    assert "sender.pcap is taken as the sender's capture" in capsys.readouterr().err


def test_captures_of_other_connections_are_refused_in_one_line(tmp_path, capsys):
    (tmp_path / "other").mkdir()
    sender, _ = lossless().files(tmp_path)
    _, receiver = lossless(isn=(5, 6)).files(tmp_path / "other")
    receiver.write_bytes(receiver.read_bytes().replace((77).to_bytes(4), (78).to_bytes(4)))
    assert main(["pair", str(sender), str(receiver)]) == 2
    said = capsys.readouterr().err
    assert "no connection in common" in said
    assert said.count("\n") == 1


# delays


@pytest.mark.parametrize("where", ["forward", "reverse", "beyond", "nowhere"])
def test_a_queue_is_found_where_it_stands(where, tmp_path):
    taps = Taps(offset_ns=123 * MS)
    taps.handshake()
    for number in range(40):
        sent, queue = 50 * MS + number * 10 * MS, 25 * MS * (number > 10)
        taps.send(sent, 1 + number * MSS, queue_ns=queue * (where == "forward"))
        came = sent + 10 * MS + queue * (where in ("forward", "beyond"))
        taps.answer(came + US, 1 + (number + 1) * MSS, queue_ns=queue * (where == "reverse"))
    (row,) = paired(taps, tmp_path).delays.to_dict("records")
    assert row["queue"] == where
    waits = {name: row[f"{name}_queue_ns"] for name in ("forward", "reverse", "beyond")}
    assert waits == pytest.approx({name: 25 * MS * (name == where) for name in waits}, abs=10 * US)


# real transfers: both ends in one host's clock, over an emulated link of known delay


def check_lab(both, delay_ms):
    clock = both.clock
    # Half a millisecond: what a full segment and an acknowledgment differ by on the link, and the emulator's own pace.
    assert abs(clock.offset_ns) < 0.5 * MS
    assert abs(clock.offset_ns) < clock.offset_error_ns
    assert clock.applied_drift == 0
    for row in both.delays.itertuples():
        assert row.forward_min_ns == pytest.approx(delay_ms * MS, abs=0.5 * MS)
        assert row.reverse_min_ns == pytest.approx(delay_ms * MS, abs=0.5 * MS)


def test_both_ends_of_a_real_transfer():
    both = bdpcap.pair(*(SAMPLES / f"rwnd_slow_reader.{end}.pcap.zst" for end in ("sender", "receiver")))
    check_lab(both, 15)
    assert both.losses.empty
    assert not both.options["rewritten"].any()
    (delay,) = both.delays.itertuples()
    assert delay.queue == "beyond"  # the reader is slow: acknowledgments wait in the receiving host
    (view,) = both.views.itertuples()
    assert (view.limit, view.rebuilt_limit) == ("rwnd", "rwnd")
    assert view.limits_agree_share > 0.95


def frames_with_payload(file):
    """Count the data segments of a capture, by dpkt."""
    with file.open("rb") as packed, zstandard.ZstdDecompressor().stream_reader(packed) as plain:
        data = plain.read()
    at, count = 24, 0
    while at < len(data):
        size = int.from_bytes(data[at + 8 : at + 12], "little")
        ip = dpkt.ethernet.Ethernet(data[at + 16 : at + 16 + size]).data
        if isinstance(ip.data, dpkt.tcp.TCP):
            count += ip.len - 4 * ip.hl - 4 * ip.data.off > 0
        at += 16 + size
    return count


@pytest.mark.usefixtures("need_shared")
@pytest.mark.parametrize(
    ("name", "delay_ms"),
    [("lab/cwnd_loss_2pct", 25), ("lab/link_5_100ms_bloat", 50), ("lab_b/cwnd_loss_nosack", None)],
)
def test_as_many_packets_are_lost_between_as_the_captures_differ_by(name, delay_ms):
    ends = [LABS / name / f"{end}.pcap.zst" for end in ("sender", "receiver")]
    both = bdpcap.pair(*ends)
    one, other = map(frames_with_payload, ends)
    assert set(both.losses["place"]) == {"between"}
    assert len(both.losses) == one - other
    if delay_ms is not None:
        check_lab(both, delay_ms)


@pytest.mark.usefixtures("need_shared")
def test_drops_of_the_captures_are_told_from_losses():
    """The same transfer, before and after packets were taken out of its captures."""
    whole, thinned = (
        [LABS / "lab_b" / name / f"{end}.pcap.zst" for end in ("sender", "receiver")]
        for name in ("link_100_10ms", "tapdrops_link")
    )
    missing = [
        frames_with_payload(full) - frames_with_payload(less)
        for full, less in zip(whole, thinned, strict=True)
    ]
    places = bdpcap.pair(*thinned).losses["place"].value_counts()
    assert places["between"] == len(bdpcap.pair(*whole).losses)
    # What both captures dropped shows in neither, one of fifty that one of them dropped: a binomial share, 3 sigma.
    for place, count in zip(("near capture", "far capture"), missing, strict=True):
        assert count * (1 - 0.02) - 3 * (0.02 * count) ** 0.5 <= places[place] <= count


@pytest.mark.usefixtures("need_shared")
@pytest.mark.parametrize(
    ("name", "segment", "sent", "seen"),
    [("ws_rewritten", "SYN-ACK", "1", "3"), ("ws_stripped", "SYN", "10", None)],
)
def test_window_scales_that_a_middlebox_changed_are_seen(name, segment, sent, seen):
    both = bdpcap.pair(*(LABS / "lab_b" / name / f"{end}.pcap.zst" for end in ("sender", "receiver")))
    (row,) = both.options[both.options["rewritten"]].astype(object).to_dict("records")
    assert (row["segment"], row["field"], row["sender_tap"]) == (segment, "window scale", sent)
    assert row["receiver_tap"] == seen or (seen is None and row["receiver_tap"] != row["receiver_tap"])


# how it is written


def test_the_text_fits_80_columns(tmp_path, capsys):
    assert main(["pair", *map(str, with_loss("sender").files(tmp_path))]) == 0
    said = capsys.readouterr().out
    assert "1 packet (1,000 bytes) lost between the captures." in said
    assert max(len(line) for line in said.splitlines() if str(tmp_path) not in line) <= 80


def test_the_json_has_every_table(tmp_path, capsys):
    files = [str(file) for file in with_loss("sender").files(tmp_path)]
    assert main(["pair", *files, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"] == 2
    assert document["losses"][0]["place"] == "between"
    assert document["losses"][0]["far_frame"] is None
    assert document["clock"]["offset_error_ns"] == pytest.approx(10 * MS, abs=US)
    assert main(["pair", *files, "-o", str(tmp_path / "both.json")]) == 0
    assert json.loads((tmp_path / "both.json").read_text()) == document


def test_the_page_tells_by_itself(tmp_path):
    files = [str(file) for file in with_loss("sender").files(tmp_path)]
    page = tmp_path / "both.html"
    assert main(["pair", *files, "-o", str(page)]) == 0
    said = page.read_text(encoding="utf-8")
    assert "lost between the captures" in said
    assert said.count('class="still"') == 2
    assert 'left-out">' not in said
    assert "src=" not in said.partition("<script")[0]


@pytest.mark.parametrize(
    ("words", "says"),
    [(["-", "{}"], "standard input"), (["{}", "{}", "-o", "both.csv"], ".json"), (["{}"], "RECEIVER")],
)
def test_usage_is_one_line(words, says, tmp_path, capsys):
    file = str(lossless().files(tmp_path)[0])
    assert main(["pair", *(word.format(file) for word in words)]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert says in said.err


def test_a_damaged_capture_is_compared_as_far_as_it_goes(tmp_path, capsys):
    sender, receiver = lossless().files(tmp_path)
    receiver.write_bytes(receiver.read_bytes()[:-5])
    assert main(["pair", str(sender), str(receiver)]) == 1
    assert "receiver.pcap" in capsys.readouterr().err
