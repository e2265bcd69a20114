"""Why these numbers: windows forward and backward, what it would take, and every finding on a flow that shows it."""

import io
import json
import re
from dataclasses import replace

import dpkt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import KEPT, ROOT, SHARED
from packets import Address, Packet, icmp_error, pcap, tcp_packet
from scenario import CLIENT, scenario

import bdpcap
from bdpcap.cli import main
from bdpcap.diagnosis import phases
from bdpcap.diagnosis.findings import findings
from bdpcap.explain import ceilings, sendbuf
from bdpcap.explain.buffers import sayable
from bdpcap.explain.findings import Code, path_mtu
from bdpcap.explain.kernels import Kernel
from bdpcap.explain.remedies.scaling import scaling_of
from bdpcap.explain.solver import Exactness, Facts
from bdpcap.report import notes, text

SAMPLES = ROOT / "sample_captures"


# the send side


def test_what_was_in_flight_lies_within_what_so_sndbuf_bounds():
    # Linux 6.18, sk_sndbuf 131072: writes of one segment, ten, 64 KiB; and SO_SNDBUF 24000 with ten segments a write.
    for setting, flight in [(65_536, 83_984), (65_536, 115_840), (65_536, 130_320), (24_000, 59_368)]:
        made = sendbuf.SendBuffer.of(setting)
        assert made.flight_low - 1448 <= flight <= made.flight_high  # a segment: the plateau ends between two
        low, high = sendbuf.settings_for(flight)
        assert low <= setting <= high


@given(st.integers(10_000, 10**8))
def test_the_send_buffer_advised_keeps_the_path_full_after_the_writer_slept(flight):
    made = sendbuf.SendBuffer.of(sendbuf.least_setting(flight))
    assert made.flight_low * sendbuf.WAKE_SHARE >= flight - 1


# findings


def codes(flow, **how):
    return {finding.code: finding for finding in findings(flow, **how)}


def sample(name):
    return bdpcap.analyze(SAMPLES / name).flow(0)


def transfer(name):
    return bdpcap.analyze(KEPT / "retransmissions" / name / "sender.pcap.zst").flow(0)


def dialogue(
    rounds=30, segments=5, segment=1460, *, wscale=True, handshake=True, window=7300, scale=0, wait="+.100"
):
    """A client that sends so many segments a round trip; seen at the client."""
    option = f",wscale {scale}" if wscale else ""
    lines = [
        "0 > S 0:0(0) win 64240 <mss 1460,wscale 7>",
        f"+.100 < S. 0:0(0) ack 1 win {min(65535, window << scale)} <mss 1460{option}>",
        "+0 > . 1:1(0) ack 1 win 502",
    ]
    lines = lines if handshake else []
    at = 1
    for _ in range(rounds):
        for number in range(segments):
            end = at + segment
            lines.append(f"+{'.001' if number == 0 else '.00001'} > . {at}:{end}({segment}) ack 1 win 502")
            at = end
        lines.append(f"{wait} < . 1:1(0) ack {at} win {window}")
    return scenario("\n".join(lines))


def http2():
    """A program that sends 65,535 bytes and 246 of framing, and waits; TCP's window has room."""
    packets = [
        "0 > S 0:0(0) win 64240 <mss 1460,wscale 7>",
        "+.040 < S. 0:0(0) ack 1 win 65535 <mss 1460,wscale 7>",
    ]
    packets.append("+0 > . 1:1(0) ack 1 win 502")
    at = 1
    for _ in range(40):
        for number in range(46):
            end = at + (1460 if number < 45 else 65_781 - 45 * 1460)
            packets.append(f"+{'.001' if number == 0 else '.00001'} > . {at}:{end}({end - at}) ack 1 win 502")
            at = end
        packets.append(f"+.040 < . 1:1(0) ack {at} win 2000")
    return scenario("\n".join(packets))


def without_scale(options="mss 1460,sackOK,TS val 1 ecr 0,nop,nop,nop,nop", window=64240):
    """A transfer whose SYN is that of Linux, with three no operations where the window scale was."""
    return scenario(
        f"0 > S 0:0(0) win {window} <{options}>\n"
        "+.020 < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,TS val 1 ecr 1>\n"
        "+0 > . 1:1449(1448) ack 1 win 502\n"
        "+.020 < . 1:1(0) ack 1449 win 65160"
    )


def beside_datagrams():
    """The dialogue, and as many datagrams of a thousand bytes the same way."""
    packets = dialogue()
    way = dpkt.ethernet.Ethernet(packets[0].data).data
    udp = dpkt.udp.UDP(sport=9000, dport=9001, ulen=1008, data=bytes(1000))
    ip = dpkt.ip.IP(src=way.src, dst=way.dst, p=17, ttl=64, len=1028, data=udp)
    frame = bytes(dpkt.ethernet.Ethernet(type=dpkt.ethernet.ETH_TYPE_IP, data=ip))
    packets += [Packet(packet.time_ns, frame, len(frame)) for packet in packets]
    return sorted(packets, key=lambda packet: packet.time_ns)


