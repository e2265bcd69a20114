"""Advice and commands that lift a limit, for the host that they are for; none lowers a value that a host has."""

from bdpcap.explain.remedies.congestion import (
    NEARLY_ALL,
    ON_ONE_MACHINE,
    Losses,
    fair_queue,
    losses,
    lost_before_capture,
    may_be_policed,
    on_losses,
    repair,
)
from bdpcap.explain.remedies.host import UNKNOWN, Host, ends, of
from bdpcap.explain.remedies.link import find_link
from bdpcap.explain.remedies.programs import unset
from bdpcap.explain.remedies.receive import (
    autotuned_default,
    fixed_buffer,
    is_autotuned,
    memory,
    receive_buffer,
)
from bdpcap.explain.remedies.remedy import Remedy, joined
from bdpcap.explain.remedies.sack import sack
from bdpcap.explain.remedies.scaling import scaling_of, window_scaling
from bdpcap.explain.remedies.send import WMEM_DEFAULT, send_buffer

__all__ = [
    "NEARLY_ALL",
    "ON_ONE_MACHINE",
    "UNKNOWN",
    "WMEM_DEFAULT",
    "Host",
    "Losses",
    "Remedy",
    "autotuned_default",
    "ends",
    "fair_queue",
    "find_link",
    "fixed_buffer",
    "is_autotuned",
    "joined",
    "losses",
    "lost_before_capture",
    "may_be_policed",
    "memory",
    "of",
    "on_losses",
    "receive_buffer",
    "repair",
    "sack",
    "scaling_of",
    "send_buffer",
    "unset",
    "window_scaling",
]
