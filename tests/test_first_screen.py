"""The first screen: the setting behind a window, the rate to expect, and flows that are no bulk transfer."""

import csv
import io
import os
import re
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from first_screens import analyzed, connections, joined, outside, writes_at_leisure
from oracles import SAMPLES, SHARED, TESTS
from packets import Address, pcap
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap import report
from bdpcap.diagnosis import ALL, natures, places
from bdpcap.diagnosis.natures import short
from bdpcap.diagnosis.remedy import _other_buffer
from bdpcap.explain.expected import Lift
from bdpcap.report import card, headline, page, ranking, screen
from bdpcap.report.notes import notes
from bdpcap.words import units

SAYS = SHARED / "captures/wild_b/says.tsv"


CASES = (
    list(csv.DictReader(io.StringIO(SAYS.read_text(encoding="utf-8")), delimiter="\t"))
    if SAYS.exists()
    else []
)


# a window with a known setting


@pytest.fixture(scope="module")
def sample():
    (path,) = (path for path in SAMPLES if "w50000" in path.name)
    return bdpcap.analyze(path)


def test_why_73552_and_not_75000_is_on_every_first_screen(sample):
    flow = sample.flow(0)
    arithmetic = "2 x 50,000 x 3/4 - 1,448 = 73,552"
    assert str(flow.why).startswith(f"Why 73,552? {arithmetic}: SO_RCVBUF 50,000, doubled by Linux")
    # 2 x 50,000 x 3/4 are 75,000; the MSS of 1,448 bytes is kept back.
    assert "offered (75,000), less 1,448: the one segment that Linux keeps back" in str(flow.why)
    for shown in (report.text(sample), page.html(sample), card.of_flow(flow)):
        assert arithmetic in joined(shown)
    assert "Why 73,552" in page.html(sample)
    assert "\nWHY 73,552?\n" in report.text(sample)


def test_the_remedy_says_what_to_expect(sample):
    # netem gave 25 Mbit/s to frames of 1,514 bytes, of which 1,448 are payload: 23.9 Mbit/s.
    flow = sample.flow(0)
    found = re.fullmatch(r"12\.4 → about ([\d.]+) Mbit/s, then the link", flow.remedy.expected)
    assert found
    assert float(found[1]) == pytest.approx(25 * 1448 / 1514, rel=0.05)
    assert flow.remedy.where == "the receiver, 192.168.1.34"
    assert f"WHAT TO DO  expected: {flow.remedy.expected}" in report.text(sample)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_nothing_that_the_decision_needs_is_folded(path):
    capture = bdpcap.analyze(path)
    shown = outside(("script", "style", "svg", "details"), page.html(capture))
    entries = screen.entries(ranking.groups(capture)).detailed
    assert entries
    for flow in (group.flow for group in entries):
        setting = () if flow.why is None else flow.why.sentences
        advice = (str(flow.remedy), flow.remedy.expected, *flow.remedy.commands)
        for needed in (screen.head(flow), *screen.sentences(flow), *setting, *advice):
            assert joined(needed) in shown


def test_a_flow_that_no_window_limits_has_no_why():
    (path,) = (path for path in SAMPLES if path.name.startswith("cwnd_loss_2pct.sender"))
    flow = bdpcap.analyze(path).flow(0)
    assert flow.why is None
    # Nothing filled the window, and its scale lets it grow.
    assert flow.remedy.expected == "without losses up to about 94.2 Mbit/s, then the link"


def test_bursts_promise_no_rate_where_a_policer_may_drop():
    """This policer let 13.25 Mbit/s pass, and bursts four times as fast."""
    capture = bdpcap.analyze(TESTS / "data/labelled/tune/cwnd_policer/receiver.pcap.zst")
    assert capture.flow(0).remedy.expected.endswith(
        " 48.1 Mbit/s, then the link, unless a policer allows less"
    )
    assert "the network can carry" not in report.text(capture)


# the sentence on the capture

TRANSFER = """
    +.001 > P. 1:101(100)   ack 1    win 502
    +.020 < .  1:1(0)       ack 101  win 512
    +.001 < P. 1:1461(1460) ack 101  win 512
    +0    > .  101:101(0)   ack 1461 win 502
    +9    > F. 101:101(0)   ack 1461 win 502
"""


