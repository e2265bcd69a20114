"""``bdpcap bdp``: calculate BDP, buffers, rates and times without a capture."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Annotated, Any, Final

import typer

from bdpcap.cli import options, output, terminal
from bdpcap.explain import bdp
from bdpcap.explain.headers import packet
from bdpcap.words import quantities, units

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from fractions import Fraction

    import pandas as pd

EPILOG: Final = (
    "k, M and G are powers of 1000; Ki, Mi and Gi are powers of 1024. bit and b are bits, B is bytes; a size without "
    "a unit is in bytes. As in tc and iperf, the rate 100M is 100 Mbit/s, and the size 64K is 64 KiB. 100mbps is "
    "refused, since it means bytes to tc and bits to other tools. Times do not include slow start."
)


def _quantity(read: Callable[[str], Fraction], name: str, metavar: str, text: str) -> Any:
    return typer.Option(f"--{name}", metavar=metavar, parser=options.parser(read), help=text)


def command(
    *,
    rates: Annotated[
        list[Any] | None,
        _quantity(
            quantities.rate,
            "rate",
            "RATE",
            "Link rate: 100Mbit/s, 100mbit, 100M, 12.5MB/s. For several paths of a host, give --rate and --rtt of each.",
        ),
    ] = None,
    rtts: Annotated[
        list[Any] | None,
        _quantity(quantities.duration, "rtt", "TIME", "Round-trip time: 25ms, 0.3s. Repeatable, as --rate."),
    ] = None,
    window: Annotated[
        Any, _quantity(quantities.size, "window", "SIZE", "Largest receive window: 64KiB, 64K, 73552.")
    ] = None,
    loss: Annotated[
        Any, _quantity(quantities.fraction, "loss", "SHARE", "Share of packets lost: 0.01%.")
    ] = None,
    size: Annotated[
        Any, _quantity(quantities.size, "size", "SIZE", "Amount of data to transfer: 1GB, 700MiB.")
    ] = None,
    time: Annotated[
        Any, _quantity(quantities.duration, "time", "TIME", "Time allowed for the transfer: 10s, 2h.")
    ] = None,
    streams: Annotated[
        int,
        typer.Option(
            min=1, max=100_000, metavar="N", help="Number of parallel connections, each with this window."
        ),
    ] = 1,
    headers: Annotated[
        str | None,
        typer.Option(
            metavar="STACK",
            help="Headers to count in every packet: ethernet,ipv4,tcp,timestamps; also vlan, mpls, pppoe, ipv6, udp, "
            "gre, vxlan, or a number of bytes.",
        ),
    ] = None,
    mtu: Annotated[
        int, typer.Option(min=68, max=65535, metavar="BYTES", help="MTU of the link; 9000 with jumbo frames.")
    ] = 1500,
    mss: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65535,
            metavar="BYTES",
            help=f"Payload of a packet. Default: the MTU minus the given headers, else {bdp.MSS_BYTES}.",
            show_default=False,
        ),
    ] = None,
    stack: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help=f"Show buffers for one kernel only: {', '.join(bdp.STACKS)}. Default: all."
        ),
    ] = None,
    format_: options.OutputFormat = None,
    output_: options.Output = None,
) -> int:
    """Calculate bandwidth-delay product, buffers, rate ceilings and times.

    Give any of rate, RTT, window, loss, size and time; the command shows all results that follow from them.
    """
    if stack is not None and stack not in bdp.STACKS:
        raise typer.BadParameter(
            f"no stack {stack!r}: there are {', '.join(bdp.STACKS)}", param_hint="--stack"
        )
    chosen = output.chosen(format_, output_)
    if len(rates or []) > 1 or len(rtts or []) > 1:
        others = (window, loss, size, time, headers, mss, None if streams == 1 else streams)
        if any(other is not None for other in others):
            raise typer.BadParameter(
                "with several paths, give --rate and --rtt of each, and nothing but --stack"
            )
        return _write([], bdp.largest(_paths(rates or [], rtts or []), stack), chosen, output_)
    rate, rtt = (given[0] if given else None for given in (rates, rtts))
    try:
        full = packet(headers, mtu, mss) if headers is not None else None
        known = bdp.Known(
            rate,
            rtt,
            window,
            loss,
            size,
            time,
            mss_bytes=mss or (full.payload_bytes if full else bdp.MSS_BYTES),
            packet=full,
            streams=streams,
        )
        answers = bdp.derive(known, stack)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    given = [
        ("rate", rate, "bit/s"),
        ("RTT", rtt, "s"),
        ("window", window, "bytes"),
        ("loss", loss, "1"),
        ("size", size, "bytes"),
        ("time allowed", time, "s"),
    ]
    rows = [bdp.Derived(name, value, unit, "given") for name, value, unit in given if value is not None]
    return _write(rows, answers, chosen, output_)


def _paths(rates: list[Fraction], rtts: list[Fraction]) -> list[tuple[Fraction, Fraction]]:
    """Return pairs of rate and RTT; a single rate or RTT is used for all pairs."""
    many = max(len(rates), len(rtts))
    if {len(rates), len(rtts)} - {1, many}:
        raise typer.BadParameter("several paths need as many --rate as --rtt, or one for all")
    return list(zip(rates * (many // len(rates)), rtts * (many // len(rtts)), strict=True))


def _write(
    given: list[bdp.Derived], answers: list[bdp.Derived], chosen: options.Format, output_: options.Output
) -> int:
    rows = [*given, *answers]
    output.write("bdp", _frames(rows), chosen, output_, lambda _frames, file: _human(rows, file))
    return 0


def _frames(rows: list[bdp.Derived]) -> Iterator[pd.DataFrame]:
    import pandas as pd  # noqa: PLC0415 - pandas is slow to import, and the table for people needs none

    records = [(row.quantity, float(row.value), row.unit, row.how) for row in rows]
    yield pd.DataFrame(records, columns=["quantity", "value", "unit", "how"])


def _human(rows: list[bdp.Derived], file: IO[str]) -> None:
    cells = [
        (
            row.quantity,
            _shown(row.value, row.unit),
            quantities.kib(row.value) if row.unit == "bytes" else "",
            row.how,
        )
        for row in rows
    ]
    terminal.grid(cells, file, right=1)


def _shown(value: Fraction, unit: str) -> str:
    match unit:
        case "bit/s":
            return units.rate(value)
        case "bytes":
            return units.exact_bytes(round(value))
        case "s":
            return units.duration(value * 10**9)
        case "":
            return units.count(value)
    return f"{float(100 * value):.4g} %"
