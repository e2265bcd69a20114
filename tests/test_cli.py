"""The command line as a user meets it: commands, formats, exit codes, one line for every error."""

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import pytest
from command_line_page import OVERVIEW, PAGES
from oracles import ROOT
from packets import pcap
from scenario import scenario
from small_transfer import ROUNDS, START, write_pcap

import bdpcap
from bdpcap import tables
from bdpcap.cli import flows as flows_command
from bdpcap.cli import main, output
from bdpcap.cli.commands import COMMANDS, loaded
from bdpcap.limits import LIMITS, STATES
from bdpcap.report.ranking import bulk

TABLES = ("flows", "rtts", "events")


@pytest.fixture(scope="module")
def transfer(tmp_path_factory):
    return write_pcap(tmp_path_factory.mktemp("captures") / "transfer.pcap")


@pytest.fixture(scope="module")
def damaged(transfer):
    torn = transfer.with_name("damaged.pcap")
    torn.write_bytes(transfer.read_bytes()[:-5])
    return torn


def run(*arguments, **how):
    """Run the program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "bdpcap", *map(str, arguments)], capture_output=True, check=False, **how
    )


def same(left, right):
    """Tell whether two values are one; JSON carries floats to 15 decimals."""
    return np.isclose(left, right, rtol=1e-14, atol=1e-15) if isinstance(left, float) else left == right


def table(name, transfer, format_, capsys, *more):
    assert main([name, str(transfer), "--format", format_, *more]) == 0
    return capsys.readouterr().out


# help


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_is_cut_nowhere_and_says_what_each_says_of_itself(name, capsys):
    assert main([]) == 0
    assert f"  {name:<{max(map(len, COMMANDS))}}  {COMMANDS[name]}\n" in capsys.readouterr().out
    verb = loaded(name).help.split()[0].rstrip(":")
    assert COMMANDS[name].startswith(verb)


@pytest.mark.parametrize("arguments", [[], *([name] for name in COMMANDS)])
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_works_everywhere(arguments, flag, capsys):
    assert main([*arguments, flag]) == 0
    said = capsys.readouterr().out
    assert "Usage: bdpcap" in said
    assert all(len(line) <= 80 for line in said.splitlines())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_what_it_does(name, capsys):
    main([name, "-h"])
    options = capsys.readouterr().out.partition("Options:\n")[2].rstrip().split("\n  -")
    assert len(options) > 2
    assert all(len(option.split(maxsplit=3)) > 2 for option in options)


def test_the_reference_has_every_command():
    listed = OVERVIEW.read_text(encoding="utf-8")
    for name, page in PAGES.items():
        assert page.read_text(encoding="utf-8").startswith(f"# bdpcap {name}\n")
        assert f"](commands/{name}.md)" in listed


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"bdpcap {bdpcap.__version__}\n"


# the first word


def test_without_arguments_the_help_is_printed(capsys):
    assert main([]) == 0
    said = capsys.readouterr()
    assert main(["--help"]) == 0
    assert (said.out, said.err) == capsys.readouterr()


def test_a_capture_alone_is_reported_as_text(transfer, capsys):
    assert main(["report", str(transfer), "--text", "-"]) == 0
    told = capsys.readouterr().out
    assert main([str(transfer)]) == 0
    said = capsys.readouterr()
    assert said.out == told
    assert (
        said.err
        == f"hint: `bdpcap report {transfer}` writes a page with figures; `bdpcap --help` shows the rest\n"
    )


def test_options_of_the_report_may_follow_the_capture(transfer, tmp_path, capsys):
    assert main([str(transfer), "--json", str(tmp_path / "v.json"), "--fail-on", "unknown>100%"]) == 0
    assert "VERDICT" in capsys.readouterr().out
    assert json.loads((tmp_path / "v.json").read_text())["flows"]


def test_a_capture_from_a_pipe_is_reported_as_text(transfer):
    piped = run("-", input=transfer.read_bytes())
    assert piped.returncode == 0, piped.stderr
    assert b"VERDICT" in piped.stdout


def test_a_file_that_is_called_as_a_command_is_reached_by_its_path(transfer, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flows").write_bytes(transfer.read_bytes())
    assert main(["flows"]) == 2
    assert "no capture given" in capsys.readouterr().err
    assert main(["./flows"]) == 0
    assert "VERDICT" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("word", "says"),
    [("flwos", " (did you mean 'flows'?); try"), ("trace.pcap", "'trace.pcap'; try 'bdpcap --help'\n")],
)
def test_a_word_that_is_neither_command_nor_file_is_said_to_be(word, says, capsys):
    assert main([word]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert said.err.startswith(f"bdpcap: no such command or file: '{word}'")
    assert says in said.err


# start


SLOW = {"numpy", "pandas", "plotly", "rich", "jinja2"}


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (["--version"], set()),
        (["--help"], set()),
        (["bdp", "--rate", "100M", "--rtt", "10ms"], set()),
        (["info", "CAPTURE"], {"numpy"}),
        (["flows", "CAPTURE", "--format", "csv"], {"numpy"}),
        (["rtts", "CAPTURE", "--format", "csv"], {"numpy"}),
        (["flows", "CAPTURE"], {"numpy", "pandas", "rich"}),
        (["events", "CAPTURE", "--format", "csv"], {"numpy"}),
        (["explain", "CAPTURE"], {"numpy", "pandas"}),
        (["report", "CAPTURE", "--text", "-"], {"numpy", "pandas"}),
        (["report", "CAPTURE", "-o", "REPORT"], {"numpy", "pandas", "jinja2"}),
        (["plot", "CAPTURE", "--stream", "0", "-o", "REPORT"], {"numpy", "pandas"}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_command_loads_only_what_it_needs(arguments, needed, transfer, tmp_path):
    files = {"CAPTURE": str(transfer), "REPORT": str(tmp_path / "report.html")}
    words = [files.get(word, word) for word in arguments]
    program = f"import sys; from bdpcap.cli import main; main({words}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert done.stdout or (tmp_path / "report.html").stat().st_size
    assert set(done.stderr.split()) & SLOW == needed


def test_what_the_package_hands_out_is_there_without_loading_it_first():
    program = (
        "import sys, bdpcap\n"
        "assert 'pandas' not in sys.modules and 'numpy' not in sys.modules\n"
        "assert all(getattr(bdpcap, name) is not None for name in bdpcap.__all__)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_program_leaves_nothing_for_the_garbage_collector(transfer):
    program = (
        "import gc, sys\n"
        f"sys.argv = ['bdpcap', 'flows', {str(transfer)!r}]\n"
        "from bdpcap.__main__ import main\n"
        "main()\n"
        "assert gc.isenabled() and gc.get_freeze_count() > 10 * len(gc.get_objects())"
    )
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE)


# formats


@pytest.mark.parametrize("name", TABLES)
def test_csv_json_and_lines_hold_the_same_rows(name, transfer, capsys):
    rows = list(csv.DictReader(io.StringIO(table(name, transfer, "csv", capsys))))
    document = json.loads(table(name, transfer, "json", capsys))
    lines = [json.loads(line) for line in table(name, transfer, "jsonl", capsys).splitlines()]
    assert (document["schema_version"], document["table"]) == (output.SCHEMA_VERSION, name)
    assert document["rows"] == lines
    assert len(rows) == len(lines) > 0
    for row, line in zip(rows, lines, strict=True):
        assert list(row) == list(line)
        for column, value in line.items():
            if value is None:
                assert row[column] == ""
            elif isinstance(value, str):
                assert row[column] == value
            elif isinstance(value, int):
                assert row[column] in (str(value), f"{value}.0")
            else:
                assert float(row[column]) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize("name", TABLES)
def test_parquet_holds_the_rows_of_the_table(name, transfer, tmp_path, capsys):
    file = tmp_path / "rows.parquet"
    assert main([name, str(transfer), "-o", str(file)]) == 0
    query = duckdb.sql(f"SELECT * FROM '{file}'")  # noqa: S608  our own name
    columns, rows = query.columns, query.fetchall()
    lines = [json.loads(line) for line in table(name, transfer, "jsonl", capsys).splitlines()]
    assert len(rows) == len(lines)
    for row, line in zip(rows, lines, strict=True):
        assert columns == list(line)
        assert all(same(*pair) for pair in zip(row, line.values(), strict=True))


def test_integers_beyond_double_precision_stay_exact(tmp_path):
    time_ns = 2**62 + 1
    frame = pd.DataFrame({"time_ns": pd.array([time_ns, None], dtype="Int64")})
    for format_, shown in (("csv", f"{time_ns}\n"), ("jsonl", f'{{"time_ns":{time_ns}}}\n')):
        file = tmp_path / format_
        output.write("events", [frame], output.Format(format_), file, print)
        assert shown in file.read_text()


def test_a_table_in_pieces_is_written_as_one(tmp_path):
    pieces = [pd.DataFrame({"a": values}) for values in ([1, 2], [], [3])]
    for format_ in ("csv", "json", "jsonl", "parquet"):
        output.write("events", pieces, output.Format(format_), tmp_path / format_, print)
    assert (tmp_path / "csv").read_text() == "a\n1\n2\n3\n"
    assert json.loads((tmp_path / "json").read_text())["rows"] == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert duckdb.read_parquet(str(tmp_path / "parquet")).fetchall() == [(1,), (2,), (3,)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        *[(f"{start}cmd", f"'{start}cmd") for start in "=+-@"],
        ("\tcmd", r"\tcmd"),
        ("\r=cmd", r"\r=cmd"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\u202e=cmd", r"\u202e=cmd"),
    ],
)
def test_csv_text_is_no_formula_and_no_escape_sequence(text, shown, tmp_path):
    file = tmp_path / "rows.csv"
    output.write("rtts", [pd.DataFrame({"evidence": [text, "plain", None]})], output.Format.CSV, file, print)
    rows = list(csv.reader(file.read_text().splitlines()))
    assert rows == [["evidence"], [shown], ["plain"], [""]]


# tables for people


@pytest.mark.parametrize("columns", [60, 70, 80, 120])
@pytest.mark.parametrize("name", ["info", *TABLES])
def test_tables_fit_the_terminal(name, columns, transfer, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main([name, str(transfer), "--format", "table"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 1
    long = [line for line in lines if len(line.rstrip()) > columns]
    # The evidence at the end of a round's line is cut on a terminal only; a pipe gets all of it.
    assert not long or (name == "rtts" and columns == 120)


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
@pytest.mark.parametrize("name", TABLES)
def test_titles_stand_over_their_columns(name, columns, transfer, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = table(name, transfer, "table", capsys).splitlines()
    if name == "events":
        del lines[1]  # names the stream
    head, row = lines[name == "rtts" :][:2]
    title, words = ("kind", "syn") if name == "events" else ("limit", "|".join(STATES))
    assert "…" not in head  # a pipe has no edge to cut at
    assert head.index(title) == re.search(rf"\b({words})\b", row).start()


def test_a_terminal_cuts_rows_as_it_cuts_titles(transfer):
    shown = on_terminal("rtts", transfer, COLUMNS="40", NO_COLOR="1").decode()
    lines = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", shown).split("\r\n")
    head = next(index for index, line in enumerate(lines) if line.startswith("round"))
    assert [len(line) for line in lines[head : head + 3]] == [40, 40, 40]


def test_the_flows_table_names_ends_and_limit(transfer, capsys):
    limit = json.loads(table("flows", transfer, "json", capsys))["rows"][0]["limit"]
    shown = table("flows", transfer, "table", capsys)
    for word in ("10.0.0.1:40000", "10.0.0.2:5001", limit, "320 kB", "Mbit/s", "ms"):
        assert word in shown


@pytest.mark.parametrize(("columns", "together"), [(170, True), (90, False)])
def test_an_address_is_never_broken_in_two(columns, together, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    ends = [f"[2001:db8:1111:2222:3333:4444:5555:{number}]:50000" for number in (6666, 7777)]
    flow = dict.fromkeys(tables.FLOWS, 1) | {"limit": "rwnd", "sender": ends[0], "receiver": ends[1]}
    said = io.StringIO()
    flows_command._human([pd.DataFrame([flow])], said)
    lines = said.getvalue().splitlines()
    assert max(map(len, lines)) <= columns
    assert [any(end in line for line in lines) for end in ends] == [True, True]
    assert any(all(end in line for end in ends) for line in lines) is together


def test_info_hangs_its_caveats_and_pads_nothing(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["info", str(ROOT / "sample_captures" / "rwnd_ipv6_drops.sender.pcapng.zst")]) == 0
    said = capsys.readouterr().out
    assert [line for line in said.splitlines() if line != line.rstrip()] == []
    caveats = said.partition("\ncaveats\n")[2].splitlines()
    assert len(caveats) > 3  # three, of which one takes two lines at least
    assert {line[:4] for line in caveats} == {"  - ", "    "}


@pytest.mark.parametrize("name", TABLES)
def test_an_empty_table_says_why(name, transfer, capsys):
    (line,) = table(name, transfer, "table", capsys, "-f", "tcp port 99").splitlines()
    assert line.startswith("No ")
    assert "bdpcap info" in line


def test_events_count_time_from_the_first_frame_of_the_capture(tmp_path, capsys):
    two = write_pcap(tmp_path / "two.pcap")
    second = write_pcap(tmp_path / "second.pcap", port=40001, rounds=3, start=START + 100)
    two.write_bytes(two.read_bytes() + second.read_bytes()[24:])
    assert main(["events", str(two), "--stream", "1"]) == 0
    _head, stream, first, *_ = capsys.readouterr().out.splitlines()
    assert stream == "stream 1: 10.0.0.1:40001 > 10.0.0.2:5001"
    assert first.split()[0] == "100.000000"


def on_terminal(*arguments, **environment):
    """Run with a terminal as stdout and stderr; return what it showed."""
    lead, follow = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | environment
    with subprocess.Popen(
        [sys.executable, "-m", "bdpcap", *map(str, arguments)],
        stdout=follow, stderr=follow, stdin=subprocess.DEVNULL, env={**environment, "TERM": "xterm-256color"},
    ) as process:  # fmt: skip
        os.close(follow)
        shown = b""
        while True:
            try:
                piece = os.read(lead, 65536)
            except OSError:  # how Linux says that nobody holds the other end
                break
            if not piece:
                break
            shown += piece
        os.close(lead)
        assert process.wait() == 0
    return shown


def test_colour_is_for_terminals_that_want_it(transfer):
    colour = b"\x1b[1;38;"
    assert colour in on_terminal("flows", transfer)
    assert colour not in on_terminal("flows", transfer, NO_COLOR="1")
    assert b"\x1b" not in run("flows", transfer).stdout


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("name", [*TABLES, "info", "explain"])
def test_what_an_encoding_lacks_is_spelt_out(name, encoding, transfer, tmp_path):
    capture = tmp_path / "größe→.pcap"
    capture.write_bytes(transfer.read_bytes())
    told = run(name, capture, env=os.environ | {"PYTHONIOENCODING": encoding, "COLUMNS": "80"})
    assert (told.returncode, told.stderr) == (0, b"")
    said = told.stdout.decode(encoding)
    if name != "info":
        assert ("10.0.0.1:40000 -> 10.0.0.2:5001" in said) is (name != "events")
    else:
        assert ("gr\\xf6\\xdfe->" if encoding == "ascii" else "größe->") in said


def test_control_characters_never_reach_the_terminal(transfer, tmp_path, capsys):
    hostile = tmp_path / "a\x1b[31m\u202eb.pcap"
    hostile.write_bytes(transfer.read_bytes())
    for command in (["info", str(hostile)], ["report", str(hostile), "--text", "-"]):
        assert main(command) == 0
        shown = capsys.readouterr().out
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "\\x1b" in shown


@pytest.mark.parametrize("format_", ["table", "csv", "json"])
@pytest.mark.parametrize("command", ["info", "compare"])
def test_a_file_name_that_is_no_utf8_is_told_all_the_same(command, format_, transfer, tmp_path, capsys):
    odd = tmp_path / os.fsdecode(b"m\xfcll.pcap")
    odd.write_bytes(transfer.read_bytes())
    shown = table(command, odd, format_, capsys)
    # The byte is replaced; JSON spells out what is not ASCII.
    assert any(name in shown for name in ("m\ufffdll.pcap", r"m\ufffdll.pcap"))


# where captures come from


def test_standard_input_equals_the_file(transfer):
    piped = run("flows", "-", "--format", "jsonl", input=transfer.read_bytes())
    assert piped.returncode == 0, piped.stderr
    assert piped.stdout == run("flows", transfer, "--format", "jsonl").stdout


def test_read_is_another_spelling_of_a_capture(transfer, capsys):
    positional = table("flows", transfer, "jsonl", capsys)
    assert main(["flows", "-r", str(transfer), "--format", "jsonl"]) == 0
    assert capsys.readouterr().out == positional


def test_stream_selects(tmp_path, capsys):
    two = tmp_path / "two.pcap"
    write_pcap(two)
    second = write_pcap(tmp_path / "second.pcap", port=40001, rounds=3, start=1_700_000_100.0)
    two.write_bytes(two.read_bytes() + second.read_bytes()[24:])
    for name in TABLES:
        assert main([name, str(two), "--stream", "1", "--format", "jsonl"]) == 0
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert {row["stream"] for row in rows} == {1}
    assert main(["flows", str(two), "--stream", "2"]) == 2
    assert "streams 0 to 1" in capsys.readouterr().err


# exit codes and errors


@pytest.mark.parametrize(
    ("arguments", "code", "names"),
    [
        (["flows"], 2, "no capture"),
        (["flows", "absent.pcap"], 1, "absent.pcap"),
        (["flows", "absent.pcap", "--format", "xml"], 2, "'--format': 'xml' is not one of"),
        (["flows", "absent.pcap"], 1, "absent.pcap: cannot be opened: No such file or directory\n"),
        (
            ["flows", "absent.pcap", "--sort", "size"],
            2,
            "no column 'size': there are stream, sender, receiver,",
        ),
        (["flows", "absent.pcap", "--top", "0"], 2, "'--top'"),
        (["flows"], 2, "; try 'bdpcap flows --help'\n"),
        (["flows", "-r"], 2, "Option '-r' requires an argument; try 'bdpcap flows --help'\n"),
        (
            ["flows", "--stream", "x"],
            2,
            "'--stream': 'x' ",
        ),
        (["rtts", "--stream", "-1"], 2, "'--stream': "),
        (["explain", "--bogus"], 2, "; try 'bdpcap explain --help'\n"),
        (
            ["plot", "absent.pcap", "--stream", "0"],
            2,
            "Missing option '--output' / '-o'; try 'bdpcap plot --help'\n",
        ),
        (["flows", "."], 1, ".: no capture in this directory"),
        (["flows", ""], 1, "the name of the capture is empty"),
        (["pair", "", "absent.pcap"], 1, "the name of the capture is empty"),
        (["compare", "", "absent.pcap"], 1, "the name of the capture is empty"),
        (["batch", "", "--out", "dataset"], 1, "the name of an input is empty"),
        (["summary", ""], 2, "name the folder"),
        ([""], 1, "the name of the capture is empty"),
        (["flows", "-", "absent.pcap"], 2, "standard input"),
        (["flows", "absent.pcap", "--fail-on", "rwnd<50"], 2, "rwnd>50%"),
        (["nonsense"], 2, "nonsense"),
        (["flows", "--nonsense"], 2, "--nonsense"),
    ],
)
def test_an_error_is_one_line_and_a_code(arguments, code, names, capsys):
    assert main(arguments) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("bdpcap: ")
    assert said.err.count("\n") == 1
    assert names in said.err


def test_what_is_no_capture_is_one_line_and_1(tmp_path, capsys):
    file = tmp_path / "notes.txt"
    file.write_text("this is no capture, whatever its name says\n")
    assert main(["info", str(file)]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "notes.txt" in said


def test_json_has_no_control_character(transfer, tmp_path, capsys):
    path = tmp_path / "a\x7fb\x1b.pcap"
    path.write_bytes(transfer.read_bytes())
    for words in (
        ["info", "--format", "json"],
        ["info", "--format", "jsonl"],
        ["report", "--json", "-"],
        ["compare", "--format", "json"],
    ):
        assert main([*words, str(path)]) == 0
        said = capsys.readouterr().out
        assert not set(said) & {"\x7f", "\x1b"}
        assert "a\\u007fb\\u001b.pcap" in said
        assert "a\x7fb\x1b.pcap" in str(json.loads(said)).encode().decode("unicode_escape")


def test_a_piece_that_is_missing_leaves_no_capture_to_report(transfer, capsys):
    """Its frames would be missing from every number after it."""
    assert main(["flows", str(transfer), "absent.pcap"]) == 1
    said = capsys.readouterr()
    assert (said.out, "absent.pcap" in said.err, said.err.count("\n")) == ("", True, 1)


def test_a_bad_filter_is_usage(transfer, capsys):
    assert main(["flows", str(transfer), "-f", "tcp bogus port"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("name", [*TABLES, "info"])
def test_a_damaged_capture_is_reported_as_far_as_it_goes(name, damaged, capsys):
    assert main([name, str(damaged), "--format", "jsonl"]) == 1
    said = capsys.readouterr()
    assert said.out.count("\n") > 0
    assert said.err.count("\n") == 1
    last_record = 16 + 54  # record header and a frame without payload
    place = f"frame {3 + ROUNDS * 9 + 1}, byte {damaged.stat().st_size + 5 - last_record}"
    assert place in said.err


def test_an_output_that_cannot_be_written_is_one_line(transfer, tmp_path, capsys):
    assert main(["flows", str(transfer), "-o", str(tmp_path / "absent" / "x.csv")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


SUFFIXES = {
    "report": {"-o": ".html", "--text": ".txt", "--json": ".json", "--bundle": ".zip"},
    "plot": {"-o": ".svg"},
    "excerpt": {"-o": ".pcap"},
    "annotate": {"-o": ".pcapng"},
    "compare": {"--plot": ".html"},
    "pair": {"-o": ".html"},
    "{}": {"-o": ".html"},
}
"""What an output is called where it is not a table."""


@pytest.mark.parametrize(
    ("command", "right"),
    [
        *((f"{name} -o", ".csv, .json, .jsonl or .parquet, or give --format") for name in (*TABLES, "info")),
        *(
            (f"{name} --stream 0 -o", right)
            for name, right in (("plot", ".html, .svg or .png"), ("excerpt", ".pcap"))
        ),
        ("annotate -o", ".pcapng"),
        ("compare -o", ".txt, .csv, .json or .md, or give --format"),
        ("compare --plot", ".html"),
        ("pair absent.pcap -o", ".txt, .json or .html, or give --format"),
        ("report -o", ".html or .htm"),
        ("report --text", ".txt"),
        ("report --json", ".json"),
        ("report --bundle", ".zip"),
        ("bdp --rate 1M --rtt 1ms -o", ".csv, .json"),
    ],
)
def test_a_wrong_suffix_is_refused_before_anything_is_read(command, right, tmp_path, capsys):
    wrong = tmp_path / "x.foo"
    name, *words = command.split()
    assert main([name, *([] if name == "bdp" else ["absent.pcap"]), *words, str(wrong)]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    option = {"-o": "--output"}.get(words[-1], words[-1])
    assert said.err.startswith(f"bdpcap: {option}: {wrong} ends in .foo: end it in ")
    assert right in said.err
    assert not wrong.exists()


def test_a_suffix_says_nothing_where_the_format_is_given(transfer, tmp_path, capsys):
    named, bare = tmp_path / "rows.foo", tmp_path / "rows"
    assert main(["flows", str(transfer), "--format", "csv", "-o", str(named)]) == 0
    assert named.read_text() == table("flows", transfer, "csv", capsys)
    assert main(["flows", str(transfer), "-o", str(bare)]) == 0
    assert bare.read_text() == table("flows", transfer, "table", capsys)


@pytest.mark.parametrize(
    "command",
    [
        *([name, "{}", "-o", "{}"] for name in (*TABLES, "info", "report", "explain", "compare")),
        *(["report", "{}", option, "{}"] for option in ("--text", "--json", "--bundle")),
        *([name, "{}", "--stream", "0", "-o", "{}"] for name in ("plot", "excerpt")),
        ["annotate", "{}", "-o", "{}"],
        ["compare", "{}", "--plot", "{}"],
        ["pair", "{}", "absent.pcap", "-o", "{}"],
        ["{}", "-o", "{}"],
        ["flows", "-r", "{}", "--format", "parquet", "-o", "{}"],
    ],
    ids=" ".join,
)
def test_no_output_replaces_the_capture(command, transfer, tmp_path, capsys):
    suffix = SUFFIXES.get(command[0], {}).get(command[-2], ".csv")
    mine, again = tmp_path / f"mine{suffix}", tmp_path / f"again{suffix}"
    mine.write_bytes(transfer.read_bytes())
    again.symlink_to(mine)
    first, second = (index for index, word in enumerate(command) if word == "{}")
    for target in (mine, again):
        words = list(command)
        words[first], words[second] = str(mine), str(target)
        assert main(words) == 2
        said = capsys.readouterr()
        assert f"{target} is the capture itself" in said.err
        assert (said.out, said.err.count("\n")) == ("", 1)
        assert mine.read_bytes() == transfer.read_bytes()


def test_nor_the_default_page_nor_what_standard_input_is_read_from(transfer, tmp_path):
    page = tmp_path / "report.html"
    page.write_bytes(transfer.read_bytes())
    assert run("report", page, cwd=tmp_path).returncode == 2
    with page.open("rb") as piped:
        assert run("flows", "-", "-o", page, stdin=piped).returncode == 2
    assert page.read_bytes() == transfer.read_bytes()


@pytest.mark.parametrize("options", [["--text", "-", "--json", "-"], ["-o", "a.html", "--text", "a.html"]])
def test_two_outputs_are_not_written_over_each_other(options, transfer, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(transfer), *options]) == 2
    said = capsys.readouterr()
    assert (said.out, options[-1] in said.err, said.err.count("\n")) == ("", True, 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["flows", "report"])
def test_fail_on_has_its_own_code(name, transfer, tmp_path, capsys):
    flow = json.loads(table("flows", transfer, "json", capsys))["rows"][0]
    more = ["-o", str(tmp_path / "out.html")] if name == "report" else []
    limit = max(LIMITS, key=lambda limit: flow[f"{limit}_share"])
    assert main([name, str(transfer), *more, "--fail-on", f"{limit}>10%"]) == 3
    assert limit in capsys.readouterr().err
    assert main([name, str(transfer), *more, "--fail-on", f"{limit} > 100 %"]) == 0


@pytest.mark.parametrize("name", ["flows", "report"])
def test_fail_on_passes_over_the_few_bytes_that_came_back(name, tmp_path, capsys):
    """The server's 28 bytes were held by its application all the time: that is no failure of the transfer."""
    sample = ROOT / "sample_captures" / "linux61_advwinscale2_w50000.pcap.zst"
    rows = json.loads(table("flows", sample, "json", capsys))["rows"]
    assert [(row["payload_bytes"], row["app_share"]) for row in rows[1:]] == [(28, 1)]
    more = ["-o", str(tmp_path / "out.html")] if name == "report" else []
    assert main([name, str(sample), *more, "--fail-on", "app>50%"]) == 0
    assert main([name, str(sample), *more, "--fail-on", "rwnd>1%"]) == 3
    assert "stream 0 from 192.168.1.3:54348: rwnd" in capsys.readouterr().err


