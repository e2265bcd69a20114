"""Record HTTP requests whose server and client write down their own times: `python lab/exchanges.py -o FOLDER`.

Two namespaces, the lab's path between them, and captures at both ends and on the way. FOLDER gets `client`, `middle` and
`server` `.pcap.zst`, `log.csv` with a row an exchange (`stalled`: the machine stood still in it), and `meta.json`.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from hosts import Hosts, addresses, build, captures, end, kernel, ready
from transfer import Transfer, start_link

if TYPE_CHECKING:
    import numpy as np

PORT = 8080
SNAP = 96


class Handler(BaseHTTPRequestHandler):
    """Answers as the request's headers say, and writes down when.

    `X-Wait`: seconds before the response; `X-Pause`: seconds in the middle of it; `X-Bytes`: of its body.
    """

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Answer one request; the log has a row for it."""
        self.rfile.read(int(self.headers["Content-Length"]))
        received = time.time_ns()
        time.sleep(float(self.headers["X-Wait"]))
        body = bytes(int(self.headers["X-Bytes"]))
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        pause = float(self.headers["X-Pause"])
        # What goes before the pause fits in the initial window (RFC 6928): nothing is under way when it ends.
        half = min(len(body) // 2, 5000) if pause else len(body)
        answered = time.time_ns()
        self.wfile.write(head + body[:half])
        time.sleep(pause)
        self.wfile.write(body[half:])
        row = {"received_ns": received, "answered_ns": answered, "paused_ns": round(pause * 1e9)}
        print(json.dumps(row), flush=True)

    def log_message(self, *_: object) -> None:
        """Say nothing else."""


def serve() -> None:
    """Serve one connection, to its end."""
    server = HTTPServer(("", PORT), Handler)
    print("ready", flush=True)
    server.handle_request()


def ask(host: str, exchanges: int, seed: str) -> None:
    """Ask over one connection: small and large requests and responses, with the client's own pauses between."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    connection = HTTPConnection(host, PORT, timeout=30)
    for _ in range(exchanges):
        size = [chance.choice((0, 200, 1400, 3000, 20000, 100000)) for _ in range(2)]
        headers = {
            "X-Wait": f"{chance.choice((0, chance.expovariate(1 / 0.03))):.6f}",
            "X-Pause": f"{chance.choice((0, 0, 0, 0.15)) if size[1] else 0:.6f}",
            "X-Bytes": str(size[1]),
        }
        asked = time.time_ns()
        connection.request("POST", "/", bytes(size[0]), headers)
        connection.getresponse().read()
        done = time.time_ns()
        print(json.dumps({"asked_ns": asked, "done_ns": done}), flush=True)
        time.sleep(chance.choice((0, chance.expovariate(1 / 0.02))))
    connection.close()


def record(out: Path, transfer: Transfer, exchanges: int, seed: str) -> None:
    """Run it, and keep the captures with the log of both programs."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
        raw = Path(temporary)
        build(raw)
        hosts = Hosts(raw, stack)
        link = start_link(hosts, transfer, raw)
        with captures(hosts, raw, transfer.snap) as missed:
            program = (sys.executable, __file__)
            server = hosts.start(hosts.receiver, *program, "--serve", stdout=subprocess.PIPE)
            ready(server)
            client = hosts.start(
                hosts.sender, *program, "--ask", addresses(0)[1], "--exchanges", exchanges, "--seed", seed,
                stdout=subprocess.PIPE,
            )  # fmt: skip
            asked = client.communicate(timeout=300)[0]
            answered = server.communicate(timeout=20)[0]
        end(link)  # it writes its capture down
        rows = [
            json.loads(one) | json.loads(other)
            for one, other in zip(asked.splitlines(), answered.splitlines(), strict=True)
        ]
        log = pd.DataFrame(rows)
        log["stalled"] = stalled(pd.read_csv(raw / "link.csv"), log)
        log.to_csv(out / "log.csv", index=False)
        for name, place in (("sender", "client"), ("middle", "middle"), ("receiver", "server")):
            target = out / f"{place}.pcap.zst"
            subprocess.run(["zstd", "-qf", "-19", raw / f"{name}.pcap", "-o", target], check=True)
    meta: dict[str, Any] = {"link": transfer.link, "seed": seed, "kernel": kernel(), "capture_missed": missed}
    (out / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")


def stalled(link: pd.DataFrame, log: pd.DataFrame) -> np.ndarray:
    """Say of every exchange whether the emulated path stood still in it, or in the client's pause behind it."""
    pauses = link[link["event"] == "stall"]
    begin, end = pauses["t_ns"].to_numpy(), (pauses["t_ns"] + pauses["duration_ns"]).to_numpy()
    until = log["asked_ns"].shift(-1, fill_value=int(log["done_ns"].iloc[-1])).to_numpy()
    inside = (begin < until[:, None]) & (end > log["asked_ns"].to_numpy()[:, None])
    return inside.any(axis=1).astype(int)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="record HTTP exchanges with the times of both ends")
    parser.add_argument("-o", "--out", type=Path)
    parser.add_argument("--exchanges", type=int, default=60, help="(%(default)s)")
    parser.add_argument("--delay-us", type=int, default=10_000, help="of each way (%(default)s)")
    parser.add_argument("--rate-bps", type=int, default=50_000_000, help="(%(default)s)")
    parser.add_argument("--loss-ppm", type=int, default=0, help="(%(default)s)")
    parser.add_argument("--snap", type=int, default=SNAP, help="(%(default)s)")
    parser.add_argument("--seed", default="1", help="(%(default)s)")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--ask", metavar="HOST", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
    elif options.ask:
        ask(options.ask, options.exchanges, options.seed)
    elif options.out:
        one_way = {"delay_us": options.delay_us, "rate_bps": options.rate_bps, "loss_ppm": options.loss_ppm}
        link = one_way | {f"back_{name}": value for name, value in one_way.items()}
        record(options.out, Transfer(link=link, snap=options.snap), options.exchanges, options.seed)
    else:
        parser.error("where to: -o FOLDER")


if __name__ == "__main__":
    main()
