"""Windows forward and backward: what a buffer makes, which settings explain a window, and how much a match says."""

import csv
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import windows
from hypothesis import assume, given
from hypothesis import strategies as st
from oracles import ROOT, SHARED

from bdpcap.explain.buffers import FIELD_MAX, STOPS, Knob, Setting, least_setting, scale_for
from bdpcap.explain.eras import ERAS
from bdpcap.explain.findings import Certainty
from bdpcap.explain.findings.setting import certainty, setting
from bdpcap.explain.kernels import Kernel, eras_of, version
from bdpcap.explain.solver import Exactness, Facts, Observed, solve, surviving_eras

OLD, HALF, QUARTER, LATER, MEASURED, WHOLE, SOLARIS, WINDOWS, NETSTACK, SMALL = ERAS

# SO_RCVBUF, window scale, SYN-ACK window, largest window: measured on Linux 6.18, packets of 2304 bytes for 1448.
MEASURED_ROWS = [
    (8192, 0, 7240, 8688),
    (16384, 0, 15928, 18824),
    (32768, 0, 31856, 39096),
    (50000, 0, 49232, 60816),
    (65536, 1, 65160, 81120),
    (131072, 2, 65535, 163040),
    (262144, 3, 65535, 326880),
    (1048576, 5, 65535, 1309920),
    (4194304, 7, 65535, 5242112),
]


def rows():
    """Rows of the ladder that a kernel was measured over, as integers; the link's name as it is."""
    lines = (ROOT / "tests" / "data" / "linux618_windows.csv").read_text(encoding="utf-8").splitlines()
    table = csv.DictReader(line for line in lines if not line.startswith("#"))
    return [{name: value if name == "link" else int(value) for name, value in row.items()} for row in table]


LADDER = rows()


def best(window, facts=None, **seen):
    answer = solve(Observed(window, 1448, **seen), facts).answers[0]
    return answer.setting.value, answer.setting.era, answer.exactness


def explained(answers):
    return [(one.setting.value, one.setting.era.key, one.setting.knob) for one in answers]


# forward


@pytest.mark.parametrize(("value", "scale", "syn", "window"), MEASURED_ROWS)
def test_the_arithmetic_gives_what_linux_6_18_advertised(value, scale, syn, window):
    made = Setting(MEASURED, Knob.OPTION, value).advertises(1448)
    assert (made.scale, made.syn, made.window) == (scale, syn, window)


@pytest.mark.parametrize(("value", "window"), [(50_000, 73_552), (75_000, 111_052), (100_000, 148_552)])
def test_the_arithmetic_gives_what_linux_6_1_advertised_with_adv_win_scale_2(value, window):
    assert Setting(OLD, Knob.OPTION, value).advertises(1448).window == window


def test_the_default_buffer_of_old_made_the_largest_unscaled_window():
    assert Setting(OLD, Knob.FIRST, 87_380).advertises(1448, 0).window == 65_535


def test_autotuning_to_6_mib_makes_3_mib_of_window():
    assert Setting(HALF, Knob.GROWN, 6_291_456).advertises(1448, 7).window == 3_145_728


@pytest.mark.parametrize(
    ("space", "scale"), [(65_535, 0), (65_536, 1), (131_071, 1), (131_072, 2), (2**31, 14)]
)
def test_the_scale_is_as_many_shifts_as_bring_the_space_into_16_bits(space, scale):
    assert scale_for(space) == scale


@given(st.sampled_from(ERAS), st.integers(1, 2**28), st.integers(1, 4096), st.integers(88, 8960))
def test_a_larger_setting_never_makes_a_smaller_window(era, value, more, mss):
    windows = [Setting(era, Knob.OPTION, one).advertises(mss).window for one in (value, value + more)]
    assert windows[0] <= windows[1]


