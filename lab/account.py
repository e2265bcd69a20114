"""The sender's own account of a transfer, as `bdpcap report --ss` and `--tcp-info` read it.

`python lab/account.py limits -o FOLDER` records a transfer that waits for the receive window, then for the send buffer.
`timer` instead of `limits` records a program that writes about once a round trip. FOLDER gets `sender.pcap.zst`, `ss.log`
and `tcp_info.jsonl`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pandas as pd
from hosts import Hosts, addresses, build
from pack import compress
from transfer import PORT, Transfer, run

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["json_lines"]

NAMES: Final = {
    "cwnd": "snd_cwnd",
    "unacked": "unacked",
    "sacked": "sacked",
    "lost": "lost",
    "total_retrans": "total_retrans",
    "rtt_us": "rtt",
    "snd_mss": "snd_mss",
    "ssthresh": "snd_ssthresh",
    "snd_wnd": "snd_wnd",
    "notsent": "notsent_bytes",
    "busy_us": "busy_time",
    "rwnd_us": "rwnd_limited",
    "sndbuf_us": "sndbuf_limited",
    "bytes_acked": "bytes_acked",
    "bytes_sent": "bytes_sent",
}
"""Columns of the lab's samples, and what struct tcp_info calls them."""

PERIOD_NS: Final = 20_000_000
SS_EVERY_S: Final = 0.1


def json_lines(samples: pd.DataFrame, source: str, destination: str) -> Iterator[str]:
    """Yield samples as JSON lines, one every `PERIOD_NS`."""
    kept = samples.groupby(samples["t_ns"] // PERIOD_NS, as_index=False).first()
    for row in kept.to_dict("records"):
        seconds, rest = divmod(row["t_ns"], 10**9)
        said = {name: row[column] for column, name in NAMES.items() if column in row}
        yield json.dumps(
            {"time": f"{seconds}.{rest:09}", "source": source, "destination": destination} | said
        )


LINK: Final = {"rate_bps": 30_000_000, "delay_us": 15_000, "back_delay_us": 15_000, "queue_bytes": 200_000}
TRANSFERS: Final = {
    "limits": Transfer(
        link=LINK,
        sender={"cc": "cubic", "blocking": 1, "phases": "1500:bulk:0:0:100000,1500:bulk:0:0:12000"},
        receiver={"rcvbuf": 50_000},
        seconds=3,
    ),
    "timer": Transfer(
        link=LINK,
        sender={
            "cc": "cubic", "nagle": 1,
            "pattern": "paced", "chunk": 30_000, "write": 30_000, "gap_us": 31_000, "absolute": 1,
        },
        seconds=3,
    ),
}  # fmt: skip
"""The recorded limits: the receive window, then a send buffer; or a program that writes about once a round trip."""


def record(transfer: Transfer, out: Path) -> None:
    """Record the transfer."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, (out / "ss.log").open("w") as log:
        raw, programs = Path(temporary, "raw"), Path(temporary, "programs")
        programs.mkdir()
        build(programs)

        def ask(hosts: Hosts) -> None:
            loop = f"while sleep {SS_EVERY_S}; do date +%s.%N; ss -tinm; done"
            hosts.start(hosts.sender, "sh", "-c", loop, first=False, stdout=log)

        run(transfer, raw, programs, ask)
        compress(raw / "sender.pcap", out)
        source, destination = addresses(transfer.v6)
        samples = pd.read_csv(raw / "info.csv")
        port = sender_port(out / "ss.log", destination)
        lines = json_lines(samples, f"{source}:{port}", f"{destination}:{PORT}")
        (out / "tcp_info.jsonl").write_text("".join(f"{line}\n" for line in lines))


def sender_port(log: Path, destination: str) -> int:
    """Return the sender's port, as ss shows it."""
    for line in log.read_text().splitlines():
        words = line.split()
        if len(words) >= 5 and words[4] == f"{destination}:{PORT}":
            return int(words[3].rpartition(":")[2])
    raise RuntimeError("ss did not see the transfer")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="record a transfer with the sender's own account (as root)")
    parser.add_argument("which", choices=TRANSFERS)
    parser.add_argument("-o", "--out", type=Path, required=True)
    given = parser.parse_args()
    record(TRANSFERS[given.which], given.out)


if __name__ == "__main__":
    main()
