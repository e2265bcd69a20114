"""What goes on a ticket: the archive, the JSON and its schema, single figures, plain text."""

import hashlib
import importlib
import json
import re
import subprocess
import sys
import zipfile
from importlib import resources
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from oracles import SAMPLES, chromium
from small_transfer import write_pcap, write_pcapng
from test_report import Elements

import bdpcap
from bdpcap import plots, report, tables
from bdpcap.cli import main
from bdpcap.report import figure
from bdpcap.report.document import SCHEMA_VERSION

SCHEMA = json.loads((resources.files("bdpcap.report") / "report.schema.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def transfer(tmp_path_factory):
    return write_pcap(tmp_path_factory.mktemp("captures") / "transfer.pcap")


@pytest.fixture
def without_images(monkeypatch):
    """Drawing needs seconds for a browser to start."""

    def none(_figures):
        raise figure.NoImageWriterError("no browser today")

    monkeypatch.setattr(figure, "write_images", none)


def contents(bundle):
    with zipfile.ZipFile(bundle) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


# the archive


@pytest.mark.usefixtures("without_images")
def test_the_manifest_tells_how_the_archive_was_made(transfer, tmp_path, capsys):
    target = tmp_path / "out.zip"
    assert main(["report", str(transfer), "-f", "tcp", "--bundle", str(target)]) == 0
    files = contents(target)
    manifest = json.loads(files.pop("manifest.json"))
    assert manifest["command"] == ["bdpcap", "report", str(transfer), "-f", "tcp", "--bundle", str(target)]
    data = transfer.read_bytes()
    assert manifest["inputs"] == [
        {"name": str(transfer), "size_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    ]
    assert {one["name"]: one["sha256"] for one in manifest["files"]} == {
        name: hashlib.sha256(content).hexdigest() for name, content in files.items()
    }
    tables_ = {"flows.csv", "rtts.csv", "exchanges.csv", "connections.csv"}
    assert set(files) == {"report.html", "summary.txt", "report.json", *tables_}
    assert manifest["versions"]["plotly"]
    assert manifest["generator"] == f"bdpcap {bdpcap.__version__}"
    assert manifest["images"] == "no browser today"
    assert "without figures: no browser today" in capsys.readouterr().err


@pytest.mark.usefixtures("without_images")
def test_the_archive_holds_what_the_commands_write(transfer, tmp_path, capsys):
    target = tmp_path / "out.zip"
    report.write_bundle(bdpcap.analyze(transfer), target, [])
    files = contents(target)
    for name in ("flows", "rtts"):
        assert main([name, str(transfer), "--format", "csv"]) == 0
        assert files[f"{name}.csv"].decode() == capsys.readouterr().out
    assert main(["report", str(transfer), "--text", "-"]) == 0
    assert files["summary.txt"].decode() == capsys.readouterr().out
    assert main(["report", str(transfer), "--json", "-"]) == 0
    assert json.loads(files["report.json"]) == json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("without_images")
def test_the_same_capture_makes_the_same_archive(transfer, tmp_path):
    for name in ("1.zip", "2.zip"):
        report.write_bundle(bdpcap.analyze(transfer), tmp_path / name, ["report"])
    assert (tmp_path / "1.zip").read_bytes() == (tmp_path / "2.zip").read_bytes()


def test_a_capture_without_flows_has_an_archive_too(tmp_path):
    empty = write_pcap(tmp_path / "handshake.pcap", rounds=0)
    assert main(["report", str(empty), "--bundle", str(tmp_path / "out.zip")]) == 0
    assert json.loads(contents(tmp_path / "out.zip")["report.json"])["flows"] == []


def test_a_browser_draws_the_main_flows_figures(transfer, tmp_path):
    chromium()
    pytest.importorskip("kaleido")
    target = tmp_path / "out.zip"
    assert report.write_bundle(bdpcap.analyze(transfer), target, []) is None
    images = {name: content for name, content in contents(target).items() if name.endswith(".png")}
    assert set(images) == {f"1-stream-0-{kind}.png" for kind in plots.FIGURES}
    assert all(content.startswith(b"\x89PNG\r\n\x1a\n") for content in images.values())


# images


def test_an_image_without_the_extra_names_it(transfer, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "kaleido", None)
    target = tmp_path / "x.png"
    assert main(["plot", str(transfer), "--stream", "0", "-o", str(target)]) == 2
    assert "bdpcap[png]" in capsys.readouterr().err
    assert not target.exists()


def test_an_image_without_a_browser_says_what_to_install(transfer, tmp_path, monkeypatch, capsys):
    pytest.importorskip("kaleido")
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "no-such-browser"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["plot", str(transfer), "--stream", "0", "-o", str(tmp_path / "x.png")]) == 2
    assert "install Chromium" in capsys.readouterr().err


def test_an_svg_is_xml_without_scripts(transfer, tmp_path):
    chromium()
    pytest.importorskip("kaleido")
    target = tmp_path / "x.svg"
    assert main(["plot", str(transfer), "--stream", "0", "--kind", "rtt", "-o", str(target)]) == 0
    root = ET.fromstring(target.read_text(encoding="utf-8"))  # noqa: S314  our own
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not [element for element in root.iter() if element.tag.endswith(("script", "image"))]
    assert "RTT" in "".join(root.itertext()) or "Round" in "".join(root.itertext())


# a figure as a page


@pytest.mark.parametrize("kind", plots.FIGURES)
def test_a_page_of_one_figure_asks_no_network(kind, transfer, tmp_path):
    target = tmp_path / "x.html"
    assert main(["plot", str(transfer), "--stream", "0", "--kind", kind, "-o", str(target)]) == 0
    elements = Elements(target.read_text(encoding="utf-8"))
    assert not [
        attributes for _, attributes in elements.elements if {"src", "href", "srcset"} & attributes.keys()
    ]
    (policy,) = (
        attributes["content"]
        for attributes, _ in elements.of("meta")
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert len(re.findall("'sha256-[^']{44}'", rules["script-src"])) == 2
    assert "unsafe" not in rules["script-src"]


def test_a_browser_draws_the_figure_of_a_page(transfer, tmp_path):
    target = tmp_path / "x.html"
    assert main(["plot", str(transfer), "--stream", "0", "-o", str(target)]) == 0
    done = subprocess.run(
        [
            chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
            f"--user-data-dir={tmp_path}", "--virtual-time-budget=60000", "--dump-dom", target.as_uri(),
        ],
        capture_output=True, check=True, text=True, timeout=300,
    )  # fmt: skip
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    assert 'data-drawn="1"' in done.stdout
    assert '<path class="js-line"' in done.stdout


def test_a_suffix_that_is_no_format_is_usage(transfer, tmp_path, capsys):
    assert main(["plot", str(transfer), "--stream", "0", "-o", str(tmp_path / "x.pdf")]) == 2
    assert "end it in .html, .svg or .png" in capsys.readouterr().err


def test_a_stream_without_payload_has_nothing_to_draw(tmp_path, capsys):
    empty = write_pcap(tmp_path / "handshake.pcap", rounds=0)
    assert main(["plot", str(empty), "--stream", "0", "-o", str(tmp_path / "x.html")]) == 2
    assert "no payload" in capsys.readouterr().err


# JSON


def validator():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    return jsonschema.Draft202012Validator(SCHEMA)


def undescribed(value, schema):
    """Yield the keys of objects that the schema has no word of."""
    schema = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if isinstance(value, list):
        for item in value:
            yield from undescribed(item, schema.get("items", {}))
    if isinstance(value, dict) and "properties" in schema:
        for key, inner in value.items():
            if key not in schema["properties"]:
                yield key
            else:
                yield from undescribed(inner, schema["properties"][key])


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_the_json_of_a_report_is_as_its_schema_says(sample):
    document = json.loads(json.dumps(report.document(bdpcap.analyze(sample)), allow_nan=False))
    assert document["flows"]
    validator().validate(document)
    assert set(undescribed(document, SCHEMA)) == set(), "describe them in report.schema.json"


def test_the_json_of_a_damaged_capture_is_as_the_schema_says(transfer, tmp_path):
    torn = tmp_path / "torn.pcap"
    torn.write_bytes(transfer.read_bytes()[:-5])
    document = json.loads(json.dumps(report.document(bdpcap.analyze(torn))))
    assert document["capture"]["damage"]["frame"] > 1
    validator().validate(document)


def test_the_json_has_the_leading_flows_and_sums_of_the_others(monkeypatch, tmp_path):
    files = [
        path
        for path in SAMPLES
        if "slow_reader.receiver" in path.name or "cwnd_loss_2pct.sender" in path.name
    ]
    flows = bdpcap.analyze(files).flows
    main(["report", *map(str, files), "--jsonl", str(tmp_path / "all.jsonl")])
    every = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert {(flow["stream"], flow["sender"]) for flow in every} == set(
        zip(flows["stream"], flows["sender"], strict=True)
    )
    monkeypatch.setattr(importlib.import_module("bdpcap.report.document"), "MOST_FLOWS", 1)
    document = json.loads(json.dumps(report.document(bdpcap.analyze(files))))
    assert document["flows"] == every[:1]
    left_out = document["flows_left_out"]
    assert left_out["flows"] == len(flows) - 1 > 0
    shown = sum(flow["payload_bytes"] for flow in document["flows"])
    assert left_out["payload_bytes"] + shown == flows["payload_bytes"].sum()
    validator().validate(document)


def test_the_schema_has_teeth(transfer):
    document = report.document(bdpcap.analyze(transfer))
    for break_it in (
        lambda d: d.update(schema_version=1),
        lambda d: d["flows"][0].update(limit="moon"),
        lambda d: d["flows"][0].pop("window_max_bytes"),
        lambda d: d["flows"][0]["rounds"][0].update(start_ns=1.5),
        lambda d: d["capture"].update(frames=-1),
    ):
        broken = json.loads(json.dumps(document))
        break_it(broken)
        with pytest.raises(jsonschema.ValidationError):
            validator().validate(broken)


def test_the_schema_describes_the_tables():
    flow, round_, exchange = (SCHEMA["$defs"][name]["properties"] for name in ("flow", "round", "exchange"))
    assert set(tables.FLOWS) <= set(flow)
    assert set(tables.RTTS) - {"stream", "sender", "receiver"} == set(round_)
    assert set(tables.EXCHANGES) - {"stream"} == set(exchange)
    assert SCHEMA["properties"]["schema_version"]["const"] == SCHEMA_VERSION


# text


def test_text_on_request_is_ascii_of_at_most_80_columns(tmp_path):
    file = tmp_path / ("trÃ¤ger-→-" * 8 + ".pcapng")
    write_pcapng(file, "höher, schneller " * 12)
    capture = bdpcap.analyze(file)
    assert not report.text(capture).isascii()
    spelt = report.text(capture, full=True, ascii_only=True)
    assert spelt.isascii()
    assert max(map(len, spelt.splitlines())) <= 80
    assert r"h\xf6her" in spelt
    assert main(["report", str(file), "--text", str(tmp_path / "t.txt"), "--ascii", "--full"]) == 0
    assert (tmp_path / "t.txt").read_text(encoding="ascii") == spelt


def test_text_tells_how_to_see_it(transfer):
    said = report.text(bdpcap.analyze(transfer), ascii_only=True)
    assert re.search(r"tcp\.stream eq 0 && frame\.number >= \d+ && frame\.number <= \d+", said)
