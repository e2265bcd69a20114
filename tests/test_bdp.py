"""Every number worked in five published lab notes and articles on the bandwidth-delay product, worked again.

They lie in `../shared/seeds`; where one contradicts itself, or its units, a test says so. The notes are named by
what they are: the lab notes (100 Mbit/s, netem, iperf -w), the article on two data centres (173 ms), the mailing
list (12.7 ms, 6293248), the article on long fat networks (300 ms), and the workshop's slides (10 Gbit/s).
"""

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdpcap.cli import main
from bdpcap.explain import bdp
from bdpcap.explain.buffers import least_setting
from bdpcap.explain.headers import packet
from bdpcap.words.quantities import duration, kib, rate, size

TIMESTAMPS = "ethernet,ipv4,tcp,timestamps"


def solve(**given_texts):
    """Answers by name, from texts as typed."""
    readers = {
        "rate_bps": rate,
        "rtt_s": duration,
        "window_bytes": size,
        "size_bytes": size,
        "time_s": duration,
    }
    known = {name: readers[name](text) if name in readers else text for name, text in given_texts.items()}
    return {answer.quantity: answer.value for answer in bdp.derive(bdp.Known(**known))}


# the lab notes


@pytest.mark.parametrize(
    ("mbps", "ms", "product", "buffer"),
    [
        (100, 1, 12_500, 16_667),
        (100, 10, 125_000, 166_667),
        (1000, 1, 125_000, 166_667),
        (6, 50, 37_500, 50_000),
    ],
)
def test_bdp_and_buffer_of_four_links(mbps, ms, product, buffer):
    answers = solve(rate_bps=f"{mbps}Mbit/s", rtt_s=f"{ms}ms")
    assert answers["BDP"] == product
    # The notes leave out the segment that the kernel keeps back: 4/3 of 1,448 bytes, rounded to the scale or segments.
    assert buffer <= answers["buffer, linux-2.6-3.3"] <= buffer + 2 * 4 / 3 * 1448


@pytest.mark.parametrize(
    ("asked_kb", "buffer_kb", "window_kb", "expected_mbps", "measured_mbps", "accuracy"),
    [
        (50, 100, 75, 60, 54.1, 90),
        (75, 150, 112.5, 90, 82.3, 91),
        (100, 200, 150, 100, 94.0, 94),
        (125, 250, 187.5, 100, 94.1, 94),
    ],
)
def test_expected_throughput_of_the_iperf_runs(
    asked_kb, buffer_kb, window_kb, expected_mbps, measured_mbps, accuracy
):
    assert 2 * asked_kb == buffer_kb
    assert buffer_kb * bdp.STACKS["linux-2.6-3.3"].share == window_kb
    answers = solve(rate_bps="100Mbit/s", rtt_s="10ms", window_bytes=f"{window_kb}kB")
    assert answers["throughput"] == expected_mbps * 10**6
    assert round(100 * measured_mbps / expected_mbps) == accuracy


def test_83_kb_do_not_make_the_window_of_125_kb_that_the_table_has():
    """166 kB x 3/4 = 124.5 kB, which allow 99.6 Mbit/s; the table rounds both up."""
    window = 2 * 83_000 * bdp.STACKS["linux-2.6-3.3"].share
    assert window == 124_500
    assert solve(rtt_s="10ms", window_bytes=str(window))["window / RTT"] == 99_600_000
    assert 2 * least_setting(bdp.STACKS["linux-2.6-3.3"], 125_000, 1448) > 166_000


def test_iperf_counts_in_kibibytes():
    """97.7 KByte are 100,000 bytes, 48.8 are 50,000."""
    assert [kib(Fraction(asked)) for asked in (100_000, 50_000)] == ["97.7 KiB", "48.8 KiB"]


def test_three_quarters_of_the_default_buffer_are_the_largest_unscaled_window():
    assert math.floor(87_380 * bdp.STACKS["linux-2.6-3.3"].share) == 65_535


def test_1432_of_1522_bytes():
    full = packet(TIMESTAMPS, payload_bytes=1432)
    assert (full.payload_bytes, full.wire_bytes) == (1432, 1522)
    answers = solve(rate_bps="100Mbit/s", packet=full)
    assert round(float(answers["efficiency"]), 4) == 0.9409
    assert round(float(answers["payload rate"]) / 1e6, 2) == 94.09


def test_1432_and_1448_cannot_both_fill_a_packet():
    """The notes take 1432 bytes for the efficiency and 1448 for a segment; only 1448 fill 1500."""
    full = packet(TIMESTAMPS)
    assert (full.payload_bytes, full.wire_bytes) == (1448, 1538)
    assert round(float(full.efficiency), 4) == 0.9415
    assert packet(TIMESTAMPS, mtu_bytes=1484).payload_bytes == 1432


