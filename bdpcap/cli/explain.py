"""``bdpcap explain``: explain window and rate of a flow, and name settings to change."""

from __future__ import annotations

import dataclasses
import json
from typing import IO, TYPE_CHECKING, Annotated, Any, Final

import pandas as pd
import typer

from bdpcap.cli import exits, opening, options, output
from bdpcap.diagnosis.findings import findings
from bdpcap.explain import bdp
from bdpcap.explain.answer import ENDLESS
from bdpcap.explain.buffers import FIELD_MAX, SCALE_MAX, sayable
from bdpcap.explain.findings import Finding, send, takes
from bdpcap.explain.findings.predicted import predicted
from bdpcap.explain.findings.setting import setting
from bdpcap.explain.solver import Facts, Observed, Solution, solve
from bdpcap.report import ranking
from bdpcap.report.text import finding_lines, wrap
from bdpcap.words import quantities

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bdpcap.capture import Capture

    Rows = list[tuple[int | None, str | None, str | None, Finding]]


def command(
    captures: options.Captures = None,
    *,
    read: options.Read = None,
    filter_: options.Filter = None,
    stream: options.Streams = None,
    link_rate: Annotated[
        Any,
        typer.Option(
            metavar="RATE",
            parser=options.parser(quantities.rate),
            help="Rate of the link to fill: 100Mbit/s. Default: the rate that the capture shows.",
        ),
    ] = None,
    rtt: Annotated[
        Any,
        typer.Option(
            metavar="TIME",
            parser=options.parser(quantities.duration),
            help="Round-trip time of the link to fill: 80ms. Default: the minimum in the capture.",
        ),
    ] = None,
    rcvbuf: options.RcvBuf = None,
    sndbuf: options.SndBuf = None,
    kernel: options.Kernel = None,
    rmem_max: options.RmemMax = None,
    rmem: options.Rmem = None,
    wmem: options.Wmem = None,
    adv_win_scale: options.AdvWinScale = None,
    window: Annotated[Any, options.size_option("Largest window to explain, without a capture.")] = None,
    mss: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65535,
            metavar="BYTES",
            help=f"Payload of a full segment, without a capture. Default: {bdp.MSS_BYTES}.",
            show_default=False,
        ),
    ] = None,
    scale: Annotated[
        int | None,
        typer.Option(
            "--window-scale",
            min=0,
            max=SCALE_MAX,
            metavar="N",
            help="Negotiated window scale, for --window.",
        ),
    ] = None,
    format_: options.OutputFormat = None,
    output_: options.Output = None,
) -> int:
    """Explain window and rate of a flow, and name settings to change.

    Known facts about the hosts exclude some explanations. With --window, --rcvbuf or --sndbuf, no capture is needed.
    """
    facts = Facts(rcvbuf, sndbuf, kernel, adv_win_scale, rmem_max, rmem, wmem)
    code, capture = exits.DONE, None
    chosen = output.chosen(format_, output_)
    rate_bps = float(link_rate) if link_rate is not None else None
    rtt_ns = round(rtt * 10**9) if rtt is not None else None
    if not captures and not read and (window or rcvbuf or sndbuf):
        _refuse("for use with a capture", filter=filter_, stream=stream or None)
        if (rate_bps is None) != (rtt_ns is None):
            raise typer.BadParameter(
                "without a capture --link-rate and --rtt are for use together; bdpcap bdp reckons from either"
            )
        if not window:
            _refuse("for use with --window or a capture", window_scale=scale)
        if not window and not rcvbuf and rtt_ns is None:
            _refuse(
                "for use with --window, --rcvbuf, --rtt or a capture",
                kernel=kernel,
                adv_win_scale=adv_win_scale,
                rmem_max=rmem_max,
                rmem=rmem,
                mss=mss,
            )
        found, answers = _without_capture(
            facts, window, scale, mss or bdp.MSS_BYTES, rate_bps=rate_bps, rtt_ns=rtt_ns
        )
        rows: Rows = [(None, None, None, finding) for finding in found]
    else:
        _refuse(
            "for use without a capture: a capture shows its own", window=window, window_scale=scale, mss=mss
        )
        capture = opening.capture(captures, read, filter_, outputs=[output_])
        rows, answers = _rows(capture, stream, facts, rate_bps, rtt_ns), []
        code = opening.exit_code(capture.damages)
    table = _table(rows, nested=chosen in (options.Format.JSON, options.Format.JSONL))
    output.write(
        "findings", [table], chosen, output_, lambda _frames, file: _human(rows, answers, capture, file)
    )
    return code


def _refuse(why: str, **given: object) -> None:
    """Refuse options that would have no effect."""
    names = [f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None]
    if names:
        raise typer.BadParameter(f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} {why}")


