"""The sending kernel's account (``ss``, ``TCP_INFO``): where it was given and decides, it outranks the other rules.

The kernel does not see the link, so `link` stays where the kernel reports a full window, a full buffer or unsent data. A
program without data to send is not held by the link. Where rules and account agree, the rule about packets stays, and
the sentence of the account is added.
"""

from __future__ import annotations

from typing import Final

from bdpcap.limits.evidence.kernel import Kernel
from bdpcap.limits.rule import Rule, all_of, at_least, at_most

__all__ = ["RULES"]

_CLOCK: Final = "all but the ticks of 4 to 10 ms at either end"
_EVERY: Final = "every sample"
_UNSENT: Final = at_least(Kernel.unsent_share, 1, because=_EVERY)

RULES: Final = (
    Rule(
        id="kernel-room",
        limit="app",
        holds=at_least(Kernel.room_share, 1, because=_EVERY),
        says="The sending kernel had sent all its data, and {kernel.used} of {kernel.buffer} in its send buffer were "
        "used: the program offered no more.",
        why="A program that has more to send fills the room in its send buffer.",
        source="Linux sk_stream_memory_free(), sk_stream_write_space()",
    ),
    Rule(
        id="kernel-window",
        limit="rwnd",
        holds=at_least(Kernel.window_share, 0.9, because=_CLOCK),
        says="The sending kernel counted {kernel.window_share} of the time as limited by the receive window.",
        why="The kernel runs this clock only while the window holds the next segment back.",
        source="Linux tcp_write_xmit(), tcp_chrono_start()",
    ),
    Rule(
        id="kernel-blocked",
        limit="sndbuf",
        holds=at_least(Kernel.blocked_share, 0.9, because=_CLOCK),
        says="The sending kernel counted {kernel.blocked_share} of the time as limited by the send buffer.",
        why="The kernel runs this clock only while all data are sent and a writer waits for room.",
        source="Linux tcp_cwnd_validate(), tcp_chrono_start()",
    ),
    Rule(
        id="kernel-full",
        limit="sndbuf",
        holds=at_least(Kernel.full_share, 1, because=_EVERY),
        says="The sending kernel had sent all its data, and its send buffer was full: {kernel.used} of "
        "{kernel.buffer} used.",
        why="Linux wakes a writer only when a third of the buffer is free.",
        source="Linux sk_stream_write_space(), sk_stream_min_wspace()",
        blind="A program that keeps the buffer that full without ever filling it looks the same.",
    ),
    Rule(
        id="kernel-unsent",
        limit="cwnd",
        holds=all_of(
            _UNSENT,
            at_most(Kernel.window_share, 0.1, because=_CLOCK),
        ),
        says="The sending kernel held {kernel.unsent} unsent, and the receive window had room: its congestion window "
        "was {kernel.cwnd}.",
        why="Data that neither the receive window nor the program holds back wait for the congestion window or its "
        "pacing.",
        source="Linux tcp_write_xmit(), tcp_cwnd_test()",
        blind="The kernel does not see the link.",
        alternatives={"link": _UNSENT},
    ),
)