UNANSWERED = "0 > S 0:0(0) win 64240 <mss 1460>\n+1 > S 0:0(0) win 64240 <mss 1460>"


WAITED = f"{UNANSWERED}\n+2 > S 0:0(0) win 64240 <mss 1460>"


def test_failed_connections_are_no_capture_without_a_need_to_mend():
    well = scenario(HANDSHAKE + TRANSFER)
    lost = scenario(UNANSWERED, client=Address(CLIENT.host, CLIENT.port + 1))
    for packets, said in (
        (well, "; nothing in TCP needs mending."),
        (well + lost, " and need no mending; 1 connection failed."),
    ):
        capture = bdpcap.analyze(io.BytesIO(pcap(packets)))
        assert headline.summary(capture, ranking.groups(capture)).endswith(said)


@pytest.mark.parametrize(("failing", "first"), [(WAITED, True), (UNANSWERED, False)])
def test_a_wait_in_vain_stands_in_place_of_flows_that_need_no_mending(failing, first):
    lost = scenario(failing, client=Address(CLIENT.host, CLIENT.port + 1))
    shown = report.text(bdpcap.analyze(io.BytesIO(pcap(scenario(HANDSHAKE + TRANSFER) + lost))))
    assert "CONNECTIONS THAT FAILED" in shown
    # The only steps are those on the connection.
    assert "WHAT TO DO" not in shown
    assert ("need no mending" in shown) != first


def test_a_wait_in_vain_comes_before_flows_that_waited_for_their_programs():
    waited = scenario(writes_at_leisure(0.35, 0))
    lost = scenario(WAITED, client=Address(CLIENT.host, CLIENT.port + 1))
    shown = report.text(bdpcap.analyze(io.BytesIO(pcap(waited + lost))))
    titles = re.findall(r"^[A-Z][A-Z ]+(?=$|  )", shown, re.MULTILINE)
    assert titles[titles.index("VERDICT") :][:3] == ["VERDICT", "CONNECTIONS THAT FAILED", "WHAT TO DO"]
    assert "On the sender, " in shown


# the natures of flows


def test_small_packets_of_one_way_are_no_repeated_syn():
    # A server writes one large piece and 60 small ones. Neither its SYN nor an answer is in the capture.
    sizes = [1000, *[10] * 60]
    starts = [1 + sum(sizes[:place]) for place in range(len(sizes))]
    lines = [
        f"+1 < P. {at}:{at + size}({size}) ack 1 win 502" for at, size in zip(starts, sizes, strict=True)
    ]
    flow = bdpcap.analyze(io.BytesIO(pcap(scenario("\n".join(lines))))).flow(0, str(SERVER))
    assert natures.nature(flow) is not natures.NO_TCP


@pytest.mark.parametrize(
    ("server", "ttl", "told"), [("10.0.0.9", 64, True), ("10.0.0.9", 63, False), ("11.0.0.9", 64, False)]
)
def test_a_delay_without_routers_is_no_distance(server, ttl, told):
    # Round trips of 20 ms take the time of twelve requests; hosts of one network have no router between them.
    asks = "".join(
        f"+.001 > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + 200 * n} win 502\n"
        f"+.020 < P. {1 + 200 * n}:{201 + 200 * n}(200) ack {101 + 100 * n} win 500\n"
        for n in range(12)
    )
    ends = {"client": Address("10.0.0.1", 50000), "server": Address(server, 80)}
    at_ttl = 14 + 8  # in the IPv4 header, after that of Ethernet
    packets = [
        replace(one, data=one.data[:at_ttl] + bytes([ttl]) + one.data[at_ttl + 1 :])
        for one in scenario(HANDSHAKE + asks, **ends)
    ]
    said = screen.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))).flow(0))
    assert any("no router, yet a round trip takes at least 20 ms" in one for one in said) == told


@pytest.mark.parametrize(("end", "told"), [("R.", True), ("F.", False)])
def test_a_reset_in_the_middle_of_data_is_told(end, told):
    flow = analyzed(f"""
    +.001 > .  1:1461(1460)    ack 1 win 502
    +0    > .  1461:2921(1460) ack 1 win 502
    +.020 < {end} 1:1(0)       ack 2921 win 500
    +0    > .  2921:4381(1460) ack 1 win 502
    +.020 < R  1:1(0)
    """).flow(0)
    said = any("reset the connection while data still came" in one for one in screen.sentences(flow))
    assert said == told
    assert ("as at a limit of size" in flow.remedy.words) == told


