"""The scenarios: common programs, one entry each, and writers of kinds that none of them shows alone.

In a command, {sender} and {receiver} are addresses, {size} is a number of bytes, {place} a folder (see place.py),
{python} and {writers} run writers.py. The other names are drawn.
"""

from __future__ import annotations

from apps.scenario import Choice, Drawn, Program, Real, Scenario, Share, Whole, receiver, sender

__all__ = ["SCENARIOS"]

# Fast enough for the buffer, or the program, to be the limit.
FAST: dict[str, Drawn] = {"rate_mbps": Real(60, 150), "rtt_ms": Real(15, 60), "cc": Choice(("cubic", "reno"))}
SMALL: dict[str, Drawn] = FAST | {"buffer": Share(0.08, 0.3)}
BUSY = sender("sh -c 'while :; do :; done'")
BUSY_LATE = sender("nice -n 19 sh -c 'while :; do :; done'")  # leaves a sixth of the time to SCHED_IDLE
SINK = receiver("trecv 5001")


def iperf3(options: str = "", *more: Program, lead: str = "", **settings: object) -> Scenario:
    """iperf3, sending."""
    client = sender(f"{lead}iperf3 -c {{receiver}} -t {{seconds}} {options}")
    return Scenario(client, (receiver("iperf3 -s"), *more), **settings)  # type: ignore[arg-type]


def web(url: str, options: str = "", **settings: object) -> Scenario:
    """nginx, and curl that fetches a range of a file."""
    client = receiver(f"curl -sko /dev/null --http1.1 -r 0-{{size}} {options} {url}")
    return Scenario(client, (sender("nginx -c {place}/nginx.conf -p {place}"),), **settings)  # type: ignore[arg-type]


def shell(client: str, *, get: bool = False, **settings: object) -> Scenario:
    """A client of ssh on the sending host, or, if it gets the file, on the receiving one."""
    daemon = "/usr/sbin/sshd -D -e -f {place}/sshd.conf"
    there, here = (sender, receiver) if get else (receiver, sender)
    return Scenario(here(client), (there(daemon),), **settings)  # type: ignore[arg-type]


def redis(client: str, **settings: object) -> Scenario:
    """A client of redis, whose values are its data."""
    store = sender("redis-server --port 6379 --save '' --protected-mode no --dir {place}")
    return Scenario(receiver(f"sh -c '{client}'"), (store,), **settings)  # type: ignore[arg-type]


def socat(options: str, block: str, **settings: object) -> Scenario:
    """Socat, sending a file."""
    client = sender(
        f"timeout {{seconds}} socat -u -b {block} FILE:{{place}}/big.bin TCP:{{receiver}}:5001{options}"
    )
    return Scenario(client, (SINK,), **settings)  # type: ignore[arg-type]


def writer(
    kind: str, options: str, *more: Program, lead: str = "", sink: str = "", **settings: object
) -> Scenario:
    """Use one of writers.py."""
    client = sender(f"{lead}{{python}} {{writers}} {kind} {{receiver}} 5001 seconds={{seconds}} {options}")
    return Scenario(client, (receiver(f"trecv 5001 {sink}"), *more), **settings)  # type: ignore[arg-type]


SSH = "ssh -F {place}/ssh.conf {receiver}"
WMEM = ("net.ipv4.tcp_wmem=4096 16384 {buffer}",)
WMEM_DRAWN = FAST | {"buffer": Share(0.25, 0.8)}
TINY = SMALL | {"write": Whole(40, 400)}

