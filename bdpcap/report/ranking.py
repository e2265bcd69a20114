"""Ranking of flows: which a report shows in detail, and which it only counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.diagnosis import LIMIT_NAMES
from bdpcap.diagnosis.decide import relayed
from bdpcap.diagnosis.natures import OUTAGE, REQUESTS, SLOW_START, nature
from bdpcap.diagnosis.natures.short import NOTICED_NS
from bdpcap.diagnosis.remedy import remedy
from bdpcap.explain.capacity import INITIAL_WINDOW, known_bps, word
from bdpcap.explain.notable import NOTABLE_SHARE
from bdpcap.explain.sharing import together_bps
from bdpcap.report import connections, no_flows
from bdpcap.report.part import part
from bdpcap.words import units
from bdpcap.words.endpoints import same_way

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bdpcap.capture import Capture, Flow

DETAILED_FLOWS: Final = 8
"""Maximum number of verdicts that a report shows in detail; its table has the other flows."""

_NAMED: Final = 8
"""Streams of a group that a sentence names; a choice."""
_ASKED: Final = 3
"""Flows not shown that are asked for a limit to lift, those that lost most time first; a choice."""
LEAST_SHARE: Final = 0.01
"""Minimum share of all bytes, and of the largest importance, for a place on the first page; see `groups`."""

LOSING: Final = ("rwnd", "cwnd", "sndbuf")
"""Limits whose time counts as lost: another setting, or a path without losses, would lift them."""

_NETWORK: Final = ["rwnd_share", "cwnd_share", "link_share"]
"""Shares of the limits that are no program's, or its host's."""

_WAITED: Final = {
    "rwnd": "they waited for the receive window",
    "cwnd": "they waited for congestion control",
    "sndbuf": "they waited for the send buffer",
    "link": "they waited for the link",
    "app": "they waited for the application",
    "unknown": "the evidence does not decide what held them",
}


@dataclass(frozen=True, eq=False)
class Group:
    """Flows of one direction between a client host and a server endpoint, with the same limit and detail."""

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
        way = f"{'to' if self.to_server else 'from'} {server if same_port else server.rpartition(':')[0]}"
        streams = [str(stream) for stream in sorted(self.others["stream"].tolist())]
        named = f"{', '.join(streams[:_NAMED])}{', ...' if len(streams) > _NAMED else ''}"
        which = "stream" if len(streams) == 1 else "streams"
        return f"{units.number(len(streams), 'more flow')} {way}: the same ({which} {named}); {self._sum}."

    @property
    def flows(self) -> pd.DataFrame:
        """Return the rows of the ``flows`` table for all flows of the group."""
        return pd.concat([self.flow.summary.to_frame().T, self.others])

    @property
    def _sum(self) -> str:
        return f"together {units.data_size(self.flows['payload_bytes'].sum())}"

    def shared(self) -> str:
        """Return a sentence that adds up the flows on the path of a full link; empty if there is one, or no full link."""
        path = known_bps(self.flow.summary)
        if self.flow.summary["limit"] != "link" or path is None:
            return ""
        flows = on_path(self.flow)
        reached = together_bps(flows)
        if len(flows) < 2 or reached > path:
            return ""
        every = "Both" if len(flows) == 2 else f"All {len(flows)}"
        total = f"{every} flows of this path together: {units.rate(reached)}"
        return f"{total}, of {word(self.flow.summary)}{units.rate(path)}."


def has_place(flow: Flow) -> bool:
    """Return whether there is a place to act on; True where the advice fails, so that the reader sees why."""
    return part("the advice", lambda: bool(remedy(flow).where), lambda _: True)


def on_path(flow: Flow) -> pd.DataFrame:
    """Return the rows of the ``flows`` table that carried enough data between the hosts of a flow, in its direction."""
    flows = flow.capture.flows
    flows = flows[bulk(flows)]
    return flows[same_way(flows, flow.summary)]


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


def groups(capture: Capture) -> list[Group]:
    """
    Return the groups of flows for the first page, at most `DETAILED_FLOWS`, in falling order of importance.

    A flow needs ten full segments or 1 % of all bytes, and 1 % of the largest importance. If there are more than
    `DETAILED_FLOWS` flows and none carried ten full segments, the list is empty.
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


def top(capture: Capture, flows: int) -> list[Flow]:
    """Return the first flows of the page: those that it shows in detail, then the others by importance."""
    rows = ranked(capture)
    detailed = leaders(alike(standing(capture)))
    others = rows[[key not in set(_keys(detailed)) for key in _keys(rows)]]
    return listed(
        capture, pd.concat([detailed[["stream", "sender"]], others[["stream", "sender"]]]).head(flows)
    )