@pytest.mark.parametrize("server_ms", [20, 900])
def test_what_is_to_be_mended_comes_before_a_larger_flow_that_is_fine(server_ms):
    def asks(size, server_ms, client_ms):
        return "".join(
            f"+{client_ms / 1000} > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + size * n} win 502\n"
            f"+{0.02 + server_ms / 1000} < P. {1 + size * n}:{1 + size * (n + 1)}({size}) ack {101 + 100 * n} win 500\n"
            for n in range(12)
        )

    # A person reads each answer of the first stream for two seconds. The server of the second takes its time, or not.
    capture = connections(asks(1400, 5, 2000), asks(700, server_ms, 10 if server_ms > 100 else 2000))
    found = screen.entries(ranking.groups(capture))
    first = [bool(group.flow.remedy.where) for group in found.detailed]
    assert first == [server_ms > 100]
    assert found.detailed[0].flow.stream == (1 if server_ms > 100 else 0)


@pytest.mark.parametrize(
    ("address", "names"),
    [("127.0.0.1", ("127.0.0.1:40000", "127.0.0.1:443")), ("192.0.2.9", ("192.0.2.9", "127.0.0.1"))],
)
def test_ends_with_one_address_are_named_by_their_ports(address, names):
    packets = scenario(
        HANDSHAKE + TRANSFER, client=Address(address, 40_000), server=Address("127.0.0.1", 443)
    )
    flow = bdpcap.analyze(io.BytesIO(pcap(packets))).flow(0)
    client, server = names
    assert {places.sender(flow), places.receiver(flow)} == {
        f"the sender, {server}",
        f"the receiver, {client}",
    }


@pytest.mark.usefixtures("need_shared")
def test_two_limits_that_held_about_as_long_are_both_named():
    """An autotuned send buffer and the congestion window grow together, and take turns."""
    flow = bdpcap.analyze(SHARED / "captures/apps_b/apache_sendbuf/sender.pcap.zst").top()[0]
    assert re.match(
        r"send buffer \d\d %, congestion control \d\d % of .*\(confidence fair\)$", screen.head(flow)
    )


def test_an_undecided_flow_says_that_its_window_was_shut():
    # The data before the acknowledgments are not in the capture, and were not in flight as it began.
    capture = bdpcap.analyze(
        io.BytesIO(
            pcap(
                scenario("""
    0     > .  1:1(0) ack 1    win 8760
    +.001 > .  1:1(0) ack 4381 win 4380
    +.001 > .  1:1(0) ack 8761 win 0
    +1.5  > .  1:1(0) ack 8761 win 64240
    +.001 < .  8761:10221(1460)  ack 1 win 64512
    +.001 < .  10221:11681(1460) ack 1 win 64512
    """)
            )
        )
    )
    (flow,) = capture.flows.to_dict("records")
    said = screen.sentences(capture.flow(0, flow["sender"]))[-1]
    assert flow["limit"] == "unknown"
    assert said.endswith("Its receiver's window was shut for a time: the receiving program did not read.")


def test_one_packet_is_no_coarse_clock():
    flow = bdpcap.analyze(io.BytesIO(pcap(scenario("0 > P. 1:23(22) ack 1 win 502")))).flow(0)
    assert screen.sentences(flow)[-1].startswith("A single packet carried its data")
    assert "coarse" not in str(flow.remedy)


def test_a_summarized_capture_has_a_first_screen(sample):
    summarized = bdpcap.analyze(sample.info.files[0], summarize=True)
    assert report.text(summarized) == report.text(sample)
    assert [one.code for one in summarized.flow(0).findings] == [one.code for one in sample.flow(0).findings]


def test_two_digits_are_what_a_person_compares():
    assert [units.rounded(value, "bit/s") for value in (3_670_000, 36_300_000, 996_000)] == [
        "3.7 Mbit/s",
        "36 Mbit/s",
        "1.0 Mbit/s",
    ]


