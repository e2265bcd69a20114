"""A receiver that yields to other traffic by its window, which it lowers to two segments and no further (RFC 9840)."""

from __future__ import annotations

import pytest
from dialogues import analysed
from scenario import HANDSHAKE

from bdpcap.explain.findings import Code
from bdpcap.report import screen

MSS = 1460
FLOOR = 2 * MSS // 4  # as in the header: the scale is 2


def transfer(windows, scale=2):
    """Return a dialogue whose client fills each of these windows, as in the header, in turn."""
    opening = HANDSHAKE.replace("wscale 2", f"wscale {scale}")
    dialogue, sent = opening + "+.001 > . 1:1461(1460) ack 1 win 502\n", 1461
    for window in windows:
        dialogue += f"+.020 < . 1:1(0) ack {sent} win {window}\n"
        for _ in range((window << scale) // MSS):
            dialogue += f"+.00001 > . {sent}:{sent + MSS}({MSS}) ack 1 win 502\n"
            sent += MSS
    return f"{dialogue}+.020 < . 1:1(0) ack {sent} win {FLOOR}\n"


@pytest.mark.parametrize(
    ("windows", "yields"),
    [
        ([FLOOR, FLOOR, 2 * FLOOR, FLOOR, FLOOR] * 6, True),
        ([FLOOR] * 30, False),  # a buffer of two segments
        ([FLOOR, FLOOR, 2 * FLOOR, FLOOR // 2] * 6, False),  # it falls below
        ([FLOOR + 10, FLOOR + 10, 2 * FLOOR] * 10, False),
    ],
)
def test_a_window_that_falls_to_two_segments_and_no_further_yields(windows, yields):
    # Slow start is over when the window falls.
    flow = analysed(transfer([5 * FLOOR, 10 * FLOOR, 20 * FLOOR, *windows])).flow(0)
    assert flow.summary["limit"] == "rwnd"
    assert ("The receiver kept its window small" in " ".join(screen.sentences(flow))) == yields
    assert ("background transfer" in flow.remedy.words) == yields


def test_a_window_that_shuts_is_no_small_one():
    """No window of such a scale stands for two segments."""
    flow = analysed(transfer([16, 4, 0, 4] * 6, scale=12)).flow(0)
    assert "The receiver kept its window small" not in " ".join(screen.sentences(flow))


@pytest.mark.parametrize(("shut_s", "stopped"), [(3, True), (0.05, False)])
def test_a_window_that_is_shut_for_most_of_the_time_is_that_of_a_reader_that_stopped(shut_s, stopped):
    """The window shuts once for seconds, or again and again for moments: a program that stopped, or one that is slow."""
    dialogue, sent, window = (
        HANDSHAKE + "+.001 > . 1:1461(1460) ack 1 win 502\n+.02 < . 1:1(0) ack 1461 win 8000\n",
        1461,
        20,
    )
    for number in range(12):
        for _ in range(window):
            dialogue += f"+.00001 > . {sent}:{sent + MSS}({MSS}) ack 1 win 502\n"
            sent += MSS
        wait = shut_s if number == 5 or not stopped else 0.02
        left = (0,) if number == 5 or not stopped else ()
        for size in left:
            dialogue += f"+.020 < . 1:1(0) ack {sent} win {size}\n"
        dialogue += f"+{wait} < . 1:1(0) ack {sent} win {window * MSS // 4}\n"
    flow = analysed(dialogue).flow(0)
    said = " ".join(screen.sentences(flow))
    (found,) = [one for one in flow.findings if one.code is Code.SLOW_READER]
    assert ("shut for 3 s at one go" in found.sentence.replace("3.00", "3")) == stopped
    assert ("a larger buffer fills as well" in found.remedy) != stopped
    assert ("The receiving program stopped reading" in said) == stopped
    assert ("The receiving program read too slowly" in said) != stopped


def test_a_reader_that_takes_small_pieces_has_not_stopped():
    """It reads 400 bytes each 20 ms, less than a segment, and its window is never shut."""
    dialogue, sent = (
        HANDSHAKE + "+.001 > . 1:1461(1460) ack 1 win 502\n+.02 < . 1:1(0) ack 1461 win 4000\n",
        1461,
    )
    for _ in range(10):
        dialogue += f"+.00001 > . {sent}:{sent + 1600}(1600) ack 1 win 502\n"
        sent += 1600
    dialogue += f"+.02 < . 1:1(0) ack {sent} win 100\n"
    for _ in range(100):
        dialogue += (
            f"+.001 > P. {sent}:{sent + 400}(400) ack 1 win 502\n+.02 < . 1:1(0) ack {sent + 400} win 100\n"
        )
        sent += 400
    assert "stopped reading" not in " ".join(screen.sentences(analysed(dialogue).flow(0)))