def test_flows_count_as_bulk_from_ten_full_segments_or_a_hundredth_of_all_bytes():
    def of(*payloads):
        return bulk(pd.DataFrame({"payload_bytes": payloads, "mss_bytes": 1460})).tolist()

    assert of(28) == [True]
    assert of(1_000_000, 9_999, 10_200, 14_599, 14_600) == [True, False, False, True, True]
    assert of(100_000_000, 14_599, 14_600) == [True, False, True]
    assert of() == []


# which flows, in which order


@pytest.fixture
def three(tmp_path):
    """Three transfers, of 20, 3 and 8 rounds."""
    file = write_pcap(tmp_path / "three.pcap")
    for port, rounds in ((40001, 3), (40002, 8)):
        more = write_pcap(tmp_path / "more.pcap", port=port, rounds=rounds, start=START + port - 40000)
        file.write_bytes(file.read_bytes() + more.read_bytes()[24:])
    return file


@pytest.mark.parametrize(
    ("options", "streams"),
    [
        ([], [0, 1, 2]),
        (["--sort", "payload_bytes"], [0, 2, 1]),
        (["--sort", "bytes"], [0, 2, 1]),
        (["--sort", "sender"], [0, 1, 2]),
        (["--sort", "start_ns"], [2, 1, 0]),
        (["--sort", "payload_bytes", "--top", "2"], [0, 2]),
        (["--top", "2"], [0, 2]),
        (["--top", "9", "--sort", "stream"], [2, 1, 0]),
        (["--stream", "1", "--stream", "2", "--top", "1"], [2]),
    ],
)
def test_flows_are_sorted_from_the_largest_number_and_cut(options, streams, three, capsys):
    assert main(["flows", str(three), "--format", "jsonl", *options]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["stream"] for row in rows] == streams