def shown(packets):
    return bdpcap.analyze(io.BytesIO(pcap(packets))).flow(0)


def through_proxy(client="10.0.2.15", server="8.8.8.8", option="", answer=0.0001, port=40_000):
    """A virtual machine whose host ends TCP: it asks the server, answers the SYN with an MSS only, and then at once."""
    dialogue = f"""
    0     > S  0:0(0) win 64240 <mss 1460,wscale 7>
    +.025 < S. 0:0(0) ack 1 win 65535 <mss 1460{option}>
    +0    > .  1:1(0) ack 1 win 64240
    +.001 > P. 1:201(200) ack 1 win 64240
    +{answer:.4f} < . 1:1(0) ack 201 win 65535
    +.025 < P. 1:1461(1460) ack 201 win 65535
    +0    > .  201:201(0) ack 1461 win 64240
    +.001 > P. 201:401(200) ack 1461 win 64240
    +{answer:.4f} < . 1461:1461(0) ack 401 win 65535
    """
    return scenario(dialogue, client=Address(client, port), server=Address(server, 443))


def through_a_tunnel(kind=3, code=4, resent_s=0.002, quoted_bytes=1500, client=CLIENT):
    """Two segments that a router refuses, as a tunnel behind it carries 1,400 bytes; the sender sends smaller ones.

    The messages quote their headers with another length, if that is not 1,500 bytes.
    """
    dialogue = f"""
    0     > S  0:0(0) win 64240 <mss 1460>
    +.025 < S. 0:0(0) ack 1 win 65535 <mss 1460>
    +0    > .  1:1(0) ack 1 win 64240
    +.001 > .  1:1461(1460) ack 1 win 64240
    +0    > .  1461:2921(1460) ack 1 win 64240
    +{resent_s} > .  1:1361(1360) ack 1 win 64240
    +0    > .  1361:2721(1360) ack 1 win 64240
    +0    > P. 2721:2921(200) ack 1 win 64240
    +.025 < .  1:1(0) ack 2921 win 65535
    """
    packets = scenario(dialogue, client=client)
    quoted = [
        replace(one, data=one.data[:16] + quoted_bytes.to_bytes(2) + one.data[18:]) for one in packets[3:5]
    ]
    refused = [icmp_error(packets[4].time_ns + 1000, one, kind=kind, code=code, mtu=1400) for one in quoted]
    return packets[:5] + refused + packets[5:]


