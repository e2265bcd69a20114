"""Captures without a flow to judge: page and text say what is there, and nothing is red where nothing is wrong."""

import dpkt
import pytest
from packets import pcap
from scenario import Address, scenario
from small_transfer import CLIENT, SERVER, START, write_pcap

import bdpcap
from bdpcap import report
from bdpcap.report import connections, sections
from bdpcap.report.no_flows import datagrams, sentence

DATAGRAMS = 12
UNANSWERED = """
    0     > S  0:0(0) win 64240 <mss 1460>
    +1    > S  0:0(0) win 64240 <mss 1460>
    +2    > S  0:0(0) win 64240 <mss 1460>
"""
REFUSED = """
    0     > S  0:0(0) win 64240 <mss 1460,sackOK,wscale 7>
    +.02  < R. 0:0(0) ack 1 win 0
"""
ARP = bytes(dpkt.ethernet.Ethernet(type=dpkt.ethernet.ETH_TYPE_ARP, data=dpkt.arp.ARP()))


def written(path, frames):
    with path.open("wb") as file:
        writer = dpkt.pcap.Writer(file)
        for number, frame in enumerate(frames):
            writer.writepkt(frame, START + number / 10)
    return path


def udp_frames(ports=(5000, 5001)):
    """Yield a dozen datagrams of 1,000 bytes in turn from each port, ten a second."""
    for number in range(DATAGRAMS):
        udp = dpkt.udp.UDP(sport=ports[number % len(ports)], dport=9, data=bytes(1000), ulen=1008)
        ip = dpkt.ip.IP(src=CLIENT, dst=SERVER, p=dpkt.ip.IP_PROTO_UDP, ttl=64, data=udp, len=1028)
        yield bytes(dpkt.ethernet.Ethernet(type=dpkt.ethernet.ETH_TYPE_IP, data=ip))


@pytest.fixture
def capture_of(tmp_path):
    """A function that returns the capture of one kind."""

    def capture(kind):
        path = tmp_path / f"{kind}.pcap"
        if kind in ("unanswered", "refused"):
            path.write_bytes(pcap(scenario(UNANSWERED if kind == "unanswered" else REFUSED)))
        elif kind == "handshake":
            write_pcap(path, rounds=0)
        else:
            frames = {"udp": udp_frames(), "arp": [ARP] * 3, "empty": []}
            written(path, [*frames["udp"], *frames["arp"]] if kind == "udp and arp" else frames[kind])
        return bdpcap.analyze(path)

    return capture


def test_flows_beyond_the_limit_are_left_out_and_counted(tmp_path):
    path = written(tmp_path / "udp.pcap", udp_frames(ports=(5000, 5001, 5002)))
    capture = bdpcap.analyze(path, budget=bdpcap.Budget(connections=2))
    assert capture.datagrams["packets"].tolist() == [DATAGRAMS / 3] * 2
    assert capture.info.left_out == {"connections": DATAGRAMS / 3}


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("udp", "Only UDP: 12 datagrams in 2 flows carried 12.0 kB."),
        ("udp and arp", "No TCP. UDP: 12 datagrams in 2 flows carried 12.0 kB; other frames: ARP (3)."),
        ("arp", "3 frames, and no TCP segment or UDP datagram to judge: ARP (3)."),
        ("empty", "The capture has no frames."),
        ("unanswered", "The connection was never answered and carried no payload"),
        ("refused", "The connection was refused and carried no payload"),
        ("handshake", "The connection was opened and carried no payload"),
    ],
)
def test_the_verdict_says_what_is_there_and_nothing_is_red(capture_of, tmp_path, kind, words):
    capture = capture_of(kind)
    assert sentence(capture).startswith(words)
    html = report.write_html(capture, tmp_path / "page.html").read_text(encoding="utf-8")
    assert words in html.replace("\N{NO-BREAK SPACE}", " ")
    assert 'class="doubts"' not in html
    text = report.text(capture)
    assert words in " ".join(text.split())
    assert "DOUBTFUL" not in text


def test_failed_connections_are_listed_with_advice(capture_of):
    assert "Check the host, the route" in " ".join(report.text(capture_of("unanswered")).split())
    assert "Start the service" in " ".join(report.text(capture_of("refused")).split())


def rates(capture):
    """The rates in the page's table of UDP flows."""
    (table,) = sections.tables(capture)
    (column,) = (column for column in table.columns if column.title == "rate")
    return column.cells


def test_udp_flows_are_in_text_and_page(capture_of, tmp_path):
    capture = capture_of("udp")
    # So few show no rate.
    assert set(rates(capture)) == {"-"}
    assert datagrams(capture)[0] == "10.0.0.1:5000 → 10.0.0.2:9: 6 datagrams, 6.00 kB."
    assert all(line in " ".join(report.text(capture).split()) for line in datagrams(capture))
    assert "10.0.0.1:5001" in report.write_html(capture, tmp_path / "page.html").read_text(encoding="utf-8")


