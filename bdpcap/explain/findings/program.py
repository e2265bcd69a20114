"""Findings on the sending program: it had nothing to send, or it kept to a window of its protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bdpcap.explain.findings.finding import Code, Finding, frames
from bdpcap.explain.notable import NOTABLE_SHARE
from bdpcap.explain.standing import standing
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["idle", "own_window", "pauses", "receivers_window"]

_HTTP2: Final = 65_535
"""Bytes of HTTP/2's initial flow-control window (RFC 9113 section 6.9.2)."""


@dataclass(frozen=True, slots=True)
class _Protocol:
    """A protocol above TCP that has a window."""

    programs: tuple[str, ...]
    """Programs that speak it, where the port shows the program; empty for any."""
    advice: str
    of_receiver: bool = False
    """Whether the receiving program sets the window."""


_ANY: Final = _Protocol(
    (),
    "Let the program have more outstanding: a larger window, larger or more requests (sftp -R and -B), or several "
    "streams.",
)
_OF_HTTP2: Final = _Protocol(
    ("http", "https"),
    "Raise HTTP/2's initial window in the receiving program, for the stream and for the connection (nghttp -w 20 -W 20). "
    "Several connections help, too; several streams of one share its window.",
    of_receiver=True,
)
_OF_SSH: Final = _Protocol(
    ("ssh",),
    "Copy over several connections, or by another transport than SSH (rsync's daemon, HTTP). HPN-SSH has larger channel "
    "windows.",
)
_WINDOWS: Final = {
    _HTTP2: ("HTTP/2's initial flow-control window", "RFC 9113 section 6.9.2", _OF_HTTP2),
    **{
        count * _HTTP2: (
            f"{count} of HTTP/2's initial flow-control windows",
            "RFC 9113 section 6.9.2",
            _OF_HTTP2,
        )
        for count in (2, 4, 8, 16)
    },
    1 << 20: ("1 MiB, a usual window of programs", "RFC 4254 section 5.2; RFC 9113 section 5.2", _ANY),
    2 << 20: (
        "OpenSSH's channel window",
        "RFC 4254 section 5.2; OpenSSH CHAN_SES_WINDOW_DEFAULT",
        _OF_SSH,
    ),
}
"""Flow-control windows of protocols above TCP, in bytes of the protocol's payload, with name, source and protocol."""
_STEPS: Final = 0.02
"""Share of a protocol's window by which the flight may differ between rounds: 2 % was measured for OpenSSH."""
_FRAMING: Final = 1.03
"""Most TCP bytes per byte of a protocol's window: frame and record headers, tags and padding add 0.2 % to 3 %."""


def idle(flow: Flow) -> list[Finding]:
    """Return a finding that the program gave TCP no more to send: it was idle, or kept to its protocol's window."""
    return own_window(flow) or [_idle(flow)]


def pauses(flow: Flow) -> list[Finding]:
    """Return a finding on an idle program if that took a tenth of the time or more, but was not the flow's limit."""
    return (
        [_idle(flow)] if flow.summary["limit"] != "app" and flow.summary["app_share"] >= NOTABLE_SHARE else []
    )


def own_window(flow: Flow) -> list[Finding]:
    """
    Return a finding on a constant flight that no buffer of the kernel explains.

    The limit is ``app``, ``cwnd`` or ``unknown``. Either most rounds have the detail ``own window``, or the flight equals
    a known window of a protocol above TCP.
    """
    limit = str(flow.summary["limit"])
    # A protocol's window opens in steps, so its flight varies. Under `cwnd` the congestion window could vary as much.
    stands = standing(flow, within=_STEPS if limit == "app" else 0.0)
    if stands is None:
        return []
    rounds = stands.rounds
    flight = int(flow.rtts["in_flight_max_bytes"].to_numpy()[rounds].max())
    name, source, protocol = _named(flow, flight)
    waits = (flow.rtts["detail"] == "own window").to_numpy(dtype=bool)
    # A clamped congestion window holds whole segments.
    clamped = limit == "cwnd" and stands.flight % max(1, int(flow.summary["mss_bytes"])) == 0
    if limit not in ("app", "cwnd", "unknown") or clamped or not (name or waits.mean() > 1 / 2):
        return []
    known = f" This is {name} and its framing." if name else ""
    return [
        Finding(
            code=Code.APPLICATION_WINDOW,
            sentence=f"The flight stayed at about {units.exact_bytes(flight)} in {rounds.sum()} of {len(rounds)} rounds, "
            f"though TCP's window had room.{known}",
            cause="The program waits for answers of its protocol before it sends more. TCP's buffers do not change "
            "that.",
            remedy=protocol.advice,
            evidence="the same number of bytes in flight, below the advertised window, without loss",
            frames=frames(flow, rounds),
            values={"flight_bytes": flight, "rounds": int(rounds.sum()), "of_receiver": protocol.of_receiver},
            source=source or "how the flight stays at one size: docs/how-limits-are-inferred.md",
        )
    ]


def _named(flow: Flow, flight: int) -> tuple[str, str, _Protocol]:
    """Return name, source and protocol of a window of that size; empty if the connection is of another protocol."""
    program = flow.program.name if flow.program else ""
    for window, (name, source, protocol) in _WINDOWS.items():
        other = program and protocol.programs and program not in protocol.programs
        if window <= flight <= window * _FRAMING and not other:
            return name, source, protocol
    return "", "", _ANY


def receivers_window(flow: Flow) -> bool:
    """Return whether the flight is that of a window which the receiving program sets."""
    return any(one.values["of_receiver"] for one in own_window(flow))


def _idle(flow: Flow) -> Finding:
    held = (flow.rtts["limit"] == "app").to_numpy()
    return Finding(
        code=Code.SENDER_IDLE,
        sentence="The sending application had nothing to send for "
        f"{units.share(flow.summary['app_share'])} of its active time.",
        cause="TCP was ready to send more than it was given.",
        remedy="Look at the sending application: its reads, its requests, its pauses between writes.",
        values={"app_share": float(flow.summary["app_share"])},
        evidence=f"app in {held.sum()} of {len(held)} rounds",
        frames=frames(flow, held),
        source="gaps that no acknowledgment ended: docs/how-limits-are-inferred.md",
    )
