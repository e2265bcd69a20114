"""The tables that bdpcap returns: their columns in order, with types and meanings.

Times are integer nanoseconds since the epoch, and names end in units. Sequence numbers are relative and unwrapped to 64
bits. A missing value is null, never 0 or -1.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from bdpcap import _core
from bdpcap.hosts import CERTAINTIES, FAMILIES, PROGRAMS

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


class Column(NamedTuple):
    """A column: its pandas type (``Int64`` if it may be null), its meaning, and all possible values if they are few."""

    dtype: str
    meaning: str
    only: tuple[str, ...] = ()


LIMITS: Final = ("rwnd", "cwnd", "sndbuf", "link", "app", "unknown")
"""Possible limits of a round and of a flow."""
STATES: Final = (*LIMITS, "idle")
"""Possible states of a round: a limit, or idle."""
PLACES: Final = ("sender", "receiver", "between", "unknown")
SCALE_SOURCES: Final = tuple(_core.SCALE_SOURCES)

_UNITS: Final = {"_ns": "ns", "_bytes": "B", "_bps": "bit/s", "_share": "1"}


FLOWS: Final[dict[str, Column]] = {
    "stream": Column("int64", "connection, numbered as Wireshark's tcp.stream"),
    "sender": Column("str", "address:port that sent the payload"),
    "receiver": Column("str", "address:port that it was sent to"),
    "start_ns": Column("int64", "first packet of the stream"),
    "end_ns": Column("int64", "last packet of the stream"),
    "packets": Column("int64", "captured segments from the sender, copies left out"),
    "payload_bytes": Column("int64", "payload sent, each byte counted once"),
    "retransmitted_bytes": Column("int64", "payload sent again"),
    "retransmits": Column("int64", "packets sent again, for one of the next four reasons"),
    "fast_retransmits": Column("int64", "of them: acknowledgments reported data sent after them"),
    "timeout_retransmits": Column(
        "int64", "of them: the retransmission timer ran out, and what it took for lost"
    ),
    "tail_loss_probes": Column("int64", "of them: the last segment, to learn what is missing (RFC 8985)"),
    "unexplained_retransmits": Column("int64", "of them: nothing in the capture asked for them"),
    "timeouts": Column("int64", "how often the retransmission timer ran out"),
    "timeout_wait_ns": Column("int64", "time waited for the timers of timeouts and tail loss probes"),
    "spurious_retransmits": Column("int64", "packets sent again that had arrived, whatever the reason"),
    "reordered": Column("int64", "segments overtaken on the way to the capture"),
    "copies": Column("int64", "packets that the capture holds another time"),
    "delivered_twice": Column("int64", "packets sent once that the receiver reported twice (D-SACK)"),
    "longest_stall_ns": Column(
        "Int64", "longest time with data in flight and no new acknowledgment; null without any in the capture"
    ),
    "mss_bytes": Column("int64", "largest payload of a packet, options taken off"),
    "window_scale": Column("Int64", "shift of the receiver's windows; null where none is in force or known"),
    "window_scale_source": Column(
        "str", "negotiated, declined, one-sided, inferred or unknown", SCALE_SOURCES
    ),
    "window_max_bytes": Column("Int64", "largest window advertised, scaled"),
    "in_flight_max_bytes": Column("int64", "most bytes in flight, as the sender saw it"),
    "rtt_min_ns": Column("Int64", "least round-trip time, delayed acknowledgments left out"),
    "rtt_median_ns": Column("Int64", "median of the rounds' round-trip times"),
    "throughput_bps": Column(
        "Float64", "captured bytes acknowledged over the flow's life, bits per second; null if none were"
    ),
    "capacity_bps": Column(
        "Float64", "rate of the bottleneck as far as the capture shows it, bits per second"
    ),
    "bdp_bytes": Column("Int64", "capacity times least round-trip time"),
    "vantage": Column("str", "where the capture was taken: sender, receiver, between or unknown", PLACES),
    "capacity_low_bps": Column("Float64", "rate that the path carries at least, bits per second"),
    "capacity_high_bps": Column(
        "Float64", "rate that the path carries at most, bits per second; null unless bursts agree on one"
    ),
    "active_ns": Column("int64", "time in which the flow was not idle"),
    "active_throughput_bps": Column(
        "Float64",
        "captured bytes acknowledged over active_ns and the last data's round trip, bits per second; null if none were",
    ),
    "idle_share": Column("float64", "share of its life in which nothing was asked of the sender"),
    "limit": Column("str", "the limit with the most active time", LIMITS),
    "rwnd_share": Column("float64", "share of active time limited by the receiver's window"),
    "cwnd_share": Column("float64", "share of active time limited by congestion control"),
    "sndbuf_share": Column("float64", "share of active time limited by the send buffer"),
    "link_share": Column("float64", "share of active time limited by the link"),
    "app_share": Column("float64", "share of active time limited by the sending application"),
    "unknown_share": Column("float64", "share of active time that the evidence does not decide"),
    "confidence": Column(
        "float64",
        "confidence of the rounds under the limit, by time; down to 0.5 the nearer a second limit comes",
    ),
    "sender_system": Column("str", "family of the sender's system by its SYN; null where unknown", FAMILIES),
    "sender_system_certainty": Column("str", "how sure sender_system is: likely or possible", CERTAINTIES),
    "receiver_system": Column(
        "str", "family of the receiver's system by its SYN; null where unknown", FAMILIES
    ),
    "receiver_system_certainty": Column(
        "str", "how sure receiver_system is: likely or possible", CERTAINTIES
    ),
}

RTTS: Final[dict[str, Column]] = {
    "stream": Column("int64", "connection, numbered as Wireshark's tcp.stream"),
    "sender": Column("str", "address:port that sent the payload"),
    "receiver": Column("str", "address:port that it was sent to"),
    "round": Column("int64", "round trip, counted from 0 within the flow"),
    "start_ns": Column("int64", "where the round before ended"),
    "end_ns": Column("int64", "where the next round begins"),
    "rtt_ns": Column("Int64", "median round-trip time of segments sent in the round"),
    "acked_bytes": Column("int64", "captured bytes newly acknowledged"),
    "throughput_bps": Column("Float64", "acked_bytes over the round's duration, bits per second"),
    "in_flight_max_bytes": Column("int64", "most bytes in flight, as the sender saw it"),
    "window_min_bytes": Column("Int64", "smallest window advertised"),
    "window_max_bytes": Column("Int64", "largest window advertised"),
    "retransmits": Column("int64", "packets sent again"),
    "limit": Column(
        "str", "what kept the sender from sending more, or idle if nothing was asked of it", STATES
    ),
    "detail": Column("str", "which kind of that limit, or null"),
    "confidence": Column("float64", "0 to 1: how often such a verdict was right on labelled transfers"),
    "rule": Column("str", "the id of the rule that decided, or why none did"),
    "evidence": Column("str", "what the rule says, with the numbers that decided"),
    "alternative": Column("str", "another limit that the capture cannot rule out, or null", STATES),
    "overruled": Column(
        "str",
        "the limit that the capture alone suggests, where the sending kernel's account has another",
        STATES,
    ),
}

EVENTS: Final[dict[str, Column]] = {
    "stream": Column("int64", "connection, numbered as Wireshark's tcp.stream"),
    "sender": Column("str", "address:port that sends the flow's payload"),
    "receiver": Column("str", "address:port that acknowledges it"),
    "time_ns": Column("int64", "time of capture"),
    "frame": Column("int64", "frame.number, counted over all files"),
    "kind": Column("str", "what the segment was to the flow"),
    "sequence": Column("Int64", "first sequence number; null on acknowledgments"),
    "length": Column("Int64", "payload; null on acknowledgments"),
    "acknowledged": Column("Int64", "the acknowledgment's number; else SND.UNA as the sender saw it"),
    "window_bytes": Column("Int64", "window advertised, or in force when the sender sent; scaled"),
    "in_flight_bytes": Column("Int64", "sent and not yet acknowledged, as the sender saw it"),
    "pipe_bytes": Column("Int64", "in flight less what SACK reports delivered or lost"),
    "rtt_ns": Column("Int64", "round-trip time that this acknowledgment measured"),
    "sack_start": Column("Int64", "first byte of the SACK block that brought news; D-SACK is left out"),
    "sack_end": Column("Int64", "the byte after that block"),
    "tcp_flags": Column("int64", "FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64 and CWR 128, added up"),
    "cause": Column(
        "str", "of a retransmission: fast retransmit, timeout, after timeout, tail loss probe or unexplained"
    ),
}

CONNECTIONS: Final[dict[str, Column]] = {
    "stream": Column("int64", "connection, numbered as Wireshark's tcp.stream"),
    "client": Column("str", "address:port that opened it; without a SYN, the end with the higher port"),
    "server": Column("str", "address:port that it was opened to"),
    "start_ns": Column("int64", "first packet"),
    "end_ns": Column("int64", "last packet"),
    "handshake": Column(
        "str",
        "complete, never answered, refused, challenged (only segments of an older connection answered), never completed, "
        "or not captured (a SYN is missing)",
    ),
    "syns": Column("int64", "SYNs that the client sent"),
    "syn_acks": Column("int64", "SYNs that the server sent"),
    "answered_ns": Column(
        "Int64", "from the first packet to the server's first SYN; null where not captured"
    ),
    "opening_ns": Column(
        "Int64", "from the first packet to the first one after both SYNs; null where not captured"
    ),
    "ended": Column("str", "fin, rst, timeout, half-closed (one FIN) or open"),
    "ended_by": Column("str", "address:port that sent the first FIN, or the reset; null where none did"),
    "client_bytes": Column("int64", "payload that the client sent, each byte counted once"),
    "server_bytes": Column("int64", "payload that the server sent, each byte counted once"),
    "unacknowledged_bytes": Column("int64", "payload of both that was not acknowledged at the end"),
    "tls_alert": Column(
        "Int64", "description of the fatal TLS alert that ended the handshake (RFC 8446 section 6), or null"
    ),
    "tls_alert_by": Column("str", "address:port that sent it; null where none did"),
    "tls_unanswered_ns": Column(
        "Int64", "from a TLS hello until an end closed, if the server sent no data before; else null"
    ),
    "http_unanswered_ns": Column(
        "Int64", "from an HTTP/1 request until an end closed, if the server sent no data after it; else null"
    ),
    "http_responses": Column(
        "int64", "responses of HTTP/1 in clear text to requests, as far as each begins a segment"
    ),
    "error_responses": Column(
        "int64",
        "those of them with a status from 400 on, and FTP's replies 425, 426 (no connection for data) and 530 (no login)",
    ),
    "error_status": Column("Int64", "status or code of the last error, one of the server first; or null"),
    "completeness": Column(
        "int64", "what was captured: SYN 1, SYN-ACK 2, ACK 4, data 8, FIN 16, RST 32 (as tcp.completeness)"
    ),
    "client_system": Column("str", "family of the client's system by its SYN; null where unknown", FAMILIES),
    "client_system_certainty": Column("str", "how sure client_system is: likely or possible", CERTAINTIES),
    "server_system": Column(
        "str", "family of the server's system by its SYN-ACK; null where unknown", FAMILIES
    ),
    "server_system_certainty": Column("str", "how sure server_system is: likely or possible", CERTAINTIES),
    "program": Column(
        "str", "program or protocol by iperf3's cookie, or by a well-known port; or null", PROGRAMS
    ),
    "program_certainty": Column("str", "likely by a cookie, possible by a port", CERTAINTIES),
}

EXCHANGES: Final[dict[str, Column]] = {
    "stream": Column("int64", "connection, numbered as Wireshark's tcp.stream"),
    "client": Column("str", "address:port that asks"),
    "server": Column("str", "address:port that answers"),
    "exchange": Column("int64", "request and response, counted from 0 within the stream"),
    "request_start_ns": Column("int64", "first payload of the request is captured"),
    "request_end_ns": Column("int64", "last payload of the request, sent again or not"),
    "request_bytes": Column("int64", "payload of the request, each byte counted once"),
    "response_start_ns": Column("int64", "first payload of the response is captured"),
    "response_end_ns": Column("int64", "last payload of the response, sent again or not"),
    "response_bytes": Column("int64", "payload of the response, each byte counted once"),
    "tls_handshake": Column("bool", "a turn of a TLS handshake, so no request of the program"),
    "first_frame": Column("int64", "frame.number where the request begins"),
    "last_frame": Column("int64", "frame.number where the response ends"),
    "duration_ns": Column("int64", "to the start of the next request; of the last, to the response's end"),
    "server_ns": Column(
        "Int64", "the server's time; null where no round trip from the capture to it was seen"
    ),
    "network_ns": Column("Int64", "what neither server nor client took: round trips and transfer"),
    "client_ns": Column("Int64", "the client's time until its next request; null where none follows"),
    "request_pauses": Column(
        "int64", "pauses of the client within the request that were longer than a round trip"
    ),
    "request_pause_ns": Column(
        "int64", "time of all pauses of the client within the request, a part of its time"
    ),
    "request_holds": Column(
        "int64", "times that a part of the request waited for a delayed acknowledgment (Nagle)"
    ),
    "request_held_ns": Column("int64", "time of these waits, a part of the network's"),
    "response_holds": Column("int64", "times that a part of the response waited so"),
    "response_held_ns": Column("int64", "time of these waits, a part of the network's"),
}

DATAGRAMS: Final[dict[str, Column]] = {
    "sender": Column("str", "address:port that sent"),
    "receiver": Column("str", "address:port that it was sent to"),
    "packets": Column("int64", "UDP datagrams captured"),
    "payload_bytes": Column("int64", "payload captured"),
    "start_ns": Column("int64", "first datagram"),
    "end_ns": Column("int64", "last datagram"),
    "throughput_bps": Column("Float64", "payload from the first datagram to the last, bits per second"),
    "tool": Column("str", "iperf2, iperf3, or null: who numbered the datagrams"),
    "lost": Column("Int64", "datagrams missing, as the tool's server at the place of capture counts them"),
    "reordered": Column("Int64", "datagrams after one with a higher number, as that server counts them"),
    "jitter_ns": Column("Int64", "smoothed deviation of transit times at the end (RFC 1889 section 6.3.1)"),
}


HOST: Final[dict[str, Column]] = {
    "time_ns": Column("int64", "when the host was asked, by its clock"),
    "sender": Column("str", "address:port of the host"),
    "receiver": Column("str", "address:port of its peer"),
    "cwnd_segments": Column("Int64", "congestion window"),
    "ssthresh_segments": Column("Int64", "slow start threshold; null while there is none"),
    "mss_bytes": Column("Int64", "maximum segment size, options taken off"),
    "window_bytes": Column("Int64", "window that the peer advertised, scaled"),
    "unacked_segments": Column("Int64", "segments sent and not acknowledged"),
    "not_sent_bytes": Column("Int64", "bytes in the send buffer that were not sent yet"),
    "acked_bytes": Column("Int64", "bytes acknowledged so far"),
    "retransmits": Column("Int64", "segments retransmitted so far"),
    "rtt_ns": Column("Int64", "smoothed round-trip time"),
    "rtt_min_ns": Column("Int64", "least round-trip time of the last minutes"),
    "buffer_used_bytes": Column("Int64", "memory that the send buffer holds, overhead of packets included"),
    "buffer_bytes": Column("Int64", "size of the send buffer, in the same memory"),
    "busy_ns": Column("Int64", "time so far with anything unsent or unacknowledged"),
    "rwnd_limited_ns": Column("Int64", "of that, time limited by the receive window"),
    "sndbuf_limited_ns": Column("Int64", "of that, time limited by the send buffer"),
    "delivery_rate_bps": Column("Int64", "latest delivery rate, bits per second"),
    "pacing_rate_bps": Column("Int64", "rate of pacing, bits per second"),
}


def unit_of(name: str) -> str:
    """Return the unit for the suffix of a column's name; empty if the name has no such suffix."""
    return next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "")
