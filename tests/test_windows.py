"""Windows forward and backward: what a buffer makes, which settings explain a window, and how much a match says."""

import csv
import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from oracles import ROOT

from bdpcap.explain.buffers import FIELD_MAX, Knob, Setting, least_setting, scale_for
from bdpcap.explain.eras import ERAS
from bdpcap.explain.likelihood import is_chosen
from bdpcap.explain.findings import Certainty
from bdpcap.explain.findings.setting import setting
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
    assert explained(solution.answers)[:2] == [
        (50_000, "linux-2.6-3.3", Knob.OPTION),
        (75_000, "linux-3.4-6.5", Knob.OPTION),
    ]
    assert [one.arithmetic for one in solution.answers[:2]] == [
        "2 x 50,000 x 3/4 - 1,448 = 73,552",
        "2 x 75,000 x 1/2 - 1,448 = 73,552",
    ]


def test_a_fact_decides_between_them():
    assert best(73_552, Facts(kernel=Kernel(6, 1)))[:2] == (75_000, HALF)
    assert best(73_552, Facts(kernel=Kernel(6, 1), adv_win_scale=2))[:2] == (50_000, OLD)
    assert best(73_552, Facts(kernel=Kernel(2, 6)))[:2] == (50_000, OLD)
    assert best(73_552, Facts(rcvbuf=50_000))[:2] == (50_000, OLD)


def test_a_default_kernel_leaves_the_other_possible_by_its_sysctl():
    answers = solve(Observed(73_552, 1448), Facts(kernel=Kernel(6, 1))).answers
    (other,) = [one for one in answers if one.setting.value == 50_000]
    assert other.exactness is Exactness.CONSISTENT
    assert other.needs == "net.ipv4.tcp_adv_win_scale=2"


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


@pytest.mark.parametrize(("window", "value", "scale"), [(111_052, 75_000, 1), (148_552, 100_000, 2)])
def test_the_neighbours_of_73552_are_found_as_well(window, value, scale):
    assert best(window, scale=scale, syn=65_535) == (value, OLD, Exactness.EXACT)


def test_65535_is_the_field_and_also_87380_at_three_quarters():
    solution = solve(Observed(65_535, 1448))
    assert solution.field_full
    assert explained(solution.answers)[0] == (87_380, "linux-2.6-3.3", Knob.FIRST)
    told = [finding.sentence for finding in setting(solution)]
    assert told[0].startswith("65,535 bytes are all that the window field can say")
    assert "87,380 x 3/4 = 65,535" in told[1]


@pytest.mark.parametrize(("value", "scale", "syn", "window"), MEASURED_ROWS)
def test_every_measured_row_is_found_first(value, scale, syn, window):
    found, era, exactness = best(window, scale=scale, syn=syn)
    assert (found, era) == (value, MEASURED)
    assert exactness is Exactness.CONSISTENT  # by a measured share none is more


@pytest.mark.parametrize("scale", [None, 7, 8])
def test_for_6293248_no_match_is_invented(scale):
    solution = solve(Observed(6_293_248, 1448, scale))
    assert {one.exactness for one in solution.answers} == {Exactness.CONSISTENT}
    # 5,000,000 by 0.629 of its memory is possible under scale 7, whose buffers are 4 to 8 MiB; and no fixed share is.
    assert [one.setting.value for one in solution.best] == ([5_000_000] if scale == 7 else [])
    assert all(one.fitted for one in solution.best)
    # What fits lies in the ranges that were worked out by hand: 8 MiB and some, and no round number.
    unset = [one for one in solution.answers if one.setting.era is OLD and one.setting.knob is Knob.DEFAULT]
    assert all(8_392_587 <= one.low <= one.high <= 8_392_928 for one in unset)


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
    assert MEASURED not in [one.setting.era for one in others if not one.against]
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


@given(st.sampled_from(ERAS), settings_, st.sampled_from([536, 1220, 1448, 1460, 8948]))
def test_any_setting_is_among_the_answers_for_its_window(era, value, mss):
    made = Setting(era, Knob.OPTION, value).advertises(mss)
    answers = solve(Observed(made.window, mss, made.scale, made.syn)).answers
    mine = [one for one in answers if one.setting.era is era and one.setting.knob is Knob.OPTION]
    assert any(one.low <= value <= one.high for one in mine)


