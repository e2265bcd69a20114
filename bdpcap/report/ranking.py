"""Ranking of flows: which a report shows in detail, and which it only counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.diagnosis.natures import LATE, LOSSES, MUTUAL, OUTAGE, REQUESTS, nature
from bdpcap.diagnosis.natures.requests import slowest_side
from bdpcap.diagnosis.natures.short import NATURE as SHORT
from bdpcap.diagnosis.remedy import remedy
from bdpcap.explain.awaited import awaited_ns
from bdpcap.explain.capacity import INITIAL_WINDOW, known_bps, word
from bdpcap.explain.notable import NOTICED_NS
from bdpcap.explain.sharing import beside, together_bps
from bdpcap.report.part import part
from bdpcap.words import units
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bdpcap.capture import Capture, Flow
    from bdpcap.diagnosis.model import Nature

DETAILED_FLOWS: Final = 8
"""Maximum number of verdicts that a report shows in detail; its table has the other flows."""

_NAMED: Final = 8
"""Streams of a group that a sentence names; a choice."""
LEAST_SHARE: Final = 0.01
"""Minimum share of all bytes, and of the largest importance, for a place on the first page; see `groups`."""

KEEP_ALIVE_BYTES: Final = 1
"""Payload of a keep-alive, at most (RFC 9293 section 3.8.4)."""

LOSING: Final = ("rwnd", "cwnd", "sndbuf")
"""Limits whose time counts as lost: another setting, or a path without losses, would lift them."""


@dataclass(frozen=True, eq=False)
class Group:
    """Flows of one direction between a client host and a server host, with the same limit and detail; or undecided."""

    flow: Flow
    """The flow of highest importance."""
    others: pd.DataFrame
    """Rows of the ``flows`` table for the other flows; may be empty."""
    to_server: bool
    """Whether the flows are sent to the server; the server's endpoint is common to all of them."""

    @property
    def same(self) -> str:
        """Return the number and the streams of the other flows in words; empty if there are none."""
        if self.others.empty:
            return ""
        side = "receiver" if self.to_server else "sender"
        server = str(self.flow.summary[side])
        same_port = (self.others[side] == server).all()
        same_host = (self.others[side].map(host) == host(server)).all()
        way = (
            f" {'to' if self.to_server else 'from'} {server if same_port else host(server)}"
            if same_host
            else ""
        )
        streams = [str(stream) for stream in sorted(self.others["stream"].tolist())]
        named = f"{', '.join(streams[:_NAMED])}{', ...' if len(streams) > _NAMED else ''}"
        which = "stream" if len(streams) == 1 else "streams"
        return (
            f"{units.number(len(streams), 'more flow')}{way}: {self._alike} ({which} {named}); {self._sum}."
        )

    @property
    def _alike(self) -> str:
        """How far the other flows are like the first: a stall of one is none of flows with the same limit.

        Requests are alike if the same side took most of their time.
        """
        own = kind, _ = _kind(self.flow)
        if kind not in (OUTAGE, LOSSES, LATE, SHORT, *MUTUAL):
            return "the same verdict"
        asked = self.others.head(_NAMED)
        others = listed(self.flow.capture, asked)
        alike = [stream for stream, one in zip(asked["stream"], others, strict=True) if _kind(one) == own]
        if len(alike) == len(others):
            return "the same verdict"
        if kind in (REQUESTS, SHORT) and not alike:
            return "with another verdict" if len(others) == 1 else "with other verdicts"
        if not alike:
            return f"no {kind.title} there"
        unlike = sorted(set(asked["stream"]) - set(alike))
        fewer = min(unlike, sorted(alike), key=len)
        which = units.streams(fewer)
        only = "the same verdict, but for {}" if fewer is unlike else "the same verdict for {} alone"
        return only.format(f"{which[0].lower()}{which[1:]}")

    @property
    def flows(self) -> pd.DataFrame:
        """Return the rows of the ``flows`` table for all flows of the group."""
        return pd.concat([self.flow.summary.to_frame().T, self.others])

    @property
    def _sum(self) -> str:
        waited = (
            f" and {units.duration(self.awaited_ns)} of waits for answers" if self.waits_for_server else ""
        )
        return f"with stream {self.flow.stream}, {units.data_size(self.flows['payload_bytes'].sum())}{waited}"

    @property
    def awaited_ns(self) -> int:
        """Return the time that the clients of the flows waited for answers; see `bdpcap.explain.awaited`."""
        each = awaited_ns(self.flow.capture)
        return int(each[each.index.isin(self.flows["stream"])].sum())

    @property
    def waits_for_server(self) -> bool:
        """Return whether requests lost most of their time to a server, and so much in all that a person notices."""
        return _kind(self.flow) == (REQUESTS, "server") and self.awaited_ns >= NOTICED_NS

    def shared(self) -> str:
        """Return a sentence that adds up the flows on the path of a full link; empty if there is one, or no full link."""
        path = known_bps(self.flow.summary)
        if self.flow.summary["limit"] != "link" or path is None:
            return ""
        flows = on_path(self.flow)
        reached = together_bps(flows)
        spanned_ns = int(flows["end_ns"].max() - flows["start_ns"].min())
        # Flows that were idle for most of that time hardly ran together.
        if len(flows) < 2 or reached > path or 2 * flows["active_ns"].mean() < spanned_ns:
            return ""
        every = "Both" if len(flows) == 2 else f"All {len(flows)}"
        total = f"{every} flows of this path together: {units.rate(reached)}"
        return f"{total}, of {word(self.flow.summary)}{units.rate(path)}."


