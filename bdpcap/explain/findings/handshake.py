"""Findings on the handshake: window scaling and the size of segments."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from bdpcap.explain import gate, remedies
from bdpcap.explain.buffers import FIELD_MAX, SCALE_MAX, UNSCALED
from bdpcap.explain.findings.finding import Certainty, Code, Finding
from bdpcap.explain.findings.path_mtu import too_big
from bdpcap.explain.headers import INSIDE_MTU, of_endpoint
from bdpcap.explain.notable import NOTABLE_SHARE
from bdpcap.explain.solver import Exactness
from bdpcap.hosts import clamped_from_mss_bytes
from bdpcap.words import units
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["explains", "has_default_size", "rewritten"]

_TCP: Final = INSIDE_MTU["tcp"]
"""Bytes of TCP's header without options."""
_TIMESTAMPS: Final = INSIDE_MTU["timestamps"]
"""Bytes of the timestamps option, padded."""
_DEFAULT: Final = 536
"""MSS over IPv4 for a receiver that offers none (RFC 9293 section 3.7.1)."""
_OPTIONS: Final = 40
"""Most bytes of options in a segment (RFC 9293 section 3.1)."""
_BEYOND: Final = 1.9
"""Flight over the window from which on another scale is in force: the next one doubles the window; a choice."""
_BEYOND_SHARE: Final = 0.3
"""Share of the rounds that must be so; a choice."""
_FEWEST_BEYOND: Final = 3
"""Rounds that must be so; a choice."""
_SMALL_SEGMENTS: Final = 4
"""Segments of window up to which nothing is claimed: a probe or a segment may exceed a window of one or two."""
_FLAT_SHARE: Final = 0.7
"""Share of the rounds that must stop at the unscaled window field; a choice."""
_FEWEST_FLAT: Final = 8
"""Rounds that must stop there; a choice."""
_LINKS: Final = {
    1500: "Ethernet",
    9000: "Ethernet with jumbo frames",
    1492: "PPPoE",
    1480: "a tunnel, IP in IP",
}
"""Links by MTU in bytes: IEEE 802.3, common jumbo frames, RFC 2516 section 7, and RFC 2003 over Ethernet."""


def explains(flow: Flow) -> list[Finding]:
    """Return findings on window scaling that is off, unknown or rewritten, and on the MTU behind the segment size."""
    return [told for told in (_scaling(flow), rewritten(flow), _segments(flow)) if told is not None]


def _scaling(flow: Flow) -> Finding | None:
    source, window = str(flow.summary["window_scale_source"]), flow.summary["window_max_bytes"]
    if source == UNSCALED:
        rtt = flow.summary["rtt_min_ns"]
        allowed = gate.allowed_bps(FIELD_MAX, rtt)
        most = "" if allowed is None else f", {units.rate(allowed)} over {units.duration(rtt)}"
        advice = remedies.scaling_of(flow)
        return Finding(
            code=Code.WINDOW_UNSCALED,
            sentence=f"No window scale is in force: a window can be {FIELD_MAX:,} bytes at most{most}.",
            cause="One side at least offered no window scaling, or a middlebox took the option out.",
            remedy=advice.words,
            commands=advice.commands,
            evidence=f"window scale {source} in the handshake",
            values={"window_scale_source": source},
            exactness=Exactness.EXACT,
            certainty=Certainty.CERTAIN,
            source="RFC 7323 section 2.2",
        )
    if source == "one-sided":
        scale = int(flow.summary["window_scale"])
        return Finding(
            code=Code.WINDOW_SCALE_UNKNOWN,
            sentence=f"The sender's SYN was not captured: the receiver's scale of {scale} is taken to be in force.",
            cause="A window scale is in force only if both SYNs carry the option.",
            remedy="Start the capture before the connection, and let it see both directions.",
            evidence="one SYN",
            values={"window_scale": scale},
            source="RFC 7323 section 2.2",
        )
    if source == "unknown":
        return Finding(
            code=Code.WINDOW_SCALE_UNKNOWN,
            sentence="The handshake was not captured: the receiver's window is known only before its scale is applied."
            + ("" if pd.isna(window) else f" Taken as {units.exact_bytes(window)} at most."),
            cause="The window scale is said once, in the SYN.",
            remedy="Start the capture before the connection.",
            evidence="no SYN of the receiver",
            certainty=Certainty.CERTAIN,
            source="RFC 7323 section 2.2",
        )
    return None


