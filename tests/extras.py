"""Use each extra once. CI installs each alone and types ``python tests/extras.py NAME``."""

from __future__ import annotations

import http.server
import os
import re
import sys
import tempfile
import threading
from contextlib import chdir, contextmanager
from pathlib import Path

from google_store import GoogleStore, QuietServer

import bdpcap
from bdpcap.cli import main

SAMPLE = Path(__file__).parents[1] / "sample_captures" / "linux61_advwinscale2_w50000.pcap.zst"
FRAMES = 8912
"""Frames of the sample."""
ADDRESS = "192.168.1.3"
"""The sender's address there."""
TOKEN = "t" * 43
"""A part of the viewer's address, which is a secret otherwise."""


class Objects(http.server.BaseHTTPRequestHandler):
    """Answers every path with the sample, or with a range of it: as much of HTTP and of S3 as reading needs."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        data = SAMPLE.read_bytes()
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        first, last = (int(asked[1]), int(asked[2] or len(data) - 1)) if asked else (0, len(data) - 1)
        last = min(last, len(data) - 1)
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(last + 1 - first))
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.send_header("ETag", '"1"')
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data[first : last + 1])

    do_HEAD = do_GET  # noqa: N815 - http.server's name


@contextmanager
def serving(server):
    """Run a server in a thread; yield it."""
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def run(*words):
    """Run bdpcap, which has to succeed."""
    code = main([*map(str, words)])
    assert code == 0, f"bdpcap {words[0]}: exit code {code}"


def is_read(url):
    assert bdpcap.analyze(url).info.frames == FRAMES, url


def without():
    run("flows", SAMPLE)


def arrow():
    import pyarrow as pa

    rounds = bdpcap.analyze(SAMPLE).rtts
    assert pa.table(rounds).num_rows == len(rounds) > 0


def anonymize():
    named = bdpcap.analyze(SAMPLE, pseudonyms=bdpcap.Pseudonyms(bytes(range(32))))
    assert ADDRESS not in named[0].sender


def cluster():
    run("batch", SAMPLE, "--out", "dataset", "--workers", 1)


def filters():
    from bdpcap.read import filter as compiled

    compiled._NAMES = ()  # as on a host without libpcap
    assert bdpcap.analyze(SAMPLE, filter="tcp port 5001").info.segments == FRAMES


def gs():
    with serving(GoogleStore()) as store:
        store.buckets["captures"] = {SAMPLE.name: SAMPLE.read_bytes()}
        os.environ |= {"STORAGE_EMULATOR_HOST": store.url, "NO_GCE_CHECK": "true"}
        is_read(f"gs://captures/{SAMPLE.name}")


def web():
    with serving(QuietServer(Objects)) as server:
        is_read(f"{server.url}/{SAMPLE.name}")


def notebook():
    import notebook_pages

    for script in notebook_pages.SCRIPTS:
        notebook_pages.executed(script)


def png():
    run("plot", SAMPLE, "-o", "window.png")
    assert Path("window.png").read_bytes().startswith(b"\x89PNG")


def s3():
    with serving(QuietServer(Objects)) as server:
        os.environ |= {"AWS_ENDPOINT_URL": server.url, "AWS_DEFAULT_REGION": "us-east-1"}
        os.environ |= {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
        is_read(f"s3://captures/{SAMPLE.name}")


def summary():
    from small_dataset import analysed

    from bdpcap.fleet.captures import tasks
    from bdpcap.fleet.work import Order

    found, _ = tasks([str(SAMPLE)], rotated=False)
    analysed(found, Order(str(Path("dataset").resolve()), None, ()))
    run("summary", "dataset")


def view():
    from werkzeug.test import Client

    from bdpcap.view.server import site
    from bdpcap.view.viewer import Viewer

    capture = bdpcap.analyze(SAMPLE)
    assert capture[0].view().children
    answer = Client(site(Viewer(capture, capture[0]), TOKEN)).get(f"/{TOKEN}/", headers={"Host": "127.0.0.1"})
    assert answer.status_code == 200


def yaml():
    Path(SAMPLE.name).write_bytes(SAMPLE.read_bytes())
    Path("bdpcap.yaml").write_text(f"{SAMPLE.name}:\n  rcvbuf: 50000\n", encoding="utf-8")
    run("compare", SAMPLE.name)


USES = {
    "": without,
    "anonymize": anonymize,
    "arrow": arrow,
    "cluster": cluster,
    "filter": filters,
    "gs": gs,
    "http": web,
    "notebook": notebook,
    "png": png,
    "s3": s3,
    "summary": summary,
    "view": view,
    "yaml": yaml,
}
"""What uses an extra, by its name; ``""`` is none."""

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        USES[sys.argv[1]]()
