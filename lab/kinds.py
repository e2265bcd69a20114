"""The kinds of transfers: what makes each, and what is drawn at random in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from draw import NO_AUTOTUNING, NO_TIMESTAMPS, Draw, receive_buffer

if TYPE_CHECKING:
    from collections.abc import Callable

    from transfer import Transfer

__all__ = ["KINDS"]

KINDS: dict[str, Callable[[Draw], Transfer]] = {}
SEGMENT = 1448


def kind(make: Callable[[Draw], Transfer]) -> Callable[[Draw], Transfer]:
    """Enter a kind under the function's name."""
    KINDS[make.__name__] = make
    return make


# The receiver's window


@kind
def rwnd_buffer(d: Draw) -> Transfer:
    """A receive buffer well below the BDP."""
    return d.transfer(window=d.real(0.15, 0.7) * d.bdp)


def near_bdp(d: Draw, ratio: float, **settings: Any) -> Transfer:
    """Take a window at about `ratio` times the BDP."""
    d.rate_mbps = min(d.rate_mbps, 80)
    return d.transfer(window=(ratio + d.real(-0.03, 0.03)) * d.bdp, **settings)


@kind
def rwnd_bdp60(d: Draw) -> Transfer:
    """A window at 0.6 BDP."""
    return near_bdp(d, 0.6)


@kind
def rwnd_bdp80(d: Draw) -> Transfer:
    """A window at 0.8 BDP."""
    return near_bdp(d, 0.8)


@kind
def rwnd_bdp90(d: Draw) -> Transfer:
    """A window at 0.9 BDP."""
    return near_bdp(d, 0.9)


@kind
def rwnd_bdp100(d: Draw) -> Transfer:
    """A window at the BDP."""
    d.rtt_ms *= max(1, 90000 / d.bdp)  # past 65,535 bytes, where windows are scaled
    return near_bdp(d, 1.0)


@kind
def rwnd_bdp110(d: Draw) -> Transfer:
    """A window at 1.1 BDP."""
    return near_bdp(d, 1.1)


@kind
def rwnd_bdp130(d: Draw) -> Transfer:
    """A window at 1.3 BDP."""
    return near_bdp(d, 1.3)


@kind
def rwnd_slow_reader(d: Draw) -> Transfer:
    """A receiving application slower than the path."""
    reader = {"rate": int(d.real(0.1, 0.6) * d.rate_bps / 8), "chunk": d.whole(4000, 60000)}
    buffer = {"rcvbuf": d.whole(60000, 300000)}
    return d.transfer(receiver=buffer | reader, receiver_sysctl=(NO_AUTOTUNING,))


@kind
def rwnd_zero_window(d: Draw) -> Transfer:
    """A receiving application that stops reading now and then."""
    reader = {"pause_ms": d.whole(150, 500), "every_ms": d.whole(600, 1200)}
    buffer = {"rcvbuf": d.whole(60000, 200000)}
    return d.transfer(receiver=buffer | reader, receiver_sysctl=(NO_AUTOTUNING,))


@kind
def rwnd_after_accept(d: Draw) -> Transfer:
    """SO_RCVBUF set after accept(): the window falls once, and stands."""
    buffer = receive_buffer(d.real(0.15, 0.6) * d.bdp)
    return d.transfer(receiver={"rcvbuf_accepted": buffer})


@kind
def rwnd_nots(d: Draw) -> Transfer:
    """A small receive buffer, without timestamps."""
    return d.transfer(window=d.real(0.15, 0.6) * d.bdp, receiver_sysctl=(NO_TIMESTAMPS,))


# The sender's buffer


def small_sndbuf(d: Draw, low: float, high: float, sender: dict[str, Any], **settings: Any) -> Transfer:
    """Take a send buffer between two shares of the BDP of a fast path."""
    d.rate_mbps *= 2
    return d.transfer(sender={"sndbuf": int(d.real(low, high) * d.bdp)} | sender, **settings)