@pytest.mark.usefixtures("need_shared")
def test_programs_did_not_hold_what_needs_no_mending():
    # One download of 2.25 MB in slow start, of 3.43 MB in all; the other flows waited for the far ends, a second at most.
    capture = bdpcap.analyze(SHARED / "captures/wild_b/virtualbox_nat_http3.pcap.zst")
    said = headline.summary(capture, ranking.groups(capture))
    assert said == "94 flows carried 3.43 MB; nothing in TCP needs mending."


def test_a_host_of_the_internet_one_router_away_may_be_a_proxy():
    near = "> S 0:0(0) win 64240 ttl 128 <mss 1460,sackOK,wscale 7>"
    far = "< S. 0:0(0) ack 1 win 65535 ttl 63 <mss 1460,sackOK,wscale 7>"
    opens = f"0 {near}\n+.01 {far}\n+0 > . 1:1(0) ack 1 win 502"
    writes = "\n".join(
        f"+.2 > P. {1 + 1000 * at}:{1001 + 1000 * at}(1000) ack 1 win 502\n"
        f"+.3 < . 1:1(0) ack {1001 + 1000 * at} win 0 ttl 63\n"
        f"+1 < . 1:1(0) ack {1001 + 1000 * at} win 500 ttl 63"
        for at in range(9)
    )
    said = {
        server: notes(bdpcap.analyze(io.BytesIO(pcap(scenario(f"{opens}\n{writes}", server=server)))).flow(0))
        for server in (Address("128.119.245.12", 80), Address("10.1.2.3", 80))
    }
    stands_in = "By its TTL, 128.119.245.12 is one router away: a proxy may answer in its place."
    assert [stands_in in one for one in said.values()] == [True, False]


def test_packets_that_passed_a_router_are_of_a_host_behind_a_nat():
    """A router takes one from the TTL (RFC 1812 section 5.3.1); what the NAT itself sends passed none."""
    writes = "\n".join(
        f"+2 > P. {1 + 1000 * at}:{1001 + 1000 * at}(1000) ack 1 win 502 ttl {{0}}\n"
        f"+.02 < . 1:1(0) ack {1001 + 1000 * at} win 500 ttl 55"
        for at in range(9)
    )
    opens = HANDSHAKE.replace(" <mss", " ttl {0} <mss").replace(
        "> .  1:1(0) ack 1 win 502", "> . 1:1(0) ack 1 win 502 ttl {0}"
    )
    refused = scenario(REFUSED_BY_NAT, client=Address("203.0.113.9", 4000), server=Address(CLIENT.host, 22))
    for ttl, others, behind in (
        (63, refused, True),
        (63, [], False),
        (64, refused, False),
        (60, refused, False),
    ):
        packets = scenario(opens.format(ttl) + writes.format(ttl)) + others
        packets.sort(key=lambda packet: packet.time_ns)
        flow = bdpcap.analyze(io.BytesIO(pcap(packets))).flow(0)
        assert places.sender(flow) == f"the sender, {'a host behind ' if behind else ''}{CLIENT.host}"


REFUSED_BY_NAT = "0 > S 0:0(0) win 1024 ttl 45 <mss 1460>\n+.0001 < R. 0:0(0) ack 1 win 0 ttl 64"


def test_a_flow_without_news_has_no_note(sample):
    assert notes(sample.flow(0)) == []


# advice for its reader


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("silent", "both directions"),
        ("missed", "both directions"),
        ("coarse", "microseconds"),
        ("none", "handshake"),
    ],
)
def test_an_undecided_flow_is_told_what_to_capture(rule, said):
    rounds = pd.DataFrame({"rule": [rule], "detail": [None], "start_ns": [0], "end_ns": [1]})
    assert said in ALL["unknown"].cause(None, rounds).action


def test_commands_are_for_the_end_that_the_advice_names():
    for path in SAMPLES:
        for one in (group.flow.remedy for group in ranking.groups(bdpcap.analyze(path))):
            other = {"the receiver": "# sender", "the sender": "# receiver"}.get(one.where.partition(",")[0])
            assert not any(other in command for command in one.commands if other)


