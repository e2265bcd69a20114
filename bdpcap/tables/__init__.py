"""The tables that bdpcap returns, and writing them to files."""

from bdpcap.tables.schema import (
    CONNECTIONS,
    DATAGRAMS,
    EVENTS,
    EXCHANGES,
    FLOWS,
    HOST,
    LIMITS,
    PLACES,
    RTTS,
    SCALE_SOURCES,
    STATES,
    Column,
    unit_of,
)

__all__ = [
    "CONNECTIONS",
    "DATAGRAMS",
    "EVENTS",
    "EXCHANGES",
    "FLOWS",
    "HOST",
    "LIMITS",
    "PLACES",
    "RTTS",
    "SCALE_SOURCES",
    "STATES",
    "Column",
    "unit_of",
]