# the article on two data centres


def test_what_100_mbit_take_over_173_ms():
    """It multiplies by 1024 twice, so its 100 Mbit/s are 100 Mibit/s, and its MByte a MiB."""
    product = solve(rate_bps="100Mibit/s", rtt_s="173ms")["BDP"]
    assert round(product * 8) == 18_140_365
    assert product / 2**20 == Fraction("2.1625")
    assert solve(rate_bps="100Mbit/s", rtt_s="173ms")["BDP"] == 2_162_500


def test_64_kib_over_173_ms():
    """Its 2.89 Mbit/s are Mibit/s; links are sold by the other kind, and there it is 3.03."""
    ceiling = solve(rtt_s="173ms", window_bytes="64KiB")["window / RTT"]
    assert round(float(ceiling), 2) == 3030566.47
    assert round(float(ceiling / 2**20), 2) == 2.89
    assert round(float(ceiling / 10**6), 2) == 3.03


def test_128_kib_over_173_ms_are_6_06_mbit():
    """The calculator it quotes says 5.92, by dividing by 1024 once and by 1000 once."""
    ceiling = solve(rtt_s="173ms", window_bytes="128KiB")["window / RTT"]
    assert round(float(ceiling / 10**6), 2) == 6.06
    assert round(float(ceiling / 1024 / 1000), 2) == 5.92
    assert round(float(ceiling / 2**20), 2) == 5.78


# the mailing list


@pytest.mark.parametrize(
    ("kib", "allowed", "iperf", "percent"),
    [
        (8, 5.16, 3.57, 69.18),
        (16, 10.32, 6.9, 66.85),
        (32, 20.64, 13.7, 66.37),
        (64, 41.28, 26.7, 64.67),
        (128, 82.56, 54.4, 65.88),
        (256, 165.13, 105, 63.58),
        (512, 330.26, 171, 51.77),
        (1024, 660.52, 382, 57.83),
        (2048, 1321.04, 673, 50.94),
        (4096, 2642.08, 905, 34.25),
    ],
)
def test_window_over_rtt_at_12_7_ms(kib, allowed, iperf, percent):
    ceiling = solve(rtt_s="12.7ms", window_bytes=f"{kib}KiB")["window / RTT"]
    assert float(ceiling / 10**6) == pytest.approx(allowed, abs=0.006)  # two decimals, cut or rounded
    # From three digits of iperf; the worst, 6.9, is good to 0.5.
    assert float(100 * Fraction(iperf) * 10**6 / ceiling) == pytest.approx(percent, abs=0.02)


# the article on long fat networks


def test_2_mbit_over_300_ms():
    assert solve(rate_bps="2Mbit/s", rtt_s="300ms")["BDP"] == 75_000


def test_24576_bytes_over_300_ms():
    """Its other window, 24,000 bytes, would allow 640 kbit/s."""
    assert solve(rtt_s="300ms", window_bytes="24576")["window / RTT"] == 655_360
    assert solve(rtt_s="300ms", window_bytes="24000")["window / RTT"] == 640_000


def test_a_visitor_sizes_for_200_ms():
    assert solve(rate_bps="10Mbit/s", rtt_s="200ms")["BDP"] == 250_000
    assert solve(rtt_s="0.2s", window_bytes="75kB")["window / RTT"] == 3_000_000
    assert solve(rate_bps="2Mbit/s", rtt_s="300ms")["BDP"] == size("75kB")


def test_a_visitor_asks_how_long_1_gbyte_takes_and_what_takes_10_s():
    assert solve(rate_bps="100Mbit/s", size_bytes="1GByte")["time"] == 80
    assert solve(size_bytes="1GByte", time_s="10s")["rate needed"] == 800_000_000
    counted = solve(rate_bps="100Mbit/s", size_bytes="1GByte", packet=packet(TIMESTAMPS))
    assert round(float(counted["time"]), 1) == 85.0


# the workshop's slides


def test_1_mib_leaves_in_0_84_ms_and_fills_1_68_percent():
    answers = solve(rate_bps="10Gbit/s", rtt_s="50ms", window_bytes="1MiB")
    assert round(float(answers["longest RTT"]) * 1e3, 2) == 0.84
    assert round(float(answers["share of the link"]) * 100, 2) == 1.68


def test_the_slides_give_25_ms_and_calculate_with_50():
    """With the RTT that they state, the share is twice theirs, and the BDP half."""
    stated = solve(rate_bps="10Gbit/s", rtt_s="25ms", window_bytes="1MiB")
    assert round(float(stated["share of the link"]) * 100, 2) == 3.36
    assert stated["BDP"] == 31_250_000


