"""Captures and datasets by URL: the same output as that of local files, in streams whose number is known."""

import gc
import http.server
import json
import re
import subprocess
import sys
import threading
from functools import partial

import duckdb
import fsspec
import pandas as pd
import pytest
from google_store import GoogleStore, QuietServer
from moto.server import ThreadedMotoServer
from oracles import ROOT
from packets import pcap, read_pcap
from small_transfer import write_pcap

import bdpcap
from bdpcap.cli import main
from bdpcap.read import remote

pytestmark = pytest.mark.filterwarnings("ignore:Unclosed:ResourceWarning")  # aiohttp's, kept by fsspec

SAMPLE = "linux61_advwinscale2_w50000.pcap.zst"


class Server(QuietServer):
    """A plain server of files without ranges; it counts the bodies that it sends by file, and may cut them."""

    def __init__(self, folder):
        super().__init__(partial(Handler, directory=folder))
        self.gets, self.most = [], None


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.gets.append(self.path.lstrip("/"))
        super().do_GET()

    def copyfile(self, source, outputfile):
        outputfile.write(source.read(self.server.most or -1))


@pytest.fixture(autouse=True)
def closed():
    """Close what fsspec keeps open for later reads, so that no later test meets its warning."""
    yield
    for system in ("http", "s3", "gs"):
        fsspec.get_filesystem_class(system).clear_instance_cache()
    gc.collect()


@pytest.fixture
def web():
    with Server(ROOT / "sample_captures") as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        remote.size_bytes.cache_clear()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def endpoint():
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


@pytest.fixture
def bucket(endpoint, monkeypatch):
    """An empty bucket of a server that the environment names, as users of S3 do."""
    for name, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    fsspec.filesystem("s3").clear_instance_cache()
    remote.size_bytes.cache_clear()
    system = fsspec.filesystem("s3")
    if system.exists("captures"):
        system.rm("captures", recursive=True)
    system.mkdir("captures")
    return system


@pytest.fixture
def google(monkeypatch):
    """A store whose bucket `captures` is empty, named by the environment as gcsfs reads it."""
    with GoogleStore() as store:
        threading.Thread(target=store.serve_forever, daemon=True).start()
        store.buckets["captures"] = {}
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", store.url)
        monkeypatch.setenv(
            "NO_GCE_CHECK", "true"
        )  # no search for a machine of Google's that lends credentials
        fsspec.get_filesystem_class("gs").clear_instance_cache()
        remote.size_bytes.cache_clear()
        yield store
        store.shutdown()


def said(capsys, *arguments):
    assert main([*map(str, arguments)]) == 0
    return capsys.readouterr().out


