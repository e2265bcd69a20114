"""A gate for CI: conditions over flows, and what came of them as JUnit XML and as a workflow's messages."""

import re
from xml.etree import ElementTree as ET

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import ROOT
from small_transfer import write_pcap

import bdpcap
from bdpcap import tables
from bdpcap.cli import expression, main

SAMPLE = ROOT / "sample_captures" / "linux61_advwinscale2_w50000.pcap.zst"
COLUMNS = {
    "a": tables.Column("float64", ""),
    "b": tables.Column("Int64", ""),
    "c": tables.Column("Float64", ""),
    "word": tables.Column("str", ""),
}
ROW = {"a": 0.75, "b": 4_611_686_018_427_387_905, "c": pd.NA, "word": "rwnd"}


def holds(text, row=ROW):
    return expression.parse(text, COLUMNS, {"word": ("rwnd", "link")}).holds(row)


# conditions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a > 0.5", True),
        ("a > .75", False),
        ("0.5 < a <= 0.75 < 1", True),
        ("not a > 0.5", False),
        ("a > 1 or (a < 1 and b > 0)", True),
        ("a * 4 - 1 == 2", True),
        ("-a / 3 == -0.25", True),
        ("b == 4611686018427387905", True),  # exact, beyond the integers of a float
        ("b == 4611686018427387904", False),
        ("word == 'rwnd' != 'link'", True),
        ('word != "rwnd"', False),
        ("1_000 == 1e3", True),
    ],
)
def test_a_condition_means_what_it_says(text, expected):
    assert holds(text) is expected


@pytest.mark.parametrize("missing", [None, pd.NA, float("nan")])
@pytest.mark.parametrize(
    "comparison", ["c < 1", "c >= 1", "c == c", "c != c", "c + 1 > 0", "0 < 1 < c", "-c < 0"]
)
def test_a_comparison_with_what_is_missing_is_false(missing, comparison):
    row = ROW | {"c": missing}
    assert holds(comparison, row) is False
    assert holds(f"not ({comparison})", row) is True


@pytest.mark.parametrize(
    "undefined", ["a / 0", "b / (a - 0.75)", "1e308 * 10 - 1e308 * 10", f"1{'0' * 400} / 3.0"]
)
def test_what_no_number_is_the_result_of_is_missing(undefined):
    assert holds(f"{undefined} == {undefined}") is False


numbers = st.one_of(
    st.sampled_from(["a", "b"]), st.integers(0, 9).map(str), st.floats(0, 9, allow_subnormal=False).map(repr)
)
sums = st.recursive(
    numbers,
    lambda inner: st.one_of(
        inner.map("(-{})".format), st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner)
    ),
    max_leaves=5,
)
comparisons = st.builds("{} {} {}".format, sums, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), sums)
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        inner.map("(not ({}))".format),
        st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner),
    ),
    max_leaves=4,
)