def _kind(flow: Flow) -> tuple[Nature | None, str]:
    """Return the nature of a flow and, of requests, the side that took most of their time."""
    kind = nature(flow)
    return kind, slowest_side(flow) if kind is REQUESTS else ""


def has_place(flow: Flow) -> bool:
    """Return whether there is a place to act on; True where the advice fails, so that the reader sees why."""
    return part("the advice", lambda: bool(remedy(flow).where), lambda _: True)


def on_path(flow: Flow) -> pd.DataFrame:
    """Return the rows of the ``flows`` table that carried enough data on the way of a flow, while it ran."""
    flows = flow.capture.flows
    return beside(flows[bulk(flows)], flow.summary)


def lost_ns(flows: pd.DataFrame) -> pd.Series[float]:
    """Return the active time in ns that each flow spent under a limit of `LOSING`."""
    parts: pd.Series[float] = flows[[f"{limit}_share" for limit in LOSING]].sum(axis=1)
    return parts * flows["active_ns"]


def importance(flows: pd.DataFrame) -> pd.Series[float]:
    """Return the importance of each flow: its share of all bytes plus its share of all time lost, 0 to 2."""
    return _importance(flows["payload_bytes"], lost_ns(flows))


def _importance(payload_bytes: pd.Series[int], lost: pd.Series[float]) -> pd.Series[float]:
    carried = payload_bytes.astype("float64")
    total: pd.Series[float] = carried / max(carried.sum(), 1.0) + lost / max(lost.sum(), float(NOTICED_NS))
    return total


def ranked(capture: Capture) -> pd.DataFrame:
    """Return the ``flows`` table in falling order of importance; see `importance`."""
    flows = capture.flows
    return flows.loc[importance(flows).sort_values(ascending=False, kind="stable").index]


def once_each(capture: Capture, flows: pd.DataFrame) -> pd.DataFrame:
    """Return rows of flows without the second stream of each connection that was captured on both sides of a NAT."""
    return flows[~flows["stream"].isin([two for _, two in capture._contents.twins])]


def groups(capture: Capture) -> list[Group]:
    """
    Return the groups of flows for the first page, at most `DETAILED_FLOWS`, in falling order of importance.

    A flow needs ten full segments, 1 % of all bytes or a second of waits for answers, and 1 % of the largest importance.
    If there are more than `DETAILED_FLOWS` flows and none carried ten full segments, the list is empty.
    """
    found = alike(standing(capture))
    shown = listed(capture, leaders(found))
    return [
        Group(flow, capture.flows.loc[own.index[1:]], to_server=bool(own["to_server"].iloc[0]))
        for flow, own in zip(shown, found, strict=True)
    ]


def alone(flow: Flow) -> Group:
    """Return a flow as a group without others."""
    return Group(flow, flow.capture.flows.iloc[:0], to_server=flow.is_from_client)


def ordered(capture: Capture) -> pd.DataFrame:
    """Return the ``flows`` table in the order of the page: the flows that it shows in detail, then by importance."""
    rows = ranked(capture)
    detailed = leaders(alike(standing(capture))).index
    return pd.concat([rows.loc[detailed], rows[~rows.index.isin(detailed)]])


def top(capture: Capture, flows: int) -> list[Flow]:
    """Return the first flows of `ordered`."""
    return listed(capture, ordered(capture).head(flows))


def first(capture: Capture) -> list[Flow]:
    """Return the same flows as `that_matter`, without reading their packets again."""
    return listed(capture, leaders(alike(standing(capture))))