SHOWN_BY = {
    Code.PATH_CHANGED: lambda: one_by_one([20] * 25 + [32] * 25),
    Code.WINDOW_BELOW_BDP: lambda: sample("linux61_advwinscale2_w50000.pcap.zst"),
    Code.WINDOW_SETTING: lambda: sample("linux61_advwinscale2_w50000.pcap.zst"),
    Code.WINDOW_FIELD_FULL: lambda: sample("rwnd_ipv6_drops.sender.pcapng.zst"),
    Code.SEGMENT_KEPT_BACK: lambda: sample("linux61_advwinscale2_w50000.pcap.zst"),
    Code.BUFFER_DOUBLED: lambda: sample("linux61_advwinscale2_w50000.pcap.zst"),
    Code.WINDOW_PREDICTED: lambda: sample("linux61_advwinscale2_w50000.pcap.zst"),
    Code.WINDOW_RAMP: lambda: sample("linux61_advwinscale2_w50000.pcap.zst"),
    Code.SLOW_READER: lambda: sample("rwnd_slow_reader.sender.pcap.zst"),
    Code.SEND_BUFFER: lambda: sample("sndbuf_24k_15ms.sender.pcap.zst"),
    Code.SEND_BUFFER_SHARE: lambda: sample("sndbuf_24k_15ms.sender.pcap.zst"),
    Code.SEND_BUFFER_PREDICTED: lambda: sample("sndbuf_24k_15ms.sender.pcap.zst"),
    Code.LINK_FULL: lambda: sample("link_5_100ms_bloat.sender.pcap.zst"),
    Code.CONGESTION_WINDOW: lambda: sample("cwnd_loss_2pct.sender.pcap.zst"),
    Code.SENDER_IDLE: lambda: sample("app_small_writes.sender.pcap.zst"),
    Code.REQUEST_RESPONSE: lambda: bdpcap.analyze(KEPT / "exchanges" / "client.pcap.zst").flow(0),
    Code.APPLICATION_WINDOW: lambda: shown(http2()),
    Code.WHAT_IT_TAKES: lambda: sample("linux61_advwinscale2_w50000.pcap.zst"),
    Code.UDP_BESIDE: lambda: shown(beside_datagrams()),
    Code.TIMEOUTS: lambda: transfer("outages"),
    Code.SPURIOUS_RETRANSMISSIONS: lambda: transfer("reordering"),
    Code.QUEUE_STANDING: lambda: sample("link_5_100ms_bloat.sender.pcap.zst"),
    Code.WINDOW_UNSCALED: lambda: shown(dialogue(wscale=False)),
    Code.WINDOW_SCALE_UNKNOWN: lambda: shown(dialogue(handshake=False)),
    Code.CAPTURE_INCOMPLETE: lambda: shown(
        [packet for at, packet in enumerate(dialogue(60)) if at < 3 or packet.wire_length > 1000]
    ),
    Code.WINDOW_SCALE_REWRITTEN: lambda: shown(dialogue(segments=20, window=7300)),
    Code.SYN_CHANGED: lambda: shown(without_scale()),
    Code.SEGMENT_SIZE: lambda: shown(dialogue()),
    Code.PATH_MTU: lambda: shown(through_a_tunnel()),
    Code.OFFLOAD: lambda: shown(dialogue(segments=2, segment=5840, window=11680)),
    Code.DELAY_BEFORE_TAP: lambda: sample("cwnd_loss_2pct.middle.pcap.zst"),
    Code.PROXY: lambda: shown(through_proxy()),
}
PAGE = (ROOT / "docs" / "explanations.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([a-z-]+)\n\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


# No flow may leave a part out: tests/test_agreement.py has that.
@pytest.mark.parametrize("code", [code for code in Code if code is not Code.LEFT_OUT])
def test_every_finding_fires_on_a_flow_that_shows_it_and_its_source_is_on_the_page(code):
    facts = Facts(rcvbuf=50_000, sndbuf=24_000) if code.endswith("predicted") else None
    finding = codes(SHOWN_BY[code](), facts=facts)[code]
    assert re.search(r"\d", finding.sentence) or code is Code.WINDOW_SCALE_UNKNOWN
    assert finding.cause
    named = re.findall(r"RFC \d+|\w+\(\)", finding.source)
    assert all(name in SECTIONS[code] for name in named), named


def test_the_page_explains_every_code_and_no_other():
    assert list(SECTIONS) == [str(code) for code in Code]
    for section in SECTIONS.values():
        assert re.findall(r"^- (\w+):", section, re.MULTILINE) == ["Fires", "Arithmetic", "Source"]


def test_packets_too_big_for_the_path_name_the_router_and_its_mtu():
    finding = codes(shown(through_a_tunnel()))[Code.PATH_MTU]
    assert finding.values == {"refused_packets": 2, "refused_bytes": 2920, "mtu_bytes": 1400}
    assert "203.0.113.9 refused 2 packets: it carries packets of at most 1,400 bytes" in finding.sentence
    assert finding.frames == (6, 7)
    # Another message about the same packets, that the host is unreachable, says nothing of their size.
    assert Code.PATH_MTU not in codes(shown(through_a_tunnel(code=1)))


@pytest.mark.parametrize(("quoted_bytes", "sized"), [(1401, True), (1400, False), (548, False)])
def test_a_quote_that_the_link_would_carry_has_no_size(quoted_bytes, sized):
    flow = shown(through_a_tunnel(quoted_bytes=quoted_bytes))
    finding = codes(flow)[Code.PATH_MTU]
    assert ("refused_bytes" in finding.values) == sized
    assert ("They had to be sent again" in finding.sentence) != sized
    # Whatever the quotes say, each packet was larger than 1,400 bytes: most of the 2,920 bytes that came again.
    assert path_mtu.most_resent(flow)


def test_a_note_on_packets_too_big_orders_nothing_beside_another_advice():
    flow = shown(through_a_tunnel())
    (note,) = (one for one in notes.notes(flow) if "refused" in one)
    assert note.endswith("had to be sent again. MSS clamping at the router avoids that.")
    assert path_mtu.ADVICE not in note
    assert flow.remedy.words != path_mtu.ADVICE


def test_a_router_that_refuses_packets_of_small_flows_is_named(tmp_path):
    # No flow of so many small ones has an entry that could say it.
    clients = [Address("192.0.2.1", 40_000 + number) for number in range(12)]
    packets = [packet for client in clients for packet in through_a_tunnel(client=client)]
    file = tmp_path / "small.pcap"
    file.write_bytes(pcap(sorted(packets, key=lambda packet: packet.time_ns)))
    said = " ".join(text(bdpcap.analyze(file)).split())
    refused = "A router at 203.0.113.9 refused 24 packets of 12 flows, as it carries at most 1,400 bytes."
    assert f"{refused} Let the router lower the MSS" in said
    assert "nothing to mend" not in said.lower()


def test_data_that_a_router_refused_were_not_lost_by_congestion():
    flow = shown(through_a_tunnel())
    assert flow.summary["retransmitted_bytes"] > 0
    assert phases.phase_of(flow, flow.rtts) == "too big"
    assert phases.phase_of(shown(through_a_tunnel(code=1)), flow.rtts) == "recovery"


def test_a_conversation_with_refused_packets_asks_for_another_mss():
    exchanges = "".join(
        f"""
        {0.1 + n / 10} > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + 300 * n} win 64240
        +.025 < P. {1 + 300 * n}:{301 + 300 * n}(300) ack {101 + 100 * n} win 65535
        """
        for n in range(6)
    )
    packets = scenario(f"""
    0     > S  0:0(0) win 64240 <mss 1460>
    +.025 < S. 0:0(0) ack 1 win 65535 <mss 1460>
    +0    > .  1:1(0) ack 1 win 64240
    {exchanges}
    .8    > .  601:2061(1460) ack 1801 win 64240
    +0    > P. 2061:3521(1460) ack 1801 win 64240
    +.002 > .  601:1961(1360) ack 1801 win 64240
    +0    > .  1961:3321(1360) ack 1801 win 64240
    +0    > P. 3321:3521(200) ack 1801 win 64240
    +.025 < P. 1801:2101(300) ack 3521 win 65535
    """)
    refused = [
        icmp_error(packets[-5].time_ns + 1000, one, kind=3, code=4, mtu=1400) for one in packets[-6:-4]
    ]
    flow = shown(packets[:-4] + refused + packets[-4:])
    assert flow.verdict.startswith("Requests and responses")
    assert flow.verdict.endswith(
        "of the bytes that both ends sent were retransmissions. A router at 203.0.113.9 refused 2 packets: it carries "
        "packets of at most 1,400 bytes."
    )
    assert (flow.remedy.where, flow.remedy.words) == ("the router, 203.0.113.9", path_mtu.ADVICE)
    # The sentence stands once.
    assert not any("refused" in one for one in notes.notes(flow))
    # Without the router's messages, two packets were lost once, and repaired within 2 ms.
    assert shown(packets).remedy.words != path_mtu.ADVICE


def test_refused_packets_that_were_resent_late_are_no_outage():
    flow = shown(through_a_tunnel(resent_s=3))
    assert flow.verdict.startswith("Packets too big for the path held the sender back")
    assert flow.remedy.where == "the router, 203.0.113.9"
    # Without the router's word on their size, the same wait is one.
    assert shown(through_a_tunnel(resent_s=3, code=1)).verdict.startswith("Outage")


def test_offload_names_what_to_type_and_how_large_the_segments_were():
    told = codes(SHOWN_BY[Code.OFFLOAD]())[Code.OFFLOAD]
    assert told.values == {"largest_bytes": 5840, "mss_bytes": 1460}
    assert "turn offload off" in told.remedy
    # The SYNs of this dialogue show no system, so no system's command is given.
    assert not told.commands
    assert Code.OFFLOAD not in codes(shown(dialogue(handshake=False)))


def test_the_tap_behind_the_delay_is_told_with_both_half_round_trips():
    told = codes(sample("linux61_advwinscale2_w50000.pcap.zst"))[Code.DELAY_BEFORE_TAP].values
    # netem held each way for 20 ms, and the tap stood behind one of them; the bottleneck queued the rest.
    assert 20e6 <= told["sender_side_ns"] < 21e6
    assert 20e6 <= told["receiver_side_ns"] < 25e6


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"server": "10.0.2.2"}, id="both are private"),
        pytest.param({"client": "1.1.1.1"}, id="both are public"),
        pytest.param({"option": ",wscale 7"}, id="a host that scales windows"),
        pytest.param({"answer": 0.02}, id="data take 20 ms"),
        pytest.param({"answer": 0}, id="equal time stamps"),
    ],
)
def test_a_server_on_the_internet_is_no_proxy(other):
    assert Code.PROXY in codes(shown(through_proxy()))
    assert Code.PROXY not in codes(shown(through_proxy(**other)))


