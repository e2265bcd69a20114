"""What a server is charged with: waits that it alone can have made, and that explain the time."""

from __future__ import annotations

import io
import itertools
import re
from types import SimpleNamespace

import pandas as pd
import pytest
from connected import analyzed
from dialogues import asked
from packets import Address, pcap
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap import report
from bdpcap.diagnosis import natures
from bdpcap.diagnosis.kinds import app
from bdpcap.diagnosis.natures import in_turn, requests
from bdpcap.explain import exchange_shares
from bdpcap.explain.awaited import awaited_ns
from bdpcap.report import screen

SECOND_NS = 1_000_000_000


@pytest.mark.parametrize("keep_alive", ["1(0)", "2(1)"], ids=["empty", "a byte"])
def test_a_keep_alive_is_no_turn_in_a_wait_for_an_answer(keep_alive):
    """Probes go on below SND.NXT, with a byte of garbage or without (RFC 9293 section 3.8.4)."""
    first, length = (100, keep_alive.partition("(")[2])
    probe = f"> . {first}:{first + int(length[0])}({length} ack 1 win 502\n+.02 < . 1:1(0) ack 101 win 512"
    large = "".join(
        f"+.0001 < . {1 + 1000 * n}:{1001 + 1000 * n}(1000) ack 101 win 512\n+.0001 > . 101:101(0) ack "
        f"{1001 + 1000 * n} win 502\n"
        for n in range(30)
    )
    dialogue = (
        f"{HANDSHAKE}+.001 > P. 1:101(100) ack 1 win 502\n+.02 < . 1:1(0) ack 101 win 512\n+45 {probe}\n+45 {probe}\n+20 "
        f"< . 1:1(0) ack 101 win 512\n{large}"
    )
    flow = analyzed(dialogue).flow(0, str(SERVER))
    assert flow.summary["active_ns"] > 110 * SECOND_NS
    assert any("in all to answer 1 request" in words for words in screen.sentences(flow))


@pytest.mark.parametrize(("slow_s", "named"), [(2.0, True), (0.005, False)])
def test_a_slow_answer_is_named_beside_the_pauses_of_the_client(slow_s, named):
    waits = [0.005] * 6 + [slow_s] + [0.005] * 6
    # A client that asked at equal intervals would have a timer.
    pauses = itertools.cycle(["+1.3 >", "+7 >", "+2.1 >", "+4.4 >", "+0.9 >"])
    dialogue = re.sub(r"\+3 >", lambda _: next(pauses), asked(waits, think="+3"))
    flow = analyzed(HANDSHAKE + dialogue).flow(0)
    assert natures.nature(flow) is natures.REQUESTS
    (said,) = screen.sentences(flow)
    assert "Pauses of the client took" in said
    assert ("The longest answer began after 2.02 s." in said) == named
    assert flow.remedy.words.startswith(
        "Nothing to mend on the path: the time passes at 192.0.2.1"
        if named
        else f"Nothing to mend on the path or at {SERVER.host}: the time passes at 192.0.2.1"
    )
    # The server has a private address, so it is the reader's.
    assert flow.remedy.words.endswith(f" See why {SERVER.host} began one answer after 2.02 s.") == named


@pytest.mark.parametrize(
    ("took_ms", "trip_ms", "slow"),
    [
        (600, 20, True),
        (400, 20, False),  # less than half of the program's second
        (600, 300, False),  # two waits of 300 ms are a round trip of a path with a queue each
        (600, None, True),
    ],
)
def test_a_slow_server_takes_most_of_the_time_and_longer_than_the_path(took_ms, trip_ms, slow, monkeypatch):
    trip_ns = None if trip_ms is None else trip_ms * 1_000_000
    monkeypatch.setattr(app, "_answering", lambda _flow, _own: (took_ms * 1_000_000, 2))
    monkeypatch.setattr(app, "trip_ns", lambda _flow: trip_ns)
    own = pd.DataFrame({"detail": ["response time"] * 2})
    flow = SimpleNamespace(summary={"app_share": 1.0, "active_ns": SECOND_NS})
    assert app._is_slow(flow, own) == slow