@kind
def sndbuf_aligned(d: Draw) -> Transfer:
    """Writes of whole segments."""
    return small_sndbuf(d, 0.12, 0.5, {"write": SEGMENT * d.whole(2, 15)})


@kind
def sndbuf_unaligned(d: Draw) -> Transfer:
    """Writes of any size."""
    return small_sndbuf(d, 0.1, 0.35, {"write": d.whole(9000, 200000)})


@kind
def sndbuf_blocking(d: Draw) -> Transfer:
    """A writer that blocks."""
    return small_sndbuf(d, 0.15, 0.45, {"write": d.whole(2000, 70000), "blocking": 1})


@kind
def sndbuf_nagle(d: Draw) -> Transfer:
    """With Nagle's algorithm."""
    return small_sndbuf(d, 0.1, 0.3, {"write": d.random.choice([SEGMENT * 5, 4096, 16384]), "nagle": 1})


@kind
def sndbuf_nots(d: Draw) -> Transfer:
    """Without timestamps."""
    return small_sndbuf(d, 0.17, 0.55, {"write": 1460 * d.whole(4, 12)}, receiver_sysctl=(NO_TIMESTAMPS,))


@kind
def sndbuf_lowat(d: Draw) -> Transfer:
    """TCP_NOTSENT_LOWAT: the writer waits, though not for the buffer."""
    return d.transfer(sender={"lowat": d.whole(8000, 64000), "write": d.whole(4000, 16000)})


@kind
def sndbuf_bbr(d: Draw) -> Transfer:
    """A small buffer beside BBR, which paces."""
    d.cc = "bbr"
    return small_sndbuf(d, 0.12, 0.4, {"write": SEGMENT * d.whole(2, 15)})


@kind
def sndbuf_paced(d: Draw) -> Transfer:
    """A small buffer beside pacing at 1.3 to 3 times its rate, as `fq` paces."""
    d.cc, share = "cubic", d.real(0.15, 0.4)
    pace = int(d.real(1.3, 3) * share * d.rate_bps / 8)
    sender = {"sndbuf": int(share * d.bdp), "write": SEGMENT * d.whole(2, 15), "max_pace": pace}
    return d.transfer(sender=sender)


# The link


@kind
def link_bulk(d: Draw) -> Transfer:
    """A drop-tail queue of 0.8 to 2.5 BDP."""
    d.rate_mbps *= 0.7
    return d.transfer()


@kind
def link_nots(d: Draw) -> Transfer:
    """Without timestamps."""
    d.rate_mbps *= 0.5
    return d.transfer(receiver_sysctl=(NO_TIMESTAMPS,))


@kind
def link_small_queue(d: Draw) -> Transfer:
    """A queue too small for the congestion control."""
    d.rate_mbps *= 0.6
    return d.transfer(link={"queue_bytes": int(max(9000, d.bdp * d.real(0.1, 0.35)))})


@kind
def link_udp_inside(d: Draw) -> Transfer:
    """UDP beside it, in the same capture."""
    d.rate_mbps *= 0.5
    return d.transfer(udp_bps=int(d.rate_bps * d.real(0.15, 0.5)))


@kind
def link_cross_outside(d: Draw) -> Transfer:
    """Traffic through the bottleneck that no capture sees."""
    d.rate_mbps *= 0.6
    return d.transfer(link={"ghost_bps": int(d.rate_bps * d.real(0.2, 0.5))})


@kind
def link_share(d: Draw) -> Transfer:
    """Two or three TCP flows over one bottleneck."""
    d.rate_mbps = d.real(15, 45)
    return d.transfer(flows=d.whole(2, 3), stagger_s=round(d.real(0.3, 0.8), 2))


@kind
def link_bbr(d: Draw) -> Transfer:
    """BBR, which keeps the queue short."""
    d.rate_mbps, d.cc = 0.6 * d.rate_mbps, "bbr"
    return d.transfer()