# real captures


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"].split(".")[0])
def test_a_real_capture_says_what_it_must_and_nothing_that_it_must_not(case):
    said = joined(report.text(bdpcap.analyze(os.fspath(SAYS.parent / case["file"]))))
    if case["must"]:
        assert re.search(case["must"], said, re.IGNORECASE), case["why"]
    if case["must_not"]:
        assert not re.search(case["must_not"], said, re.IGNORECASE), case["why"]


@pytest.mark.usefixtures("need_shared")
@pytest.mark.parametrize("view", ["sender", "receiver"])
def test_udp_that_has_most_of_the_path_is_what_to_lift_first(view):
    flow = bdpcap.analyze(SHARED / f"captures/lab_b/cross_udp_30of40/{view}.pcap.zst").flow(0)
    # 30 Mbit/s of UDP on a link of 40, of which headers leave about 38 to payload.
    assert flow.remedy.words.startswith("Limit the sender of the datagrams")
    assert re.search(r"→ about 3[78]\.\d Mbit/s", flow.remedy.expected)
    said = " ".join(report.text(flow.capture).split())
    assert "UDP went the same way" in said
    assert "path can carry" not in said


@pytest.mark.usefixtures("need_shared")
def test_a_program_whose_pauses_cost_more_than_a_full_link_is_named_first():
    # It sends as fast as the link for a while, then pauses, over and over.
    flow = bdpcap.analyze(SHARED / "captures/lab/app_on_off/sender.pcap.zst").flow(0)
    assert flow.summary["limit"] == "link"
    assert flow.remedy.where == "the sender, 192.168.1.3"
    assert "why the program pauses" in flow.remedy.words


def test_pauses_do_not_outweigh_losses_whose_cost_nobody_knows(monkeypatch):
    (path,) = (path for path in SAMPLES if path.name.startswith("cwnd_loss_2pct.sender"))
    flow = bdpcap.analyze(path).flow(0)
    more = Lift("app", 1e6, 2e6, "cwnd")
    monkeypatch.setattr("bdpcap.diagnosis.gains.lifts", lambda _: (more,))
    monkeypatch.setitem(flow.summary, "app_share", 0.3)
    assert "why the program pauses" not in flow.remedy.words
    assert flow.remedy.where == "the path from 192.168.1.3 to 192.168.1.34"


def test_the_other_buffer_is_named_where_its_default_would_limit_next(sample):
    # 0.64 of the memory is payload, and a writer is woken at two thirds. Linux's default of tcp_wmem[2] is 4 MiB.
    flow = sample.flow(0)
    assert "tcp_wmem" not in flow.remedy.words
    (memory,) = re.findall(r"([\d,]+) as the sender's tcp_wmem\[2\]", _other_buffer(flow, 10_000_000))
    assert int(memory.replace(",", "")) == pytest.approx(10_000_000 / 0.64 * 3 / 2, rel=0.001)


def labelled(name):
    return bdpcap.analyze(TESTS / "data/labelled" / name / "sender.pcap.zst").flow(0)


def test_a_window_that_nearly_fills_the_path_is_left_as_it_is():
    # The window was made to hold 1.3 times the BDP: the sender fills the link for a part of the time.
    flow = labelled("holdout/rwnd_bdp130")
    assert flow.summary["limit"] == "rwnd"
    assert flow.remedy.where == flow.remedy.expected == ""
    assert flow.remedy.words.startswith("Little to gain by a larger receive window")


def test_a_window_that_a_slow_reader_closes_is_no_question_of_its_setting():
    assert labelled("tune/rwnd_slow_reader").why is None
    assert labelled("tune/rwnd_zero_window").why is None
    assert labelled("tune/rwnd_buffer").why is not None


@pytest.mark.usefixtures("need_shared")
@pytest.mark.parametrize(
    ("name", "there", "not_there"),
    [
        # Both copies of all three segments arrived: no packet was lost.
        ("stacks/42_nn_sndbuf/receiver", "3 packets sent again had arrived", "lost"),
        # 169,472 bytes stand in the last acknowledgment alone, when all was read.
        ("stacks/30_ln_slowread/middle", "from 151,424 bytes to 27,392 bytes", "169,472"),
        # Without time stamps a receiver's capture has no round trip but the handshake's.
        ("stacks/82_ll_nots_link90_12ms/receiver", "The link was full", "in its queue"),
        # Congestion control left the link idle for a third of the time, so the rate may rise to the link's.
        (
            "stacks/73_ll_pmtu1492_linksmall/middle",
            "up to about 9.18 Mbit/s, the mean rate of the full link",
            "the same rate",
        ),
        # The receiver offers scale 3, and the sender goes by 1.
        (
            "lab_b/ws_rewritten/receiver",
            "On the path from 192.168.1.3 to 192.168.1.34: Something on the way",
            "expected",
        ),
    ],
)
def test_what_packets_of_labs_show_is_said_and_no_more(name, there, not_there):
    (path,) = (SHARED / "captures").glob(f"{name}.pcap*")
    said = " ".join(report.text(bdpcap.analyze(path)).split())
    assert there in said
    assert not_there not in said