def test_what_is_missing_is_sorted_last():
    flows = pd.DataFrame({"stream": [0, 1, 2], "rtt_min_ns": pd.array([None, 5, 7], dtype="Int64")})
    assert flows_command._chosen(flows, "rtt_min_ns", None)["stream"].tolist() == [2, 1, 0]


def test_every_flow_is_held_to_a_rule_whatever_is_shown(three, capsys):
    rows = [json.loads(line) for line in table("flows", three, "jsonl", capsys).splitlines()]
    limit = max(LIMITS, key=lambda limit: rows[1][f"{limit}_share"])
    assert main(["flows", str(three), "--top", "1", "--fail-on", f"{limit}>10%"]) == 3
    assert "stream 1 " in capsys.readouterr().err


# one row a segment


def both_ways(tmp_path):
    """Two requests and their answers, each of which acknowledges what came before."""
    file = tmp_path / "both.pcap"
    file.write_bytes(
        pcap(
            scenario("""
                0     > S  0:0(0) win 64240 <mss 1460>
                +.020 < S. 0:0(0) ack 1 win 65535 <mss 1460>
                +0    > .  1:1(0) ack 1 win 502
                +0    > P. 1:101(100) ack 1 win 502
                +.020 < P. 1:201(200) ack 101 win 512
                +0    > P. 101:201(100) ack 201 win 502
                +.020 < P. 201:401(200) ack 201 win 512
                +0    > .  201:201(0) ack 401 win 502
            """)
        )
    )
    return file