@kind
def link_bbr_loss(d: Draw) -> Transfer:
    """BBR under loss."""
    d.rate_mbps, d.cc = 0.6 * d.rate_mbps, "bbr"
    return d.transfer(link={"loss_ppm": int(d.log(3000, 30000))})


@kind
def link_bbr_low(d: Draw) -> Transfer:
    """BBR on a slow link."""
    d.rate_mbps, d.cc = d.real(1, 6), "bbr"
    return d.transfer()


@kind
def link_far_edge(d: Draw) -> Transfer:
    """The bottleneck near the receiver; the tap half-way stands before it."""
    d.rate_mbps *= 0.6
    return d.transfer(link={"bottleneck_percent": round(d.real(70, 95))})


@kind
def link_ecn(d: Draw) -> Transfer:
    """Marks in the place of losses."""
    d.rate_mbps *= 0.6
    settings = ("net.ipv4.tcp_ecn=1",)
    mark = int(max(15000, d.real(0.3, 1) * d.bdp))
    return d.transfer(link={"mark_above_bytes": mark}, sender_sysctl=settings, receiver_sysctl=settings)


@kind
def link_codel(d: Draw) -> Transfer:
    """Active queue management: CoDel, at times with ECN."""
    d.rate_mbps *= 0.6
    settings = ("net.ipv4.tcp_ecn=1",) if d.random.random() < 0.5 else ()
    return d.transfer(
        link={"codel": 1, "queue_bytes": 1000000}, sender_sysctl=settings, receiver_sysctl=settings
    )


@kind
def link_variable(d: Draw) -> Transfer:
    """A bottleneck whose rate falls and rises."""
    d.rate_mbps *= 0.6
    low = round(d.rate_bps * d.real(0.3, 0.7))
    return d.transfer(link={"rate_low_bps": low, "rate_period_ms": d.whole(500, 1500)}, seconds=6)


# Congestion control


@kind
def cwnd_loss(d: Draw) -> Transfer:
    """Random loss."""
    return d.transfer(link={"loss_ppm": int(d.log(1500, 25000))})


@kind
def cwnd_nots(d: Draw) -> Transfer:
    """Random loss, without timestamps."""
    return d.transfer(link={"loss_ppm": int(d.log(3000, 20000))}, receiver_sysctl=(NO_TIMESTAMPS,))


@kind
def cwnd_ack_loss(d: Draw) -> Transfer:
    """Loss of data and of acknowledgments."""
    return d.transfer(link={"loss_ppm": int(d.log(2000, 9000)), "back_loss_ppm": d.whole(10000, 120000)})


@kind
def cwnd_avoidance(d: Draw) -> Transfer:
    """Congestion avoidance below the BDP from a low ssthresh, no loss."""
    d.rate_mbps, d.rtt_ms = d.real(120, 200), d.real(35, 80)
    segments = int(d.real(0.15, 0.4) * d.bdp / SEGMENT)
    return d.transfer(
        route=f"ssthresh lock {segments}", sender_sysctl=("net.ipv4.tcp_no_ssthresh_metrics_save=0",)
    )


@kind
def cwnd_clamp(d: Draw) -> Transfer:
    """A congestion window that its route holds."""
    d.rate_mbps = d.real(60, 160)
    return d.transfer(route=f"cwnd lock {max(8, int(d.real(0.15, 0.5) * d.bdp / SEGMENT))}")


@kind
def cwnd_slow_start(d: Draw) -> Transfer:
    """A transfer that ends before it fills the path."""
    d.rtt_ms, d.rate_mbps = d.real(90, 160), d.real(120, 250)
    return d.transfer(sender={"bytes": d.whole(1500000, 4000000)}, link={"queue_bytes": 6000000})


@kind
def cwnd_paced(d: Draw) -> Transfer:
    """CUBIC under SO_MAX_PACING_RATE."""
    d.cc = "cubic"
    return d.transfer(sender={"max_pace": int(d.real(0.3, 0.8) * d.rate_bps / 8)})