@given(conditions, st.floats(-9, 9, allow_nan=False), st.integers(-(2**62), 2**62))
def test_of_what_is_there_a_condition_is_pythons(text, a, b):
    assert holds(text, {"a": a, "b": b}) is eval(text, {"a": a, "b": b})  # noqa: S307 - made above


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "cannot read ''"),
        ("a > 0.5 and", "cannot read 'a > 0.5 and'"),
        ("a > 0.5; b", "at '; b'"),
        ("d > 1", "no column 'd'"),
        ("a", "'a' is a number, no condition"),
        ("a + 1", "'a + 1' is a number, no condition"),
        ("a and b > 1", "'a' is a number, where a condition is needed"),
        ("word > 'a'", "by == and != alone"),
        ("word == 1", "'1' is a number, where a text is needed"),
        ("word == 'rwmd'", "word is never 'rwmd': there are rwnd, link"),
        ("(a > 1) == (b > 1)", "'a > 1' is a condition: join conditions by and, or"),
        ("a ** 2 > 1", "'a ** 2' is not understood"),
        ("a % 2 > 1", "'a % 2' is not understood"),
        ("a > 1 if b > 1 else a > 2", "is not understood"),
        ("__import__('os').system('true')", "is not understood"),
        ("a.real > 1", "'a.real' is not understood"),
        ("a in (1, 2)", "is not understood"),
        ("a is 1", "compared by"),
        ("[a][0] > 1", "'[a][0]' is not understood"),
        ("(x := a) > 1", "is not understood"),
        ("lambda: a", "is not understood"),
        ("f'{a}' == word", "is not understood"),
        ("True", "'True' is not understood"),
        ("a > 1j", "'1j' is not understood"),
        ("a > None", "'None' is not understood"),
        (f"{'(' * 300}a{')' * 300} > 1", "cannot read"),
        (f"{'-' * 50_000}a > 1", "nested too deeply"),
        ("a > 1\x00", "cannot read"),
    ],
)  # fmt: skip
def test_what_is_no_condition_is_refused_by_its_part(text, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        expression.parse(text, COLUMNS, {"word": ("rwnd", "link")})


# on the command line


def flow_of(capture):
    return bdpcap.analyze(capture).flows.iloc[0]


@pytest.mark.parametrize("name", ["flows", "report"])
def test_a_condition_over_the_columns_of_flows_has_its_own_code(name, tmp_path, capsys):
    more = ["-o", str(tmp_path / "out.html")] if name == "report" else []
    flow = flow_of(SAMPLE)
    broken = f"limit == 'rwnd' and throughput_bps < {flow['throughput_bps'] / flow['capacity_bps'] + 0.01} * capacity_bps"
    kept = f"limit == 'rwnd' and throughput_bps < {flow['throughput_bps'] / flow['capacity_bps'] - 0.01} * capacity_bps"
    assert main([name, str(SAMPLE), *more, "--fail-on", broken]) == 3
    assert f"stream 0 from 192.168.1.3:54348: {broken} (limit rwnd, throughput_bps" in capsys.readouterr().err
    assert main([name, str(SAMPLE), *more, "--fail-on", kept]) == 0
    # The 28 bytes that came back do not count.
    assert main([name, str(SAMPLE), *more, "--fail-on", "payload_bytes == 28"]) == 0


def test_a_bad_condition_is_one_line_that_names_the_part_and_the_columns(capsys):
    assert main(["report", "absent.pcap", "--fail-on", "rwnd_shares > 0.5"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "no column 'rwnd_shares'" in said
    assert all(column in said for column in tables.FLOWS)


@pytest.mark.parametrize("option", [["--junit", "x.xml"], ["--annotations", "github"]])
def test_without_a_rule_there_is_nothing_to_tell(option, capsys):
    assert main(["flows", "absent.pcap", *option]) == 2
    assert "give --fail-on" in capsys.readouterr().err


# for CI systems

REQUIRED = {
    "testsuite": {"name", "package", "id", "timestamp", "hostname", "tests", "failures", "errors", "time"},
    "testcase": {"classname", "name", "time"},
    "failure": {"type"},
    "error": {"type"},
}
"""By element: attributes without which Ant's schema of an aggregated report is not met."""
ALLOWED = REQUIRED | {
    "testsuite": REQUIRED["testsuite"] | {"skipped"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
}
CHILDREN = {
    "testsuites": r"(testsuite )*",
    "testsuite": r"properties (testcase )*system-out system-err ",
    "testcase": r"((skipped|error|failure) )?",
}
"""By element: the children that it has, in order."""


def checked(path):
    """Read a JUnit file, and hold it against the schema."""
    root = ET.parse(path).getroot()  # noqa: S314 - our own
    assert root.tag == "testsuites"
    for element in root.iter():
        assert element.attrib.keys() >= REQUIRED.get(element.tag, set()), element.tag
        assert element.attrib.keys() <= ALLOWED.get(element.tag, set()), element.tag
        assert re.fullmatch(CHILDREN.get(element.tag, ""), "".join(f"{child.tag} " for child in element))
    for suite in root:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp"))
        cases = suite.findall("testcase")
        assert int(suite.get("tests")) == len(cases)
        for counted, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.get(counted)) == len(suite.findall(f"testcase/{tag}"))
        assert float(suite.get("time")) == pytest.approx(
            sum(float(case.get("time")) for case in cases), abs=0.001 * len(cases)
        )
    assert [suite.get("id") for suite in root] == [str(number) for number in range(len(root))]
    return root


@pytest.mark.parametrize("name", ["flows", "report"])
def test_a_junit_file_has_a_suite_for_each_rule_and_a_case_for_each_flow(name, tmp_path):
    junit = tmp_path / "verdicts.xml"
    more = ["-o", str(tmp_path / "out.html")] if name == "report" else []
    rules = ["rwnd>50%", "sender == '<&\"' or mss_bytes < 100"]
    given = [word for rule in rules for word in ("--fail-on", rule)]
    assert main([name, str(SAMPLE), *more, *given, "--junit", str(junit)]) == 3
    first, second = checked(junit)
    assert (first.get("name"), second.get("name")) == tuple(rules)
    (case,) = first.findall("testcase")
    assert case.get("name") == "stream 0: 192.168.1.3:54348 → 192.168.1.34:5001"
    flow = flow_of(SAMPLE)
    assert float(case.get("time")) == pytest.approx((flow["end_ns"] - flow["start_ns"]) / 1e9, abs=0.001)
    assert "rwnd 96 %, more than 50 %" in case.find("failure").get("message")
    assert second.find("testcase/failure") is None


def test_no_flow_is_a_skipped_case_and_a_broken_capture_an_error(tmp_path, capsys):
    whole, cut, junit = write_pcap(tmp_path / "t.pcap"), tmp_path / "cut.pcap", tmp_path / "j.xml"
    cut.write_bytes(whole.read_bytes()[:300])
    assert main(["flows", str(cut), "--fail-on", "rwnd>50%", "--junit", str(junit)]) == 1
    rule, capture = checked(junit)
    assert rule.get("skipped") == "1"
    assert capture.find("testcase/error").get("type") == "damaged"
    assert str(cut) in capture.find("testcase/error").get("message")
    capsys.readouterr()


def test_the_junit_file_does_not_replace_the_capture(tmp_path, capsys):
    mine = write_pcap(tmp_path / "t.xml")
    before = mine.read_bytes()
    assert main(["flows", str(mine), "--fail-on", "rwnd>50%", "--junit", str(mine)]) == 2
    assert "is the capture itself" in capsys.readouterr().err
    assert mine.read_bytes() == before


def test_a_workflow_of_github_shows_what_broke_a_rule(capsys):
    rules = ["--fail-on", "rwnd>50%", "--fail-on", "0 < 1 and limit != 'a,b:c'"]
    assert main(["flows", str(SAMPLE), *rules[:2], "--annotations", "github"]) == 3
    assert capsys.readouterr().err == (
        "::error title=rwnd>50%25::stream 0 from 192.168.1.3:54348: rwnd 96 %25, more than 50 %25\n"
    )
    text = "sender != 'a,b:c'"
    assert main(["flows", str(SAMPLE), "--fail-on", text, "--annotations", "github"]) == 3
    assert capsys.readouterr().err.startswith("::error title=sender != 'a%2Cb%3Ac'::stream 0 from")