@given(st.sampled_from(ERAS), st.integers(3000, 2**26))
def test_the_least_setting_suffices_and_one_less_does_not(era, window):
    least = least_setting(era, window, 1448)
    assert Setting(era, Knob.OPTION, least).advertises(1448).window >= window
    assert Setting(era, Knob.OPTION, least - 1).advertises(1448).window < window


# backward


@pytest.mark.parametrize("seen", [{}, {"scale": 1, "syn": 65535}])
def test_73552_is_50000_at_three_quarters_or_75000_at_one_half_less_a_segment(seen):
    solution = solve(Observed(73_552, 1448, **seen))
    assert solution.exactness is Exactness.EXACT
    # 50,000 is rounder than 75,000, by more than kernels of 3/4 are rarer; both are told.
    assert explained(solution.answers)[0] == (50_000, "linux-2.6-3.3", Knob.OPTION)
    assert (75_000, "linux-3.4-6.5", Knob.OPTION) in explained(solution.best)
    assert {
        "2 x 50,000 x 3/4 - 1,448 = 73,552",
        "2 x 75,000 x 1/2 - 1,448 = 73,552",
    } <= {one.arithmetic for one in solution.best}


def test_a_fact_decides_between_them():
    assert best(73_552, Facts(kernel=Kernel(6, 1)))[:2] == (75_000, HALF)
    assert best(73_552, Facts(kernel=Kernel(6, 1), adv_win_scale=2))[:2] == (50_000, OLD)
    assert best(73_552, Facts(kernel=Kernel(2, 6)))[:2] == (50_000, OLD)
    assert best(73_552, Facts(rcvbuf=50_000))[:2] == (50_000, OLD)


def test_a_default_kernel_leaves_the_other_possible_by_its_sysctl():
    answers = solve(Observed(73_552, 1448, 1), Facts(kernel=Kernel(6, 1))).best
    (other,) = [one for one in answers if one.setting.value == 50_000]
    assert other.needs == "net.ipv4.tcp_adv_win_scale=2"
    assert answers[0].setting.value == 75_000


def test_a_known_buffer_leaves_its_kernels_sysctl_to_explain_the_window():
    # Both facts hold of the receiver, and its sysctl is 2: half of 100,000 would have made 47,784.
    solution = solve(Observed(73_552, 1448), Facts(rcvbuf=50_000, kernel=Kernel(6, 1)))
    predicted, told, *_ = setting(solution)
    assert solution.exactness is predicted.exactness is told.exactness is Exactness.EXACT
    assert predicted.values["predicted_bytes"] == {"linux-3.4-6.5": 47_784}
    assert "take net.ipv4.tcp_adv_win_scale=2: 2 x 50,000 x 3/4 - 1,448 = 73,552" in predicted.sentence
    assert "net.ipv4.tcp_adv_win_scale=2" in told.remedy
    assert told.commands


def test_a_buffer_that_cannot_be_is_told_so_and_what_would_lead_there_on_that_kernel():
    solution = solve(Observed(73_552, 1448), Facts(rcvbuf=60_000, kernel=Kernel(6, 1)))
    predicted, told, *_ = setting(solution)
    assert predicted.exactness is Exactness.NONE
    assert "do not agree" in predicted.sentence
    assert "2 x 75,000 x 1/2 - 1,448 = 73,552" in told.sentence


def test_a_known_buffer_need_not_be_round():
    # 2 x 51,235 x 1/2 - 1,448 = 49,787, down to 34 segments without a scale.
    solution = solve(Observed(34 * 1448, 1448), Facts(rcvbuf=51_235, kernel=Kernel(6, 1)))
    assert [one.exactness for one in setting(solution)[:2]] == [Exactness.ROUNDED] * 2


@pytest.mark.parametrize(
    ("window", "value", "scale", "also"), [(111_052, 75_000, 1, None), (148_552, 100_000, 2, 150_000)]
)
def test_the_neighbours_of_73552_are_found_as_well(window, value, scale, also):
    solution = solve(Observed(window, 1448, scale, 65_535))
    settings = {(one.setting.value, one.setting.era.key) for one in solution.best}
    assert (value, OLD.key) in settings
    # 2 x 150,000 x 1/2 - 1,448 = 148,552, on kernels in use; 112,500 is no number that people choose.
    assert solution.answers[0].setting.value == (also or value)


