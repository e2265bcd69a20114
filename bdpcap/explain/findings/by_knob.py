"""Cause, advice and commands for a window, by the knob that determines it."""

from __future__ import annotations

from typing import Final

from bdpcap.explain.buffers import Knob

__all__ = ["CAUSES", "COMMANDS", "RAISING", "STOPPED"]

CAUSES: Final = {
    Knob.OPTION: "The receive buffer has a fixed size, and the kernel offers a share of it as window.",
    Knob.AFTER: "The program set SO_RCVBUF on the connection, after the handshake. That stops autotuning.",
    Knob.DEFAULT: "The receive buffer keeps its default size: autotuning does not grow it.",
    Knob.GROWN: "Autotuning grew the receive buffer to its maximum.",
    Knob.CLAMP: "A route (ip route ... window N) or the program (TCP_WINDOW_CLAMP) allows no larger window.",
    Knob.START: "Windows' autotuning begins with this window, and doubles it while data arrive and the program reads.",
    Knob.STACK: "The window is a whole number of segments, as small stacks such as lwIP have it.",
}
"""Cause of a window by the knob that determines it."""
STOPPED: Final = (
    "Packets take more memory than they carry. "
    "The kernel then opens the window only until it exceeds a part of the share."
)
RAISING: Final = {
    Knob.OPTION: "To raise the window, set a larger buffer before the handshake, or set none and let autotuning grow it.",
    Knob.AFTER: "Let the receiving program set no SO_RCVBUF, or set it before listen() or connect().",
    Knob.DEFAULT: "See whether net.ipv4.tcp_moderate_rcvbuf is 0 on the receiver. If not, its program sets "
    "SO_RCVBUF after the handshake.",
    Knob.GROWN: "To raise the window, raise the third value of net.ipv4.tcp_rmem on the receiver.",
    Knob.CLAMP: "Look for a window in the receiver's routes, and for TCP_WINDOW_CLAMP in its program.",
    Knob.START: "A longer transfer or a kept connection gets a larger window. Where it keeps its size for seconds, "
    "look for SO_RCVBUF in the receiving program.",
    Knob.STACK: "To raise the window, build the stack with a larger TCP_WND.",
}
"""Advice by the knob that determines the window."""
COMMANDS: Final = {
    Knob.DEFAULT: ("sysctl net.ipv4.tcp_moderate_rcvbuf net.ipv4.tcp_rmem   # receiver",),
    Knob.GROWN: ("sysctl net.ipv4.tcp_rmem   # receiver: the third value",),
    Knob.CLAMP: ("ip route show   # receiver: window",),
}