def _without_capture(
    facts: Facts,
    window: int | None,
    scale: int | None,
    mss: int,
    *,
    rate_bps: float | None,
    rtt_ns: int | None,
) -> tuple[list[Finding], list[str]]:
    found: list[Finding] = []
    answers: list[str] = []
    if rate_bps is not None and rtt_ns is not None:
        found += takes.asked(rate_bps, rtt_ns, facts, mss=mss, window=window)
    if window is not None:
        _refuse_unless_sayable(window, scale)
        solution = solve(Observed(window, mss, scale), facts)
        found += setting(solution)
        answers = _answers(solution)
    elif facts.rcvbuf is not None:
        found.append(predicted(facts, mss))
    if facts.sndbuf is not None:
        found.append(send.predicted(facts.sndbuf))
    return found, answers


def _refuse_unless_sayable(window: int, scale: int | None) -> None:
    if not sayable(window, scale):
        by = f"0 to {SCALE_MAX}" if scale is None else scale
        raise typer.BadParameter(
            f"no window is {window:,} bytes: it is 0 to {FIELD_MAX:,}, shifted left by a scale of {by}"
        )


def _rows(
    capture: Capture, stream: list[int] | None, facts: Facts, rate_bps: float | None, rtt_ns: int | None
) -> Rows:
    flows = opening.of_streams(ranking.ranked(capture), stream, capture.info.streams)
    if not stream:
        flows = flows[flows["payload_bytes"] * 100 >= flows["payload_bytes"].max()].head(
            ranking.DETAILED_FLOWS
        )
    rows: Rows = []
    for number, sender in zip(flows["stream"].tolist(), flows["sender"].tolist(), strict=True):
        flow = capture.flow(number, sender)
        # The given facts are about the hosts of the larger direction of a stream.
        known = facts if capture.flow(number).sender == sender else None
        rows += [
            (flow.stream, flow.sender, flow.receiver, finding)
            for finding in findings(flow, known, rate_bps=rate_bps, rtt_ns=rtt_ns)
        ]
    return rows


def _table(rows: Rows, *, nested: bool) -> pd.DataFrame:
    """Return one row per finding; if not `nested`, lists and mappings are JSON texts."""
    records = []
    for stream, sender, receiver, finding in rows:
        fields = dataclasses.asdict(finding)
        first, last = fields.pop("frames") or (None, None)
        if not nested:
            fields |= {name: json.dumps(fields[name]) for name in ("commands", "values")}
        fields |= {name: str(fields[name]) for name in ("code", "exactness", "certainty")}
        ends = {"stream": stream, "sender": sender, "receiver": receiver}
        records.append({**ends, **fields, "first_frame": first, "last_frame": last})
    names = [field.name for field in dataclasses.fields(Finding) if field.name != "frames"]
    table = pd.DataFrame(
        records, columns=["stream", "sender", "receiver", *names, "first_frame", "last_frame"]
    )
    return table.astype(dict.fromkeys(("stream", "first_frame", "last_frame"), "Int64"))


_SHOWN: Final = 10
"""Largest number of settings that are listed; the rest are far less likely."""


def _human(rows: Rows, answers: list[str], capture: Capture | None, file: IO[str]) -> None:
    file.writelines(f"{line}\n" for line in _lines(rows, answers, capture))


def _lines(rows: Rows, answers: list[str], capture: Capture | None) -> Iterable[str]:
    before = None
    for stream, sender, receiver, finding in rows:
        if (stream, sender) != before and stream is not None:
            if before is not None:
                yield ""
            yield from wrap(f"{sender} → {receiver}", f"stream {stream}: ")
        before = (stream, sender)
        yield from finding_lines(finding, capture)
    yield from answers
    if not rows and not answers:
        yield "Nothing to explain: no flow carried payload."


def _answers(solution: Solution) -> list[str]:
    """Return lines that list settings that give a window, best first."""
    lines = ["", "Settings that give this window, best first:"]
    for answer in solution.answers[:_SHOWN]:
        odd = answer.fitted or not answer.chosen
        value = f"{answer.setting.value:,}"
        if answer.high == ENDLESS:
            value = f"{answer.low:,} or more"
        elif odd and answer.low < answer.high:
            value = f"{answer.low:,} to {answer.high:,}"
        knob = str(answer.setting.knob).removeprefix("net.ipv4.")
        lines += wrap(f"{knob} {value}, {answer.setting.era.name}", f"  {answer.exactness:<17}")
        lines += wrap(answer.arithmetic, " " * 19)
        lines += wrap(f"but {answer.against}", " " * 19) if answer.against else []
        lines += wrap(f"but only with {answer.needs}", " " * 19) if answer.needs else []
    return lines