@given(
    st.sampled_from(ERAS),
    st.integers(1, 99).flatmap(lambda n: st.integers(4, 5).map(lambda k: n * 10**k)),
    st.sampled_from([536, 1448, 1460]),
)
def test_a_round_setting_is_first_but_for_what_explains_as_well_and_is_as_round(era, value, mss):
    made = Setting(era, Knob.OPTION, value).advertises(mss)
    assume(made.window != 65_535 << (made.scale or 0))  # the field's own limit tells nothing of a buffer
    solution = solve(Observed(made.window, mss, made.scale, made.syn))
    mine = next(one for one in solution.answers if one.setting.era is era and one.low <= value <= one.high)
    assert not mine.against
    order = list(Exactness)
    for one in solution.answers[: solution.answers.index(mine)]:
        as_round = roundness(one.setting.value) <= roundness(value)
        assert (
            order.index(one.exactness) < order.index(mine.exactness)
            or one.well_known
            or one.fitted
            or as_round
        )


@given(st.integers(1, 2**31), st.integers(1, 9000), st.none() | st.integers(0, 14))
def test_any_number_gets_an_answer_and_no_error(window, mss, scale):
    solution = solve(Observed(window, mss, scale))
    for one in solution.answers:
        made = one.setting.advertises(mss, scale)
        assert one.fitted or made.window == window


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


def drawn(low, high, make, count=1200):
    """Windows drawn log-uniformly, evenly spread instead of at random, and how many were explained to the byte."""
    sizes = (math.exp(math.log(low) + (i + 0.5) / count * math.log(high / low)) for i in range(count))
    # A step that shares no divisor with anything: the low digits are as good as random.
    windows = (int(size * (1 + 0.618034 * (i % 7) / 1000)) for i, size in enumerate(sizes))
    solutions = [solve(make(window)) for window in windows]
    return sum(one.exactness is Exactness.EXACT and not one.field_full for one in solutions) / count


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
    assert drawn(low, high, make) < 0.01


KI = 1024
CHOSEN = [
    *(
        n * 1000
        for n in (8, 10, 12, 15, 16, 20, 24, 25, 30, 32, 40, 48, 50, 60, 64, 75, 80, 100, 120, 125, 128)
    ),
    *(
        n * 1000
        for n in (150, 160, 200, 240, 250, 256, 300, 320, 400, 500, 512, 600, 640, 750, 800, 1000, 1250)
    ),
    *(n * 1000 for n in (1500, 2000, 2500, 3000, 4000, 5000, 8000, 10_000)),
    *(
        n * KI
        for n in (8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 100, 128, 160, 192, 200, 208, 256, 320, 384)
    ),
    *(n * KI for n in (400, 500, 512, 640, 768, 1024, 1536, 2048, 3072, 4096, 8192)),
]


def test_settings_that_people_choose_are_found_and_rarely_outranked_by_a_false_one():
    found, shown, false = 0, 0, 0
    for era in ERAS:
        for mss in (1448, 1460):
            for value in CHOSEN:
                made = Setting(era, Knob.OPTION, value).advertises(mss)
                scale = scale_for(made.window) if made.scale is None else made.scale
                window = min(made.window >> scale << scale, FIELD_MAX << scale)
                solution = solve(Observed(window, mss, scale, made.syn))
                if solution.field_full:
                    continue  # the field's own limit tells nothing of a buffer
                first = solution.answers[0]
                true = [
                    one
                    for one in solution.answers
                    if one.setting.era is era and one.low <= value <= one.high and not one.against
                ]
                shown += 1
                found += any(one.exactness is first.exactness for one in true)
                false += first.exactness is Exactness.EXACT and not any(
                    one.exactness is Exactness.EXACT for one in true
                )
    assert shown > 1000
    assert found / shown > 0.922  # as many as before matches were weighed
    assert false / shown < 0.01


def test_one_to_the_byte_is_not_certain_where_another_setting_gives_it():
    # 2 x 75,000 x 1/2 - 1,448 as well: to the byte, by a number that is less round.
    solution = solve(Observed(73_552, 1448, 1))
    assert {one.setting.era for one in solution.best} == {OLD, HALF, LATER}
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
    assert surviving_eras(solve(seen)) == [OLD, HALF, LATER]
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
    solution = solve(Observed(24_820, 1460, 0))
    (first,) = solution.best
    assert (first.setting.era, first.setting.knob, first.setting.value) == (SOLARIS, Knob.HIWAT, 24_576)
    assert first.arithmetic == "24,576, up to 17 segments: 17 x 1,460 = 24,820"
    (told, *_) = setting(solution)
    assert told.certainty is Certainty.LIKELY
    assert told.commands == ("ndd -set /dev/tcp tcp_recv_hiwat N   # receiver",)