def test_twelve_datagrams_have_a_rate(tmp_path):
    # 96,000 bits, and 1.1 s from the first to the last.
    capture = bdpcap.analyze(written(tmp_path / "one.pcap", udp_frames([5000])))
    assert datagrams(capture) == ["10.0.0.1:5000 → 10.0.0.2:9: 12 datagrams, 12.0 kB at 87.3 kbit/s."]
    assert rates(capture) == ["87.3 kbit/s"]


def test_many_udp_flows_are_cut_with_the_command_that_lists_all(tmp_path):
    capture = bdpcap.analyze(written(tmp_path / "many.pcap", udp_frames(range(1000, 1000 + DATAGRAMS))))
    assert datagrams(capture)[-1] == "7 more flows not shown; `bdpcap info FILE` lists all."


def test_a_filter_that_leaves_nothing_is_named(tmp_path):
    path = written(tmp_path / "udp.pcap", udp_frames())
    assert sentence(bdpcap.analyze(path, filter="tcp")) == (
        "The filter left out all of 12 frames: nothing to judge."
    )


def test_several_connections_are_counted_by_their_handshakes(tmp_path):
    paths = [write_pcap(tmp_path / f"{port}.pcap", port=port, rounds=0) for port in (1, 2)]
    (tmp_path / "r.pcap").write_bytes(pcap(scenario(REFUSED)))
    said = sentence(bdpcap.analyze([*paths, tmp_path / "r.pcap"]))
    assert said == "3 connections carried no payload: 2 opened, 1 refused. There is nothing to judge."


def test_the_verdict_counts_as_failed_what_the_section_lists(tmp_path):
    """A SYN of the last second may be sent again, and then answered: it has not failed."""
    packets = [
        packet
        for number, sent_s in enumerate((0, 1, 2, 9.5, 10))
        for packet in scenario(f"{sent_s} > S 0:0(0) win 1024", client=Address("192.0.2.1", 40_000 + number))
    ]
    path = tmp_path / "syns.pcap"
    path.write_bytes(pcap(packets))
    capture = bdpcap.analyze(path)
    assert sentence(capture) == (
        "5 connections carried no payload: 3 never answered, 2 still unanswered as the capture ended. "
        "There is nothing to judge."
    )
    assert sum(count for _, count in connections.counted(capture)) == 3


@pytest.mark.parametrize(
    ("ports", "sent", "answer", "clients", "is_scan"),
    [
        (15, ".", "R", 1, True),
        (14, ".", "R", 1, False),
        (15, ".", ".", 1, False),
        (15, "F.", "R", 1, False),  # the ends of older connections
        (15, ".", "R", 15, False),  # clients of a server that lost its state
    ],
)
def test_a_scan_with_acknowledgments_is_no_set_of_connections(
    ports, sent, answer, clients, is_scan, tmp_path
):
    packets = [
        one
        for port in range(1, ports + 1)
        for one in scenario(
            f"{port} > {sent} 1:1(0) ack 1 win 1024\n+.001 < {answer} 1:1(0) ack 1 win 0",
            client=Address(f"192.0.2.{port % clients}", 40_000),
            server=Address("198.51.100.2", port),
        )
    ]
    path = tmp_path / "scan.pcap"
    path.write_bytes(pcap(packets))
    said = sentence(bdpcap.analyze(path))
    assert (f"A reset answered each of {ports} lone acknowledgments" in said) == is_scan
    assert ("begun before the capture" in said) != is_scan


def test_lone_acknowledgments_to_one_port_of_many_hosts_look_for_hosts(tmp_path):
    """A port scanner sends them before its scan, to find the addresses that answer: RFC 9293 has a reset for each."""
    packets = [
        one
        for last in range(1, 16)
        for one in scenario(
            f"{last} > . 1:1(0) ack 1 win 1024\n+.001 < R 1:1(0) ack 1 win 0",
            server=Address(f"198.51.100.{last}", 80),
        )
    ]
    path = tmp_path / "search.pcap"
    path.write_bytes(pcap(packets))
    assert "It is a search for hosts with ACKs: it asks which addresses answer." in sentence(
        bdpcap.analyze(path)
    )


@pytest.mark.parametrize(("ports", "lone"), [(15, True), (14, False)])
def test_single_packets_may_be_of_no_connection(ports, lone, tmp_path):
    """A test tool sends one packet with a reset and a FIN from each port, which no host answers."""
    packets = [
        one
        for port in range(1, ports + 1)
        for one in scenario(f"{port} > R. 1:1(0) ack 1 win 512", client=Address("192.0.2.1", port))
    ]
    path = tmp_path / "lone.pcap"
    path.write_bytes(pcap(packets))
    said = sentence(bdpcap.analyze(path))
    assert (f"{ports} connections are one packet each, and nobody answered" in said) == lone
    assert ("begun before the capture" in said) != lone