@kind
def cwnd_policer(d: Draw) -> Transfer:
    """A policer: drops beyond a rate, and no queue."""
    police = int(d.real(0.25, 0.6) * d.rate_bps)
    burst = int(max(15000, d.real(0.2, 0.8) * police / 8 * d.rtt_ms / 1000))
    return d.transfer(link={"police_bps": police, "police_burst_bytes": burst})


@kind
def cwnd_timeouts(d: Draw) -> Transfer:
    """Everything lost for a while, again and again: retransmission timeouts."""
    outage = d.whole(3 * d.rtt_ms, 3 * d.rtt_ms + 250)
    return d.transfer(link={"outage_ms": outage, "outage_every_ms": d.whole(1300, 2200)}, seconds=6)


# The application


@kind
def app_on_off(d: Draw) -> Transfer:
    """Bulk and silence."""
    d.rate_mbps *= 0.7
    return d.transfer(
        sender={"pattern": "onoff", "chunk": d.whole(200, 900), "gap_us": d.whole(200000, 700000)}
    )


def paced(d: Draw, chunk: int, gap_us: int, *, absolute: bool = False, **settings: Any) -> Transfer:
    """Write `chunk` bytes every so often."""
    sender = {"pattern": "paced", "chunk": chunk, "gap_us": gap_us, "absolute": int(absolute)}
    return d.transfer(sender=sender, **settings)


@kind
def app_paced(d: Draw) -> Transfer:
    """A block every so often."""
    return paced(d, d.whole(3000, 60000), d.whole(7000, 90000))


@kind
def app_nots(d: Draw) -> Transfer:
    """A block every so often, without timestamps."""
    return paced(d, d.whole(4000, 40000), d.whole(9000, 70000), receiver_sysctl=(NO_TIMESTAMPS,))


@kind
def app_small(d: Draw) -> Transfer:
    """Less than a segment every so often."""
    return paced(d, d.whole(100, 1300), d.whole(1500, 12000))


@kind
def app_nagle(d: Draw) -> Transfer:
    """A block every so often, with Nagle's algorithm."""
    sender = {"pattern": "paced", "chunk": d.whole(2000, 30000), "gap_us": d.whole(7000, 60000), "nagle": 1}
    return d.transfer(sender=sender)


@kind
def app_timer(d: Draw) -> Transfer:
    """A block at a fixed interval near the RTT or a fraction of it, at times with Nagle's algorithm."""
    gap_us = int(d.random.choice([1 / 4, 1 / 3, 1 / 2, 1, 2]) * d.real(0.95, 1.05) * d.rtt_ms * 1000)
    chunk = int(d.real(0.1, 0.5) * d.rate_bps / 8 * gap_us / 1e6)
    sender = {"pattern": "paced", "chunk": chunk, "gap_us": gap_us, "absolute": 1, "nagle": d.whole(0, 1)}
    return d.transfer(sender=sender)


@kind
def app_framed(d: Draw) -> Transfer:
    """A message of three short segments, one after another, every so often."""
    piece = d.whole(100, 1300)
    sender = {"pattern": "paced", "chunk": 3 * piece, "piece": piece, "gap_us": d.whole(3000, 30000)}
    return d.transfer(sender=sender)


def at_rate(d: Draw, share: float) -> Transfer:
    """Write at a share of the link's rate, at a period that is not the RTT's."""
    d.rate_mbps, gap_us = min(d.rate_mbps, 50), d.whole(2000, 15000)
    return paced(d, int(share * d.rate_bps / 8 * SEGMENT / 1538 * gap_us / 1e6), gap_us, absolute=True)


@kind
def app_below_link(d: Draw) -> Transfer:
    """A writer somewhat slower than the link."""
    return at_rate(d, d.real(0.85, 0.95))


@kind
def app_at_link(d: Draw) -> Transfer:
    """A writer about as fast as the link."""
    return at_rate(d, d.real(0.98, 1.06))


