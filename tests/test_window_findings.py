"""Findings on windows of captures: from the SYN-ACK on, and none where there is nothing to claim."""

import io
from types import SimpleNamespace

import pytest
from oracles import SHARED, TESTS
from packets import pcap
from scenario import scenario
from small_transfer import write_pcap

import bdpcap
from bdpcap.cli import main
from bdpcap.diagnosis import decide, kinds
from bdpcap.diagnosis.findings import findings
from bdpcap.diagnosis.kinds import rwnd
from bdpcap.explain import remedies
from bdpcap.explain.eras import ERAS
from bdpcap.explain.findings import Certainty, Code, Weight
from bdpcap.explain.findings.plateau import observed, starts
from bdpcap.explain.kernels import Kernel
from bdpcap.explain.solver import Exactness, Facts

LINUX = remedies.Host("receiver", system="linux")
(MEASURED,) = [era for era in ERAS if era.is_measured]

CLAIMS = {
    Code.WINDOW_SETTING,
    Code.SEGMENT_KEPT_BACK,
    Code.BUFFER_DOUBLED,
    Code.WINDOW_FIELD_FULL,
    Code.WINDOW_RAMP,
}


def transfer(window, *, first=None, mss=1448, rounds=30, wscale=0, handshake=True, greeting=0):
    """A client that fills the server's window every 100 ms, after a greeting of so many bytes; seen at the client."""
    option = "" if wscale is None else f",wscale {wscale}"
    first = window if first is None else first
    lines = [
        f"0 > S 0:0(0) win 64240 <mss {mss},wscale 7>",
        f"+.100 < S. 0:0(0) ack 1 win {first} <mss {mss}{option}>",
        "+0 > . 1:1(0) ack 1 win 502",
    ]
    lines = lines if handshake else []
    at = 1
    if greeting:
        at += greeting
        lines += [
            f"+.001 > P. 1:{at}({greeting}) ack 1 win 502",
            f"+.100 < . 1:1(0) ack {at} win {first - greeting}",
        ]
    field = window >> (wscale or 0)
    for _ in range(rounds):
        for number in range(max(1, window // mss)):
            size = min(mss, max(window, 1))
            lines.append(f"+{'.001' if number == 0 else '.00001'} > . {at}:{at + size}({size}) ack 1 win 502")
            at += size
        lines.append(f"+.100 < . 1:1(0) ack {at} win {field}")
    return bdpcap.analyze(io.BytesIO(pcap(scenario("\n".join(lines))))).flow(0)


def codes(flow, facts=None):
    return {finding.code: finding for finding in findings(flow, facts)}


def test_a_window_that_fell_once_and_stands_is_no_slow_reader():
    # SO_RCVBUF set after accept(): 50,000 bytes once, then eight segments in every round trip of 101 ms.
    flow = transfer(8 * 1448, first=51_448, greeting=1448)
    assert "slow reader" not in set(flow.rtts["detail"])
    told = codes(flow)
    assert Code.SLOW_READER not in told
    assert decide.cause(flow)[0] is kinds.ALL["rwnd"].usual
    assert decide.cause(flow)[0].reason(flow, flow.rtts).startswith("11,584 bytes per round trip")


@pytest.mark.parametrize("rises", [False, True])
def test_a_window_that_rises_after_it_stood_does_not_stop_there(rises):
    # 24 round trips of 101 ms at 46 segments of 1,440 bytes; then the window doubles, or not.
    lines = [
        "0 > S 0:0(0) win 64240 <mss 1440,wscale 7>",
        "+.100 < S. 0:0(0) ack 1 win 65535 <mss 1440,nop,wscale 8,nop,nop,sackOK>",
        "+0 > . 1:1(0) ack 1 win 502",
    ]
    at, fields = 1, [258] * 24 + [517 if rises else 258] * 2
    for before, field in zip([258, *fields], fields, strict=False):
        for number in range(before * 256 // 1440):
            gap = ".001" if number == 0 else ".00001"
            lines.append(f"+{gap} > . {at}:{at + 1440}(1440) ack 1 win 502")
            at += 1440
        lines.append(f"+.100 < . 1:1(0) ack {at} win {field}")
    flow = bdpcap.analyze(io.BytesIO(pcap(scenario("\n".join(lines))))).flow(0)
    seen = observed(flow)
    assert (seen.window, seen.rose_to) == (66_048, 132_352 if rises else None)
    assert 2.3e9 < seen.stood_ns < 2.8e9
    said = codes(flow)[Code.WINDOW_SETTING].sentence
    assert said.startswith(f"The window {'stood' if rises else 'stops'} at 66,048 bytes")
    assert said.endswith(" it rose to 132,352 bytes.") == rises


def test_the_first_window_is_the_syn_acks_and_not_what_first_data_left_of_it():
    # iperf 2 sends 60 bytes at once: the window is 49,172 after them. 48,552 bytes hold 33 segments.
    flow = transfer(33 * 1448, first=49_232, greeting=60)
    assert flow._counts["syn_window_bytes"] == 49_232
    told = codes(flow)[Code.WINDOW_SETTING]
    assert "2 x 50,000 x 1/2 - 1,448 = 48,552, down to 33 segments: 47,784" in told.sentence
    assert told.certainty is Certainty.LIKELY


@pytest.mark.usefixtures("need_shared")
def test_linux_6_1_is_explained_by_its_setting():
    capture = bdpcap.analyze(SHARED / "captures/linux61/rwnd_fix_aws1/sender.pcap.zst")
    told = codes(capture.flow(0), Facts(rcvbuf=50_000, kernel=Kernel(6, 1)))
    assert told[Code.WINDOW_PREDICTED].exactness is Exactness.ROUNDED
    assert told[Code.WINDOW_PREDICTED].values["predicted_bytes"] == {"linux-3.4-6.5": 47_784}
    assert list(told[Code.WHAT_IT_TAKES].values["so_rcvbuf_bytes"]) == ["linux-3.4-6.5"]


@pytest.mark.parametrize(
    "flow",
    [
        lambda: transfer(100, mss=1448),
        lambda: transfer(1448, mss=1448),
        lambda: transfer(14_480, handshake=False),
        lambda: transfer(14_480, rounds=1),
    ],
    ids=["less than a segment", "one segment", "no handshake", "one round"],
)
def test_nothing_is_claimed_of_a_window_that_tells_nothing(flow):
    assert not CLAIMS & set(codes(flow()))


def test_a_syn_ack_that_fills_the_field_is_no_start_of_a_ramp():
    # The field's 65,535 are not scaled; the window was 14 times as large from the first one that is.
    flow = transfer(640 * 1448 >> 4 << 4, first=65_535, wscale=4, rounds=12)
    assert Code.WINDOW_RAMP not in codes(flow)


@pytest.mark.usefixtures("need_shared")
def test_a_scale_that_a_middlebox_lowered_is_told_by_both_ends():
    capture = bdpcap.analyze(SHARED / "captures/lab_b/ws_rewritten/receiver.pcap.zst")
    told = codes(capture.flow(0))[Code.WINDOW_SCALE_REWRITTEN]
    # The sender's capture of the same transfer has scale 1 in the SYN-ACK.
    assert told.values == {"window_scale": 3, "implied_scale": 1}
    assert "The receiver advertises by scale 3, the sender goes by 1." in told.sentence
    assert "firewall" in told.remedy
    setting = codes(capture.flow(0)).get(Code.WINDOW_SETTING)
    assert setting is None or setting.exactness in (Exactness.CONSISTENT, Exactness.NONE)


def test_every_finding_says_how_sure_it_is(capsys):
    flow = transfer(33 * 1448, first=49_232)
    for finding in flow.findings:
        assert finding.certainty in Certainty
    assert codes(flow)[Code.SEGMENT_SIZE].certainty is Certainty.CERTAIN
    assert main(["explain", "--window", "73552"]) == 0
    assert "[window-setting, likely; " in capsys.readouterr().out


def test_a_known_buffer_is_predicted_without_a_capture(capsys):
    assert main(["explain", "--rcvbuf", "5000", "--kernel", "5.15"]) == 0
    # 10,000 / 2 - 1,448 = 3,552 bytes hold two segments.
    assert "SO_RCVBUF of 5,000 leads to a window of 2,896 (Linux 3.4 to 6.5)." in " ".join(
        capsys.readouterr().out.split()
    )


def test_a_lower_bound_of_the_bdp_below_the_window_is_no_goal(tmp_path):
    # Eight segments a round trip, at once: no burst shows the rate of the path.
    flow = bdpcap.analyze(write_pcap(tmp_path / "transfer.pcap")).flow(0)
    assert flow.summary["bdp_bytes"] < flow.summary["window_max_bytes"]
    (below,) = [finding for finding in flow.findings if finding.code is Code.WINDOW_BELOW_BDP]
    assert "here" not in below.remedy
    assert "below" not in below.remedy


# a window that was not the limit, and one that fell


@pytest.mark.usefixtures("need_shared")
def test_a_window_is_explained_also_where_it_was_not_the_limit():
    flow = bdpcap.analyze(SHARED / "captures/lab_b/sndbuf_16k_13ms/sender.pcap.zst").flow(0)
    assert flow.summary["limit"] == "sndbuf"
    told = codes(flow)
    notes = [finding for finding, weight in decide.weights(flow) if weight is Weight.NOTE]
    for code in {Code.WINDOW_SETTING, Code.WINDOW_FIELD_FULL} & set(told):
        # A note has no advice, and no place among the first findings.
        assert told[code] in notes
        assert not told[code].commands
    assert {Code.WINDOW_SETTING, Code.WINDOW_FIELD_FULL} & set(told) or observed(flow) is None


def test_a_window_that_fell_and_stands_is_explained_by_the_lower_one():
    # Linux 6.18, SO_RCVBUF of 8,192 set after accept(): 65,160 bytes first, then 11,264.
    flow = transfer(11_264, first=65_160, wscale=10)
    assert observed(flow).window == 11_264
    told = codes(flow)[Code.WINDOW_SETTING]
    assert told.values["answers"][0]["setting"] == "SO_RCVBUF after the handshake"
    assert "before listen()" in told.remedy


@pytest.mark.parametrize("system", ["linux", "solaris", None])
def test_the_receivers_system_is_a_fact_where_the_flow_knows_it(system):
    flow = transfer(17 * 1460, mss=1460, wscale=0)
    flow.summary["receiver_system"] = system
    assert observed(flow).system == (system or "")


def test_autotuning_that_stopped_is_no_reason_to_raise_its_maximum():
    said = remedies.receive_buffer(500_000, 1448, [MEASURED], LINUX, autotuned=True, stopped=True)
    assert "SO_RCVBUF" in said.words
    assert not any("-w net.ipv4.tcp_rmem" in command for command in said.commands)
    raised = remedies.receive_buffer(
        500_000, 1448, [MEASURED], LINUX, autotuned=True, stopped=True, most=262_144
    )
    assert any("tcp_rmem" in command and "sysctl -w" in command for command in raised.commands)


def test_a_window_that_stands_for_seconds_is_no_start_of_autotuning():
    # The receiver's program has set SO_RCVBUF to the size with which autotuning starts, too.
    flow = bdpcap.analyze(TESTS / "data/windows_receiver.pcap.zst").flow(0)
    assert flow.summary["rwnd_share"] * flow.summary["active_ns"] > 10**9
    assert "set no SO_RCVBUF" in flow.remedy.words
    assert flow.remedy.commands == ()


@pytest.mark.usefixtures("need_shared")
def test_a_windows_host_that_has_just_begun_needs_no_setting():
    # Another connection of this host grew its window to 132,352 bytes 0.6 s after its start.
    flow = bdpcap.analyze(SHARED / "captures/wild_b/kdrive_download_active.pcapng.zst").flow(
        0, "45.157.188.47:443"
    )
    assert "a kept connection has a larger one" in flow.remedy.words
    assert flow.why is not None
    assert "45 x 1,460 = 65,700" in str(flow.why)


@pytest.mark.parametrize(("active_s", "begins"), [(0.2, True), (4, False)])
def test_a_windows_window_that_held_briefly_may_grow(active_s, begins):
    # Its size is no sign of a buffer: Windows doubles it from a few segments on.
    summary = {"rwnd_share": 0.5, "active_ns": active_s * 1e9, "receiver_system": "windows"}
    assert starts(SimpleNamespace(summary=summary)) is begins


def test_a_window_that_grew_was_not_the_most():
    # Twelve segments fill the window of 17,520 bytes in each round trip but the last, which sends as many at once again.
    def flight(first, segments, window):
        sent = "".join(
            f"\n+0 > . {at}:{at + 1460}(1460) ack 1 win 502"
            for at in range(first, first + 1460 * segments, 1460)
        )
        return f"{sent}\n+.020 < . 1:1(0) ack {first + 1460 * segments} win {window}"

    size = 12 * 1460
    flights = [flight(1 + turn * size, 12, size if turn < 9 else 65535) for turn in range(10)]
    opening = "0 > S 0:0(0) win 64240 <mss 1460>\n+.020 < S. 0:0(0) ack 1 win 17520 <mss 1460>"
    text = "\n".join([opening, *flights, flight(1 + 10 * size, 44, 65535)])
    flow = bdpcap.analyze(io.BytesIO(pcap(scenario(text)))).flow(0)
    assert flow.summary["limit"] == "rwnd"
    assert rwnd._allowed(flow) == "17,520 bytes for most of that time, 65,535 bytes at most"
