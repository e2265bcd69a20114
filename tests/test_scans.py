"""Scans, sweeps, probes of strangers and traced paths: many SYNs that look for a service."""

from __future__ import annotations

import csv
import io

import pytest
from connected import OPENS, OPTIONS, TRY, UNANSWERED, syns
from oracles import ROOT
from packets import Address, pcap
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap import report
from bdpcap.explain import trust
from bdpcap.report import connections, failed_advice
from bdpcap.report.page import html
from bdpcap.words import units


def test_a_scan_is_one_line():
    packets = []
    for port in range(1, 1001):
        for number in (0, 1):
            ends = {"client": Address("10.0.0.5", 40000 + number), "server": Address("10.0.0.9", port)}
            packets += scenario("0 > S 0:0(0) win 1024", **ends)
    packets += scenario("5" + HANDSHAKE.strip().removeprefix("0"))
    capture = bdpcap.analyze(io.BytesIO(pcap(packets)))
    (told,) = connections.sentences(capture)
    assert told.startswith(
        "2,000 connections from 10.0.0.5 to 1,000 ports of 10.0.0.9 were never answered (2,000 SYNs"
    )
    assert told.endswith("as a port scan does: nothing to mend, unless nobody wanted the scan.")
    assert "never answered" in " ".join(report.text(capture).split())
    assert html(capture).count(units.joined(told)) == 1
    assert dict(trust.facts(capture))["handshakes"] == "never answered (2,000), complete (1)"


@pytest.mark.parametrize(("ports", "scan"), [(14, False), (15, True)])
def test_a_scan_explains_whatever_its_ports_answered(ports, scan):
    packets = []
    for port in range(1, ports + 2):
        answer = (
            "R. 0:0(0) ack 1 win 0" if port <= ports else "S. 0:0(0) ack 1 win 65535\n+.02 > R 1:1(0) win 0"
        )
        dialogue = f"0 > S 0:0(0) win 64240 {OPTIONS}\n+.02 < {answer}"
        packets += scenario(dialogue, server=Address(SERVER.host, port))
    refused, withdrawn = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert ("port scan" in refused) == scan
    assert ("Start the service" in refused) != scan
    assert (
        withdrawn.endswith("before any data. The client tried many ports of one host, as a port scan does.")
        == scan
    )


def test_an_advice_is_repeated_by_its_first_clause():
    assert failed_advice.shortly("10.0.0.9:443 answered 2.5 s late: it was slow. See why.") == (
        "10.0.0.9:443 answered 2.5 s late."
    )
    assert failed_advice.shortly("Start the service.") == "Start the service."