def test_65535_is_the_field_and_also_87380_at_three_quarters():
    solution = solve(Observed(65_535, 1448))
    assert solution.field_full
    assert explained(solution.answers)[0] == (87_380, "linux-2.6-3.3", Knob.FIRST)
    told = [finding.sentence for finding in setting(solution)]
    assert told[0].startswith("65,535 bytes are the most that this connection can advertise")
    assert "87,380 x 3/4 = 65,535" in told[1]


@pytest.mark.parametrize(("value", "scale", "syn", "window"), MEASURED_ROWS)
def test_every_measured_row_is_found_first(value, scale, syn, window):
    found, era, exactness = best(window, scale=scale, syn=syn)
    assert (found, era) == (value, MEASURED)
    assert exactness is Exactness.CONSISTENT  # by a measured share none is more


THE_MAIL = Facts(rcvbuf=16 << 20, rmem_max=8_388_608, kernel=version("2.6.12"))


def test_6293248_follows_from_the_mails_own_sysctls():
    # 16 MiB asked, cut to 8 MiB, doubled, three quarters; growth stops past half, in steps of 2,896 from 4 segments.
    half = 2 * 8_388_608 * 3 // 4 // 2
    stopped = next(window for window in range(4 * 1448, 2 * half, 2 * 1448) if window > half)
    assert -(-stopped // 256) * 256 == 6_293_248
    for scale in (None, 8):
        solution = solve(Observed(6_293_248, 1448, scale), THE_MAIL)
        (one,) = solution.best
        assert (one.setting.value, one.setting.stop, one.exactness) == (
            8_388_608,
            Fraction(1, 2),
            Exactness.EXACT,
        )
        predicted, told, *_ = setting(solution)
        assert predicted.exactness is told.exactness is Exactness.EXACT
        assert "cut by net.core.rmem_max to 8,388,608" in told.sentence


@pytest.mark.parametrize("scale", [None, 8])
def test_6293248_is_only_possible_without_facts(scale):
    solution = solve(Observed(6_293_248, 1448, scale))
    assert any((one.setting.value, one.setting.stop) == (8_388_608, Fraction(1, 2)) for one in solution.best)
    assert certainty(solution) is Certainty.POSSIBLE


def test_the_first_window_pins_a_buffer_down_whose_share_is_not_known():
    # SO_RCVBUF 40000 on Linux 6.18: the SYN-ACK offered 39096, the window stopped at 50680.
    solution = solve(Observed(50_680, 1448, scale=0, syn=39_096))
    first = solution.answers[0]
    assert solution.exactness is Exactness.CONSISTENT
    assert first.fitted
    assert first.low <= 40_000 <= first.high < first.low + 1448


def test_a_measured_share_is_one_span_that_holds_the_true_buffer_and_comes_first():
    # SO_RCVBUF 70000 on Linux 6.18 without timestamps: 0.658 of the memory became window, not 0.625.
    seen = Observed(92_062, 1460, scale=1, syn=65_535)
    first, *others = solve(seen).answers
    assert first.low <= 70_000 <= first.high
    assert not [one for one in others if one.setting.era is MEASURED and one.setting.knob is Knob.OPTION]
    (told,) = setting(solve(seen, Facts(kernel=Kernel(6, 18))))
    assert told.exactness is Exactness.CONSISTENT
    # Scale 1 means 65,536 to 131,071; 92,062 / (2 x 70,000) = 0.658.
    assert "SO_RCVBUF from 65,536 to 131,071 fits, most likely 70,000: " in told.sentence
    assert "2 x 70,000 x 0.658" in told.sentence


settings_ = st.one_of(
    st.integers(5000, 2**25),
    st.integers(5, 999).map(lambda n: n * 1000),
    st.integers(5, 60).map(lambda n: n * 1024),
)


shares = st.none() | st.integers(600, 670).map(lambda thousandths: Fraction(thousandths, 1000))


@given(
    st.sampled_from(ERAS[:-1]),
    settings_,
    st.sampled_from([536, 1220, 1448, 1460, 8948]),
    st.booleans(),
    shares,
)
def test_any_setting_is_among_the_answers_for_its_window(era, value, mss, unscaled, share):
    made = Setting(era, Knob.OPTION, value).advertises(mss, unscaled=unscaled, share=share)
    scale = 0 if unscaled else made.scale
    if made.scale is None and not unscaled:
        assume(made.window <= FIELD_MAX)
    solution = solve(
        Observed(min(made.window, FIELD_MAX << (scale or 0)), mss, scale, made.syn, unscaled=unscaled)
    )
    mine = [one for one in solution.answers if one.setting.era is era and one.setting.knob is Knob.OPTION]
    assert any(one.low <= value <= one.high and not one.against for one in mine)


@given(
    st.sampled_from([era for era in ERAS if era.linux]),
    st.sampled_from([Knob.AFTER, Knob.DEFAULT, Knob.GROWN]),
    settings_,
    st.sampled_from([1228, 1448, 1460]),
    st.sampled_from([7, 10]),
    shares,
)
def test_any_knob_is_among_the_answers_for_its_window(era, knob, value, mss, scale, share):
    made = Setting(era, knob, value).advertises(mss, scale, share=share)
    assume(made.window >= 2 * mss)
    mine = [
        one for one in solve(Observed(made.window, mss, scale, made.syn)).answers if one.setting.era is era
    ]
    assert any(one.setting.knob is knob and one.low <= value <= one.high for one in mine if not one.against)
    # A known value is never contradicted.
    rmem = {
        Knob.DEFAULT: (4096, value, max(value, 6_291_456)),
        Knob.GROWN: (4096, min(value, 131_072), value),
    }
    facts = Facts(rmem=rmem[knob]) if knob in rmem else Facts(rcvbuf=value)
    solution = solve(Observed(made.window, mss, scale, made.syn), facts)
    assert solution.agrees
    assert any(not one.against for one in solution.answers)


@given(
    st.sampled_from([era for era in ERAS if era.linux]),
    st.sampled_from([Knob.OPTION, Knob.AFTER, Knob.DEFAULT, Knob.GROWN, Knob.CLAMP]),
    st.sampled_from(STOPS),
    settings_,
    st.integers(1, 9000),
    st.sampled_from([536, 1448, 8948]),
    st.sampled_from([None, 7, 10]),
)
def test_no_window_falls_as_its_setting_rises(era, knob, stop, value, more, mss, scale):
    windows = [Setting(era, knob, one, stop).advertises(mss, scale).window for one in (value, value + more)]
    assert windows[0] <= windows[1]


@given(st.integers(1, 2**31), st.integers(1, 9000), st.none() | st.integers(0, 14))
def test_any_number_gets_an_answer_and_no_error(window, mss, scale):
    for one in solve(Observed(window, mss, scale)).answers:
        assert one.fitted or one.advertised.window == window
        assert 1 <= one.low <= one.high


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("6.6.45", Kernel(6, 6, 45)),
        ("6.1", Kernel(6, 1)),
        ("6.1.176-amd64", Kernel(6, 1, 176)),
        # Debian's and Ubuntu's third number is always 0.
        ("6.1.0-18-amd64", Kernel(6, 1)),
        ("6.8.0-31-generic", Kernel(6, 8)),
        ("6.10.0", Kernel(6, 10, 0)),
        ("5.14.0-427.el9.x86_64", Kernel(5, 14, None, enterprise=True)),
        ("5.14.21-150500.55-default", Kernel(5, 14, None, enterprise=True)),
    ],
)
def test_kernel_versions_are_read_as_uname_prints_them(text, kernel):
    assert version(text) == kernel