@pytest.mark.usefixtures("need_shared")
def test_the_first_sentence_names_flows_as_their_entries_do():
    capture = bdpcap.analyze(SHARED / "captures/wild_b/lyc_dns1.pcapng.zst")
    sentence = headline.summary(capture, ranking.groups(capture))
    assert "loss and timeouts (1 flow, " in sentence
    assert "outage" not in sentence
    assert sentence.endswith("6 connections failed; 10 connections opened late.")


@pytest.mark.usefixtures("need_shared")
def test_the_pace_of_programs_without_an_entry_is_no_limit_to_lift():
    # Three flows that lost packets have entries; four that their programs limited have none.
    capture = bdpcap.analyze(SHARED / "captures/wild_b/http_download_psexec.pcap.zst")
    groups = ranking.groups(capture)
    assert "app" not in {group.flow.summary["limit"] for group in screen.entries(groups).detailed}
    assert "application" not in headline.summary(capture, groups)


@pytest.mark.parametrize(
    ("kind", "timeouts", "needless", "said"),
    [
        ("LITTLE", 0, 0, "congestion control"),
        ("LITTLE", 1, 2, "loss and timeouts"),
        ("LITTLE", 1, 3, "late acknowledgments and timeouts"),  # all three packets had arrived
        ("OUTAGE", 1, 0, "outage"),
    ],
)
def test_how_much_a_flow_carried_is_no_reason_of_a_wait(kind, timeouts, needless, said):
    rounds = pd.DataFrame({"limit": ["cwnd"], "detail": ["recovery"], "start_ns": [0], "end_ns": [1]})
    shares = {"rwnd_share": 0.0, "cwnd_share": 0.4, "sndbuf_share": 0.0}
    counts = {"timeouts": timeouts, "retransmits": 3, "spurious_retransmits": needless}
    flow = SimpleNamespace(rtts=rounds, summary=shares | counts)
    found = short.LITTLE if kind == "LITTLE" else natures.OUTAGE
    assert headline._held_by(flow, found) == said


@pytest.mark.parametrize(("active_ms", "said"), [(500, True), (498, False)])
def test_flows_that_hardly_ran_together_are_not_added_up(active_ms, said, monkeypatch):
    """Two flows of a full link within a second; one had data in flight for a part of it."""
    second_ns = 1_000_000_000
    rows = {
        "start_ns": 0,
        "end_ns": second_ns,
        "active_ns": [second_ns // 2, active_ms * 1_000_000],
        "payload_bytes": 1_000_000,
    }
    flow = SimpleNamespace(summary=pd.Series({"limit": "link"}), stream=0)
    monkeypatch.setattr(ranking, "known_bps", lambda _: 20_000_000.0)
    monkeypatch.setattr(ranking, "on_path", lambda _: pd.DataFrame(rows))
    monkeypatch.setattr(ranking, "word", lambda _: "")
    group = ranking.Group(flow, pd.DataFrame(), to_server=False)
    assert (group.shared() == "Both flows of this path together: 16.0 Mbit/s, of 20.0 Mbit/s.") == said
    assert bool(group.shared()) == said


@pytest.mark.parametrize("in_batches", [False, True])
def test_batches_of_packets_show_no_rate_of_the_path(in_batches, monkeypatch):
    monkeypatch.setattr(screen, "in_batches", lambda _: in_batches)
    (sample,) = (path for path in SAMPLES if path.name.startswith("linux61"))
    flow = bdpcap.analyze(sample).flow(0)
    assert ("the network can carry" in screen.rate(flow)) != in_batches