def test_the_slides_bdp_and_twice_that():
    answers = solve(rate_bps="10Gbit/s", rtt_s="50ms")
    assert answers["BDP"] == 62_500_000
    assert round(float(answers["BDP"] / 2**20), 1) == 59.6
    # The slides leave out the segment that the kernel keeps back, and the rounding to the window scale.
    assert 125_000_000 < answers["buffer, linux-3.4-6.5"] < 125_000_000 + 2 * 1448


def test_1_mbyte_is_not_10242_bytes():
    """A lost exponent: 1024 squared."""
    assert size("1MiB") == 1024**2 == 1_048_576
    assert size("1MiB") * 8 == 8_388_608


# headers


@pytest.mark.parametrize(
    ("stack", "mtu", "payload", "wire"),
    [
        ("ethernet,ipv4,tcp", 1500, 1460, 1538),
        ("ethernet,vlan,ipv4,tcp,timestamps", 1500, 1448, 1542),
        ("ethernet,ipv6,tcp,timestamps", 1500, 1428, 1538),
        ("ethernet,ipv4,tcp,timestamps", 9000, 8948, 9038),
        ("ethernet,pppoe,ipv4,tcp", 1500, 1452, 1538),
        ("ethernet,ipv4,udp,vxlan,14,ipv4,tcp", 1500, 1410, 1538),
    ],
)
def test_a_full_packet_of_any_stack(stack, mtu, payload, wire):
    full = packet(stack, mtu)
    assert (full.payload_bytes, full.wire_bytes) == (payload, wire)


@pytest.mark.parametrize(
    ("stack", "mtu", "payload", "says"),
    [
        ("ethernet,ipv5", 1500, None, "ipv5"),
        (TIMESTAMPS, 1500, 1460, "exceed the MTU"),
        ("ipv6,tcp", 60, None, "exceed the MTU"),
        ("", 1500, None, "no header"),
    ],
)
def test_a_stack_that_cannot_be_is_refused(stack, mtu, payload, says):
    with pytest.raises(ValueError, match=says):
        packet(stack, mtu, payload)


# loss


def test_loss_ceiling_of_the_paper():
    """MSS 1448, 100 ms, 1 %: 1448 x 8 / 0.1 x 12.247 = 1.4187 Mbit/s."""
    assert float(bdp.loss_ceiling(1448, Fraction(1, 10), Fraction(1, 100))) == pytest.approx(
        1448 * 8 / 0.1 * math.sqrt(150)
    )


POSITIVE = st.fractions(Fraction(1, 10**6), 10**12)


@given(POSITIVE, st.fractions(Fraction(1, 10**6), 10))
def test_loss_and_ceiling_undo_each_other(rate_bps, rtt_s):
    loss = bdp.loss_for(1448, rtt_s, rate_bps)
    ceiling = bdp.loss_ceiling(1448, rtt_s, loss)
    assert ceiling >= rate_bps * (1 - Fraction(1, 10**9))
    if loss < 1:
        assert float(ceiling / rate_bps) == pytest.approx(1)


@given(POSITIVE, st.fractions(Fraction(1, 10**6), 10))
def test_the_window_of_a_path_allows_just_its_rate(rate_bps, rtt_s):
    product = bdp.product(rate_bps, rtt_s)
    assert bdp.window_ceiling(product, rtt_s) == rate_bps


@given(POSITIVE, POSITIVE)
def test_size_time_and_rate_give_each_other(rate_bps, size_bytes):
    time_s = {a.quantity: a.value for a in bdp.derive(bdp.Known(rate_bps, size_bytes=size_bytes))}["time"]
    back = {a.quantity: a.value for a in bdp.derive(bdp.Known(rate_bps, time_s=time_s))}["size"]
    needed = {a.quantity: a.value for a in bdp.derive(bdp.Known(size_bytes=size_bytes, time_s=time_s))}
    assert back == size_bytes
    assert needed["rate needed"] == rate_bps


def test_the_lowest_ceiling_holds():
    answers = solve(
        rate_bps="100Mbit/s", rtt_s="100ms", window_bytes="1MB", loss=Fraction(1, 100), size_bytes="1MB"
    )
    assert answers["throughput"] == answers["loss ceiling"] < answers["window / RTT"] == 80_000_000
    assert answers["time"] == 8_000_000 / answers["loss ceiling"]


def test_the_window_that_a_deadline_needs():
    answers = solve(rate_bps="1Gbit/s", rtt_s="100ms", size_bytes="1GB", time_s="20s")
    assert answers["window needed"] == 5_000_000
    assert answers["link used"] == Fraction(2, 5)


# several streams, several paths, and units that look alike