@kind
def app_request(d: Draw) -> Transfer:
    """Request and response."""
    chunk = d.whole(8000, 120000)
    sender = {"pattern": "credits", "chunk": chunk, "credits": 1}
    return d.transfer(sender=sender, receiver={"reply": chunk, "think_us": d.whole(0, 8000)})


@kind
def app_credits(d: Draw) -> Transfer:
    """A few blocks outstanding, one more for every reply, as SFTP and SMB do."""
    credits_ = d.whole(3, 8)
    chunk = int(max(3000, d.real(0.2, 0.6) * d.bdp / credits_))
    sender = {"pattern": "credits", "chunk": chunk, "credits": credits_}
    return d.transfer(sender=sender, receiver={"reply": chunk})


# Limits that change


@kind
def change_sender(d: Draw) -> Transfer:
    """Bulk, a pacing application and a small send buffer, in some order."""
    d.rate_mbps = d.real(30, 90)
    small = int(d.real(0.15, 0.4) * d.bdp)
    phases = [
        f"{d.whole(1100, 1900)}:bulk:0:0:4000000",
        f"{d.whole(900, 1600)}:paced:{d.whole(5000, 30000)}:{d.whole(9000, 40000)}:4000000",
        f"{d.whole(1000, 1800)}:bulk:0:0:{small}",
    ]
    d.random.shuffle(phases)
    return d.transfer(sender={"write": 14480, "phases": ",".join(phases)}, seconds=6)


@kind
def change_receiver(d: Draw) -> Transfer:
    """A reader that is fast, then slow."""
    d.rate_mbps = d.real(20, 70)
    slow = int(d.real(0.15, 0.6) * d.rate_bps / 8)
    phases = f"{d.whole(1000, 2000)}:0,{d.whole(1000, 2000)}:{slow}"
    return d.transfer(window=d.real(1.5, 3) * d.bdp, receiver={"chunk": 16384, "phases": phases}, seconds=6)


# The path


def uneven(d: Draw) -> dict[str, int]:
    """Share the round trip unevenly."""
    there = d.real(0.1, 0.35) if d.random.random() < 0.5 else d.real(0.65, 0.9)
    return {
        "delay_us": round(d.rtt_ms * 1000 * there),
        "back_delay_us": round(d.rtt_ms * 1000 * (1 - there)),
    }


@kind
def path_uneven_rwnd(d: Draw) -> Transfer:
    """One way longer than the other."""
    return d.transfer(link=uneven(d), window=d.real(0.2, 0.7) * d.bdp)


@kind
def path_uneven_sndbuf(d: Draw) -> Transfer:
    """One way longer than the other."""
    return small_sndbuf(d, 0.15, 0.4, {"write": SEGMENT * d.whole(3, 12)}, link=uneven(d))


@kind
def path_uneven_link(d: Draw) -> Transfer:
    """One way longer than the other."""
    d.rate_mbps *= 0.6
    return d.transfer(link=uneven(d))


@kind
def path_return_bottleneck(d: Draw) -> Transfer:
    """Acknowledgments that queue on their way back."""
    d.rate_mbps = d.real(20, 60)
    need = d.rate_bps * 114 / 2 / 1538  # a 90-byte frame and its gaps for every two segments
    link = {"back_rate_bps": round(need * d.real(0.4, 0.9)), "back_queue_bytes": int(max(60000, d.bdp))}
    return d.transfer(link=link, window=d.real(0.5, 1.5) * d.bdp)


@kind
def path_return_congested(d: Draw) -> Transfer:
    """A bulk transfer whose acknowledgments fill a slow link on their way back, and are lost there."""
    d.rate_mbps = d.real(20, 60)
    need = d.rate_bps * 114 / 2 / 1538  # a 90-byte frame and its gaps for every two segments
    return d.transfer(
        link={"back_rate_bps": round(need * d.real(0.3, 0.8)), "back_queue_bytes": d.whole(3000, 30000)}
    )


