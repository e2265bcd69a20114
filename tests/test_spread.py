"""A set of files shared out to several workers: the same tables as of the capture before it was cut."""

from __future__ import annotations

import math
import pickle
import tempfile
import threading
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import duckdb
import large_captures
import pandas as pd
import pytest
import strategies
import zstandard
from dask_cluster import WAIT_SECONDS, two_workers, wait_for
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import ROOT
from packets import Address, Packet, pcap, pcapng_file, read_pcap, tcp_packet
from small_dataset import analysed
from small_transfer import write_many
from test_quoted import CAPTURE as QUOTED

import bdpcap
from bdpcap.fleet import run, sharing, spread
from bdpcap.fleet.captures import Task
from bdpcap.fleet.dataset import TABLES, Dataset
from bdpcap.fleet.work import Order

MS = 1_000_000
SHAPE = strategies.Shape(
    hosts=strategies.HOSTS[0],
    ports=(40_000, 80),
    isn=(1, 2),
    scale=(2, 2),
    payload_bytes=(0, 60_000),
    buffer_bytes=(20_000, 20_000),
    mss_bytes=1448,
    congestion_window=8,
    delay_ns=10 * MS,
    tap=0.5,
    ack_every=2,
    timestamps=True,
    sack=True,
    reader_ns=MS,
    lost=frozenset({9}),
    lost_before_tap=False,
    keep_alive=False,
    ending="fin",
)
BUCKETS = (1, 2, 3)


class Inline:
    """A cluster without processes; what goes there and back is packed all the same."""

    def submit(self, function, *arguments, pure):
        assert not pure
        function, arguments = packed((function, arguments))
        return packed(function(*arguments))

    def gather(self, futures):
        return futures


def packed(value):
    return pickle.loads(pickle.dumps(value))  # noqa: S301  our own


def task_of(folder, pieces):
    """Write the files of a set."""
    paths = []
    for number, piece in enumerate(pieces):
        path = Path(folder) / f"ring_{number:05}.pcap"
        path.write_bytes(piece)
        paths.append(str(path))
    return Task("set", tuple(paths), tuple(map(len, pieces)))


def tables(out):
    """Return the tables of a dataset in their order, values as Python has them, and the status."""
    found = {}
    for table in TABLES:
        rows = duckdb.read_parquet(f"{out}/{table}/*.parquet").df().astype(object)
        order = [name for name in ("rank", "stream", "sender", "round") if name in rows]
        found[table] = rows.where(rows.notna(), None).sort_values(order, kind="stable", ignore_index=True)
    return found, Dataset(str(out)).statuses()["set"]


def cut(packets, places):
    """Cut a capture before packets at these places; an empty file may come of it."""
    ends = [0, *sorted(places), len(packets)]
    return [pcap(packets[start:end]) for start, end in pairwise(ends)]


def assert_same(packets, places, buckets=BUCKETS, expression=None):
    with tempfile.TemporaryDirectory() as folder:
        whole = Task("set", (f"{folder}/whole.pcap",), (0,))
        Path(whole.files[0]).write_bytes(pcap(packets))
        assert analysed([whole], Order(f"{folder}/one", expression, ()))[0]["state"] == "done"
        expected, told = tables(f"{folder}/one")
        task = task_of(folder, cut(packets, places))
        for number in buckets:
            order = Order(f"{folder}/{number}", expression, ())
            spread.spread(Inline(), task, order, 1, number)
            found, status = tables(order.out)
            for name, table in expected.items():
                pd.testing.assert_frame_equal(found[name], table, check_exact=True)
            for name in ("frames", "streams", "flows", "first_ns", "last_ns", "damage"):
                assert status[name] == told[name], name
            assert not list(Path(order.out, "_unfinished").iterdir())


def beside(start_ns, hosts):
    """Datagrams of a tool that counts them, a fragment and ARP, among the packets of a connection."""
    source, destination = (Address(host, 5001) for host in hosts)
    packets = []
    for number in range(12):
        payload = number.to_bytes(4) + (number + 1).to_bytes(4) + bytes([0, 0, 0, number]) + bytes(60)
        at_ns = start_ns + number * MS + 500
        template = tcp_packet(at_ns, source, destination, seq=0)
        ip = bytearray(template.data[14:34])
        ip[9] = 17
        ip[2:4] = (28 + len(payload)).to_bytes(2)
        udp = b"\x13\x89\x13\x89" + (8 + len(payload)).to_bytes(2) + bytes(2) + payload
        if number % 4 == 3:
            ip[6] = 0x20  # the first of several fragments
        frame = template.data[:14] + bytes(ip) + udp
        packets.append(Packet(at_ns, frame, len(frame)))
    packets.append(Packet(start_ns + 700, bytes(12) + b"\x08\x06" + bytes(28), 42))
    return packets