def first(capture: Capture) -> list[Flow]:
    """Return the same flows as `that_matter`, without reading their packets again."""
    return listed(capture, leaders(alike(standing(capture))))


def standing(capture: Capture) -> pd.DataFrame:
    """Return the columns by which `alike` ranks and groups ``flows``; names are missing for flows not in `bulk`."""
    flows = capture.flows
    large = bulk(flows)
    named = flows[large]
    return pd.DataFrame(
        {
            "stream": flows["stream"],
            "payload_bytes": flows["payload_bytes"],
            "lost_ns": lost_ns(flows),
            "ten_segments": _ten_segments(flows),
            "sender": named["sender"],
            "receiver": named["receiver"],
            "limit": named["limit"],
            "detail": pd.Series(capture._contents.verdicts.main_details, index=flows.index)[large],
            "to_server": _to_server(capture, flows),
        },
        index=flows.index,
    )


def alike(standing: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the rows of `standing` for each of `groups`, in falling order of importance."""
    if standing.empty or (len(standing) > DETAILED_FLOWS and not standing["ten_segments"].any()):
        return []
    important = _importance(standing["payload_bytes"], standing["lost_ns"])
    large = standing["ten_segments"] | _is_hundredth(standing["payload_bytes"])
    counts = large & (important >= LEAST_SHARE * important.max())
    flows = standing.loc[important.sort_values(ascending=False, kind="stable").index]
    flows = flows[counts.loc[flows.index]]
    to_server = flows["to_server"]
    server = flows["receiver"].where(to_server, flows["sender"])
    client = flows["sender"].where(to_server, flows["receiver"]).str.rpartition(":")[0]
    # One entry for hosts, not for ports: the remedy is the same.
    keys = [server.str.rpartition(":")[0], client, to_server, flows["limit"], flows["detail"]]
    return _varied([own for _, own in flows.groupby(keys, sort=False, dropna=False)])


def _varied(groups: list[pd.DataFrame]) -> list[pd.DataFrame]:
    """Return at most `DETAILED_FLOWS` groups in their order; the first of each limit and detail has a place first."""
    kinds = [(own["limit"].iloc[0], own["detail"].iloc[0]) for own in groups]
    places = sorted(range(len(groups)), key=lambda place: kinds.index(kinds[place]) < place)
    return [groups[place] for place in sorted(places[:DETAILED_FLOWS])]


def leaders(alike: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the first row of each table, with ``stream`` and ``sender``."""
    return pd.concat([own.head(1) for own in alike]) if alike else pd.DataFrame(columns=["stream", "sender"])


def that_matter(capture: Capture) -> list[Flow]:
    """Return the flows that a report shows in detail: the most important flow of each of `groups`."""
    return [group.flow for group in groups(capture)]


def summary(capture: Capture, shown: list[Group]) -> str:
    """Return one sentence on a capture of several flows, or of none: which limits held how many, by payload."""
    flows = capture.flows
    if flows.empty:
        return no_flows.sentence(capture)
    if not shown:
        return no_bulk(capture)
    total = max(1, int(flows["payload_bytes"].sum()))
    # A limit that nobody here can lift is a limit still.
    well = [group.flows for group in shown if nature(group.flow) and not has_place(group.flow)]
    fine = pd.concat(well) if well else flows.iloc[:0]
    held = (
        flows[bulk(flows)]
        .drop(fine.index, errors="ignore")
        .groupby("limit")["payload_bytes"]
        .agg(["size", "sum"])
        .sort_values("sum", ascending=False)
    )
    whole = f"{units.number(len(flows), 'flow')} carried {units.data_size(total)}"
    outages = [nature(group.flow) is OUTAGE for group in shown]
    out = f"; {units.number(sum(outages), 'flow')} had an outage" if any(outages) else ""
    if outages[0]:
        return f"{whole}{out}."
    if not any(has_place(group.flow) for group in shown):
        failed = connections.failed(capture)
        well_but = f" and need no mending; {units.number(failed, 'connection')} failed"
        return f"{whole}{well_but if failed else '; nothing here needs mending'}."
    if set(held.index) <= {"app"}:
        return f"{whole}{_paced(shown)}."
    each = (
        f"{LIMIT_NAMES[str(limit)]} ({units.number(int(own['size']), 'flow')}, {units.share(own['sum'] / total)} of it)"
        for limit, own in held.iterrows()
        if own["sum"] >= LEAST_SHARE * total
    )
    without = fine["payload_bytes"].sum() / total
    ended = (
        f", {units.share(without)} of it in flows that need no mending" if without >= NOTABLE_SHARE else ""
    )
    return f"{whole}{ended}. {'Other limits' if ended else 'Main limits'}: {', '.join(each)}{out}."


def _paced(shown: list[Group]) -> str:
    """Return the words on the pace of flows whose limit was the application."""
    if any(nature(group.flow) in (REQUESTS, SLOW_START) for group in shown):
        return "; round trips and programs set the pace"
    waited = " and waited for their programs"
    if any(relayed(group.flow) for group in shown):
        return f"{waited}, or for the path behind a NAT or proxy"
    held = pd.concat([group.flow.summary[_NETWORK] for group in shown])
    if (held >= NOTABLE_SHARE).any():
        return waited
    return f"{waited}; nothing here is limited by the network"


def no_bulk(capture: Capture) -> str:
    """Return a sentence on a capture of many flows without a bulk transfer; empty for any other capture."""
    flows = capture.flows
    if len(flows) <= DETAILED_FLOWS or _ten_segments(flows).any():
        return ""
    # The sum of absurd times exceeds 64 bits.
    lasting = flows["active_ns"].astype(float)
    held = {limit: float((flows[f"{limit}_share"] * lasting).sum()) for limit in _WAITED}
    limit = max(held, key=lambda name: held[name])
    carried = f"{units.number(len(flows), 'flow')} carried {units.data_size(flows['payload_bytes'].sum())}"
    if not held[limit]:
        return f"No bulk transfer here: {carried}, too fast for the clock of the capture."
    part = units.spoken_share(held[limit] / float(lasting.sum()))
    return f"No bulk transfer here: {carried}, and for {part} of their active time {_WAITED[limit]}."


def rest(capture: Capture, shown: list[Group], lister: str = "`bdpcap flows FILE` lists all") -> str:
    """Return a sentence on the flows not shown, with what lists them; it names one that lost more time than any shown.

    The sentence is empty if all flows are shown, or none.
    """
    known = {key for group in shown for key in _keys(group.others)}
    known |= {(group.flow.stream, group.flow.sender) for group in shown}
    if not shown:
        return ""
    flows = ranked(capture)
    hidden = flows[[key not in known for key in _keys(flows)]]
    streams = {group.flow.stream for group in shown}
    if hidden.empty or (
        set(hidden["stream"]) <= streams
        and hidden["payload_bytes"].sum() < LEAST_SHARE * flows["payload_bytes"].sum()
    ):
        return ""
    sentence = f"{units.number(len(hidden), 'smaller flow')} not shown; {lister}."
    lost = lost_ns(hidden)
    least_ns = max(float(NOTICED_NS), lost_ns(flows.drop(hidden.index)).max())
    longest = lost[lost >= least_ns].nlargest(_ASKED)
    for flow, held_ns in zip(listed(capture, hidden.loc[longest.index]), longest, strict=True):
        # What a short transfer or the end of a connection waited for is nobody's loss.
        if has_place(flow):
            return f"{sentence} Of them, stream {flow.stream} was held for {units.duration(held_ns)}: {_held_by(flow)}."
    return sentence


def _held_by(flow: Flow) -> str:
    kind = nature(flow)
    if kind is not None:
        return kind.title
    return LIMIT_NAMES[max(LOSING, key=lambda name: float(flow.summary[f"{name}_share"]))]


def _keys(flows: pd.DataFrame) -> list[tuple[int, str]]:
    return list(zip(flows["stream"].tolist(), flows["sender"].tolist(), strict=True))


def listed(capture: Capture, flows: pd.DataFrame) -> list[Flow]:
    """Return the flows of a table's rows, with their rounds loaded."""
    capture._contents.verdicts.load(flows["stream"].tolist())
    return [capture.flow(stream, sender) for stream, sender in _keys(flows)]


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
    return _ten_segments(flows) | _is_hundredth(flows["payload_bytes"], all_bytes)


def _is_hundredth(payload_bytes: pd.Series[int], all_bytes: int | None = None) -> pd.Series[bool]:
    large: pd.Series[bool] = payload_bytes >= LEAST_SHARE * (
        payload_bytes.sum() if all_bytes is None else all_bytes
    )
    return large


def _ten_segments(flows: pd.DataFrame) -> pd.Series[bool]:
    """Return which flows carried at least ten full segments, as many as the initial window allows at once."""
    large: pd.Series[bool] = flows["payload_bytes"] >= INITIAL_WINDOW * flows["mss_bytes"]
    return large


def _to_server(capture: Capture, flows: pd.DataFrame) -> pd.Series[bool]:
    """Return which flows are sent by the client: the end that sent the SYN, or else the first packet."""
    return pd.Series(capture._contents.streams.carriers["direction"] == 0, index=flows.index)