@kind
def path_jitter_rwnd(d: Draw) -> Transfer:
    """A delay that wanders."""
    return d.transfer(link={"jitter_us": d.whole(2000, 6000)}, window=d.real(0.2, 0.7) * d.bdp)


@kind
def path_jitter_link(d: Draw) -> Transfer:
    """A delay that wanders."""
    d.rate_mbps *= 0.6
    return d.transfer(link={"jitter_us": d.whole(2000, 6000)})


def reordering(d: Draw) -> dict[str, int]:
    """Let some segments be overtaken."""
    return {"reorder_ppm": int(d.log(500, 20000)), "reorder_us": d.whole(500, 4000)}


@kind
def path_reorder_rwnd(d: Draw) -> Transfer:
    """Segments that overtake each other."""
    return d.transfer(link=reordering(d), window=d.real(0.2, 0.7) * d.bdp)


@kind
def path_reorder_link(d: Draw) -> Transfer:
    """Segments that overtake each other."""
    d.rate_mbps *= 0.6
    return d.transfer(link=reordering(d))


def thinning(d: Draw) -> dict[str, int]:
    """Merge acknowledgments."""
    return {"back_thin": d.whole(3, 10), "back_thin_us": d.whole(1000, 8000)}


@kind
def path_thin_rwnd(d: Draw) -> Transfer:
    """A middlebox that merges acknowledgments."""
    return d.transfer(link=thinning(d), window=d.real(0.3, 0.7) * d.bdp)


@kind
def path_thin_link(d: Draw) -> Transfer:
    """A middlebox that merges acknowledgments."""
    d.rate_mbps *= 0.6
    return d.transfer(link=thinning(d))


@kind
def path_thin_loss(d: Draw) -> Transfer:
    """A middlebox that merges acknowledgments, and loss."""
    return d.transfer(link=thinning(d) | {"loss_ppm": int(d.log(1500, 15000))})


@kind
def path_ipv6_rwnd(d: Draw) -> Transfer:
    """IPv6."""
    return d.transfer(window=d.real(0.2, 0.7) * d.bdp, v6=1, snap=128)


@kind
def path_ipv6_link(d: Draw) -> Transfer:
    """IPv6."""
    d.rate_mbps *= 0.7
    return d.transfer(v6=1, snap=128)


# Less than the SYNs say


def small_mtu(d: Draw, **settings: Any) -> Transfer:
    """Take a path MTU below the MSS of both SYNs, as path MTU discovery leaves it."""
    mtu = d.random.choice([1280, 1400, 1420, 1492])
    return d.transfer(route=f"mtu {mtu} advmss 1460", **settings)


@kind
def mtu_rwnd(d: Draw) -> Transfer:
    """A path MTU below the MSS, and a small window."""
    return small_mtu(d, window=d.real(0.2, 0.7) * d.bdp)


@kind
def mtu_link(d: Draw) -> Transfer:
    """A path MTU below the MSS, and a full link."""
    d.rate_mbps *= 0.6
    return small_mtu(d)


@kind
def mtu_loss(d: Draw) -> Transfer:
    """A path MTU below the MSS, and loss."""
    return small_mtu(d, link={"loss_ppm": int(d.log(1500, 15000))})


@kind
def mtu_sndbuf(d: Draw) -> Transfer:
    """A path MTU below the MSS, and a small send buffer."""
    d.rate_mbps *= 2
    return small_mtu(d, sender={"sndbuf": int(d.real(0.12, 0.4) * d.bdp), "write": d.whole(4000, 40000)})


def jumbo(d: Draw, **settings: Any) -> Transfer:
    """Take hosts with jumbo frames over a path of 1,500 bytes."""
    return d.transfer(host_mtu=9000, route="mtu 1500 advmss 8960", **settings)