@pytest.mark.parametrize(
    ("networks", "answer", "held"), [(3, 0.002, True), (2, 0.002, False), (3, 0.02, False)]
)
def test_hosts_of_several_networks_next_to_a_private_one_are_a_proxy(networks, answer, held):
    # Their windows are scaled, and their packets passed no router.
    packets = [
        packet
        for one in range(networks)
        for packet in through_proxy(
            server=f"{20 + one}.0.0.1", port=40_000 + one, option=",wscale 7", answer=answer
        )
    ]
    found = codes(shown(packets))
    assert (Code.PROXY in found) == held
    assert not held or "several networks" in found[Code.PROXY].evidence


@pytest.mark.parametrize(
    ("own", "other", "held"),
    [
        pytest.param({}, {}, True, id="the gateway of the same host"),
        pytest.param({}, None, False, id="no SYN shows a gateway"),
        pytest.param({}, {"client": "10.0.2.16"}, False, id="another host's gateway"),
        pytest.param({}, {"option": ",wscale 7"}, False, id="another connection scales windows"),
        pytest.param({"answer": 0.02}, {}, False, id="data take 20 ms"),
    ],
)
def test_a_gateway_that_one_connection_shows_is_that_of_others_without_their_syns(own, other, held):
    packets = through_proxy(port=40_001, server="9.9.9.9", **own)[3:]
    found = codes(shown(packets if other is None else packets + through_proxy(**other)))
    assert (Code.PROXY in found) == held
    if held:
        told = found[Code.PROXY]
        # The client's data were acknowledged after 0.1 ms; its own acknowledgments left at once.
        assert told.values["rtt_ns"] == 100_000
        assert told.evidence.endswith("of another connection of the same host")