@st.composite
def sets(draw):
    """Draw captures of several pairs of hosts together, some of them competing, and where they are cut."""
    packets = [
        packet
        for one in draw(st.lists(strategies.captures(), min_size=1, max_size=3))
        for packet in one.packets
    ]
    if draw(st.booleans()):
        packets += beside(strategies.START_NS, strategies.HOSTS[0]) + QUOTED
    packets.sort(key=lambda packet: packet.time_ns)
    places = draw(st.lists(st.integers(0, len(packets)), max_size=3))
    return packets, places


@settings(max_examples=25)
@given(drawn=sets())
def test_however_many_buckets_the_tables_are_those_of_the_whole_capture(drawn):
    assert_same(*drawn)


def test_competing_flows_of_a_long_capture_are_told_of_each_other(tmp_path):
    """Real transfers, one after the other between the same hosts and others; some began before the capture."""
    packets = []
    for number, name in enumerate(("cwnd_loss_2pct", "rwnd_slow_reader", "sndbuf_24k_15ms")):
        for copy in range(2):
            found = sample(name)
            start_ns = found[0].time_ns - (2 * number + copy) * MS
            own = [renamed(packet, start_ns, number, copy) for packet in found]
            packets += own[:1500] if number else own[5:1500]
    packets.sort(key=lambda packet: packet.time_ns)
    (tmp_path / "whole.pcap").write_bytes(pcap(packets))
    capture = bdpcap.analyze(tmp_path / "whole.pcap")
    assert "its host negotiated it in another connection" in {one.because for one in capture.scales}
    assert len(capture) > 4
    assert_same(packets, [1, 800, 2000], (1, 3, 64))
    assert_same(packets, [700], (3,), expression="tcp port not 443 and greater 60")


def sample(name):
    with (ROOT / "sample_captures" / f"{name}.sender.pcap.zst").open("rb") as file:
        return list(read_pcap(zstandard.ZstdDecompressor().stream_reader(file).read()))


def renamed(packet, start_ns, pair, copy):
    """Return a packet of the sample's sender as a host of its own; copies have the same hosts and other ports."""
    ip = 14
    data = bytearray(packet.data)
    for at in (ip + 12, ip + 16):
        sender = data[at + 3] == 3
        data[at : at + 4] = bytes([192, 0, 2, 1 + pair]) if sender else bytes([198, 51, 100, 1])
    for at in (ip + 20, ip + 22):
        data[at] ^= copy
    return replace(packet, data=bytes(data), time_ns=packet.time_ns - start_ns + strategies.START_NS)


def test_a_frame_without_a_time_has_that_of_the_frame_before_in_the_file_before(tmp_path):
    packets = strategies.Wire(SHAPE).run()
    simple = [index for index in range(len(packets)) if index % 7 == 3]
    whole = with_simple_blocks(packets, simple)
    (tmp_path / "whole.pcapng").write_bytes(whole)
    expected = bdpcap.analyze(tmp_path / "whole.pcapng")
    assert expected.info.without_time == len(simple)
    pieces = [
        with_simple_blocks(packets[:10], [3]),
        with_simple_blocks(packets[10:], [index - 10 for index in simple if index >= 10]),
    ]
    assert simple[1] == 10  # the second file begins with one: it is read last, as its first frame has no time
    assert analysed(
        [Task("set", (str(tmp_path / "whole.pcapng"),), (0,))], Order(str(tmp_path / "one"), None, ())
    )
    spread.spread(Inline(), task_of(tmp_path, pieces), Order(str(tmp_path / "many"), None, ()), 1, 2)
    for name, table in tables(tmp_path / "one")[0].items():
        pd.testing.assert_frame_equal(tables(tmp_path / "many")[0][name], table, check_exact=True)


def with_simple_blocks(packets, simple):
    """Write packets as pcapng, some of them in simple packet blocks, which have no time."""
    simple_packet, enhanced_packet = (3).to_bytes(4, "little"), (6).to_bytes(4, "little")
    out = bytearray()
    data, at, number = pcapng_file(packets), 0, 0
    while at < len(data):
        length = int.from_bytes(data[at + 4 : at + 8], "little")
        block = data[at : at + length]
        if block[:4] == enhanced_packet:
            if number in simple:
                packet = packets[number]
                kept = packet.data + bytes(packet.wire_length - len(packet.data))
                body = packet.wire_length.to_bytes(4, "little") + kept + bytes(-len(kept) % 4)
                size = (12 + len(body)).to_bytes(4, "little")
                block = simple_packet + size + body + size
            number += 1
        out += block
        at += length
    return bytes(out)


def test_a_file_that_breaks_is_said_and_one_that_cannot_be_read_ends_it(tmp_path):
    packets = strategies.Wire(SHAPE).run()
    pieces = cut(packets, [20, 30])
    task = task_of(tmp_path, [pieces[0], pieces[1][:-3], pieces[2]])
    status = spread.spread(Inline(), task, Order(str(tmp_path / "torn"), None, ()), 1, 2)
    assert status["damage"].startswith("ring_00001.pcap: frame 10, byte ")
    assert status["frames"] == len(packets) - 1
    Path(task.files[1]).write_bytes(b"this is no capture")
    with pytest.raises(bdpcap.CaptureError, match="ring_00001"):
        spread.spread(Inline(), task, Order(str(tmp_path / "torn"), None, ()), 1, 2)
    assert tables(tmp_path / "torn")[1] == status