@kind
def jumbo_link(d: Draw) -> Transfer:
    """Jumbo hosts, and a full link."""
    d.rate_mbps *= 0.6
    return jumbo(d)


@kind
def jumbo_loss(d: Draw) -> Transfer:
    """Jumbo hosts, and loss."""
    return jumbo(d, link={"loss_ppm": int(d.log(1500, 15000))})


@kind
def jumbo_sndbuf(d: Draw) -> Transfer:
    """Jumbo hosts, and a small send buffer."""
    d.rate_mbps *= 2
    return jumbo(d, sender={"sndbuf": int(d.real(0.12, 0.4) * d.bdp), "write": d.whole(4000, 40000)})


# Another TCP stack receives: gVisor's


@kind
def netstack_rwnd(d: Draw) -> Transfer:
    """A receive buffer of gVisor's netstack below the BDP."""
    return d.transfer(receiver={"rcvbuf": int(d.real(0.2, 0.7) * d.bdp)}, netstack=True)


@kind
def netstack_link(d: Draw) -> Transfer:
    """A full link to gVisor's netstack."""
    d.rate_mbps *= 0.6
    return d.transfer(netstack=True)


@kind
def netstack_loss(d: Draw) -> Transfer:
    """Random loss on the way to gVisor's netstack."""
    return d.transfer(link={"loss_ppm": int(d.log(1500, 15000))}, netstack=True)


# Window scales that a middlebox changes. Big buffers: the raw field is what is left of the window.


def changed_scale(d: Draw, change: int, window: tuple[int, int], **settings: Any) -> Transfer:
    """Change the shift of the receiver's SYN-ACK on its way back."""
    d.rate_mbps = d.real(60, 120)
    return d.transfer(
        link={"back_scale": change, "queue_bytes": 2000000}, window=d.whole(*window), **settings
    )


@kind
def scale_stripped(d: Draw) -> Transfer:
    """No scale arrives: the sender takes the field as it stands, 8 to 64 times too small."""
    return changed_scale(d, 99, (500000, 2000000), seconds=6)


@kind
def scale_lowered(d: Draw) -> Transfer:
    """A smaller scale arrives."""
    return changed_scale(d, -d.whole(1, 2), (150000, 800000))


@kind
def scale_raised(d: Draw) -> Transfer:
    """A larger scale arrives: more is in flight than was ever advertised."""
    d.rtt_ms = d.real(30, 90)
    return changed_scale(d, d.whole(1, 2), (40000, 110000))


# The capture


@kind
def tap_near_rwnd(d: Draw) -> Transfer:
    """The tap between stands near the sender."""
    return d.transfer(link={"tap_percent": 10, "back_tap_percent": 90}, window=d.real(0.2, 0.7) * d.bdp)


@kind
def tap_near_link(d: Draw) -> Transfer:
    """The tap between stands near the sender."""
    d.rate_mbps *= 0.6
    return d.transfer(link={"tap_percent": 10, "back_tap_percent": 90, "bottleneck_percent": 30})


@kind
def tap_far_sndbuf(d: Draw) -> Transfer:
    """The tap between stands near the receiver."""
    place = {"tap_percent": 90, "back_tap_percent": 10}
    return small_sndbuf(d, 0.15, 0.4, {"write": SEGMENT * d.whole(3, 12)}, link=place)


@kind
def tap_far_link(d: Draw) -> Transfer:
    """The tap between stands near the receiver."""
    d.rate_mbps *= 0.6
    return d.transfer(link={"tap_percent": 90, "back_tap_percent": 10})


def host_delay(d: Draw) -> dict[str, float]:
    """Delay data on the sending host, before its capture; acknowledgments pass the tap last of all."""
    share = d.whole(30, 90)
    return {"tap_percent": share, "bottleneck_percent": share, "back_tap_percent": 100}


@kind
def tap_host_delay_rwnd(d: Draw) -> Transfer:
    """The sending host delays what it sends, and captures afterwards."""
    return d.transfer(link=host_delay(d), window=d.real(0.2, 0.7) * d.bdp, host_delay=True)