def test_what_is_no_version_is_refused():
    with pytest.raises(ValueError, match="no kernel version"):
        version("six")


@pytest.mark.parametrize(
    ("text", "era"),
    [
        *(("2.6.32", OLD), ("3.2.17", OLD), ("3.2.18", HALF), ("3.3.5", HALF), ("5.10", HALF), ("6.5", HALF)),
        # 697a6c8cec03 came in June 2024 to 6.6.y, in May to 6.9.y; 05f76b2d634e in August to 6.6.y and 6.10.y.
        *(
            ("6.6.0", QUARTER),
            ("6.6.32", QUARTER),
            ("6.6.33", LATER),
            ("6.6.44", LATER),
            ("6.6.45", MEASURED),
        ),
        *(("6.6.60", MEASURED), ("6.7", QUARTER), ("6.9.2", QUARTER), ("6.9.3", LATER), ("6.10.3", LATER)),
        *(("6.10.4", MEASURED), ("6.11", MEASURED), ("6.12", MEASURED), ("6.18", MEASURED)),
    ],
)
def test_every_kernel_has_one_arithmetic_by_default(text, era):
    kernel = version(text)
    assert [one for one, usual in eras_of(kernel) if usual] == [era]
    assert kernel.doubt == ""


def test_what_a_version_does_not_tell_is_said():
    assert [one for one, usual in eras_of(version("6.6")) if usual] == [QUARTER, LATER, MEASURED]
    assert "patch level" in version("6.6").doubt
    assert [one for one, usual in eras_of(version("5.14.0-427.el9")) if usual] == [
        HALF,
        QUARTER,
        LATER,
        MEASURED,
    ]
    (told,) = setting(solve(Observed(2896, 1448, 0), Facts(rcvbuf=5000, kernel=version("5.14.0-427.el9"))))[
        :1
    ]
    assert "Enterprise kernels" in told.cause


