"""The rate to expect once a limit is lifted: by hand, by a property, and against transfers that were made again."""

from types import SimpleNamespace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import SHARED

import bdpcap
from bdpcap.explain.expected import lifts
from bdpcap.words import rates

MS = 1_000_000


class Flow(SimpleNamespace):
    """A flow by its rounds: limit, length in ms, bytes acknowledged."""

    __hash__ = object.__hash__


def flow(rounds, *, link_bps, window=None, rtt_ms=10, known=True, missing_bytes=0, details=None, scale=None):
    table = pd.DataFrame(rounds, columns=["limit", "ms", "acked_bytes"])
    table["start_ns"] = 0
    table["end_ns"] = table["ms"] * MS
    table["window_max_bytes"] = float("nan") if window is None else float(window)
    table["detail"] = details or [""] * len(rounds)
    summary = {
        "capacity_bps": link_bps,
        "capacity_low_bps": link_bps,
        "capacity_high_bps": link_bps if known else 2 * link_bps,
        "link_share": 0.0,
        "rwnd_share": 0.0,
        "window_max_bytes": window,
        "window_scale": scale,
        "rtt_min_ns": rtt_ms * MS,
        "mss_bytes": 1448,
        "payload_bytes": table["acked_bytes"].sum(),
        "active_throughput_bps": float(
            rates.of_bytes(table["acked_bytes"].sum(), max(1, table["end_ns"].sum()))
        ),
    }
    return Flow(rtts=table, summary=summary, _counts={"unseen_bytes": missing_bytes})


@pytest.mark.parametrize(("missing_bytes", "expected"), [(0, 1), (12_500, 1), (20_000, 0)])
def test_no_rate_is_expected_of_a_flow_whose_own_rate_is_a_lower_bound(missing_bytes, expected):
    found = lifts(flow([("rwnd", 1000, 1_250_000)], link_bps=40e6, missing_bytes=missing_bytes))
    assert len(found) == expected


def test_a_window_that_is_lifted_leaves_the_link():
    # 1 s under a window at 10 Mbit/s, on a link of 40 Mbit/s: the same bytes take 0.25 s.
    (lift,) = lifts(flow([("rwnd", 1000, 1_250_000)], link_bps=40e6))
    assert (lift.limit, lift.follows) == ("rwnd", "link")
    assert lift.now_bps == pytest.approx(10e6)
    assert lift.then_bps == pytest.approx(40e6)


@pytest.mark.parametrize("login", [400, 400_000], ids=["a login", "a transfer"])
def test_a_longer_transfer_has_its_small_beginning_once(login):
    """Slow start and a login before it are a smaller part of a longer transfer: both rates leave them out."""
    rounds = [("app", 500, login), ("cwnd", 250, 50_000), ("rwnd", 1000, 1_250_000)]
    found = lifts(flow(rounds, link_bps=40e6, details=["idle", "slow start", "buffer"]))
    (lift,) = (one for one in found if one.limit == "rwnd")
    assert lift.longer
    before, after = (10e6, 40e6) if login == 400 else (1_650_000 * 8 / 1.5, 1_650_000 * 8 / 0.75)
    assert lift.now_bps == pytest.approx(before)
    assert lift.then_bps == pytest.approx(after)


def test_a_larger_window_does_not_make_a_program_read():
    # Half of the bytes took 0.5 s under the window, and the other half 1.5 s while the program did not read.
    rounds = [("rwnd", 500, 1_250_000), ("rwnd", 1500, 1_250_000)]
    (lift,) = lifts(flow(rounds, link_bps=40e6, details=["buffer", "slow reader"]))
    assert lift.then_bps == pytest.approx(2_500_000 * 8 / (0.25 + 1.5))
    assert lift.follows == "reader"


def test_the_remedy_that_moves_most_comes_first():
    # Pauses for half of the time, and a window that nearly fills the link.
    found = lifts(flow([("app", 500, 0), ("rwnd", 500, 2_250_000)], link_bps=40e6))
    assert [one.limit for one in found] == ["app"]
    assert found[0].then_bps == pytest.approx(36e6)
    assert found[0].follows == "rwnd"


def test_a_larger_send_buffer_ends_at_the_window():
    # 50,000 bytes of window over 10 ms are 40 Mbit/s, below the link's 100.
    (lift,) = lifts(flow([("sndbuf", 1000, 2_500_000)], link_bps=100e6, window=50_000))
    assert lift.then_bps == pytest.approx(40e6)
    assert lift.follows == "rwnd"


def test_a_window_that_nothing_filled_far_below_its_scale_grows_with_the_flow():
    # A fixed buffer of 50,000 bytes has the scale 0; the scale 7 is that of a window tuned up to 8 MiB.
    (fixed,) = lifts(flow([("sndbuf", 1000, 2_500_000)], link_bps=100e6, window=50_000, scale=0))
    (tuned,) = lifts(flow([("sndbuf", 1000, 2_500_000)], link_bps=100e6, window=50_000, scale=7))
    assert (fixed.follows, tuned.follows) == ("rwnd", "link")
    assert tuned.then_bps == pytest.approx(100e6)


def test_nothing_is_expected_of_a_link_whose_rate_is_not_known():
    rounds = [("rwnd", 1000, 1_250_000)]
    assert lifts(flow(rounds, link_bps=40e6, known=False)) == ()
    assert lifts(flow(rounds, link_bps=None)) == ()
    assert lifts(flow([("idle", 1000, 0)], link_bps=40e6)) == ()


limits = st.sampled_from(["rwnd", "sndbuf", "app", "cwnd", "link", "unknown", "idle"])


@given(
    st.lists(st.tuples(limits, st.integers(1, 10_000), st.integers(0, 10**7)), min_size=1, max_size=20),
    st.floats(1e5, 1e11),
    st.one_of(st.none(), st.integers(1, 2**30)),
)
def test_no_rate_is_expected_below_todays_or_above_the_links(rounds, link_bps, window):
    found = lifts(flow(rounds, link_bps=link_bps, window=window))
    assert all(one.now_bps < one.then_bps <= link_bps for one in found)
    assert [one.then_bps for one in found] == sorted((one.then_bps for one in found), reverse=True)


@pytest.mark.usefixtures("need_shared")
def test_iperf_reached_what_is_expected_when_its_window_was_raised():
    # The same iperf -s with 100,000 in place of 50,000 bytes filled the link.
    before, after = (
        bdpcap.analyze(SHARED / f"captures/seed/linux61_advwinscale2_w{size}.pcap.zst").flow(0)
        for size in (50_000, 100_000)
    )
    (lift,) = lifts(before)
    assert lift.follows == "link"
    full = after.rtts[after.rtts["limit"] == "link"]
    reached = rates.of_bytes(full["acked_bytes"], full["end_ns"] - full["start_ns"])
    # The emulator stood still in some rounds; in the others, the rate of a link is known to a tenth.
    assert reached.quantile(0.9) == pytest.approx(lift.then_bps, rel=0.1)