@kind
def tap_host_delay_sndbuf(d: Draw) -> Transfer:
    """The sending host delays what it sends, and captures afterwards."""
    sender = {"write": SEGMENT * d.whole(3, 12)}
    return small_sndbuf(d, 0.15, 0.4, sender, link=host_delay(d), host_delay=True)


@kind
def tap_host_delay_link(d: Draw) -> Transfer:
    """The sending host delays what it sends, and captures afterwards."""
    d.rate_mbps *= 0.6
    return d.transfer(link=host_delay(d), host_delay=True)


def lossy_tap(d: Draw) -> dict[str, int]:
    """Lose packets of the capture, singly or in bursts."""
    return {"lose_ppm": int(d.log(300, 5000)), "burst_packets": d.random.choice([1, 5, 40])}


@kind
def tap_drops_rwnd(d: Draw) -> Transfer:
    """A capture that lost packets."""
    return d.transfer(window=d.real(0.2, 0.7) * d.bdp, tap=lossy_tap(d))


@kind
def tap_drops_link(d: Draw) -> Transfer:
    """A capture that lost packets."""
    d.rate_mbps *= 0.6
    return d.transfer(tap=lossy_tap(d))


@kind
def tap_drops_cwnd(d: Draw) -> Transfer:
    """A capture that lost packets, and a network that did."""
    return d.transfer(link={"loss_ppm": int(d.log(1500, 15000))}, tap=lossy_tap(d))


@kind
def tap_drops_sndbuf(d: Draw) -> Transfer:
    """A capture that lost packets."""
    return small_sndbuf(d, 0.15, 0.4, {"write": SEGMENT * d.whole(3, 12)}, tap=lossy_tap(d))


def late(d: Draw) -> dict[str, int]:
    """Begin the capture after the handshake."""
    return {"begin_ms": d.whole(300, 1500)}


@kind
def tap_midstream_rwnd(d: Draw) -> Transfer:
    """A capture without the handshake."""
    return d.transfer(window=d.real(0.2, 0.7) * d.bdp, tap=late(d))


@kind
def tap_midstream_sndbuf(d: Draw) -> Transfer:
    """A capture without the handshake."""
    return small_sndbuf(d, 0.15, 0.4, {"write": SEGMENT * d.whole(3, 12)}, tap=late(d))


@kind
def tap_midstream_link(d: Draw) -> Transfer:
    """A capture without the handshake."""
    d.rate_mbps *= 0.6
    return d.transfer(tap=late(d))


# Offload: frames larger than the path carries, captured where one host has not cut or has already merged them.

TSO = {"vnet": 1}
GRO = {"napi": 1}


@kind
def offload_send_sndbuf(d: Draw) -> Transfer:
    """Segmentation left to the sender's interface."""
    return small_sndbuf(d, 0.15, 0.5, {"write": SEGMENT * 10}, link=TSO)


@kind
def offload_send_link(d: Draw) -> Transfer:
    """Segmentation left to the sender's interface."""
    d.rate_mbps *= 0.7
    return d.transfer(link=TSO)


@kind
def offload_send_rwnd(d: Draw) -> Transfer:
    """Segmentation left to the sender's interface."""
    return d.transfer(link=TSO, window=d.real(0.2, 0.7) * d.bdp)


@kind
def offload_receive_rwnd(d: Draw) -> Transfer:
    """Segments merged by the receiver's interface."""
    d.rate_mbps = d.real(60, 150)
    return d.transfer(link=GRO, window=d.real(0.2, 0.7) * d.bdp, gro_flush_ns=400000)


@kind
def offload_receive_loss(d: Draw) -> Transfer:
    """Segments merged by the receiver's interface, and loss."""
    d.rate_mbps = d.real(60, 150)
    return d.transfer(link=GRO | {"loss_ppm": int(d.log(2000, 9000))}, gro_flush_ns=400000)