# what a kernel measures


@pytest.mark.parametrize("row", LADDER, ids=lambda row: f"{row['link']}-{row['mtu']}-{row['so_rcvbuf']}")
def test_the_buffers_told_hold_the_true_one_whatever_the_link(row):
    seen = Observed(row["window"], row["mss"], row["window_scale"], row["syn_window"])
    answers = solve(seen, Facts(kernel=Kernel(6, 18))).answers
    mine = [one for one in answers if one.setting.era is MEASURED and not one.against]
    assert any(one.low <= row["so_rcvbuf"] <= one.high for one in mine)


def test_the_likeliest_buffer_is_the_true_one_where_packets_come_one_by_one():
    found = []
    for row in LADDER:
        # The field's limit hides the buffer; less than two segments is no window to explain.
        hidden = row["window"] == FIELD_MAX << row["window_scale"] or row["window"] < 2 * row["mss"]
        if row["mtu"] > 1500 or row["link"] not in ("veth", "TAP") or hidden:
            continue
        seen = Observed(row["window"], row["mss"], row["window_scale"], row["syn_window"])
        first = solve(seen, Facts(kernel=Kernel(6, 18))).answers[0]
        found.append(first.setting.value == row["so_rcvbuf"])
    # 86 of 88 on Linux 6.18: a rounder neighbour outranks two.
    assert len(found) == 88
    assert sum(found) / len(found) > 0.9


def test_segments_too_short_to_measure_keep_the_share_of_the_handshake():
    # MTU 576 without offload, over veth and over TAP: half of the doubled buffer, a segment kept back.
    for row in LADDER:
        if row["mtu"] == 576:
            made = Setting(MEASURED, Knob.OPTION, row["so_rcvbuf"]).advertises(row["mss"])
            assert (made.window, made.scale, made.syn) == (
                row["window"],
                row["window_scale"],
                row["syn_window"],
            )