def test_events_are_one_row_a_segment(tmp_path, capsys):
    file = both_ways(tmp_path)
    rows = [json.loads(line) for line in table("events", file, "jsonl", capsys).splitlines()]
    assert [row["frame"] for row in rows] == list(range(1, 9))
    assert [row["kind"] for row in rows] == ["syn", "syn-ack", "ack", "data", "data", "data", "data", "ack"]
    assert [row["length"] for row in rows[3:7]] == [100, 200, 100, 200]


def test_events_per_flow_have_the_acknowledgments_that_data_carry(tmp_path, capsys):
    file = both_ways(tmp_path)
    single = table("events", file, "jsonl", capsys).splitlines()
    rows = table("events", file, "jsonl", capsys, "--per-flow").splitlines()
    assert [row for row in rows if row in single] == single
    carried = [json.loads(row) for row in rows if row not in single]
    assert [(row["frame"], row["kind"]) for row in carried] == [(frame, "ack") for frame in (5, 6, 7)]
    assert [row["acknowledged"] for row in carried] == [101, 201, 201]


def test_events_tell_directions_apart_and_name_the_stream_once(tmp_path, capsys):
    head, stream, *rows = table("events", both_ways(tmp_path), "table", capsys).splitlines()
    client, server = re.fullmatch(r"stream 0: (\S+) > (\S+)", stream).groups()
    assert client != server
    at = head.index("kind") - 2
    assert "".join(row[at] for row in rows) == "><>><><>"