def standing(capture: Capture) -> pd.DataFrame:
    """Return the columns by which `alike` ranks and groups ``flows``; names are missing for flows that are not large.

    The time that a client waited for answers counts in their direction.
    """
    flows = once_each(capture, capture.flows)
    to_server = _to_server(capture, flows)
    awaited = flows["stream"].map(awaited_ns(capture)).where(~to_server).fillna(0.0)
    large = bulk(flows) | (awaited >= NOTICED_NS)
    named = flows[large]
    details = pd.Series(capture._contents.verdicts.main_details, index=capture.flows.index)
    return pd.DataFrame(
        {
            "stream": flows["stream"],
            "payload_bytes": flows["payload_bytes"],
            "lost_ns": lost_ns(flows) + awaited,
            "large": large,
            "ten_segments": ten_segments(flows),
            "sender": named["sender"],
            "receiver": named["receiver"],
            "limit": named["limit"],
            "detail": details[flows.index][large],
            "to_server": to_server,
            "both_ways": capture.flows["stream"].duplicated(keep=False)[flows.index],
        },
        index=flows.index,
    )


def alike(standing: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the rows of `standing` for each of `groups`, in falling order of importance."""
    if standing.empty or (len(standing) > DETAILED_FLOWS and not standing["ten_segments"].any()):
        return []
    important = _importance(standing["payload_bytes"], standing["lost_ns"])
    counts = standing["large"] & (important >= LEAST_SHARE * important.max())
    flows = standing.loc[important.sort_values(ascending=False, kind="stable").index]
    flows = flows[counts.loc[flows.index]]
    to_server = flows["to_server"]
    server = flows["receiver"].where(to_server, flows["sender"])
    client = flows["sender"].where(to_server, flows["receiver"]).str.rpartition(":")[0]
    # One entry for hosts, not for ports: the remedy is the same. Undecided flows of all hosts need another capture.
    decided = flows["limit"] != "unknown"
    server, client = (names.where(decided, "") for names in (server.str.rpartition(":")[0], client))
    # A program's few segments that nothing answered are no exchange, and so unlike those of other streams.
    lone = ~flows["both_ways"] & ~flows["ten_segments"] & (flows["limit"] == "app")
    keys = [server, client, to_server & decided, flows["limit"], flows["detail"], lone]
    group = flows.groupby(keys, sort=False, dropna=False).ngroup()
    return [flows[group == place] for place in _varied(flows[~group.duplicated()])]


def _varied(leaders: pd.DataFrame) -> list[int]:
    """Return at most `DETAILED_FLOWS` places of groups in order; the first of each limit and detail has a place first."""
    again = leaders.duplicated(["limit", "detail"]).to_numpy()
    return sorted(again.argsort(kind="stable")[:DETAILED_FLOWS].tolist())


def leaders(alike: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the first row of each table, with ``stream`` and ``sender``."""
    return pd.concat([own.head(1) for own in alike]) if alike else pd.DataFrame(columns=["stream", "sender"])


def that_matter(capture: Capture) -> list[Flow]:
    """Return the flows that a report shows in detail: the most important flow of each of `groups`."""
    return [group.flow for group in groups(capture)]


def keys(flows: pd.DataFrame) -> list[tuple[int, str]]:
    """Return the stream and the sender of each row of a table, which name its flow."""
    return list(zip(flows["stream"].tolist(), flows["sender"].tolist(), strict=True))


def listed(capture: Capture, flows: pd.DataFrame) -> list[Flow]:
    """Return the flows of a table's rows, with their rounds loaded."""
    capture._contents.verdicts.load(flows["stream"].tolist())
    return [capture.flow(stream, sender) for stream, sender in keys(flows)]


def bulk(flows: pd.DataFrame, all_bytes: int | None = None) -> pd.Series[bool]:
    """
    Return which flows carried enough for their limit to matter: ten full segments, or 1 % of all bytes.

    Parameters
    ----------
    flows
        Rows of the ``flows`` table.
    all_bytes
        Payload bytes of the whole capture; by default the sum over ``flows``.
    """
    return ten_segments(flows) | _is_hundredth(flows["payload_bytes"], all_bytes)


def _is_hundredth(payload_bytes: pd.Series[int], all_bytes: int | None = None) -> pd.Series[bool]:
    large: pd.Series[bool] = payload_bytes >= LEAST_SHARE * (
        payload_bytes.sum() if all_bytes is None else all_bytes
    )
    return large


def ten_segments(flows: pd.DataFrame) -> pd.Series[bool]:
    """Return which flows carried at least ten full segments, as many as the initial window allows at once."""
    large: pd.Series[bool] = flows["payload_bytes"] >= INITIAL_WINDOW * flows["mss_bytes"]
    return large


def _to_server(capture: Capture, flows: pd.DataFrame) -> pd.Series[bool]:
    """Return which flows are sent by the client, as `bdpcap.Flow.is_from_client`."""
    by_client = capture._contents.streams.carriers["direction"] == 0
    return pd.Series(by_client, index=capture.flows.index)[flows.index]
