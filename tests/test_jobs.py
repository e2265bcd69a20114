"""However many threads follow the connections, what they find is the same."""

import io
from pathlib import Path

import pandas as pd
import pytest
import strategies
from hypothesis import given
from packets import Address, pcap, tcp_packet

import bdpcap
from bdpcap.read.jobs import SMALL_BYTES, threads

FIN, SYN, ACK = 1, 2, 16
SAMPLES = Path(__file__).parent.parent / "sample_captures"
LABELLED = Path(__file__).parent / "data/labelled"
JOBS = (2, 3)


def told(source, jobs, **how):
    """All that a capture tells."""
    data = Path(source).read_bytes() if isinstance(source, Path) else source
    capture = bdpcap.analyze(io.BytesIO(data), jobs=jobs, **how)
    tables = [
        capture.flows,
        capture.rtts,
        capture.connections,
        capture.exchanges,
        capture.datagrams,
        capture.events,
    ]
    return capture.info, tables, str(capture.damages)


def assert_same(source, **how):
    info, tables, damage = told(source, 1, **how)
    for jobs in JOBS:
        other_info, others, other_damage = told(source, jobs, **how)
        assert (other_info, other_damage) == (info, damage)
        for one, other in zip(tables, others, strict=True):
            pd.testing.assert_frame_equal(one, other, check_exact=True)


def many(connections, late=0):
    """Connections of seven packets that overlap, ports used again, and packets that come long after the end."""
    found = []
    for number in range(connections):
        port, isn = 10_000 + number % (connections * 3 // 4), number * 7919 * 104_729 % 2**32
        client, server = Address(f"10.0.{number % 7}.1", port), Address("192.0.2.1", 80)
        start_ns = 1_700_000_000_000_000_000 + number * 50_000
        steps = [
            (client, server, isn, 0, SYN, 0),
            (server, client, 7, isn + 1, SYN | ACK, 0),
            (client, server, isn + 1, 8, ACK, 100),
            (server, client, 8, isn + 101, ACK, 300),
            (server, client, 308, isn + 101, FIN | ACK, 0),
            (client, server, isn + 101, 309, FIN | ACK, 0),
            (server, client, 309, isn + 102, ACK, 0),
        ]
        if number < late:
            steps.append((client, server, isn + 102, 309, ACK, 0))
        for at, (source, destination, sequence, acknowledgment, flags, length) in enumerate(steps):
            wait_ns = 10_000_000_000 if at == 7 else at * 1_000_000 + number * 7919 % 1000
            packet = tcp_packet(
                start_ns + wait_ns,
                source,
                destination,
                seq=sequence,
                ack=acknowledgment,
                flags=flags,
                payload_bytes=length,
                identification=1 + number * 8 + at,
            )
            found.append(packet)
    return pcap(sorted(found, key=lambda packet: packet.time_ns))


@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*.pcap*")), ids=lambda path: path.name)
def test_samples(sample):
    assert_same(sample)


@given(strategies.captures())
def test_any_capture(capture):
    assert_same(pcap(capture.packets))


def test_connections_that_end_by_the_thousand():
    """More than are kept whole, over many batches, with stragglers of some that were let go and of some that were not."""
    assert_same(many(6_000, late=6_000))


def test_events_that_are_taken_while_the_capture_is_read():
    """Between two stretches the new connections are named; each stretch holds some that go on in the next."""
    data = many(6_000)
    pieces = {jobs: list(bdpcap.stream_events(io.BytesIO(data), jobs=jobs)) for jobs in (1, *JOBS)}
    assert len(pieces[1]) > 1
    for jobs in JOBS:
        for one, other in zip(pieces[1], pieces[jobs], strict=True):
            pd.testing.assert_frame_equal(one, other, check_exact=True)


def test_a_filter_and_a_capture_that_is_cut():
    data = many(500)
    assert_same(data, filter="port 80 and not host 10.0.3.1")
    assert_same(data[:-7])


def test_flows_that_compete_lie_with_different_threads():
    """The verdicts of flows between two hosts need each other; the threads know nothing of that."""
    shared = sorted(LABELLED.rglob("*share*/*.pcap*"))
    assert shared
    for capture in shared:
        assert_same(capture)


def test_a_small_file_takes_one_thread(tmp_path):
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(b"")
    with large.open("wb") as file:
        file.truncate(SMALL_BYTES)
    assert threads(None, [str(small)]) == 1
    assert threads(None, [str(large)]) == threads(None, [io.BytesIO()])
    assert threads(3, [str(small)]) == 3
    with pytest.raises(ValueError, match="jobs is 0"):
        threads(0, [])


@pytest.mark.parametrize(("processors", "alone", "beside"), [(1, 1, 1), (2, 2, 1), (4, 4, 3), (64, 8, 8)])
def test_a_processor_is_kept_for_rows_that_are_written_meanwhile(monkeypatch, processors, alone, beside):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(processors)), raising=False)
    assert threads(None, [io.BytesIO()]) == alone
    assert threads(None, [io.BytesIO()], written=True) == beside
    assert threads(2, [io.BytesIO()], written=True) == 2