# both ends of one transfer


def halves(file, where):
    """Cut a pcap file in the middle of its packets, as a ring buffer does."""
    data = file.read_bytes()
    at, ends = 24, []
    while at < len(data):
        at += 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        ends.append(at)
    middle = ends[len(ends) // 2]
    first, second = where / "ring.0", where / "ring.1"
    first.write_bytes(data[:middle])
    second.write_bytes(data[:24] + data[middle:])
    return first, second


@pytest.mark.parametrize("name", ["info", "flows"])
def test_both_ends_of_one_transfer_are_told_to_be_that(name, transfer, tmp_path, capsys):
    other = write_pcap(tmp_path / "receiver.pcap", start=START + 0.009)
    assert main([name, str(transfer), str(other)]) == 0
    said = capsys.readouterr().err
    assert said == (
        f"bdpcap: warning: {transfer} and {other} hold the same packets twice: "
        "did you mean `bdpcap pair`, or `bdpcap compare`?\n"
    )


@pytest.mark.parametrize("name", ["info", "flows"])
def test_the_pieces_of_a_ring_are_no_two_ends(name, transfer, tmp_path, capsys):
    assert main([name, *map(str, halves(transfer, tmp_path))]) == 0
    assert capsys.readouterr().err == ""


def test_nor_are_two_transfers(transfer, tmp_path, capsys):
    other = write_pcap(tmp_path / "other.pcap", port=40001, start=START + 0.009)
    assert main(["flows", str(transfer), str(other)]) == 0
    assert capsys.readouterr().err == ""


# interrupts and faults


def test_an_interrupt_is_quiet(transfer, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(bdpcap, "analyze", interrupted)
    assert main(["flows", str(transfer)]) == 130
    assert capsys.readouterr() == ("", "")


def test_an_interrupt_while_a_pipe_is_read_is_one(monkeypatch, capsys):
    class Pipe(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, _):
            raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(Pipe())))
    assert main(["flows", "-"]) == 130
    assert capsys.readouterr() == ("", "")