def test_the_plainest_linux_is_explained_from_its_syn_ack():
    # Linux 6.1, iperf -s -w 50000: 49,232 is 34 segments; 50,000 - 1,448 = 48,552 holds 33 of them.
    seen = Observed(47_784, 1448, scale=0, syn=49_232)
    first = solve(seen).best[0]
    assert (first.setting.value, first.setting.era) == (50_000, HALF)
    assert first.arithmetic == "2 x 50,000 x 1/2 - 1,448 = 48,552, down to 33 segments: 47,784"
    (told,) = solve(seen, Facts(kernel=Kernel(6, 1))).best
    assert told.exactness is Exactness.ROUNDED


# how much a match says


def drawn(low, high, make, count=600):
    """Windows drawn log-uniformly, evenly spread instead of at random, and how many were exact or certain."""
    sizes = (math.exp(math.log(low) + (i + 0.5) / count * math.log(high / low)) for i in range(count))
    # A step that shares no divisor with anything: the low digits are as good as random.
    windows = (int(size * (1 + 0.618034 * (i % 7) / 1000)) for i, size in enumerate(sizes))
    return sum(is_sure(solve(make(window))) for window in windows) / count


def is_sure(solution):
    sure = solution.exactness is Exactness.EXACT or certainty(solution) is Certainty.CERTAIN
    return sure and not solution.field_full