def test_files_named_in_any_order_are_read_by_their_times(tmp_path):
    packets = strategies.Wire(SHAPE).run()
    task = task_of(tmp_path, cut(packets, [5, 30]))
    found = []
    for number, files in enumerate((task.files, task.files[::-1])):
        order = Order(str(tmp_path / str(number)), None, ())
        status = spread.spread(Inline(), replace(task, files=files), order, 1, 2)
        assert [one["name"] for one in status["inputs"]] == list(files)
        found.append(tables(order.out)[0])
    for name, table in found[0].items():
        pd.testing.assert_frame_equal(found[1][name], table, check_exact=True)


def test_a_later_run_takes_away_what_several_workers_wrote(tmp_path):
    whole = write_many(tmp_path / "whole.pcap", 9)
    task = task_of(tmp_path, cut(read_pcap(whole.read_bytes()), [100]))
    order = Order(str(tmp_path / "out"), None, ())
    spread.spread(Inline(), task, order, 1, 3)
    before = tables(order.out)[0]
    assert analysed([task], order)[0]["state"] == "done"
    for name, table in tables(order.out)[0].items():
        pd.testing.assert_frame_equal(table, before[name], check_exact=True)


def test_a_set_is_shared_out_that_would_keep_one_worker_longest(tmp_path, monkeypatch):
    monkeypatch.setattr(sharing, "MOST_TIME", math.inf)
    task = task_of(tmp_path, cut(strategies.Wire(SHAPE).run(), [20]))
    order, size = Order(str(tmp_path / "out"), None, ()), sum(task.sizes_bytes)
    assert spread.is_spread(Inline(), task, order, size, 2)
    assert not spread.is_spread(Inline(), task, order, size, 1)  # nobody to share it with
    assert not spread.is_spread(Inline(), task, order, 9 * size, 8)  # the others have enough to do
    one = replace(task, files=task.files[:1], sizes_bytes=task.sizes_bytes[:1])
    assert not spread.is_spread(Inline(), one, order, one.sizes_bytes[0], 2)  # a file is read in one go
    Path(task.files[0]).write_bytes(b"this is no capture")
    assert not spread.is_spread(Inline(), task, order, size, 2)


def test_a_load_is_estimated_from_the_beginning_of_a_set(tmp_path):
    short, bulk = tmp_path / "short.pcap", tmp_path / "bulk.pcap"
    large_captures.write("mice", short, 20_000)
    large_captures.write("headers", bulk, 20_000)
    loads = []
    for file in (short, bulk):
        task = Task("set", (str(file), "not read"), (file.stat().st_size,) * 2)
        loads.append(sharing.estimated(task, Order(str(tmp_path), None, ())))
    assert (loads[0].frames, loads[0].connections) == pytest.approx((2 * 11 * 20_000, 2 * 20_000), rel=0.1)
    assert (loads[1].frames, loads[1].connections) == pytest.approx((2 * 20_000, 0), rel=0.1)


def test_connections_are_worth_sharing_sooner_than_frames():
    frames, connections = 1_000_000_000, 10_000_000
    assert sharing.pays(sharing.Load(11 * connections, connections), 2, spread.BUCKETS)
    # Each is decoded, stored, and decoded again by two workers: no time is left to save.
    assert not sharing.pays(sharing.Load(frames, 0), 2, spread.BUCKETS)
    assert sharing.pays(sharing.Load(frames, 0), 5, spread.BUCKETS)
    assert not sharing.pays(sharing.Load(11 * 1000, 1000), 2, spread.BUCKETS)


def test_a_worker_killed_while_files_are_shared_out_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(sharing, "MOST_TIME", math.inf)
    packets = read_pcap(write_many(tmp_path / "whole.pcap", 300).read_bytes())
    task = task_of(tmp_path, cut(packets, range(100, len(packets), 100)))
    out = tmp_path / "out"
    done = []

    def stored():
        return len(list(out.glob("_unfinished/*/*")))

    with two_workers(tmp_path) as (address, workers):
        running = threading.Thread(
            target=lambda: done.extend(run.run([task], Order(str(out), None, ()), scheduler=address)),
            daemon=True,
        )
        running.start()
        wait_for(lambda: stored() > 2, running.is_alive)
        workers[0].kill()
        assert stored() < len(task.files)
        running.join(WAIT_SECONDS)
    ((_, status),) = done
    assert (status["state"], status["error"], status["buckets"]) == ("done", None, spread.BUCKETS)
    alone = Order(str(tmp_path / "alone"), None, ())
    assert analysed([Task("set", (str(tmp_path / "whole.pcap"),), (0,))], alone)[0]["state"] == "done"
    for name, table in tables(alone.out)[0].items():
        pd.testing.assert_frame_equal(tables(out)[0][name], table, check_exact=True)