def test_an_mss_that_was_lowered_on_the_way_is_told_with_the_one_before():
    # Linux rounds its first window down to whole segments: 44 x 1,460, but no whole number of 1,400.
    options = "mss 1400,sackOK,TS val 1 ecr 0,nop,wscale 7"
    told = codes(shown(without_scale(options)))[Code.SYN_CHANGED].values
    assert told == {"mss_bytes": 1400, "sent_mss_bytes": 1460}
    assert Code.SYN_CHANGED not in codes(shown(without_scale(options, window=63_000)))


def test_a_scale_whose_other_syn_is_missing_is_taken_to_be_in_force():
    # RFC 7323 section 2.2: both SYNs must carry it; the capture has the receiver's alone.
    flow = shown(dialogue(window=7300, scale=4)[1:])
    told = codes(flow)
    assert told[Code.WINDOW_SCALE_UNKNOWN].values == {"window_scale": 4}
    assert Code.WINDOW_UNSCALED not in told
    assert "scaling" not in codes(flow, rate_bps=1e9)[Code.WHAT_IT_TAKES].remedy


def test_a_scale_that_the_sender_does_not_know_stops_it_at_the_field():
    # The capture shows scale 7, so 16 x 1460 x 128 bytes; the sender goes by the field alone.
    told = codes(shown(dialogue(segments=16, window=16 * 1460, scale=7)))[Code.WINDOW_SCALE_REWRITTEN]
    assert told.values == {"window_scale": 7, "implied_scale": 0}


def test_a_plain_transfer_is_not_called_odd():
    plain = set(codes(shown(dialogue())))
    odd = {
        Code.OFFLOAD,
        Code.WINDOW_SCALE_REWRITTEN,
        Code.WINDOW_UNSCALED,
        Code.WINDOW_SCALE_UNKNOWN,
        Code.SLOW_READER,
    }
    assert not plain & odd


def test_the_segment_kept_back_is_told_with_the_kernels_reason():
    finding = codes(sample("linux61_advwinscale2_w50000.pcap.zst"))[Code.SEGMENT_KEPT_BACK]
    assert finding.sentence.startswith(
        "Why 73,552 and not 75,000: the difference, 1,448 bytes, is one segment"
    )
    assert "tcp_init_buffer_space" in finding.source
    # 50,000 is so round that a window which matches it by chance is rare.
    assert finding.exactness is Exactness.EXACT


@pytest.mark.usefixtures("need_shared")
def test_a_full_link_is_told_by_what_it_carried_and_by_a_round_like_the_others():
    # Its bottleneck stalls for 200 ms at times, so that its best rate is not what it gives.
    (name,) = (SHARED / "captures" / "public" / "m-lab__etl").glob("*5B9EA.pcap.gz")
    capture = bdpcap.analyze(name)
    flow = capture.flow(0, capture.flows.set_index("limit").loc["link", "sender"])
    told = codes(flow)[Code.LINK_FULL]
    busy = flow.rtts[flow.rtts["limit"] == "link"]
    lasting = busy["end_ns"] - busy["start_ns"]
    rate = busy["acked_bytes"] * 8e9 / lasting
    assert told.values["carried_bps"] == pytest.approx((rate * lasting).sum() / lasting.sum())
    assert told.values["carried_bps"] < 0.8 * told.values["capacity_bps"]
    number = int(re.search(r"In the median one, (\d+): ", told.evidence)[1])
    assert (rate < rate[busy["round"] == number].iloc[0]).mean() == pytest.approx(0.5, abs=0.01)


@pytest.mark.usefixtures("need_shared")
def test_a_clamped_congestion_window_is_told_from_loss():
    # Its route had "cwnd 20 lock"; one tail loss probe was sent.
    capture = bdpcap.analyze(SHARED / "captures/linux61/cwndlock20/sender.pcap.zst")
    told = codes(capture.flow(0, capture.flows["sender"].iloc[0]))[Code.CONGESTION_WINDOW]
    assert "clamps" in told.sentence
    assert any("ip route" in command for command in told.commands)


