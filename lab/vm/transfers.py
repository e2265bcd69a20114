"""The transfers of the virtual machine, one entry each, declared as scenarios of applications are."""

from __future__ import annotations

from apps.scenario import Choice, Drawn, Program, Real, Scenario, Share, Whole, receiver, sender

__all__ = ["TRANSFERS"]

# A software-emulated machine carries some 30 Mbit/s.
PATH: dict[str, Drawn] = {"rate_mbps": Real(6, 20), "rtt_ms": Real(25, 90), "netem": Choice(("",))}
RENO_OR_CUBIC: dict[str, Drawn] = {"cc": Choice(("cubic", "reno"))}
SMALL: dict[str, Drawn] = RENO_OR_CUBIC | {"buffer": Share(0.15, 0.4), "write": Whole(2000, 40000)}
WINDOW: dict[str, Drawn] = RENO_OR_CUBIC | {"window": Share(0.2, 0.6)}
FAIR_QUEUE = sender("tc qdisc add dev eth0 root fq")
WMEM = sender("sysctl -qw 'net.ipv4.tcp_wmem=4096 16384 {buffer}'")


def bulk(options: str = "", *before: Program, sink: str = "", route: str = "", **drawn: Drawn) -> Scenario:
    """Use the lab's own sender."""
    command = f"tsend {{receiver}} 5001 info=/dev/null cc={{cc}} seconds={{seconds}} {options}"
    servers = (receiver(f"trecv 5001 {sink}"),)
    return Scenario(sender(command), servers, before, PATH | drawn, route=route)


def iperf3(options: str = "", *before: Program, paced: bool = False, **drawn: Drawn) -> Scenario:
    """iperf3, sending."""
    command = f"iperf3 -c {{receiver}} -C {{cc}} -t {{seconds}} {options}"
    return Scenario(sender(command), (receiver("iperf3 -s"),), before, PATH | drawn, paced=paced)


TRANSFERS: dict[str, Scenario] = {
    "bulk": bulk(**RENO_OR_CUBIC),
    "bulk_bbr": bulk(cc=Choice(("bbr",))),
    "bulk_bbr_fq": bulk("", FAIR_QUEUE, cc=Choice(("bbr",))),
    "bulk_small_queue": bulk(**RENO_OR_CUBIC, queue=Share(0.1, 0.3)),
    "sndbuf": bulk("sndbuf={buffer} write={write}", **SMALL),
    "sndbuf_blocking": bulk("sndbuf={buffer} write={write} blocking=1", **SMALL),
    "sndbuf_tiny": bulk("sndbuf={buffer} write={write} blocking=1", **SMALL | {"write": Whole(60, 500)}),
    "sndbuf_nagle": bulk("sndbuf={buffer} write={write} nagle=1", **SMALL | {"write": Whole(1500, 9000)}),
    "receive_buffer": bulk("", sink="rcvbuf={window}", **WINDOW),
    "slow_reader": bulk("", sink="rcvbuf=120000 rate={goal}000", **RENO_OR_CUBIC, goal=Whole(300, 900)),
    "clamp": bulk(route="cwnd lock {segments}", **WINDOW),
    "clamp_sndbuf": bulk("sndbuf={buffer} write={write}", route="cwnd lock {segments}", **SMALL | WINDOW),
    "loss": bulk(netem=Choice(("loss 0.5%", "loss 1%", "loss 2%")), **RENO_OR_CUBIC),
    "jitter": bulk(netem=Choice(("2ms 50%", "4ms 50%")), **RENO_OR_CUBIC),
    "reordering": bulk(netem=Choice(("reorder 99% 50%", "reorder 99.7%")), **RENO_OR_CUBIC),
    "on_off": bulk("pattern=onoff chunk={on} gap_us={off}000", on=Whole(150, 500), off=Whole(150, 500)),
    "paced_writes": bulk(
        "pattern=paced chunk={write} gap_us={gap}", write=Whole(3000, 20000), gap=Whole(8000, 40000)
    ),
    "blocks": bulk("pattern=credits chunk={write} credits=1", sink="reply={write}", write=Whole(8000, 80000)),
    "lowat": bulk("lowat={lowat} write=8192", **RENO_OR_CUBIC, lowat=Whole(8000, 60000)),
    "pacing_rate": bulk("max_pace={goal}00000", FAIR_QUEUE, cc=Choice(("cubic",)), goal=Whole(4, 9)),
    "iperf3": iperf3(**RENO_OR_CUBIC),
    "iperf3_streams": iperf3("-P 3", **RENO_OR_CUBIC),
    "iperf3_wmem": iperf3(
        "",
        sender("sysctl -qw 'net.ipv4.tcp_wmem=4096 16384 {buffer}'"),
        **SMALL | {"buffer": Share(0.3, 0.9)},
    ),
}