@pytest.mark.parametrize(
    ("options", "crafted"), [("wscale 10,nop,mss 265,sackOK", True), ("mss 265,nop,wscale 10,sackOK", False)]
)
def test_syns_with_options_in_an_order_of_no_system_are_a_scanners(options, crafted):
    """`nmap -O` sends its SYNs with the window scale first; no entry of `systems.csv` begins so."""
    with (ROOT / "bdpcap/hosts/systems.csv").open(encoding="utf-8") as file:
        assert not any(row["layout"].startswith("W") for row in csv.DictReader(file))
    packets = scenario(f"0 > S 0:0(0) win 256 <{options}>\n+.02 < R. 0:0(0) ack 1 win 0")
    packets += scenario("90 > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    refused = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))[0]
    assert ("as a scanner does to know a host's system" in refused) == crafted
    assert ("Start the service" in refused) != crafted


@pytest.mark.parametrize(
    ("client", "ttl", "options", "tries", "probe"),
    [
        ("8.8.8.8", 50, OPTIONS, 1, True),
        # A client that comes back wants the service.
        ("8.8.8.8", 50, OPTIONS, 2, False),
        # The capture is next to the client: this is no stranger.
        ("8.8.8.8", 64, OPTIONS, 1, False),
        ("192.168.1.9", 50, OPTIONS, 1, False),
        # No system sends so few options.
        ("192.168.1.9", 50, "<mss 1460>", 1, True),
    ],
)
def test_a_stranger_who_tries_once_probed(client, ttl, options, tries, probe):
    packets = []
    for number in range(tries):
        dialogue = f"{60 * number} > S 0:0(0) win 64240 ttl {ttl} {options}\n+.0001 < R. 0:0(0) ack 1 win 0"
        packets += scenario(dialogue, client=Address(client, 40_000 + number))
    (line,) = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert ("Probably probes of scanners" in line) == probe
    assert ("Start the service" in line) != probe


@pytest.mark.parametrize(("strangers", "background"), [(3, False), (4, True)])
def test_all_addresses_of_the_host_that_captured_are_probed_as_one(strangers, background):
    packets = []
    for number in range(strangers):
        server = Address("10.19.0.6" if number % 2 else "104.248.137.116", 2375 + number)
        for again in range(1 + (number == 0)):
            dialogue = f"{9 * again} > S 0:0(0) win 64240 ttl 50 {OPTIONS}\n+.0001 < R. 0:0(0) ack 1 win 0"
            packets += scenario(dialogue, client=Address(f"8.8.{number}.8", 40_000 + again), server=server)
    said = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert any("Start the service" in line for line in said) != background


@pytest.mark.parametrize(("strangers", "background"), [(3, False), (4, True)])
def test_several_strangers_at_several_ports_look_for_no_service(strangers, background):
    packets = []
    for number in range(strangers):
        server = Address("51.75.20.124", 2375 + number)
        # Behind routers on both sides; one of them comes back, as a client of a service does.
        for again in range(1 + (number == 0)):
            dialogue = (
                f"{9 * again} > S 0:0(0) win 64240 ttl 50 {OPTIONS}\n+.02 < R. 0:0(0) ack 1 win 0 ttl 60"
            )
            packets += scenario(dialogue, client=Address(f"8.8.{number}.8", 40_000 + again), server=server)
    said = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert any("Probably probes of scanners" in line for line in said) == background
    assert any("Its operator can start it" in line for line in said) != background


@pytest.mark.parametrize(
    ("client", "options", "probe"),
    [("8.8.8.8", "<mss 1460>", True), ("8.8.8.8", OPTIONS, False), ("192.168.1.9", "<mss 1460>", False)],
)
def test_a_strangers_bare_syn_that_it_never_completes_is_a_probe(client, options, probe):
    dialogue = f"0 > S 0:0(0) win 65535 ttl 50 {options}\n" + "\n".join(
        f"+{wait} < S. 0:0(0) ack 1 win 65535 {options}" for wait in (0.0001, 1, 2)
    )
    capture = bdpcap.analyze(io.BytesIO(pcap(scenario(dialogue, client=Address(client, 40_000)))))
    (line,) = connections.sentences(capture)
    assert ("as those of scanners" in line) == probe
    assert ("Check the way back to the client" in line) != probe


@pytest.mark.parametrize("bytes_", [0, 100])
def test_a_bare_syn_whose_answer_is_reset_was_made_by_a_tool(bytes_):
    # A SYN may carry data, which the server need not take before the handshake is complete (RFC 9293 section 3.10.7.2).
    dialogue = (
        f"0 > S 0:{bytes_}({bytes_}) win 8192\n+.01 < S. 0:0(0) ack 1 win 65535\n+.001 > R 1:1(0) win 0"
    )
    packets = [
        packet
        for number in range(12)
        for packet in scenario(dialogue, client=Address("192.168.1.9", 40_000 + number))
    ]
    packets.sort(key=lambda packet: packet.time_ns)
    capture = bdpcap.analyze(io.BytesIO(pcap(packets)))
    (line,) = connections.sentences(capture)
    assert "see which program of the client makes them" in line
    said = "answered without the data in the SYN, and" if bytes_ else "by the client before any data"
    assert said in line
    assert ("all of it in SYNs that opened no connection" in " ".join(report.text(capture).split())) == bool(
        bytes_
    )


def test_no_host_has_an_address_that_begins_with_zero():
    # RFC 6890 section 2.2.2: 0.0.0.0/8 is no destination.
    tried = scenario(UNANSWERED, server=Address("0.0.0.12", 80))
    tried += scenario("200 > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    line = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(tried))))[0]
    assert "No host has such an address (0.0.0.0/8)" in line


def test_a_program_that_asks_whether_it_runs_in_a_cloud_misses_no_host():
    packets = scenario(f"1 {TRY}\n+1 {TRY}\n+2 {TRY}", server=Address("169.254.169.254", 80))
    packets += scenario(f"99 {TRY}", client=Address("192.0.2.9", 9))
    (line,) = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert line.endswith("a program asked whether it runs in one. Nothing to mend elsewhere.")


SERVED = """
    0      > S  0:0(0)       win 64240 <mss 1460>
    +.0001 < S. 0:0(0) ack 1 win 65535 <mss 1460>
    +.02   > .  1:1(0) ack 1 win 502
    +.001  < P. 1:101(100) ack 1 win 502
    +.02   > .  1:1(0) ack 101 win 500
"""


"""The server answers at once, and the client's acknowledgments take 20 ms: the capture is next to the server."""


@pytest.mark.parametrize(
    ("client", "said"),
    [
        ("8.8.8.8", "its own filter drops them. Strangers of the Internet look for open ports so"),
        ("192.168.1.9", "its own filter drops them."),
    ],
)
def test_the_host_that_captured_drops_the_syns_that_it_leaves_unanswered(client, said):
    packets = scenario(SERVED) + scenario(
        "5 > S 0:0(0) win 1024 ttl 50", client=Address(client, 9), server=Address(SERVER.host, 23)
    )
    packets += scenario("99 > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    line = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))[0]
    assert line.endswith(said) or f"{said}:" in line


def test_one_line_names_all_ports_that_strangers_tried_at_the_host_that_captured():
    packets = scenario(SERVED)
    clients = ("8.8.8.8", "8.8.4.4", "8.8.4.4", "9.9.9.9", "192.168.1.9")
    for number, client in enumerate(clients):
        packets += scenario(
            f"{5 + number} > S 0:0(0) win 1024 ttl 50",
            client=Address(client, 9 + number),
            server=Address(SERVER.host, 23 + number),
        )
    packets += scenario("99 > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    capture = bdpcap.analyze(io.BytesIO(pcap(packets)))
    own, *_ = [line for line in connections.sentences(capture) if "3 hosts" in line]
    assert own.startswith(
        f"4 connections from 3 hosts to 4 ports of {SERVER.host} were never answered (4 SYNs in 3 s)"
    )
    # Each counts once; the last SYN may still be answered.
    assert connections.failed(capture) == len(clients)
    assert sum("Strangers" in line for line in connections.sentences(capture)) == 1
    assert any("from 192.168.1.9 to port 27" in line for line in connections.sentences(capture))


@pytest.mark.parametrize(
    ("hosts", "step", "peers"),
    [
        # As many hosts and ports as show a scan, one fewer, and one service of many hosts: the route may be gone.
        (15, 1, True),
        (14, 1, False),
        (15, 0, False),
    ],
)
def test_a_client_that_searches_peers_has_one_line(hosts, step, peers):
    (line,) = connections.sentences(syns(hosts, first_port=6_881, step=step))
    assert ("Peers of file sharing are often gone" in line) == peers
    assert line.startswith(f"{hosts} connections from {CLIENT.host} to ")


@pytest.mark.parametrize(
    ("hosts", "refused", "used", "sweep"),
    [
        (15, 1, 0, True),
        (14, 1, 0, False),
        # Where nobody answers, the route may be gone.
        (15, 0, 0, False),
        # The client uses that service at other hosts.
        (15, 1, 1, False),
    ],
)
def test_a_client_that_tries_many_hosts_and_uses_none_sweeps(hosts, refused, used, sweep):
    packets = []
    for one in range(1, hosts + 1):
        ends = {"client": Address(CLIENT.host, 50_000 + one), "server": Address(f"198.51.100.{one}", 8_000)}
        packets += scenario(f"0 {TRY}", **ends)
    # A filter drops the SYNs to the others.
    for one in range(100, 100 + refused):
        ends = {"client": Address(CLIENT.host, 50_000 + one), "server": Address(f"198.51.100.{one}", 8_000)}
        packets += scenario(f"1 {TRY}\n+.02 < R. 0:0(0) ack 1 win 0", **ends)
    for one in range(200, 200 + used):
        ends = {"client": Address(CLIENT.host, 50_000 + one), "server": Address(f"198.51.100.{one}", 8_000)}
        packets += scenario(f"2 {TRY}{OPENS}", **ends)
    packets += scenario(f"9 {TRY}", client=Address("192.0.2.9", 9))
    first, *_ = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert ("as scans do. Nothing to mend" in first) == sweep
    assert first.endswith("unless it should reach one of them.") == sweep


@pytest.mark.parametrize(("options", "sweep"), [("<mss 1460>", True), ("<mss 1460,sackOK,wscale 7>", False)])
def test_a_scanner_sweeps_though_nobody_answers(options, sweep):
    """No TCP of today sends SYNs with the MSS as their only option: scanners do. Others may have lost their route."""
    packets = []
    for one in range(1, 16):
        ends = {"client": Address(CLIENT.host, 50_000 + one), "server": Address(f"198.51.100.{one}", 8_000)}
        packets += scenario(f"0 > S 0:0(0) win 1024 {options}", **ends)
    packets += scenario(f"9 {TRY}", client=Address("192.0.2.9", 9))
    (line, *_) = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert ("it looked for hosts with that service, as scans do" in line) == sweep


@pytest.mark.parametrize(
    ("ttls", "trace"),
    [
        (range(1, 6), True),
        (range(1, 5), False),
        # A scanner may choose TTLs by chance, but none that expire at once.
        (range(20, 30), False),
        # Hosts of other systems, behind a NAT at several distances.
        ((48, 50, 64, 112, 113, 128), False),
    ],
)
def test_syns_of_rising_ttls_trace_a_path_and_were_to_expire(ttls, trace):
    packets = [
        packet
        for number, ttl in enumerate(ttls)
        for packet in scenario(
            f"0 > S 0:0(0) win 64240 ttl {ttl}\n" * 3, client=Address(CLIENT.host, 50_000 + number)
        )
    ]
    # The client also wants another port of that host.
    packets += scenario("60 > S 0:0(0) win 64240", server=Address(SERVER.host, 81))
    packets += scenario("99 > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    capture = bdpcap.analyze(io.BytesIO(pcap(packets)))
    said = connections.sentences(capture)
    assert any(f"TTLs run from 1 to {max(ttls)}: a path trace" in line for line in said) == trace
    assert connections.failed(capture) == (1 if trace else 1 + len(ttls))
    assert not (trace and connections.in_vain(capture))


def test_connections_with_data_make_no_search():
    # A browser: 15 servers reset its requests, and two more hosts never answer.
    served = "+.001 > P. 1:201(200) ack 1 win 502\n+.02 < R. 1:1(0) ack 201 win 0"
    packets = [
        packet
        for one in range(1, 16)
        for packet in scenario(HANDSHAKE + served, server=Address(f"203.0.113.{one}", 443))
    ]
    for one in (1, 2):
        packets += scenario("9 > S 0:0(0) win 64240", server=Address(f"198.51.100.{one}", 443))
    packets += scenario("99 > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    told = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert " to port 443 of 198.51.100.1 and 198.51.100.2 were never answered (2 SYNs)" in told[0]
