"""Cut the beginning out of labelled transfers, to keep a few of them: `python lab/cut.py lab/out/tune/* -o FOLDER`."""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import pandas as pd
from damage import read, write
from make import VIEWS


def cut(source: Path, target: Path, seconds: float) -> None:
    """Keep the first seconds of a transfer, from its first label on, of labels and of all captures."""
    target.mkdir(parents=True, exist_ok=True)
    truth = pd.read_csv(source / "truth.csv")
    end = int(truth["t0"].iloc[0] + seconds * 1e9)
    truth[truth["t1"] <= end].to_csv(target / "truth.csv", index=False)
    meta = json.loads((source / "meta.json").read_text())
    (target / "meta.json").write_text(json.dumps(meta | {"cut_seconds": seconds}, indent=1) + "\n")
    with tempfile.TemporaryDirectory() as temporary:
        for view in VIEWS:
            plain = Path(temporary) / f"{view}.pcap"
            subprocess.run(["zstd", "-dqf", source / f"{view}.pcap.zst", "-o", plain], check=True)
            header, records = read(plain)
            write(plain, header, [record for record in records if record.time_ns < end])
            subprocess.run(["zstd", "-qf", "-19", plain, "-o", target / f"{view}.pcap.zst"], check=True)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="keep the beginning of labelled transfers")
    parser.add_argument("transfers", nargs="+", type=Path, help="folders")
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=2, help="(%(default)s)")
    options = parser.parse_args()
    for source in options.transfers:
        cut(source, options.out / source.parent.name / source.name, options.seconds)


if __name__ == "__main__":
    main()
