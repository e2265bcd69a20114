"""The systems of a connection's hosts by their SYNs, and its program by a cookie or a port."""

from bdpcap.hosts.names import FAMILIES, described, named, sentence
from bdpcap.hosts.programs import PROGRAMS, Program, program_of
from bdpcap.hosts.rewritten import clamped_from_mss_bytes, stripped
from bdpcap.hosts.syn import Syn
from bdpcap.hosts.systems import CERTAINTIES, System, system_of

__all__ = [
    "CERTAINTIES",
    "FAMILIES",
    "PROGRAMS",
    "Program",
    "Syn",
    "System",
    "clamped_from_mss_bytes",
    "described",
    "named",
    "program_of",
    "sentence",
    "stripped",
    "system_of",
]