def rewritten(flow: Flow) -> Finding | None:
    """Return a finding on a sender that applies another window scale than the capture shows; None if there is none."""
    inferred = _inferred(flow)
    if inferred is not None:
        return inferred
    window, flight = flow.summary["window_max_bytes"], int(flow.summary["in_flight_max_bytes"])
    scale = flow.summary["window_scale"]
    if (
        str(flow.summary["window_scale_source"]) != "negotiated"
        or pd.isna(window)
        or not flight
        or pd.isna(scale)
    ):
        return None
    flights = flow.rtts["in_flight_max_bytes"].to_numpy(dtype=np.float64)
    windows = flow.rtts["window_max_bytes"].to_numpy(dtype=np.float64, na_value=np.nan)
    mss = int(flow.summary["mss_bytes"])
    beyond = flights > _BEYOND * windows + 2 * mss
    # A probe or a single segment may exceed a window of one or two segments.
    if beyond.sum() >= _FEWEST_BEYOND and beyond.mean() > _BEYOND_SHARE and window > _SMALL_SEGMENTS * mss:
        larger = int(scale) + round(math.log2(flight / float(window)))
        if larger <= SCALE_MAX:
            return _scale(
                f"{units.exact_bytes(flight)} were in flight under a window of {units.exact_bytes(window)}",
                seen=int(scale),
                shift=larger,
                rounds=len(flow.rtts),
            )
    # A sender that does not know the scale keeps its flight at the unscaled value of the window field.
    field = int(window) >> int(scale)
    flat = np.abs(flights - field) <= mss
    if (
        scale
        and flat.sum() >= _FEWEST_FLAT
        and flat.mean() > _FLAT_SHARE
        and field > _SMALL_SEGMENTS * mss
        and flow.summary["rwnd_share"] < NOTABLE_SHARE
    ):
        return _scale(
            f"The sender stops at {units.exact_bytes(flight)}, the window field of {field:,} taken without its scale",
            seen=int(scale),
            shift=0,
            rounds=len(flow.rtts),
        )
    return None


def _inferred(flow: Flow) -> Finding | None:
    """Return a finding on a handshake whose window scale the flow's traffic contradicts; None if there is none."""
    found = (
        one
        for one in flow.capture.scales
        if (one.stream, one.sender) == (flow.stream, flow.sender) and one.handshake not in (None, one.shift)
    )
    scale, window = next(found, None), flow.summary["window_max_bytes"]
    if scale is None or scale.handshake is None or pd.isna(window) or window <= 0:
        return None
    flight = int(flow.summary["in_flight_max_bytes"])
    if 2 * flight < int(window):
        return None  # the flow did not use its window, so the scale was inferred from other evidence
    field = int(window) >> scale.shift
    said = units.exact_bytes(field << scale.handshake)
    return _scale(
        f"At most {units.exact_bytes(flight)} were in flight, and the window field of {field:,} shifted by "
        f"{scale.shift} is {units.exact_bytes(window)}; shifted by {scale.handshake}, {said}",
        seen=scale.handshake,
        shift=scale.shift,
        rounds=len(flow.rtts),
    )


def _scale(observation: str, *, seen: int, shift: int, rounds: int) -> Finding:
    ends = (
        f"The receiver advertises by scale {seen}, the sender goes by {shift}"
        if shift < seen
        else f"The sender goes by scale {shift}, the handshake as captured says {seen}"
    )
    return Finding(
        code=Code.WINDOW_SCALE_REWRITTEN,
        sentence=f"{observation}. {ends}.",
        cause="Something on the way, such as a firewall, changed the window scale of the handshake or took it out.",
        remedy="Compare the SYN and SYN-ACK in captures at both ends; let the firewall, NAT or accelerator between "
        "them leave the option as it is.",
        commands=("tcpdump -nv 'tcp[tcpflags] & tcp-syn != 0'   # both ends: wscale",),
        evidence=f"in {rounds} rounds; an acknowledgment that was not captured could look alike",
        values={"window_scale": seen, "implied_scale": shift},
        source="RFC 7323 section 2.3",
    )


def has_default_size(flow: Flow) -> bool:
    """Return whether a sender's full segments have the size that it takes without an MSS option, and no router's MTU.

    The receiver's SYN as captured offers more, and no segment was larger. Over IPv6, that size is also the one for the
    least MTU of a path.
    """
    announced, full = int(flow._counts["announced_mss_bytes"] or 0), int(flow.summary["mss_bytes"])
    small = full + _options(flow) == _DEFAULT < announced and not flow.sender.startswith("[")
    shrunk = int(flow._counts["largest_bytes"]) > full
    return bool(flow._counts["handshake"]) and small and not shrunk and not too_big(flow)


def _options(flow: Flow) -> int:
    """Return the bytes of the options that every segment of a flow has."""
    return _TIMESTAMPS if flow._counts["has_timestamps"] else 0


def _offers_no_more(flow: Flow, full: int) -> bool:
    """Return whether the sender's own SYN has the MSS of its full segments."""
    return bool(full + _options(flow) == flow._counts["syn_mss_bytes"])