SCENARIOS: dict[str, Scenario] = {
    "iperf3": iperf3(),
    "iperf3_streams": iperf3("-P 4"),
    "iperf3_buffers": iperf3("-w {buffer}", drawn=SMALL),
    "iperf3_rate": iperf3("-b {goal}M", drawn={"rate_mbps": Real(40, 90), "goal": Whole(5, 25)}),
    "iperf3_fq_rate": iperf3("--fq-rate {goal}M", drawn=FAST | {"goal": Whole(8, 40)}, paced=True),
    "iperf3_small": iperf3("-l {write}", drawn={"write": Whole(60, 700)}),
    "iperf3_small_nodelay": iperf3("-N -l {write}", drawn={"write": Whole(60, 700)}),
    "iperf3_loss": iperf3(drawn=FAST | {"loss_ppm": Whole(1500, 15000)}),
    "iperf3_wmem": iperf3(sender_sysctl=WMEM, drawn=WMEM_DRAWN),
    "iperf3_clamp": iperf3(route="cwnd lock {segments}", drawn=FAST | {"window": Share(0.15, 0.5)}),
    "iperf3_clamp_wmem": iperf3(
        route="cwnd lock {segments}",
        sender_sysctl=WMEM,
        drawn=WMEM_DRAWN | {"window": Share(0.15, 0.5)},
    ),
    "iperf3_window": iperf3(
        before=(receiver("ip route change 192.168.1.0/24 dev eth0 window {window}"),),
        receiver_sysctl=("net.ipv4.tcp_moderate_rcvbuf=0",),
        drawn=FAST | {"window": Share(0.1, 0.4)},
    ),
    "iperf3_busy": iperf3("", BUSY, BUSY),
    "iperf3_busy_wmem": iperf3("", BUSY, BUSY, BUSY, sender_sysctl=WMEM, drawn=WMEM_DRAWN),
    "nginx": web("http://{sender}/big.bin"),
    "nginx_copy": web("http://{sender}:8000/big.bin"),
    "nginx_tls": web("https://{sender}/big.bin"),
    "nginx_loss": web("http://{sender}/big.bin", drawn=FAST | {"loss_ppm": Whole(1500, 10000)}),
    "nginx_sndbuf": web(
        "http://{sender}:8080/big.bin", drawn=FAST | {"buffer": Share(0.08, 0.3), "seconds": Whole(2, 3)}
    ),
    "nginx_tls_wmem": web(
        "https://{sender}/big.bin", sender_sysctl=WMEM, drawn=WMEM_DRAWN | {"seconds": Whole(3, 4)}
    ),
    "nginx_limit": web("http://{sender}:8001/big.bin", drawn={"rate_mbps": Real(40, 90)}),
    "curl_limit": web(
        "http://{sender}/big.bin",
        "--limit-rate {goal}k",
        receiver_sysctl=("net.ipv4.tcp_rmem=4096 131072 300000",),
        drawn={"rate_mbps": Real(40, 90), "goal": Whole(400, 2000)},
    ),
    "nghttp_window": Scenario(
        receiver("nghttp -n -w 16 -W 16 https://{sender}/small.bin"),
        (sender("nginx -c {place}/nginx.conf -p {place}"),),
        drawn=FAST,
    ),
    "h2load_window": Scenario(
        receiver("h2load -w 16 -W 16 -c 1 -m {parallel} -n 400 https://{sender}/piece.bin"),
        (sender("nginx -c {place}/nginx.conf -p {place}"),),
        drawn=FAST | {"parallel": Whole(1, 6)},
    ),
    "ssh_pipe": shell(f"sh -c 'head -c {{size}} {{place}}/big.bin | {SSH} \"cat >/dev/null\"'"),
    "ssh_wmem": shell(
        f"sh -c 'head -c {{size}} {{place}}/big.bin | {SSH} \"cat >/dev/null\"'",
        sender_sysctl=WMEM,
        drawn=WMEM_DRAWN | {"seconds": Whole(3, 4)},
    ),
    "sftp_put": shell("sh -c 'echo put {place}/small.bin /dev/null | sftp -qF {place}/ssh.conf {receiver}'"),
    "sftp_get": shell(
        "sftp -q -R {parallel} -B {write} -F {place}/ssh.conf {sender}:{place}/small.bin /dev/null",
        get=True,
        drawn=FAST | {"parallel": Whole(2, 8), "write": Whole(4000, 32000)},
    ),
    "sftp_limit": shell(
        "sh -c 'echo put {place}/small.bin /dev/null | sftp -q -l {goal} -F {place}/ssh.conf {receiver}'",
        drawn={"rate_mbps": Real(40, 90), "goal": Whole(4000, 20000)},
    ),
    "rsync": shell(
        "rsync -W --inplace -e 'ssh -F {place}/ssh.conf' {place}/small.bin {receiver}:{place}/copy.bin"
    ),
    "rsync_limit": shell(
        "rsync -W --inplace --bwlimit={goal} -e 'ssh -F {place}/ssh.conf' {place}/small.bin {receiver}:{place}/copy.bin",
        drawn={"rate_mbps": Real(40, 90), "goal": Whole(700, 3000)},
    ),
    "socat_sndbuf": socat(",sndbuf={buffer}", "{write}", drawn=SMALL | {"write": Whole(2000, 12000)}),
    "socat_tiny": socat(",sndbuf={buffer}", "{write}", drawn=TINY),
    "socat_wmem": socat("", "8192", sender_sysctl=WMEM, drawn=WMEM_DRAWN),
    "redis_pipeline": redis(
        "redis-cli -h {sender} setrange key {value} x;"
        " redis-benchmark -h {sender} -c {parallel} -P 8 -n 1000000 -q get key",
        drawn={"parallel": Whole(1, 4), "value": Whole(500, 60000)},
    ),
    "tiny": writer("writes", "nodelay=1 write={write} sndbuf={buffer}", drawn=TINY),
    "tiny_nagle": writer("writes", "write={write} sndbuf={buffer}", drawn=TINY),
    "tiny_select": writer("selects", "nodelay=1 write={write} sndbuf={buffer}", drawn=TINY),
    "blocks": writer(
        "blocks", "nodelay=1 write={write}", sink="reply={write}", drawn={"write": Whole(6000, 200000)}
    ),
    "blocks_nagle": writer(
        "blocks", "write={write}", sink="reply={write}", drawn={"write": Whole(6000, 200000)}
    ),
    "lowat": writer(
        "selects",
        "nodelay=1 lowat={lowat} write={write}",
        drawn={"lowat": Whole(8000, 130000), "write": Whole(3000, 20000)},
    ),
    "sendfile": writer("files", "write={write}", drawn={"write": Whole(30000, 2000000)}),
    "sendfile_sndbuf": writer(
        "files", "write={write} sndbuf={buffer}", drawn=SMALL | {"write": Whole(30000, 2000000)}
    ),
    "records": writer("records", "nodelay=1"),
    "records_sndbuf": writer(
        "records", "nodelay=1 sndbuf={buffer}", drawn=FAST | {"buffer": Share(0.15, 0.4)}
    ),
    "select_sndbuf": writer(
        "selects", "nodelay=1 write={write} sndbuf={buffer}", drawn=SMALL | {"write": Whole(2000, 60000)}
    ),
    "nagle_sndbuf": writer(
        "writes", "write={write} sndbuf={buffer}", drawn=SMALL | {"write": Whole(1500, 9000)}
    ),
    "nodelay_sndbuf": writer(
        "writes", "nodelay=1 write={write} sndbuf={buffer}", drawn=SMALL | {"write": Whole(1500, 9000)}
    ),
    "slow_host": writer(
        "writes", "nodelay=1", BUSY, BUSY, lead="nice -n {nice} ", drawn={"nice": Choice((3, 6, 10))}
    ),
    "slow_host_sndbuf": writer(
        "writes",
        "nodelay=1 write={write} sndbuf={buffer}",
        BUSY,
        BUSY,
        lead="nice -n {nice} ",
        drawn=SMALL | {"write": Whole(2000, 30000), "nice": Choice((0, 3, 6, 10))},
    ),
    "idle_host_sndbuf": writer(
        "selects",
        "nodelay=1 write={write} sndbuf={buffer}",
        BUSY_LATE,
        BUSY_LATE,
        lead="chrt -i 0 ",
        drawn=SMALL | {"write": Whole(2000, 30000)},
    ),
}