COMMANDS = (
    ["flows", "CAPTURE", "--format", "csv"],
    ["rtts", "CAPTURE", "--format", "csv"],
    ["events", "CAPTURE", "--format", "csv"],
    ["info", "CAPTURE"],
    ["explain", "CAPTURE"],
    ["report", "CAPTURE", "--text", "-", "--full"],
    ["report", "CAPTURE", "--json", "-"],
    ["compare", "CAPTURE", "CAPTURE", "--format", "csv"],
    ["CAPTURE"],
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_every_command_takes_urls_and_gives_the_output_of_the_file(command, web, bucket, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "2000")
    path = ROOT / "sample_captures" / SAMPLE
    bucket.put_file(str(path), f"captures/{SAMPLE}")
    outputs = [
        said(capsys, *(word.replace("CAPTURE", capture) for word in command)).replace(capture, "CAPTURE")
        for capture in (str(path), f"{web.url}/{SAMPLE}", f"s3://captures/{SAMPLE}")
    ]
    assert outputs[0]
    # Tables for people are as wide as the names in them.
    local, *others = [" ".join(output.split()) for output in outputs]
    assert others == [local, local]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_every_command_reads_googles_store(command, google, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "2000")
    path = ROOT / "sample_captures" / SAMPLE
    google.buckets["captures"][f"a/{SAMPLE}"] = path.read_bytes()
    local, found = (
        said(capsys, *(word.replace("CAPTURE", capture) for word in command)).replace(capture, "CAPTURE")
        for capture in (str(path), f"gs://captures/a/{SAMPLE}")
    )
    assert found.split() == local.split()
    assert {(name, bool(part)) for name, part in google.parts} == {(f"a/{SAMPLE}", True)}


@pytest.mark.parametrize(
    ("command", "end"), [("excerpt", "pcap"), ("annotate", "pcapng"), ("plot", "html"), ("report", "html")]
)
def test_files_made_of_a_url_are_those_made_of_the_file(command, end, web, tmp_path, capsys):
    made = []
    for number, capture in enumerate((ROOT / "sample_captures" / SAMPLE, f"{web.url}/{SAMPLE}")):
        out = tmp_path / f"{number}.{end}"
        stream = ["--stream", "0"] if command in ("excerpt", "plot") else []
        said(capsys, command, capture, *stream, "-o", out)
        made.append(out.read_bytes())
    if end == "pcapng":  # the comment on the whole has the name
        one, other = (bdpcap.analyze(tmp_path / f"{number}.pcapng") for number in (0, 1))
        pd.testing.assert_frame_equal(one.events, other.events)
        assert len(one.info.comments) == len(other.info.comments) > 0
        return
    if end == "html":
        names = (str(ROOT / "sample_captures" / SAMPLE), f"{web.url}/{SAMPLE}")
        # Plotly gives each figure a random identifier.
        made = [
            re.sub(rb"[0-9a-f-]{36}", b"", page.replace(name.encode(), b""))
            for page, name in zip(made, names, strict=True)
        ]
    assert made[0] == made[1]


def test_both_ends_by_url(web, bucket, capsys):
    sender, receiver = (f"rwnd_slow_reader.{end}.pcap.zst" for end in ("sender", "receiver"))
    folder = ROOT / "sample_captures"
    bucket.put_file(str(folder / receiver), f"captures/{receiver}")
    local = said(capsys, "pair", folder / sender, folder / receiver)
    found = said(capsys, "pair", f"{web.url}/{sender}", f"s3://captures/{receiver}")
    for where in (f"{web.url}/", "s3://captures/"):
        found = found.replace(where, f"{folder}/")
    assert found.split() == local.split()  # lines are broken where names have room


def test_the_view_of_a_url_draws_what_that_of_the_file_does(bucket, monkeypatch):
    path = ROOT / "sample_captures" / SAMPLE
    bucket.put_file(str(path), f"captures/{SAMPLE}")
    drawn = []
    monkeypatch.setattr(
        "bdpcap.view.server.serve", lambda viewer, **_: drawn.append(viewer.draw(viewer.first))
    )
    for capture in (path, f"s3://captures/{SAMPLE}"):
        assert main(["view", str(capture)]) == 0
    # Only the title has the name.
    local, found = ((drawing.figure().update_layout(title=None).to_json(), said) for drawing, said in drawn)
    assert found == local


def test_a_verdict_takes_one_stream_and_a_report_two(web, capsys, tmp_path):
    url = f"{web.url}/{SAMPLE}"
    for command, passes in (
        (["flows", url], 1),
        (["report", url, "--json", "-"], 1),
        (["report", url, "-o", tmp_path / "r.html"], 2),
    ):
        web.gets.clear()
        said(capsys, *command)
        assert web.gets.count(SAMPLE) == passes, command


def test_files_of_a_set_come_in_the_order_of_their_packets_whatever_their_names(bucket, tmp_path, capsys):
    whole = write_pcap(tmp_path / "whole.pcap")
    packets = list(read_pcap(whole.read_bytes()))
    for name, piece in (("c", packets[:90]), ("a", packets[90:200]), ("b", packets[200:])):
        bucket.pipe_file(f"captures/set/{name}.pcap", pcap(piece))
    expected = said(capsys, "rtts", whole, "--format", "csv")
    assert said(capsys, "rtts", "s3://captures/set/*.pcap", "--format", "csv") == expected
    local = tmp_path / "c.pcap"
    local.write_bytes(pcap(packets[:90]))
    mixed = ["s3://captures/set/b.pcap", local, "s3://captures/set/a.pcap"]
    assert said(capsys, "rtts", *mixed, "--format", "csv") == expected


def test_a_file_of_many_blocks_is_streamed_in_little_memory(bucket, monkeypatch, tmp_path):
    data = write_pcap(tmp_path / "one.pcap", rounds=40).read_bytes()
    bucket.pipe_file("captures/one.pcap", data)
    monkeypatch.setattr(remote, "BLOCK_BYTES", 4096)
    monkeypatch.setattr(remote, "CHUNK_BYTES", 1000)
    file = remote.RemoteFile("s3://captures/one.pcap")
    assert b"".join(file) == data
    assert len(data) > 20 * remote.BLOCK_BYTES
    capture = bdpcap.analyze("s3://captures/one.pcap")
    assert (
        capture.rtts["evidence"].tolist() == bdpcap.analyze(tmp_path / "one.pcap").rtts["evidence"].tolist()
    )
    assert [one.sha256 for one in capture.fingerprints()] == [
        one.sha256 for one in bdpcap.analyze(tmp_path / "one.pcap").fingerprints()
    ]


def test_a_dataset_and_its_captures_lie_in_a_bucket(bucket, tmp_path, capsys):
    local = tmp_path / "in"
    (local / "a").mkdir(parents=True)
    write_pcap(local / "a" / "one.pcap")
    write_pcap(local / "two.pcap", rounds=20)
    bucket.put(str(local), "captures/in", recursive=True)
    run = [sys.executable, "-m", "bdpcap", "batch", "--reports", "--workers", "1"]
    for inputs, out in ((str(local), str(tmp_path / "out")), ("s3://captures/in", "s3://captures/out")):
        done = subprocess.run([*run, inputs, "--out", out], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "bdpcap: 2 captures analysed\n")
    expected = said(capsys, "summary", tmp_path / "out")
    assert said(capsys, "summary", "s3://captures/out") == expected
    page = tmp_path / "page.html"
    said(capsys, "summary", "s3://captures/out", "-o", page)
    assert "a/<wbr>one.pcap" in page.read_text("utf-8")
    (path,) = bucket.ls("captures/out/status")
    found = {one["capture"]: one["files"] for one in map(json.loads, bucket.cat_file(path).splitlines())}
    assert found["a/one.pcap"] == ["s3://captures/in/a/one.pcap"]


def test_a_dataset_and_its_captures_lie_in_googles_store(google, tmp_path, capsys):
    local = write_pcap(tmp_path / "one.pcap")
    google.buckets["captures"]["in/one.pcap"] = local.read_bytes()
    run = [sys.executable, "-m", "bdpcap", "batch", "--reports", "--workers", "1"]
    for inputs, out in ((str(local), str(tmp_path / "out")), ("gs://captures/in", "gs://captures/out")):
        done = subprocess.run([*run, inputs, "--out", out], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "bdpcap: 1 capture analysed\n")
    assert said(capsys, "summary", "gs://captures/out") == said(capsys, "summary", tmp_path / "out")
    assert "out/reports/capture=one.pcap/part.html" in google.buckets["captures"]


@pytest.mark.usefixtures("bucket")
def test_duckdb_asks_for_no_extension(tmp_path, monkeypatch, capsys):
    """An extension would be fetched from the Internet."""
    connect = duckdb.connect
    strict = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    monkeypatch.setattr(duckdb, "connect", lambda: connect(config=strict))
    write_pcap(tmp_path / "one.pcap")
    run = [sys.executable, "-m", "bdpcap", "batch", str(tmp_path / "one.pcap"), "--out", "s3://captures/out"]
    subprocess.run([*run, "--workers", "1"], capture_output=True, check=True)
    assert "1 capture, 1 flow" in said(capsys, "summary", "s3://captures/out")


def test_a_dataset_where_duckdb_reads_nothing_is_one_line(tmp_path, capsys):
    write_pcap(tmp_path / "one.pcap")
    run = [
        sys.executable,
        "-m",
        "bdpcap",
        "batch",
        str(tmp_path / "one.pcap"),
        "--out",
        str(tmp_path / "out"),
    ]
    subprocess.run([*run, "--workers", "1"], capture_output=True, check=True)
    with Server(tmp_path) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert main(["summary", f"{server.url}/out"]) == 1
        server.shutdown()
    found = capsys.readouterr().err
    assert "copy the dataset to this machine" in found
    assert ("internal" in found, found.count("\n")) == (False, 1)


@pytest.mark.parametrize("command", ["flows", "batch", "summary"])
@pytest.mark.parametrize(
    ("url", "package", "says"),
    [
        ("s3://captures/x.pcap", "s3fs", "bdpcap[s3]"),
        ("gs://captures/x.pcap", "gcsfs", "bdpcap[gs]"),
        ("http://127.0.0.1:9/x.pcap", "aiohttp", "bdpcap[http]"),
        ("https://127.0.0.1:9/x.pcap", "fsspec", "fsspec"),
        ("abfs://captures/x.pcap", "adlfs", "abfs:// needs another package: Install adlfs"),
        ("absent://x.pcap", "absent", "fsspec reads no absent://"),
    ],
)
def test_a_missing_package_is_one_line_that_names_the_extra(command, url, package, says, tmp_path):
    arguments = [command, url, *(["--out", str(tmp_path / "out")] if command == "batch" else [])]
    program = f"import sys; sys.modules[{package!r}] = None; from bdpcap.cli import main; sys.exit(main({arguments}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_is_no_capture_is_one_line_as_on_disk(bucket, google, capsys):
    for name, data in {"empty.pcap": b"", "short.pcap": b"abc", "notes.txt": b"hello" * 100}.items():
        bucket.pipe_file(f"captures/in/{name}", data)
        google.buckets["captures"][f"in/{name}"] = data
    for store in ("s3", "gs"):
        for name, says in (
            ("in/empty.pcap", "the file is empty"),
            (
                "in/short.pcap",
                "not a packet capture: it has 3 of the four bytes that every format begins with",
            ),
            ("in/notes.txt", "not a packet capture: it begins with the text"),
            ("in", f"is a folder; name its captures: '{store}://captures/in/*'"),
            ("in/", f"is a folder; name its captures: '{store}://captures/in/*'"),
            ("", f"is a folder; name its captures: '{store}://captures/*'"),
            ("in/absent.pcap", "cannot be read: no such file"),
            ("out/*", "no file matches this pattern"),
        ):
            url = f"{store}://captures/{name}"
            assert main(["flows", url]) == 1
            line = capsys.readouterr().err
            assert line.startswith(f"bdpcap: {url}: {says}")
            assert line.count("\n") == 1


@pytest.mark.usefixtures("bucket")
def test_what_a_server_refuses_is_one_line_without_credentials(web, capsys):
    host = web.url.removeprefix("http://")
    for url, says in (
        (f"http://user:secret@{host}/absent.pcap?signature=secret", "cannot be read: 404"),
        (
            "http://127.0.0.1:9/absent.pcap",
            "http://127.0.0.1:9/absent.pcap: cannot be read: Connection refused",
        ),
        (
            "ftp://secret@127.0.0.1:9/absent.pcap",
            "ftp://127.0.0.1:9/absent.pcap: cannot be read: Connection refused",
        ),
        ("https://[bad/x.pcap?secret", "https://[bad/x.pcap: cannot be read: "),
        ("s3://captures/absent.pcap", "no such file"),
        ("s3://captures/*.pcap", "no file matches"),
    ):
        assert main(["flows", url]) == 1
        line = capsys.readouterr().err
        assert says in line
        assert "secret" not in line
        assert line.count("\n") == 1


@pytest.mark.usefixtures("bucket")
def test_what_object_storage_refuses_is_told_with_what_to_do(capsys, monkeypatch, tmp_path):
    assert main(["flows", "s3://absent/x.pcap"]) == 1
    assert capsys.readouterr().err == (
        "bdpcap: s3://absent/x.pcap: cannot be read: there is no such bucket: check its name\n"
    )
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")  # no search for a machine that lends credentials
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "absent"))
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    for command in (["flows"], ["batch", "--out", str(tmp_path / "out")]):
        assert main([*command, "s3://captures/x.pcap"]) == 1
        said = capsys.readouterr().err
        assert said.startswith("bdpcap: s3://captures/x.pcap: cannot be read: no credentials found: set AWS_")
        assert said.count("\n") == 1