def _own_size(flow: Flow, announced: int, full: int) -> Finding:
    """Return a finding on a sender whose own SYN offers no larger segments than it sends."""
    options = _options(flow)
    headers = of_endpoint(flow.sender)
    own = flow.capture._contents.systems.syns_of(flow.stream)[0 if flow.is_from_client else 1]
    before = None if own is None else clamped_from_mss_bytes(own)
    offered = full + options
    why = (
        f"the SYN of {host(flow.sender)} came with MSS {offered:,}, that of {host(flow.receiver)} with "
        f"{announced + options:,}"
        if before is None
        else f"a device on the way lowered the MSS in the SYN of {host(flow.sender)} from {before:,} to {offered:,}"
    )
    return Finding(
        code=Code.SEGMENT_SIZE,
        sentence=f"Full segments carry {full:,} bytes: {why}.",
        cause=f"The sender's own interface or route has an MTU of {offered + headers:,} bytes, or a router on the way "
        "clamps the MSS of both SYNs."
        if before is None
        else "A router, a firewall or the end of a tunnel clamps the MSS, so that segments fit a smaller MTU.",
        remedy="If the path carries more, raise the MTU there, or lift the clamp.",
        values={"mss_bytes": full, "announced_mss_bytes": announced},
        evidence="the largest payload without PSH, sent three times and more; MSS of both SYNs",
        certainty=Certainty.LIKELY,
        source="RFC 9293 section 3.7.1",
    )


def _default_size(flow: Flow, announced: int, full: int) -> Finding:
    """Return a finding on a sender that goes without the MSS option of its receiver."""
    options = _options(flow)
    return Finding(
        code=Code.SEGMENT_SIZE,
        sentence=f"Full segments carry {full:,} bytes (MSS {full + options:,}), though the SYN of {host(flow.receiver)} "
        f"has MSS {announced + options:,}. A sender takes this size if no MSS option reached it.",
        cause="A device on the way answered the handshake in the sender's place (a SYN proxy), or took the option out.",
        remedy="Let the SYN proxy, load balancer or firewall before the sender pass the MSS option on.",
        values={"mss_bytes": full, "announced_mss_bytes": announced},
        evidence="the largest payload without PSH, sent three times and more; MSS of the receiver's SYN",
        certainty=Certainty.LIKELY,
        source="RFC 9293 section 3.7.1",
    )


def _below_announced(flow: Flow, announced: int, full: int) -> Finding:
    """Return a finding on full segments that are smaller than the receiver allows."""
    if _offers_no_more(flow, full):
        return _own_size(flow, announced, full)
    if has_default_size(flow):
        return _default_size(flow, announced, full)
    headers = of_endpoint(flow.sender) + _options(flow)
    # The options of a segment take at most 40 bytes (RFC 9293 section 3.1).
    room = announced - full <= _OPTIONS - _options(flow)
    return Finding(
        code=Code.SEGMENT_SIZE,
        sentence=f"Full segments carry {full:,} bytes, {announced - full:,} less than the handshake allows.",
        cause="The sender keeps room for TCP options such as SACK blocks in every segment."
        if room
        else f"The path carries {full + headers:,} bytes a packet: a link or tunnel on it has a smaller MTU than the "
        "hosts, as path MTU discovery found.",
        values={"mss_bytes": full, "announced_mss_bytes": announced, "mtu_bytes": full + headers},
        evidence="the largest payload without PSH, sent three times and more; MSS of the receiver's SYN",
        certainty=Certainty.LIKELY,
        source="RFC 8899 section 3; RFC 9293 section 3.7.1",
    )


def _segments(flow: Flow) -> Finding | None:
    """Return a finding on the size of full segments: below the handshake's, or that of a usual MTU; else None."""
    said = bool(flow._counts["handshake"])
    announced, full = int(flow._counts["announced_mss_bytes"] or 0), int(flow.summary["mss_bytes"])
    if full < announced:
        return _below_announced(flow, announced, full)
    # Without the handshake only the largest payload shows the MSS.
    mss = int(flow.summary["mss_bytes"]) if said else int(flow._counts["largest_bytes"] or 0)
    headers = of_endpoint(flow.sender)
    for options, name in ((0, ""), (_TIMESTAMPS, " with timestamps")):
        mtu = mss + headers + options
        if mtu in _LINKS:
            version = "IPv6" if flow.sender.startswith("[") else "IPv4"
            spelt = f"{mss:,} + {headers - _TCP} ({version}) + {_TCP} (TCP)" + (
                f" + {options}" if options else ""
            )
            return Finding(
                code=Code.SEGMENT_SIZE,
                sentence=f"Full segments carry {mss:,} bytes: an MTU of {mtu:,} ({_LINKS[mtu]}){name}.",
                cause=f"{spelt} = {mtu:,}.",
                values={"mss_bytes": mss, "mtu_bytes": mtu},
                evidence="MSS of the handshake, timestamps taken off"
                if said
                else "largest payload of a packet",
                exactness=Exactness.EXACT if said else Exactness.CONSISTENT,
                certainty=Certainty.CERTAIN if said else Certainty.LIKELY,
                source="RFC 6691 section 2; RFC 7323 section 3.2",
            )
    return None
