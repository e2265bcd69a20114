"""What was captured, and how far it can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdpcap import units

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from bdpcap.analysis import Capture


def facts(capture: Capture) -> list[tuple[str, str]]:
    """Return what was captured as names and values, in the order in which one asks for them."""
    info = capture.info
    formats = [
        f"{form}, {compression}" if compression else form
        for form, compression in zip(info.formats, info.compression, strict=True)
    ]
    lasted = (
        units.duration(info.last_ns - info.first_ns)
        if info.first_ns is not None and info.last_ns is not None
        else units.MISSING
    )
    rows = [
        ("file" if len(info.files) == 1 else "files", ", ".join(info.files)),
        ("format", "; ".join(dict.fromkeys(formats))),
        ("link types", _counts(info.link_types)),
        ("frames", units.count(info.frames)),
        ("TCP segments", f"{units.count(info.segments)} in {_number(info.streams, 'stream')}"),
        ("flows with payload", units.count(len(capture.flows))),
        ("first frame", units.instant(info.first_ns)),
        ("duration", lasted),
        ("vantage", _vantage(capture.flows)),
        (
            "dropped while capturing",
            "not recorded" if info.capture_drops is None else units.count(info.capture_drops),
        ),
    ]
    if info.datagrams:
        flows = _number(len(capture.datagrams), "flow")
        rows.append(("UDP datagrams", f"{units.count(info.datagrams)} in {flows}"))
    if info.paths:
        rows.append(("tags and tunnels", _counts(info.paths)))
    if info.filtered_out:
        rows.append(("left out by the filter", _number(info.filtered_out, "frame")))
    rows.extend(("comment", comment) for comment in info.comments)
    return rows


def caveats(capture: Capture) -> list[str]:
    """Return what speaks against trusting the numbers, one sentence each; gravest first, empty if nothing."""
    info, flows = capture.info, capture.flows
    scaleless = int((flows["window_scale_source"] == "unknown").sum())
    placeless = int((flows["vantage"] == "unknown").sum())
    findings = [
        (capture.damage, f"The capture is damaged: {capture.damage}. What lies before is reported."),
        (
            info.capture_drops,
            f"{_number(info.capture_drops, 'packet')} dropped while capturing: a loss may be the tap's.",
        ),
        (not info.segments, "No TCP segment was found."),
        (info.segments and flows.empty, "No flow carried payload: there is nothing to judge."),
        (info.time_backwards, f"Time runs backwards at {_number(info.time_backwards, 'frame')}."),
        (info.without_time, f"{_number(info.without_time, 'frame')} without a time, left out."),
        (info.undecoded, f"Not decoded: {_counts(info.undecoded)}."),
        (scaleless, f"Window scale unknown, handshake not captured: {_number(scaleless, 'flow')}."),
        (placeless, f"Could not tell where it was captured: {_number(placeless, 'flow')}."),
        (
            info.cut_by_snaplen,
            f"{_number(info.cut_by_snaplen, 'frame')} cut by the snap length; lengths are from headers.",
        ),
    ]
    return [sentence for found, sentence in findings if found]


def _vantage(flows: pd.DataFrame) -> str:
    """Return where streams were captured, seen from the end that sent more; with numbers if it differs."""
    flows = flows.sort_values("payload_bytes", ascending=False).drop_duplicates("stream")
    names = {"sender": "at the sender", "receiver": "at the receiver", "between": "between the ends"}
    seen = {
        names.get(str(place), str(place)): number for place, number in flows["vantage"].value_counts().items()
    }
    return next(iter(seen)) if len(seen) == 1 else _counts(seen)


def _counts(counts: Mapping[str, int]) -> str:
    """Return names with their numbers, largest first."""
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} ({units.count(number)})" for name, number in ordered) or units.MISSING


def _number(number: int | None, noun: str) -> str:
    return f"{units.count(number)} {noun}{'' if number == 1 else 's'}"
