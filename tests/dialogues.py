"""Dialogues of whole transfers: who holds the sender is known, because it was written so."""

from __future__ import annotations

import io

from packets import pcap
from scenario import scenario

import bdpcap


def in_order(events):
    """Lines of a scenario, of times in seconds and segments."""
    return [f"{time:.5f} {text}" for time, text in sorted(events, key=lambda event: event[0])]


def analysed(dialogue):
    return bdpcap.analyze(io.BytesIO(pcap(scenario(dialogue))))


def rounds_of(dialogue):
    """Rounds of what the client sent."""
    return analysed(dialogue).flow(0).rtts


def requests(count):
    """Messages of two flights, 10 segments and 6, over an RTT of 20 ms; each waits for the answer to the one before.

    The tap is beside the sender. Acknowledgments come for two segments each, half a millisecond apart; while the
    message lasts each of them brings two more.
    """
    lines = [
        "0     > S  0:0(0) win 64240 <mss 1460,sackOK,wscale 7>",
        "+.020 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 7>",
        "+0    > .  1:1(0) ack 1 win 502",
    ]
    at, sent, answered = 0.1, 1, 1
    for _ in range(count):
        events, begin = [], sent
        ends = [begin + 1460 * (i + 1) for i in range(15)] + [begin + 15 * 1460 + 600]
        firsts = [begin, *ends[:-1]]
        sends = [(at, i) for i in range(10)] + [(at + 0.0201 + 0.0005 * (i // 2), 10 + i) for i in range(6)]
        events += [
            (time, f"> .  {firsts[i]}:{ends[i]}({ends[i] - firsts[i]}) ack {answered} win 502")
            for time, i in sends
        ]
        acks = [(sends[i][0] + 0.02 + 0.0005 * (i // 2 % 5), ends[i]) for i in range(1, 16, 2)]
        events += [(time, f"< .  {answered}:{answered}(0) ack {end} win 512") for time, end in acks]
        events.append((at + 0.05, f"< P. {answered}:{answered + 100}(100) ack {ends[-1]} win 512"))
        lines += in_order(events)
        at, sent, answered = at + 0.0501, ends[-1], answered + 100
    return "\n".join(lines)


def bursts(count, period):
    """Bursts of ten segments over an RTT of 20 ms, seen beside the sender, and an acknowledgment for two every 0.5 ms."""
    lines = [
        "0     > S  0:0(0) win 64240 <mss 1460,sackOK,wscale 7>",
        "+.020 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 7>",
        "+0    > .  1:1(0) ack 1 win 502",
    ]
    events = []
    for number in range(count):
        at, first = 0.1 + sum(period(before) for before in range(number)), 1 + number * 14600
        for segment in range(10):
            begin = first + 1460 * segment
            events.append((at, f"> .  {begin}:{begin + 1460}(1460) ack 1 win 502"))
        events += [
            (at + 0.02 + 0.0005 * pair, f"< .  1:1(0) ack {first + 2920 * (pair + 1)} win 1024")
            for pair in range(5)
        ]
    return "\n".join(lines + in_order(events))


def writes(sizes, count=60):
    """Write every 11 ms, in segments of these sizes, on a path of 40 ms; the last of each write has PSH."""
    lines = [
        "0     > S  0:0(0) win 64240 <mss 1460,sackOK,wscale 7>",
        "+.040 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 7>",
        "+0    > .  1:1(0) ack 1 win 502",
    ]
    events, size = [], sum(sizes)
    for number in range(count):
        at, begin = 0.1 + 0.011 * number, 1 + number * size
        for place, length in enumerate(sizes, 1):
            flags = "P." if place == len(sizes) else ". "
            events.append((at, f"> {flags} {begin}:{begin + length}({length}) ack 1 win 502"))
            begin += length
        events.append((at + 0.04, f"< .  1:1(0) ack {begin} win 1024"))
    return "\n".join(lines + in_order(events))


def paced(length, count=200):
    """Two segments every 2.5 ms, the latter of `length`; their acknowledgment comes after 13.2 ms."""
    lines = [
        "0      > S  0:0(0) win 64240 <mss 1460,sackOK,wscale 7,TS val 0 ecr 0>",
        "+.0132 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 7,TS val 0 ecr 0>",
        "+0     > .  1:1(0) ack 1 win 502 <TS val 13 ecr 0>",
    ]
    events = []
    for number in range(count):
        begin, ms = 1 + number * (1448 + length), 100 + 2.5 * number
        end = begin + 1448 + length
        heard = 2.5 * (number - 6) + 113.2 if number > 5 else 0
        stamps = f"<TS val {int(ms)} ecr {int(heard)}>"
        events += [
            (ms, f"> .  {begin}:{begin + 1448}(1448) ack 1 win 502 {stamps}"),
            (ms, f"> .  {begin + 1448}:{end}({length}) ack 1 win 502 {stamps}"),
            (ms + 13.2, f"< .  1:1(0) ack {end} win 1024 <TS val {int(ms + 13.2)} ecr {int(ms)}>"),
        ]
    return "\n".join(lines + in_order((ms / 1000, text) for ms, text in events))


def asked(waits_s, *, think="+.001", answer=100, unasked=0):
    """Requests of 100 bytes, a time to think before each, acknowledged after 20 ms, and answers so many seconds later.

    The first `unasked` answers come without a request.
    """
    lines, sent, heard = [], 1, 1
    for number, wait_s in enumerate(waits_s):
        if number >= unasked:
            lines += [f"{think} > P. {sent}:{sent + 100}(100) ack {heard} win 502"]
            sent += 100
            lines += [f"+.020 < . {heard}:{heard}(0) ack {sent} win 512"]
        lines += [
            f"+{wait_s:.4f} < P. {heard}:{heard + answer}({answer}) ack {sent} win 512",
            f"+.0001 > . {sent}:{sent}(0) ack {heard + answer} win 502",
        ]
        heard += answer
    return "\n".join(lines)


MSS = 1460


def sent_by(program, *, rtt=0.02, spacing=0.0001, window=1 << 20, at_receiver=False):
    """What a program sends over a path that passes a segment every `spacing`, and its acknowledgments.

    The program says what goes out next: given the time and the bytes acknowledged, the time and the lengths of the
    segments; None to wait for the next acknowledgment. Every second segment is acknowledged, and the last of a run.
    The tap is beside the sender, or beside the receiver, whose windows never change.
    """
    field, way = window >> 7, rtt / 2 if at_receiver else 0
    lines = [
        "0     > S  0:0(0) win 64240 <mss 1460,sackOK,wscale 7>",
        f"+{0 if at_receiver else rtt:.5f} < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 7>",
        f"+{rtt if at_receiver else 0:.5f} > .  1:1(0) ack 1 win 502",
    ]
    events, pending = [], []
    sent = acked = 1
    free = 0.0
    now = 0.1
    while True:
        while (turn := program(now, acked - 1, sent - 1)) is not None:
            at, lengths = turn
            if not lengths:
                return "\n".join(lines + in_order(events))
            # Acknowledgments that come before are the program's to know of.
            if pending and pending[0][0] <= at:
                break
            now = at
            for number, length in enumerate(lengths):
                free = max(free, now) + spacing
                seen = free + way if at_receiver else now
                events.append((seen, f"> .  {sent}:{sent + length}({length}) ack 1 win 502"))
                sent += length
                if number % 2 or number == len(lengths) - 1:
                    pending.append((free + rtt, sent))
        if not pending:
            return "\n".join(lines + in_order(events))
        now, acked = pending.pop(0)
        events.append((now - way, f"< .  1:1(0) ack {acked} win {field}"))


def segments(length):
    """Lengths of the segments that so many bytes fill."""
    return [MSS] * (length // MSS) + [length % MSS] * (length % MSS > 0)


def congestion_window(window, count=4000):
    """A program with data enough, and a congestion window of so many segments, given those acknowledged."""

    def turn(now, acked, sent):
        if sent >= count * MSS:
            return now, []
        room = window(acked // MSS) * MSS - (sent - acked)
        return (now, [MSS] * (room // MSS)) if room >= MSS else None

    return turn


def send_buffer(size, wake=0.0001, count=4000):
    """A program that waits for room in its send buffer, and is woken when a third of it is free."""
    woken = before = None

    def turn(now, acked, sent):
        nonlocal woken, before
        if sent >= count * MSS:
            return now, []
        if sent != before:
            woken, before = None, sent
        free = size - (sent - acked)
        if woken is None and 3 * free >= size:
            woken = now + wake
        return None if woken is None else (woken, segments(free))

    return turn


def timer(period, size, count=60):
    """A program that writes so many bytes whenever its timer fires."""

    def turn(_now, _acked, sent):
        fired = sent // size
        return 0.1 + period * fired, segments(size) if fired < count else []

    return turn


def nagle(period, size, count=600):
    """A program that writes so many bytes whenever its timer fires, without TCP_NODELAY.

    A rest below a segment waits while an earlier rest is unacknowledged (RFC 9293 section 3.7.4, as Linux applies it),
    and leaves with the next write otherwise.
    """
    rest_end = offered = 0

    def turn(now, acked, sent):
        nonlocal rest_end, offered
        rest_end = offered if sent == offered else rest_end
        fired = min(int((now - 0.1) / period + 1e-6) + 1, count)
        waiting = size * fired - sent
        if fired == count or waiting >= MSS:
            return now, [MSS] * (waiting // MSS)
        if waiting and acked >= rest_end:
            offered = sent + waiting
            return now, [waiting]
        return 0.1 + period * fired, [MSS] * ((waiting + size) // MSS)

    return turn


OPENING = """
    0     > S  0:0(0)       win 64240 <mss 1460,sackOK,wscale 7>
    +.020 < S. 0:0(0) ack 1 win 14720 <mss 1460,sackOK,wscale 7>
    +0    > .  1:1(0) ack 1 win 502
"""
"""Of a receiver whose buffer takes ten segments; the tap is beside the sender, 20 ms away."""


def probed(kind):
    """A window of ten segments that shuts, five zero-window probes with their answers, and a reader that comes back."""
    lines, sent, wait = [OPENING], 1, 0.2

    def flight(window):
        nonlocal sent
        for _ in range(10):
            lines.append(f"+.0001 > . {sent}:{sent + MSS}({MSS}) ack 1 win 502")
            sent += MSS
        lines.append(f"+.020 < . 1:1(0) ack {sent} win {window}")

    for number in range(4):
        flight(0 if number == 3 else 115)
    for _ in range(5):
        # RFC 9293 section 3.8.6.1: a byte of new data, taken or not; Linux sends the last byte's number again, and none.
        first, last = (sent - 1, sent - 1) if kind == "empty" else (sent, sent + 1)
        lines.append(f"+{wait} > . {first}:{last}({last - first}) ack 1 win 502")
        sent += kind == "taken"
        lines.append(f"+.020 < . 1:1(0) ack {sent} win 0")
        wait *= 2
    lines.append(f"+.300 < . 1:1(0) ack {sent} win 115")
    for _ in range(4):
        flight(115)
    return "\n".join(lines)


def slow_reader(*, shuts, count=20):
    """Flights of nine segments and a short one every 100 ms, each after 79.8 ms of silence.

    If the window shuts, a window update ends the silence; if it does not, nothing does but the program.
    """
    lines, sent = [OPENING], 1
    for _ in range(count):
        for length in [MSS] * 9 + [1000]:
            lines.append(f"+.00002 > . {sent}:{sent + length}({length}) ack 1 win 502")
            sent += length
        lines.append(f"+.020 < . 1:1(0) ack {sent} win {0 if shuts else 115}")
        if shuts:
            lines.append(f"+.0798 < . 1:1(0) ack {sent} win 115")
        lines.append(f"+{0 if shuts else 0.0798} > . {sent}:{sent}(0) ack 1 win 502")
    return "\n".join(lines)
