"""Dialogues and texts that tests of first screens share."""

import io
from html.parser import HTMLParser

from dialogues import analysed
from packets import Address, pcap
from scenario import CLIENT, HANDSHAKE, scenario

import bdpcap


def analyzed(dialogue, rtt="+.020"):
    return analysed(HANDSHAKE.replace("+.020", rtt) + dialogue)


def joined(text):
    return " ".join(text.replace("\N{NO-BREAK SPACE}", " ").split())


class _Outside(HTMLParser):
    def __init__(self, elements):
        super().__init__()
        self.elements, self.depth, self.words = elements, 0, []

    def handle_starttag(self, tag, _):
        self.depth += tag in self.elements

    def handle_endtag(self, tag):
        self.depth -= tag in self.elements

    def handle_data(self, data):
        if not self.depth:
            self.words.append(data)


def outside(elements, page):
    """Return the words of a page, or of a part of one, that lie within none of these elements."""
    parser = _Outside(elements)
    parser.feed(page)
    parser.close()
    return joined(" ".join(parser.words))


def writes_at_leisure(wait_s, lost):
    """Sixty writes of a program that waits between them, some of which had to be sent again."""
    lines = [HANDSHAKE]
    for number in range(60):
        first = 1 + 1000 * number
        write = f"> P. {first}:{first + 1000}(1000) ack 1 win 502"
        lines += [f"+{wait_s} {write}", *([f"+.3 {write}"] if 0 < number <= lost else [])]
        lines.append(f"+.02 < . 1:1(0) ack {first + 1000} win 502")
    return "\n".join(lines)


def connections(*dialogues):
    """Connections of one client, by its ports, each with its own dialogue after a handshake of 20 ms."""
    packets = [
        packet
        for number, dialogue in enumerate(dialogues)
        for packet in scenario(HANDSHAKE + dialogue, client=Address(CLIENT.host, CLIENT.port + number))
    ]
    return bdpcap.analyze(io.BytesIO(pcap(packets)))


def writes(segments, pause, count, first=1):
    """Bursts of so many full segments, each acknowledged after 20 ms, with pauses in s of the program between them."""
    lines, sent = [], first
    for _ in range(count):
        lines += [f"+{pause} > P. {sent}:{sent + 1460}(1460) ack 1 win 502"]
        lines += [
            f"+.0001 > P. {at}:{at + 1460}(1460) ack 1 win 502"
            for at in range(sent + 1460, sent + segments * 1460, 1460)
        ]
        sent += segments * 1460
        lines.append(f"+.020 < . 1:1(0) ack {sent} win 8000")
    return "\n".join(lines)