def test_ten_streams_have_ten_windows():
    known = {"rate_bps": rate("100Mbit/s"), "rtt_s": duration("11ms"), "window_bytes": size("6572.5")}
    answers = {a.quantity: a.value for a in bdp.derive(bdp.Known(**known, streams=10))}
    assert answers["window / RTT"] == 4_780_000
    assert answers["throughput"] == answers["windows / RTT"] == 47_800_000
    assert answers["share of the link"] == Fraction("0.478")
    alone = {a.quantity: a.value for a in bdp.derive(bdp.Known(**known))}
    # 20 streams have 95.6 Mbit/s.
    assert alone["streams needed"] == 21


@given(POSITIVE, st.fractions(Fraction(1, 1000), 10), st.integers(2, 1000))
def test_streams_never_exceed_the_link_and_are_worth_as_many_windows(rate_bps, rtt_s, streams):
    window = Fraction(65_536)
    many = {a.quantity: a.value for a in bdp.derive(bdp.Known(rate_bps, rtt_s, window, streams=streams))}
    one = {a.quantity: a.value for a in bdp.derive(bdp.Known(rate_bps, rtt_s, window * streams))}
    assert many["throughput"] == one["throughput"] <= rate_bps


def test_what_counts_in_1024_is_said_aloud():
    (one,) = [
        a
        for a in bdp.derive(bdp.Known(rtt_s=duration("173ms"), window_bytes=size("64KiB")))
        if a.unit == "bit/s"
    ]
    assert "2.89 as Mibit/s" in one.how
    (two,) = [
        a
        for a in bdp.derive(bdp.Known(rtt_s=duration("173ms"), window_bytes=size("128KiB")))
        if a.unit == "bit/s"
    ]
    assert "5.92 where 1024 and 1000 are mixed" in two.how


def test_a_host_with_several_paths_needs_the_buffer_of_the_largest_bdp(capsys):
    paths = ["--rate", "100Mbit/s", "--rtt", "10ms", "--rate", "20Mbit/s", "--rtt", "200ms"]
    assert main(["bdp", *paths, "--stack", "freebsd", "--format", "json"]) == 0
    values = {row["quantity"]: row["value"] for row in json.loads(capsys.readouterr().out)["rows"]}
    assert values == {
        "BDP, path 1": 125_000,
        "BDP, path 2": 500_000,
        "largest BDP": 500_000,
        "buffer, freebsd": 500_000,
    }


# the command


def test_the_command_prints_what_follows(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["bdp", "--rate", "100Mbit/s", "--rtt", "10ms", "--window", "73552"]) == 0
    said = capsys.readouterr().out
    assert all(len(line) <= 80 and line == line.rstrip() for line in said.splitlines())
    rows = {line.split("  ")[0]: line for line in said.splitlines()}
    assert "125,000 bytes  122 KiB" in rows["BDP"]
    # 2 x 84,298 x 3/4 - 1,448 = 124,999, up to an even window.
    assert "168,596 bytes" in rows["buffer, linux-2.6-3.3"]
    assert "58.8 Mbit/s" in rows["window / RTT"]


def test_the_command_as_json(capsys):
    assert main(["bdp", "--window", "64KiB", "--rtt", "173ms", "--format", "json"]) == 0
    rows = {row["quantity"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert rows["window"]["value"] == 65536
    assert rows["window / RTT"]["unit"] == "bit/s"
    assert rows["window / RTT"]["value"] == pytest.approx(524288 / 0.173)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--rate", "100KB/s"], "100KB/s"),
        (["--rtt", "10ms"], "two or more"),
        (["--headers", "ipx"], "ipx"),
        (["--rate", "1Mbit/s", "--rtt", "1ms", "--stack", "beos"], "linux-3.4-6.5"),
        (["--rtt", "1ms", "--rtt", "2ms"], "as many --rate as --rtt"),
        (["--rate", "1Mbit/s", "--rtt", "1ms", "--rtt", "2ms", "--window", "9000"], "several paths"),
    ],
)
def test_what_cannot_be_calculated_is_one_line(arguments, says, capsys):
    assert main(["bdp", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert says in said.err


def test_no_quantity_is_named_twice(capsys):
    """The time allowed is not the time that it takes."""
    given = [
        "--rate",
        "100Mbit/s",
        "--rtt",
        "10ms",
        "--window",
        "64KiB",
        "--loss",
        "1%",
        "--size",
        "1GB",
        "--time",
        "10s",
    ]
    assert main(["bdp", *given, "--format", "json"]) == 0
    named = [row["quantity"] for row in json.loads(capsys.readouterr().out)["rows"]]
    assert len(set(named)) == len(named)
    assert {"time allowed", "time"} <= set(named)


def test_one_stack_alone(capsys):
    assert main(["bdp", "--rate", "1Gbit/s", "--rtt", "1ms", "--stack", "freebsd", "--format", "json"]) == 0
    named = [row["quantity"] for row in json.loads(capsys.readouterr().out)["rows"]]
    assert [name for name in named if name.startswith("buffer")] == ["buffer, freebsd"]