@pytest.mark.parametrize(("longest_s", "soon"), [(0.01, True), (100, False)])
def test_answers_that_usually_begin_soon_explain_no_long_wait(longest_s, soon):
    """Nine answers begin after 10 ms and go on for 2 s; the tenth begins after another time."""
    begun_ns = [SECOND_NS // 100] * 9 + [round(longest_s * SECOND_NS)]
    each = pd.DataFrame({"request_end_ns": 0, "response_start_ns": begun_ns})
    each = each.assign(server_ns=each["response_start_ns"] + 2 * SECOND_NS, client_ns=0)
    flow = SimpleNamespace(_requests=each, is_from_client=True, summary={"vantage": "sender"})
    typical = SimpleNamespace(server_ns=2 * SECOND_NS, began_ns=begun_ns[0])
    shares = SimpleNamespace(typical=typical)
    assert requests._answers_soon(flow, shares) == soon


@pytest.mark.parametrize(("begins_s", "turns"), [(0.001, False), (19, True)])
def test_what_a_server_goes_on_to_send_is_no_turn(begins_s, turns):
    """Each request is followed by pieces for 20 s: every half second, or two after a long wait. Then the next comes."""
    lines, sent, heard = ["0 > . 1:1(0) ack 1 win 502"], 1, 1
    for number in range(6):
        lines.append(f"+.02 > P. {sent}:{sent + 36}(36) ack {heard} win 502")
        sent += 36
        lines.append(f"+.03 < . {heard}:{heard}(0) ack {sent} win 512")
        for piece in range(2 if turns else 40):
            wait_s = 0.5 if piece else begins_s * (1 + number % 3)
            lines.append(f"+{wait_s} < P. {heard}:{heard + 52}(52) ack {sent} win 512")
            heard += 52
            lines.append(f"+.0001 > . {sent}:{sent}(0) ack {heard} win 502")
    flow = analyzed("\n".join(lines)).flow(0, str(SERVER))
    assert (natures.nature(flow) is in_turn.NATURE) == turns


def test_a_turn_that_is_in_no_exchange_ends_a_pause():
    """After the first answer, the next request follows, and after the second, a turn of the client that has no answer.

    After the third, the server has news first.
    """
    each = pd.DataFrame(
        {
            "request_start_ns": [0, 10, 40, 90],
            "response_end_ns": [4, 13, 45, 95],
            "duration_ns": [10, 15, 5, 5],
        }
    )
    assert requests._until_ns(each).fillna(-1).tolist() == [10, 25, 90, -1]


@pytest.mark.parametrize(
    ("relayed", "said"),
    [
        (True, "and 40 % behind the NAT or proxy."),
        (False, "and 40 % at 198.51.100.2."),
    ],
)
def test_the_time_behind_a_nat_is_not_the_servers(relayed, said):
    shares = SimpleNamespace(parts={"client": 0.6, "server": 0.4}, relayed=relayed, news=1)
    words = requests._of_client(None, "192.0.2.1", "198.51.100.2", shares)
    assert words.replace("\N{NO-BREAK SPACE}", " ").endswith(said)
    assert words.startswith("Nothing to mend here" if relayed else "Nothing to mend on the path")


@pytest.mark.parametrize(("opening", "asked_"), [(HANDSHAKE, True), ("0 > . 1:1(0) ack 1 win 502\n", False)])
def test_without_the_handshake_nobody_is_known_to_have_asked(opening, asked_):
    flow = analyzed(opening + asked([3.0], think="+.1")).flow(0, str(SERVER))
    assert ("answered after 3 s" in flow.remedy.words) == asked_


@pytest.mark.parametrize("size", [1000, 50_000])
def test_a_slow_answer_of_few_bytes_is_named_with_them(size):
    # The second answer of 50,000 bytes comes at once.
    last = 1 + size + 50_000
    flow = analyzed(
        f"{HANDSHAKE}+.001 > P. 1:301(300) ack 1 win 502\n+.02 < . 1:1(0) ack 301 win 512\n"
        f"+3 < P. 1:{1 + size}({size}) ack 301 win 512\n+.001 > P. 301:601(300) ack {1 + size} win 502\n"
        f"+.03 < P. {1 + size}:{last}(50000) ack 601 win 512\n+.001 > . 601:601(0) ack {last} win 502"
    ).flow(0, str(SERVER))
    said = " ".join(screen.sentences(flow, brief=False))
    assert "in all to answer 2 requests" in said
    assert ("s of it for 1.00 kB" in said.replace("\N{NO-BREAK SPACE}", " ")) == (size == 1000)


@pytest.mark.parametrize(("goodbye", "asked_"), [(39, 1), (40, 2)])
def test_a_goodbye_of_tls_after_an_idle_time_is_no_answer(goodbye, asked_):
    # A record of TLS 1.3 adds 22 bytes: GOAWAY has 17 (RFC 9113 section 6.8), close_notify 2 (RFC 8446 section 6.1).
    server = Address("198.51.100.2", 443)
    last = 5001 + goodbye
    dialogue = (
        f"{HANDSHAKE}+.001 > P. 1:301(300) ack 1 win 502\n+.03 < P. 1:5001(5000) ack 301 win 512\n"
        "+.001 > P. 301:536(235) ack 5001 win 502\n+.02 < . 5001:5001(0) ack 536 win 512\n"
        f"+30 < P. 5001:{last}({goodbye}) ack 536 win 512\n+.001 > FP. 536:599(63) ack {last} win 502\n"
        f"+.02 < P. {last}:{last + 24}(24) ack 600 win 512\n"
        f"+0 < F. {last + 24}:{last + 24}(0) ack 600 win 512\n+0 > R 600:600(0)"
    )
    flow = bdpcap.analyze(io.BytesIO(pcap(scenario(dialogue, server=server)))).flow(0, str(server))
    assert len(flow._requests) == asked_
    rtts = flow.rtts
    longest = rtts.loc[(rtts["end_ns"] - rtts["start_ns"]).idxmax()]
    assert (longest["limit"] == "app") == (asked_ == 2)


@pytest.mark.parametrize("goes_on", [True, False])
def test_short_answers_are_no_farewell_where_the_dialogue_goes_on(goes_on):
    # A login fails after 2.7 s; then the client quits, and the server parts in fewer bytes than a TLS alert has.
    ends = (
        "+.001 > P. 42:48(6) ack 57 win 502\n+.02 < P. 57:71(14) ack 48 win 512\n+.001 < F. 71:71(0) ack 48 win 512"
        if goes_on
        else "+.001 < F. 57:57(0) ack 42 win 512"
    )
    dialogue = (
        f"{HANDSHAKE}+.001 > P. 1:17(16) ack 1 win 502\n+.02 < P. 1:35(34) ack 17 win 512\n"
        "+.001 > P. 17:42(25) ack 35 win 502\n+.02 < . 35:35(0) ack 42 win 512\n"
        f"+2.7 < P. 35:57(22) ack 42 win 512\n{ends}"
    )
    rtts = analyzed(dialogue).flow(0, str(SERVER)).rtts
    longest = rtts.loc[(rtts["end_ns"] - rtts["start_ns"]).idxmax()]
    assert (longest["limit"] == "app") == goes_on


@pytest.mark.parametrize(("cut", "known"), [(0, True), (3, False)])
def test_an_unknown_way_to_the_server_takes_no_part_of_its_answers(cut, known):
    """Without the handshake and pure acknowledgments, the quickest answer would pass for a round trip."""
    packets = scenario(HANDSHAKE + alternating(12))[cut:]
    flow = bdpcap.analyze(io.BytesIO(pcap(packets))).flow(0)
    said = " ".join(screen.sentences(flow))
    assert ("round trips" in said) == known
    assert "The server and the way to it took" not in said


def alternating(count):
    """Requests, of which each answer acknowledges the one before; no packet comes without data."""
    return "\n".join(
        f"+.003 > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + 300 * n} win 502\n"
        f"+.025 < P. {1 + 300 * n}:{301 + 300 * n}(300) ack {101 + 100 * n} win 512"
        for n in range(count)
    )


@pytest.mark.parametrize(("server_s", "named"), [(2.4, False), (2.6, True)])
def test_a_servers_own_part_is_named_beside_round_trips(server_s, named, monkeypatch):
    """From a quarter of ten seconds on."""
    spent = exchange_shares.Waits(round(server_s * SECOND_NS), 0, 0)
    monkeypatch.setattr(app, "waits", lambda _flow, _own: spent)
    own = pd.DataFrame({"start_ns": [0], "end_ns": [10 * SECOND_NS]})
    flow = SimpleNamespace(is_from_client=False, sender="8.8.8.8:443", receiver="192.168.1.9:40000")
    assert app._beside_trips(flow, own) == (
        ", and 2.6 s more passed at 8.8.8.8 or in delays of the path" if named else ""
    )


@pytest.mark.parametrize(("wait_s", "named"), [(0.1, True), (0.01, False)])
def test_waits_for_a_server_add_up_over_its_connections(wait_s, named):
    """Two connections carry little, compared with a transfer, and wait for seconds in all."""
    large = "".join(
        f"+.0001 < . {1 + 1000 * n}:{1001 + 1000 * n}(1000) ack 101 win 512\n+.0001 > . 101:101(0) ack "
        f"{1001 + 1000 * n} win 502\n"
        for n in range(900)
    )
    transfer = f"{HANDSHAKE}+.001 > P. 1:101(100) ack 1 win 502\n+.02 < . 1:1(0) ack 101 win 512\n{large}"
    packets = scenario(transfer, server=Address("192.168.7.9", 80))
    for port in (41_000, 41_001):
        dialogue = HANDSHAKE + asked([wait_s] * 12, think="+.05")
        client, server = Address(CLIENT.host, port), Address("192.168.7.9", 443)
        packets += scenario(dialogue, client=client, server=server)
    packets.sort(key=lambda packet: packet.time_ns)
    said = report.text(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert ("On the server, 192.168.7.9: See in the server's own log" in said) == named
    assert ("2.40 kB and 2.4 s of waits for answers." in said) == named


@pytest.mark.parametrize(("parts", "waited"), [(1, True), (4, False)])
def test_a_client_that_sends_on_waits_for_no_answer(parts, waited):
    # Each of twelve answers comes 0.2 s after the last of the parts, which the client sends 0.3 s apart.
    text, asked_bytes = HANDSHAKE, 1
    for number in range(12):
        for _ in range(parts):
            text += f"+.3 > P. {asked_bytes}:{asked_bytes + 50}(50) ack {1 + 100 * number} win 502\n"
            asked_bytes += 50
            text += f"+.001 < . {1 + 100 * number}:{1 + 100 * number}(0) ack {asked_bytes} win 512\n"
        text += f"+.2 < P. {1 + 100 * number}:{101 + 100 * number}(100) ack {asked_bytes} win 512\n"
    packets = scenario(text, server=Address("192.168.7.9", 443))
    assert (awaited_ns(bdpcap.analyze(io.BytesIO(pcap(packets)))).sum() >= 1e9) == waited