def test_a_transfer_that_breaks_off_is_damage(capsys, tmp_path):
    # Larger than all buffers on the way: bytes in them may be lost with the connection.
    path = write_pcap(tmp_path / "one.pcap", rounds=1000)
    size = path.stat().st_size
    assert size > 8_000_000
    with Server(tmp_path) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        server.most = size * 3 // 4
        assert main(["flows", f"{server.url}/one.pcap", "--format", "csv"]) == 1
        server.shutdown()
    said = capsys.readouterr()
    assert "everything before it is reported" in said.err
    assert len(said.out.splitlines()) == 2


def test_the_commands_of_the_page_on_scale_read_a_store_other_than_amazons(bucket, endpoint):
    page = (ROOT / "docs/scale.md").read_text(encoding="utf-8").partition("## Captures by URL")[2]
    commands = page.partition("```console\n")[2].partition("```")[0].replace("$ ", "")
    assert "https://s3.example.net" in commands
    bucket.put(str(ROOT / "sample_captures" / SAMPLE), "captures/trace.pcap.zst")
    told = subprocess.run(
        [
            "sh",
            "-e",
            "-c",
            f'bdpcap() {{ "{sys.executable}" -m bdpcap "$@"; }}\n{commands}'.replace(
                "https://s3.example.net", endpoint
            ),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "192.168.1.3:54348 → 192.168.1.34:5001" in told.stdout
