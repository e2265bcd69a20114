"""The calculation of a window from its setting, in one line of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.explain.buffers import FIELD_MAX, FULL, WELL_KNOWN, Advertised, Knob, Setting

if TYPE_CHECKING:
    from bdpcap.explain.answer import Observed

__all__ = ["arithmetic"]

_PARTS: Final = {2: "half", 4: "a quarter"}
"""Words for the share at which growth stops, by its denominator."""


def arithmetic(
    setting: Setting, advertised: Advertised, observed: Observed, scale: int | None, default: int
) -> str:
    """
    Return the calculation of a window from a setting whose share is not measured.

    `scale` is the window scale by which it was rounded, `default` the size of the buffer before SO_RCVBUF was set after
    the handshake.
    """
    if not setting.era.linux:
        return _elsewhere(setting, advertised, observed, scale)
    if setting.knob is Knob.CLAMP:
        words = f"{setting.value:,}, the most that a route or the program allows"
    else:
        words = _on_linux(setting, advertised, default)
    return _rounding(words, advertised, observed, scale)


def _elsewhere(setting: Setting, advertised: Advertised, observed: Observed, scale: int | None) -> str:
    value, mss = setting.value, observed.mss
    if setting.knob is Knob.STACK:
        return f"{advertised.window // mss} x {mss:,}, whole segments"
    if setting.era.whole_segments and mss > 1:
        segments = advertised.window // mss
        return f"{value:,}, up to {segments} segments: {segments} x {mss:,} = {advertised.window:,}"
    if setting.knob is Knob.START:
        whole, segments = -(-value // mss) * mss, -(-value // mss)
        down = f", down to a multiple of {1 << (scale or 0)}: {advertised.window:,}" if scale else ""
        return f"{WELL_KNOWN[setting.knob, value]}, in {segments} segments: {segments} x {mss:,} = {whole:,}{down}"
    part = "the whole buffer" if advertised.offered == value else f"half of it: {advertised.offered:,}"
    if advertised.window == advertised.raw:
        return f"{value:,}, {part}"
    return f"{value:,}, {part}, down to a multiple of {1 << (scale or 0)}: {advertised.window:,}"


def _on_linux(setting: Setting, advertised: Advertised, default: int) -> str:
    era, value, knob = setting.era, setting.value, setting.knob
    first = f"2 x {value:,}" if knob in (Knob.OPTION, Knob.AFTER) else f"{value:,}"
    if advertised.buffer != 2 * value and knob is Knob.OPTION:
        first = f"{advertised.buffer:,} (the least)"
    share = "128/256, the share of the handshake," if era.is_measured else era.factor
    if setting.stop < FULL:
        return (
            f"{first} x {share} = {advertised.offered:,}; growth in steps of two segments stops past "
            f"{_PARTS[setting.stop.denominator]} of it, at {advertised.raw:,}"
        )
    if knob is Knob.AFTER and advertised.raw < advertised.offered:
        kept = era.offered(default, initial=True) - advertised.raw
        return (
            f"{default:,}, the default of tcp_rmem[1], x {share} - {kept:,} = {advertised.raw:,}; a larger buffer "
            "that is set then does not raise it"
        )
    if advertised.raw == FIELD_MAX < advertised.offered:
        return f"{first} x {share} = {advertised.offered:,}, of which a window without a scale holds {FIELD_MAX:,}"
    kept = advertised.offered - advertised.raw
    return f"{first} x {share}{f' - {kept:,}' if kept else ''} = {advertised.raw:,}"


def _rounding(words: str, advertised: Advertised, observed: Observed, scale: int | None) -> str:
    if advertised.window == advertised.raw:
        return words
    used = advertised.scale if advertised.scale is not None else scale
    if advertised.window == FIELD_MAX << (used or 0):
        return f"{words}, cut to the {advertised.window:,} that the window field holds"
    if used:
        return f"{words}, up to a multiple of {1 << used}: {advertised.window:,}"
    return f"{words}, down to {advertised.window // observed.mss} segments: {advertised.window:,}"