def test_no_traceback_reaches_a_user(transfer, monkeypatch, capsys):
    def broken(*_, **__):
        raise RuntimeError("something nobody\nthought of")

    monkeypatch.setattr(bdpcap, "analyze", broken)
    assert main(["flows", str(transfer)]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "something nobody thought of" in said


def test_a_reader_that_has_seen_enough_is_no_error(transfer):
    """More rows than a pipe holds, and a reader that takes one line."""
    command = f"{sys.executable} -m bdpcap events {transfer} --format jsonl | head -n 1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, check=False, text=True
    )
    assert done.returncode == 0
    assert done.stderr == ""
    assert json.loads(done.stdout)["frame"] == 1


def test_info_counts_what_dpkt_wrote(transfer, capsys):
    assert main(["info", str(transfer), "--format", "json"]) == 0
    capture = json.loads(capsys.readouterr().out)["capture"]
    frames = 3 + ROUNDS * 9 + 1
    assert (capture["frames"], capture["segments"], capture["streams"]) == (frames, frames, 1)
    assert capture["damage"] is None
    assert capture["time_backwards"] == 0
    assert np.isclose(capture["last_ns"] - capture["first_ns"], 0.02 * (ROUNDS + 1) * 1e9, rtol=0.01)


def test_info_is_one_row_of_what_its_json_says(transfer, damaged, tmp_path, capsys):
    """Exact counts and the caveats; in CSV and Parquet, lists and mappings are JSON in text."""
    for capture, code in ((transfer, 0), (damaged, 1)):
        said = {}
        for format_ in ("json", "jsonl", "csv"):
            assert main(["info", str(capture), "--format", format_]) == code
            said[format_] = capsys.readouterr().out
        whole = json.loads(said["json"])["capture"]
        assert json.loads(said["jsonl"]) == whole
        (row,) = csv.DictReader(io.StringIO(said["csv"]))
        assert list(row) == list(whole)
        texts = {name: value for name, value in whole.items() if isinstance(value, list | dict)}
        assert {name: json.loads(row[name]) for name in texts} == texts
        assert {row[name] for name, value in whole.items() if value is None} <= {""}
        assert (row["frames"], row["first_ns"]) == (str(whole["frames"]), str(whole["first_ns"]))
        file = tmp_path / f"{code}.parquet"
        assert main(["info", str(capture), "-o", str(file)]) == code
        ((frames, caveats),) = duckdb.sql(f"SELECT frames, caveats FROM '{file}'").fetchall()  # noqa: S608
        assert (frames, json.loads(caveats)) == (whole["frames"], whole["caveats"])
    assert "damaged" in whole["caveats"][0]
