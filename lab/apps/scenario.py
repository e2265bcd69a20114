"""A scenario: programs, the path between them, and what is drawn at random in both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from draw import Draw
from hosts import addresses

if TYPE_CHECKING:
    from transfer import Transfer

__all__ = ["Choice", "Drawn", "Program", "Real", "Scenario", "Share", "Whole", "draw", "receiver", "sender"]

FILL = 0.8  # of what the link could carry in the time, for what has a size


class Whole(NamedTuple):
    """Any whole number, evenly by magnitude."""

    low: float
    high: float


class Real(NamedTuple):
    """Any number, evenly by magnitude."""

    low: float
    high: float


class Share(NamedTuple):
    """A share of the BDP, in bytes, evenly by magnitude."""

    low: float
    high: float


class Choice(NamedTuple):
    """One of some."""

    values: tuple[Any, ...]


Drawn = Whole | Real | Share | Choice

PATH: dict[str, Drawn] = {
    "rate_mbps": Real(8, 120),
    "rtt_ms": Real(10, 90),
    "cc": Choice(("cubic", "cubic", "reno", "bbr")),
    "queue": Share(0.4, 2.5),
    "seconds": Whole(5, 8),
}


class Program(NamedTuple):
    """A command on one of the hosts. Names in braces stand for what was drawn."""

    host: str
    command: str


def sender(command: str) -> Program:
    """Run on the host that sends the data."""
    return Program("sender", command)


def receiver(command: str) -> Program:
    """Run on the host that receives the data."""
    return Program("receiver", command)


@dataclass(frozen=True)
class Scenario:
    """What is run: `before` one after another to their ends, `servers` throughout, and `client` until it ends.

    The client starts when the first of the servers listens.
    """

    client: Program
    servers: tuple[Program, ...] = ()
    before: tuple[Program, ...] = ()
    drawn: dict[str, Drawn] = field(default_factory=dict)
    sender_sysctl: tuple[str, ...] = ()
    receiver_sysctl: tuple[str, ...] = ()
    route: str = ""  # metrics of the sender's route
    paced: bool = False  # an application that sets a rate of its own


def one(draw_: Draw, what: Drawn, bdp: float) -> Any:
    """Draw one value."""
    if isinstance(what, Choice):
        return draw_.random.choice(what.values)
    value = draw_.log(what.low, what.high)
    if isinstance(what, Real):
        return round(value, 2)
    return round(value * bdp) if isinstance(what, Share) else round(value)


def draw(scenario: Scenario, seed: str) -> tuple[dict[str, Any], Transfer]:
    """Draw a scenario's values, and the settings of path and hosts that follow."""
    d = Draw(seed)
    values: dict[str, Any] = {}
    # The path first, as shares are of its BDP.
    wanted = PATH | scenario.drawn
    for name in sorted(wanted, key=lambda name: (isinstance(wanted[name], Share), name)):
        values[name] = one(d, wanted[name], d.bdp)
        if name in ("rate_mbps", "rtt_ms"):
            setattr(d, name, values[name])
    size = FILL * values["rate_mbps"] * 125_000 * values["seconds"]
    values |= {"queue": max(values["queue"], 15_000), "size": round(size)}
    link = {"queue_bytes": values["queue"], "loss_ppm": values.get("loss_ppm", 0)}
    transfer = d.transfer(
        link=link,
        seconds=values["seconds"],
        sender_sysctl=tuple(setting.format(**values) for setting in scenario.sender_sysctl),
        receiver_sysctl=tuple(setting.format(**values) for setting in scenario.receiver_sysctl),
        route=scenario.route.format(**values, segments=max(4, values.get("window", 0) // 1448)),
    )
    here, there = addresses(transfer.v6)
    return values | {"sender": here, "receiver": there}, transfer