def test_after_loss_the_congestion_control_in_force_is_looked_at_before_it_is_changed():
    # Linux has CUBIC by default, so that setting it is no help unless something else was set.
    told = codes(sample("cwnd_loss_2pct.sender.pcap.zst"))[Code.CONGESTION_WINDOW]
    # One line for what was seen: 2 % of packets, one by one.
    (command,) = told.commands
    assert command.startswith("[ $(sysctl -n net.ipv4.tcp_congestion_control) = bbr ] ||")


def test_frames_of_a_finding_are_frames_of_the_capture():
    flow = sample("linux61_advwinscale2_w50000.pcap.zst")
    for finding in flow.findings:
        if finding.frames:
            first, last = finding.frames
            assert 1 <= first <= last <= flow.capture.info.frames


def test_the_window_stands_in_the_frames_that_a_finding_names():
    flow = sample("linux61_advwinscale2_w50000.pcap.zst")
    first, last = codes(flow)[Code.WINDOW_SETTING].frames
    events = flow.events
    inside = events[(events["frame"] >= first) & (events["frame"] <= last)]
    assert inside["window_bytes"].max() == 73_552


@pytest.mark.usefixtures("need_shared")
@pytest.mark.parametrize(("value", "window"), [(50_000, 73_552), (75_000, 111_052), (100_000, 148_552)])
def test_the_kernels_own_case_is_predicted_from_its_settings(value, window):
    flow = bdpcap.analyze(SHARED / "captures" / "seed" / f"linux61_advwinscale2_w{value}.pcap.zst").flow(0)
    told = codes(flow, facts=Facts(rcvbuf=value, kernel=Kernel(6, 1), adv_win_scale=2))
    assert told[Code.WINDOW_PREDICTED].exactness is Exactness.EXACT
    assert told[Code.WINDOW_PREDICTED].values["predicted_bytes"] == {"linux-2.6-3.3": window}
    other = codes(flow, facts=Facts(rcvbuf=value + 10_000, kernel=Kernel(6, 1), adv_win_scale=2))
    assert other[Code.WINDOW_PREDICTED].exactness is Exactness.NONE


@pytest.mark.usefixtures("need_shared")
@pytest.mark.parametrize("name", ["sndbuf_24k_15ms", "sndbuf_96k_40ms", "sndbuf_200k_80ms"])
def test_the_send_buffer_that_was_set_is_within_the_span_told(name):
    setting = {"sndbuf_24k_15ms": 24_000, "sndbuf_96k_40ms": 98_304, "sndbuf_200k_80ms": 200_000}[name]
    flow = bdpcap.analyze(SHARED / "captures" / "lab" / name / "sender.pcap.zst").flow(0)
    values = codes(flow)[Code.SEND_BUFFER].values
    assert values["so_sndbuf_low"] <= setting <= values["so_sndbuf_high"]


# what it would take


@pytest.mark.usefixtures("need_shared")
def test_without_window_scaling_no_buffer_is_advised_before_it():
    flow = bdpcap.analyze(SHARED / "captures" / "lab" / "rwnd_unscaled_60ms" / "sender.pcap.zst").flow(0)
    told = codes(flow)
    for code in (Code.WINDOW_BELOW_BDP, Code.WHAT_IT_TAKES):
        assert told[code].remedy.startswith("Turn window scaling on at the receiver first")
        assert "tcp_window_scaling=1" in told[code].commands[0]
    # 45 segments were the first window, so the 65,535 are not a default's first ones.
    assert Code.WINDOW_SETTING not in told
    # 5 Mbit/s x 60 ms = 37,644 bytes need no scale.
    assert "scaling" not in codes(flow, rate_bps=5e6)[Code.WHAT_IT_TAKES].remedy


def test_another_link_and_another_path_are_reckoned_for():
    summary = sample("linux61_advwinscale2_w50000.pcap.zst").summary
    # The note's own path: 100 Mbit/s x 10 ms = 125,000 bytes, 166,667 bytes of buffer at three quarters.
    ceiling = ceilings.of(summary, rate_bps=100e6, rtt_ns=10_000_000)
    assert ceiling.bdp_bytes == 125_000
    assert ceiling.ceiling_bps == pytest.approx(73_552 * 8 / 0.010)
    # Doubled by the kernel, and one segment kept back: within a segment's share of half of 166,667.
    assert 166_667 / 2 <= ceiling.rcvbuf["linux-2.6-3.3"] <= 166_667 / 2 + 1448


def test_a_standing_queue_warns_of_larger_windows():
    assert (
        "larger window would lengthen it"
        in ceilings.of(sample("link_5_100ms_bloat.sender.pcap.zst").summary).queue
    )
    assert not ceilings.of(sample("linux61_advwinscale2_w50000.pcap.zst").summary).queue


