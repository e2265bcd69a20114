"""Small transfers in which segments are sent again, and what the sending kernel counted of it.

`python lab/retransmissions.py -o FOLDER`, as root: each in a folder, with captures at three places and `meta.json`.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from hosts import build
from pack import pack
from transfer import Transfer, run

PATH: Final = {
    "delay_us": 15000,
    "back_delay_us": 15000,
    "rate_bps": 4_000_000,
    "queue_bytes": 40_000,
    "seed": 7,
}


def over(link: dict[str, Any], sender: dict[str, Any] | None = None, **settings: Any) -> Transfer:
    """Describe a transfer over the path of all, 30 ms and 4 Mbit/s."""
    return Transfer(link=PATH | link, sender={"cc": "cubic"} | (sender or {}), seconds=4, **settings)


REQUESTS: Final = {"pattern": "paced", "chunk": 4000, "gap_us": 150_000}
TAILS: Final = {"pattern": "paced", "chunk": 4000, "gap_us": 400_000}

TRANSFERS: Final = {
    "loss": over({"loss_ppm": 20_000}),
    "loss_without_sack": over({"loss_ppm": 10_000}, receiver_sysctl=("net.ipv4.tcp_sack=0",)),
    "outages": over({"outage_ms": 350, "outage_every_ms": 1500}),
    "acknowledgments_lost": over({"back_outage_ms": 400, "back_outage_every_ms": 1500}),
    "requests": over({"loss_ppm": 60_000}, REQUESTS),
    "tails": over({"loss_ppm": 180_000}, TAILS),
    "reordering": over({"reorder_ppm": 20_000, "reorder_us": 8000}),
}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="make transfers with retransmissions (as root)")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"these: {', '.join(TRANSFERS)} (all)")
    parser.add_argument("-o", "--out", type=Path, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        programs = Path(folder)
        build(programs)
        for name in options.names or TRANSFERS:
            transfer = TRANSFERS[name]
            with tempfile.TemporaryDirectory() as temporary:
                raw, target = Path(temporary), options.out / name
                meta = {"name": name, "params": asdict(transfer)} | run(transfer, raw, programs)
                target.mkdir(parents=True, exist_ok=True)
                pack(raw, target, meta)
            print(name, meta["sender_counted"], meta["capture_missed"], flush=True)


if __name__ == "__main__":
    main()