def unscaled(mss):
    return lambda window: Observed(max(2, window // mss) * mss, mss, 0)


def scaled(window, *, known):
    shift = max(0, window.bit_length() - 16)
    return Observed(window >> shift << shift, 1448, shift if known else None)


@pytest.mark.parametrize(
    ("low", "high", "make"),
    [
        (4000, 2e7, lambda window: scaled(window, known=False)),
        (4000, 2e7, lambda window: scaled(window, known=True)),
        (4000, 4e5, lambda window: scaled(window, known=False)),
        (4000, 4e5, lambda window: scaled(window, known=True)),
        (4000, 65_535, unscaled(1448)),
        (4000, 65_535, unscaled(536)),
    ],
)
def test_few_windows_that_nobody_chose_are_explained_to_the_byte(low, high, make):
    assert drawn(low, high, make) < 0.002  # one window of 600


def test_settings_of_all_kernels_are_among_what_is_told():
    known = list(windows.ladder(400, seed=3))
    solutions = [solve(one.seen) for one in known]
    told = [
        windows.is_right(solution, one, 99)
        for solution, one in zip(solutions, known, strict=True)
        if certainty(solution) is Certainty.LIKELY
    ]
    assert len(told) > 200
    assert np.mean(told) >= 0.98
    for solution, one in zip(solutions, known, strict=True):
        assert not is_sure(solution) or windows.is_right(solution, one, 99)
        assert not windows.is_contradicted(one)


# real windows


@pytest.fixture(scope="module")
def real_windows():
    return list(windows.real(SHARED / "captures/windows"))


@pytest.mark.usefixtures("need_shared")
def test_the_settings_of_real_windows_come_first(real_windows):
    assert len(real_windows) == 17
    alone = [windows.is_right(solve(one.seen), one) for one in real_windows]
    with_kernel = [
        windows.is_right(solve(one.seen, Facts(kernel=Kernel(6, 18))), one) for one in real_windows
    ]
    assert np.mean(alone) >= 0.85
    assert np.mean(with_kernel) >= 0.91


@pytest.mark.usefixtures("need_shared")
def test_no_fact_of_a_real_window_is_contradicted(real_windows):
    for one in real_windows:
        assert not windows.is_contradicted(one), one.name
        assert not is_sure(solve(one.seen)) or windows.is_right(solve(one.seen), one, 99), one.name


def test_a_small_buffer_set_after_the_handshake_lowers_the_window():
    # Linux 6.18: 2 x 8,192 x 0.664 = 10,880, up to a multiple of 1,024.
    seen = Observed(11_264, 1448, 10, 65_160)
    first = solve(seen).answers[0]
    assert (first.setting.knob, first.low <= 8192 <= first.high) == (Knob.AFTER, True)


def test_a_large_buffer_set_after_the_handshake_keeps_the_default():
    # Linux 6.18, 200,000 asked: 131,072 x 0.664 = 87,040.
    seen = Observed(87_040, 1448, 10, 65_160)
    assert {one.setting.knob for one in solve(seen).best[:2]} == {Knob.AFTER, Knob.DEFAULT}
    (predicted, told, *_) = setting(solve(seen, Facts(rcvbuf=200_000)))
    assert "agree if it was set after the handshake" in predicted.sentence
    assert "before listen()" in told.remedy


def test_a_prediction_is_rounded_as_the_kernel_rounds():
    # MTU 9000: 0.60 to 0.67 of 49,152 hold three segments.
    (predicted, *_) = setting(
        solve(Observed(26_784, 8928, 0, 17_856), Facts(rcvbuf=24_576, kernel=Kernel(6, 18)))
    )
    assert "leads to a window of 26,784 with full packets" in predicted.sentence


def test_a_full_field_agrees_with_any_larger_buffer():
    seen = Observed(65_535, 1448, 0, 65_535, unscaled=True)
    (predicted, *_) = setting(solve(seen, Facts(rcvbuf=100_000, kernel=Kernel(6, 18))))
    assert "all that the window field holds" in predicted.sentence
    assert predicted.exactness is not Exactness.NONE


def test_a_window_that_was_not_the_limit_is_no_maximum_of_autotuning():
    # 1,600,000 x 0.666, if it had stopped there.
    grown = Observed(1_064_960, 1460, 10, 64_240, limited=False)
    assert solve(grown).best == []
    (told,) = setting(solve(grown))
    assert "The window was not the limit" in told.cause
    assert any(one.setting.knob is Knob.GROWN for one in solve(replace(grown, limited=True)).best)
    # The default of a maximum is evidence enough: 6 MiB at one half.
    assert solve(Observed(3_145_728, 1448, 7, 65_160, limited=False)).best[0].setting.value == 6_291_456


@pytest.mark.parametrize("window", [64_240, 65_535])
def test_an_unscaled_window_is_full_in_whole_segments_too(window):
    solution = solve(Observed(window, 1460, 0, window, unscaled=True))
    assert solution.field_full
    assert "the most that this connection can advertise" in setting(solution)[0].sentence


# other systems


def test_24576_is_the_default_of_solaris_8():
    solution = solve(Observed(24_576, 1448))
    (told, *_) = setting(solution)
    assert solution.answers[0].setting.era is SOLARIS
    assert "24,576 is the default of Solaris 8." in told.cause
    assert told.certainty is not Certainty.CERTAIN


def test_65536_is_windows_as_well():
    assert {WINDOWS, WHOLE} <= {one.setting.era for one in solve(Observed(65_536, 1448)).best}


@pytest.mark.parametrize(
    ("system", "eras"),
    [
        ("windows", {WINDOWS}),
        ("macos", {WHOLE}),
        ("netstack", {NETSTACK}),
        ("solaris", {SOLARIS}),
        ("virtual-nat", set()),
    ],
)
def test_a_known_system_rules_the_others_out(system, eras):
    assert {
        one.setting.era for one in solve(Observed(65_536, 1448, 8, 65_535, system=system)).answers
    } <= eras


def test_linux_is_known_from_its_syn():
    answers = solve(Observed(65_536, 1448, 8, 65_535, system="linux")).answers
    assert all(one.setting.era.linux for one in answers)


@pytest.mark.parametrize("system", ["embedded", "embedded/lwip", ""])
def test_a_small_stacks_window_is_whole_segments_and_no_sysctl(system):
    # Four segments by a SYN-ACK with an MSS alone.
    seen = Observed(5840, 1460, 0, 5840, unscaled=True, bare=True, system=system)
    answers = [one for one in solve(seen).best if one.setting.era is SMALL]
    assert [(one.setting.knob, one.setting.value) for one in answers] == [(Knob.STACK, 5840)]
    if system:
        (told, *_) = setting(solve(seen))
        assert "4 x 1,460, whole segments" in told.sentence
        assert "TCP_WND" in told.remedy
        assert not told.commands


def test_one_to_the_byte_is_not_certain_where_another_setting_gives_it():
    # 2 x 75,000 x 1/2 - 1,448 as well: to the byte, by a number that is less round.
    solution = solve(Observed(73_552, 1448, 1))
    assert {OLD, HALF} <= {one.setting.era for one in solution.best}
    assert setting(solution)[0].certainty is Certainty.LIKELY
    alone = solve(Observed(73_552, 1448, 1), Facts(kernel=Kernel(2, 6, 32)))
    assert setting(alone)[0].certainty is Certainty.CERTAIN


def test_nothing_is_exact_where_the_window_itself_is_in_doubt():
    solution = solve(Observed(73_552, 1448, 1, doubt="the window scale is inferred"))
    assert solution.exactness is Exactness.CONSISTENT
    assert {finding.certainty for finding in setting(solution)} == {Certainty.POSSIBLE}


# facts bind


def test_eras_that_the_window_or_a_fact_excludes_are_left_out():
    assert surviving_eras(None) == list(ERAS)
    assert surviving_eras(None, Facts(kernel=Kernel(6, 1))) == [HALF]
    seen = Observed(73_552, 1448, 1, 65_535)
    assert surviving_eras(solve(seen)) == [OLD, HALF]
    # 3/4 on 6.1 takes the sysctl: only then does 50,000 lead to this window.
    facts = Facts(rcvbuf=50_000, kernel=Kernel(6, 1))
    assert surviving_eras(solve(seen, facts), facts) == [OLD]
    # 111,052 is no half of anything that someone would choose.
    facts = Facts(kernel=Kernel(6, 1))
    assert surviving_eras(solve(Observed(111_052, 1448, 1), facts), facts) == [OLD]


def test_a_request_that_the_kernel_cuts_is_predicted_and_recognised():
    facts = Facts(rcvbuf=8_000_000, kernel=version("5.15"))
    predicted, told, *_ = setting(solve(Observed(211_544, 1448), facts))
    # net.core.rmem_max is 212,992 by default: 2 x 212,992 x 1/2 - 1,448.
    assert predicted.values["cut_bytes"] == {"linux-3.4-6.5": 211_544}
    assert "211,544 seen are that limit" in predicted.sentence
    assert "8,000,000, cut by net.core.rmem_max to 212,992" in told.sentence


def test_solaris_rounds_its_default_up_to_whole_segments():
    solution = solve(Observed(24_820, 1460, 0, system="solaris"))
    first = solution.best[0]
    assert (first.setting.era, first.setting.knob, first.setting.value) == (SOLARIS, Knob.HIWAT, 24_576)
    assert first.arithmetic == "24,576, up to 17 segments: 17 x 1,460 = 24,820"
    (told, *_) = setting(solution)
    assert told.certainty is Certainty.LIKELY
    assert told.commands == ("ndd -set /dev/tcp tcp_recv_hiwat N   # receiver",)


@pytest.mark.parametrize(
    ("window", "mss", "starts"),
    [
        (65_536, 1460, 65_536),
        (66_048, 1440, 65_536),
        (131_328, 1460, 131_072),
        (132_352, 1440, 131_072),
        (262_656, 1460, 262_144),
    ],
)
def test_windows_begins_with_64_kib_in_whole_segments(window, mss, starts):
    # Windows that Windows hosts advertised to Internet servers; the smaller ones while they limited a download.
    solution = solve(Observed(window, mss, 8, system="windows"))
    first = solution.best[0]
    assert (first.setting.knob, first.setting.value) == (Knob.START, starts)
    assert f"{-(-starts // mss)} x {mss:,}" in first.arithmetic
    (told, *_) = setting(solution)
    assert told.commands == ()
    assert "autotuning" in told.cause