def test_where_the_window_suffices_no_larger_buffer_is_advised():
    flow = sample("link_5_100ms_bloat.sender.pcap.zst")
    told = codes(flow, rate_bps=50e6)[Code.WHAT_IT_TAKES]
    assert "large enough" in told.remedy
    assert not any("receiver" in command for command in told.commands)
    short = codes(flow, rate_bps=1e9)[Code.WHAT_IT_TAKES]
    assert any("-w" in command for command in short.commands)


# the command


def test_a_window_is_explained_without_a_capture(capsys):
    assert main(["explain", "--window", "73552", "--mss", "1448"]) == 0
    said = capsys.readouterr().out
    # Of 2 x 50,000 x 3/4 and 2 x 75,000 x 1/2, the setting with the rounder number is likelier.
    assert said.index("SO_RCVBUF 50,000") < said.index("SO_RCVBUF 75,000")
    assert max(map(len, said.splitlines())) <= 80


def test_the_longest_addresses_fit_80_columns(capsys, tmp_path):
    client, server = (Address(f"2001:db8:1111:2222:3333:4444:5555:{end}666", 50_000) for end in (6, 7))
    path = tmp_path / "ipv6.pcap"
    path.write_bytes(pcap([tcp_packet(number, client, server, seq=1, payload_bytes=9) for number in (1, 2)]))
    assert main(["explain", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    # Neither address is broken.
    assert [any(str(end) in line for line in lines) for end in (client, server)] == [True, True]


def test_a_path_is_reckoned_for_without_a_capture_too(capsys):
    path = ["--link-rate", "25Mbit/s", "--rtt", "40ms", "--kernel", "6.1", "--format", "json"]
    for known, ceiling in ((["--window", "73552"], 14_710_400.0), (["--sndbuf", "24000"], None)):
        assert main(["explain", *known, *path]) == 0
        row = json.loads(capsys.readouterr().out)["rows"][0]
        assert row["code"] == Code.WHAT_IT_TAKES
        # 25 Mbit/s x 40 ms / 8; 73,552 x 8 / 40 ms; and at one half, a segment kept back, rounded up to an even window.
        assert row["values"]["bdp_bytes"] == 125_000
        assert row["values"]["ceiling_bps"] == ceiling
        assert row["values"]["so_rcvbuf_bytes"] == {"linux-3.4-6.5": 125_000 + 1448 - 1}


@pytest.mark.parametrize(
    ("window", "scale", "said"),
    [
        (65_535, 0, True),
        (65_535 << 14, 14, True),
        (65_535 << 14, 13, False),
        ((65_535 << 14) + 1, None, False),
    ],
)
def test_a_window_is_16_bits_shifted_by_the_scale(window, scale, said):
    assert sayable(window, scale) is said


def test_the_command_and_the_flow_tell_the_same(capsys):
    capture = SAMPLES / "linux61_advwinscale2_w50000.pcap.zst"
    assert main(["explain", str(capture), "--stream", "0", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    flow = bdpcap.analyze(capture).flow(0)
    mine = [row for row in rows if row["sender"] == flow.sender]
    assert [(row["code"], row["sentence"]) for row in mine] == [
        (finding.code, finding.sentence) for finding in flow.findings
    ]
    assert mine[0]["values"] == flow.findings[0].values


@pytest.mark.parametrize(
    "arguments",
    [
        ["--kernel", "new", "--window", "73552"],
        ["--window", "73k"],
        ["--window", "0.4"],
        # What no 16 bits and no scale say: more than 65,535, or odd where shifted; and more than 65,535 << 14.
        ["--window", "65536", "--window-scale", "0"],
        ["--window", "73553", "--window-scale", "1"],
        ["--window", "73553"],
        ["--window", "10GiB"],
        # What would go unused.
        ["--window", "73552", "--rtt", "40ms"],
        ["--window", "73552", "--stream", "0"],
        ["--sndbuf", "24000", "--kernel", "6.1"],
        ["--sndbuf", "24000", "--mss", "1448"],
        ["--sndbuf", "24000", "--link-rate", "25Mbit/s", "--rtt", "40ms", "--window-scale", "2"],
        ["--sndbuf", "24000", "--rmem-max", "212992"],
        ["--window", "73552", "--rmem", "4096 131072"],
        ["--window", "73552", "--rmem", "4096 131072 65536"],
        ["--mss", "1448", str(SAMPLES / "linux61_advwinscale2_w50000.pcap.zst")],
        [],
        ["--window", "73552", str(SAMPLES / "linux61_advwinscale2_w50000.pcap.zst")],
    ],
)
def test_what_cannot_be_read_is_one_line_and_exit_code_2(arguments, capsys):
    assert main(["explain", *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_facts_decide_on_the_command_line_too(capsys):
    arguments = ["--window", "73552", "--rcvbuf", "50000", "--adv-win-scale", "2", "--kernel", "6.1"]
    assert main(["explain", *arguments]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The 73,552 seen agree: 2 x 50,000 x 3/4 - 1,448 = 73,552." in said
    assert "75,000 x 1/2" not in said


def test_sysctls_are_facts_as_sysctl_prints_them(capsys):
    facts = ["--rcvbuf", "16MiB", "--rmem-max", "8388608", "--kernel", "2.6.12"]
    assert main(["explain", "--window", "6293248", *facts, "--format", "json"]) == 0
    predicted, told, *_ = json.loads(capsys.readouterr().out)["rows"]
    assert predicted["exactness"] == told["exactness"] == Exactness.EXACT
    rmem = ["--rmem", "4096\t87380 262144", "--kernel", "6.1"]
    assert main(["explain", "--window", "131072", *rmem, "--format", "json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["rows"]
    assert told["values"]["answers"][0]["setting"] == "net.ipv4.tcp_rmem[2]"
    assert told["values"]["answers"][0]["value"] == 262_144


# changes of the path


def one_by_one(rtts_ms, segments=1, tick_ns=1):
    """So many segments at a time, each group acknowledged after the next of these round trips."""
    lines = [
        "0 > S 0:0(0) win 64240 <mss 1460,wscale 7>",
        f"+{rtts_ms[0] / 1000:.4f} < S. 0:0(0) ack 1 win 65535 <mss 1460,wscale 7>",
        "+0 > . 1:1(0) ack 1 win 502",
    ]
    at = 1
    for number, rtt_ms in enumerate(rtts_ms):
        count = segments[number] if isinstance(segments, list) else segments
        for _ in range(count):
            lines.append(f"+.0001 > P. {at}:{at + 1000}(1000) ack 1 win 502")
            at += 1000
        lines.append(f"+{rtt_ms / 1000:.4f} < . 1:1(0) ack {at} win 502")
    packets = [replace(p, time_ns=p.time_ns // tick_ns * tick_ns) for p in scenario("\n".join(lines))]
    return bdpcap.analyze(io.BytesIO(pcap(packets))).flow(0)


@pytest.mark.parametrize(("before_ms", "after_ms"), [(20, 32), (32, 20)])
def test_a_step_of_the_least_round_trip_is_a_change_of_the_path(before_ms, after_ms):
    finding = codes(one_by_one([before_ms] * 25 + [after_ms] * 25))[Code.PATH_CHANGED]
    assert finding.values["rtt_before_ns"] == pytest.approx(before_ms * 1e6, rel=0.01)  # a burst takes 0.1 ms
    assert finding.values["rtt_after_ns"] == pytest.approx(after_ms * 1e6, rel=0.01)
    assert finding.remedy == ""


@pytest.mark.parametrize(("after_ms", "changed"), [(25, False), (40, True)], ids=["a tick", "four ticks"])
def test_a_tick_of_the_captures_clock_changes_no_path(after_ms, changed):
    # Both times of a round trip are known to a tick.
    flow = one_by_one([20] * 25 + [after_ms] * 25, tick_ns=5_000_000)
    assert flow._counts["tick_ns"] == 5_000_000
    assert (Code.PATH_CHANGED in codes(flow)) == changed


@pytest.mark.parametrize(
    ("rtts_ms", "segments"),
    [
        pytest.param([20] * 25 + [21] * 25, 1, id="within the clocks"),
        pytest.param([20] * 25 + [32] * 10, 1, id="not for long"),
        pytest.param([20, 26] * 25, 1, id="to and fro"),
        pytest.param([20] * 25 + [32] * 25, [4] * 25 + [8] * 25, id="with more in flight"),
    ],
)
def test_a_queue_or_a_clock_changes_no_path(rtts_ms, segments):
    assert Code.PATH_CHANGED not in codes(one_by_one(rtts_ms, segments))


def test_a_nat_answers_the_syn_late_and_data_at_once():
    # The server's SYN takes 25 ms; one acknowledgment of the first request shows that the sender of the answer is near.
    flow = bdpcap.analyze(io.BytesIO(pcap(through_proxy()[:7]))).flow(0, "8.8.8.8:443")
    assert flow._counts["sender_side_ns"] == 100_000
    # A window scale in both SYNs, or a router on the way, shows no NAT.
    scaled = bdpcap.analyze(io.BytesIO(pcap(through_proxy(option=",wscale 7")[:7]))).flow(0, "8.8.8.8:443")
    assert scaled._counts["sender_side_ns"] == 25_000_000


def test_a_nat_without_a_window_scale_is_no_matter_of_the_far_operator():
    flow = bdpcap.analyze(io.BytesIO(pcap(through_proxy()))).flow(0, "8.8.8.8:443")
    words = scaling_of(flow).words
    assert words.startswith("The NAT or proxy in place of 8.8.8.8 offers no window scale: ")
    assert "operator" not in words
