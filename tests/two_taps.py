"""A transfer that is captured at both ends of a path: what passes a tap, and what a clock shows there, is chosen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from packets import Address, Packet, pcap, tcp_packet
from scenario import options as encoded

if TYPE_CHECKING:
    from pathlib import Path

CLIENT, SERVER = Address("192.0.2.1", 40000), Address("198.51.100.2", 5001)
START_NS = 1_700_000_000 * 10**9
MS = 1_000_000
MSS = 1000
SYN_OPTIONS = "mss 1460,sackOK,TS val {} ecr 0,nop,wscale 7"


@dataclass
class Taps:
    """Two captures of one connection; the client sends, and stands beside the sender's tap."""

    forward_ns: int = 10 * MS
    reverse_ns: int = 10 * MS
    offset_ns: int = 0
    drift: float = 0.0
    """What the receiver's clock shows more than the sender's: at the start, and in every second."""
    translated: Address = CLIENT
    """The client at the receiver's tap."""
    isn: tuple[int, int] = (1_000, 4_294_960_000)
    rewritten: tuple[int, int] = (0, 0)
    """What is added on the way to the sequence numbers of client and server."""
    sender: list[Packet] = field(default_factory=list)
    receiver: list[Packet] = field(default_factory=list)

    def send(self, at_ns, start, length=MSS, *, seen="both", queue_ns=0, **more):
        """Send from the client; `seen` is both, sender, receiver or neither: the taps that see the packet."""
        self._pass(at_ns, at_ns + self.forward_ns + queue_ns, seen, True, start, length, **more)

    def answer(self, at_ns, number, *, start=1, length=0, seen="both", queue_ns=0, **more):
        """Acknowledge from the server, with or without data, at a time of its tap, which is the first one passed."""
        self._pass(at_ns + self.reverse_ns + queue_ns, at_ns, seen, False, start, length, ack=number, **more)

    def handshake(self, at_ns=0, *, syn=SYN_OPTIONS, seen_syn=None, seen="both"):
        """Open; `seen_syn` are the options that the receiver's tap sees."""
        first, second = syn.format(77), SYN_OPTIONS.format(99)
        self.send(at_ns, 0, 0, flags=2, ack=None, options=first, options_there=seen_syn, seen=seen)
        answered = at_ns + self.forward_ns + 1000
        self._pass(answered + self.reverse_ns, answered, seen, False, 0, 0, flags=18, ack=1, options=second)

    def transfer(self, segments, at_ns=50 * MS, gap_ns=10 * MS, **more):
        """Send segments one after the other, each of them acknowledged as it comes."""
        for number in range(segments):
            sent = at_ns + number * gap_ns
            self.send(sent, 1 + number * MSS, **more)
            self.answer(sent + self.forward_ns + 1000, 1 + (number + 1) * MSS)

    def clock(self, time_ns):
        """Return what the receiver's clock shows."""
        return time_ns + self.offset_ns + round(self.drift * time_ns)

    def files(self, where: Path) -> tuple[Path, Path]:
        """Write both captures."""
        made = where / "sender.pcap", where / "receiver.pcap"
        for file, packets in zip(made, (self.sender, self.receiver), strict=True):
            file.write_bytes(pcap(sorted(packets, key=lambda packet: packet.time_ns)))
        return made

    def _pass(
        self, here_ns, there_ns, seen, outward, start, length,
        *, flags=16, ack=1, options="", options_there=None,
    ):  # fmt: skip
        own, peer = (0, 1) if outward else (1, 0)
        for tap, time_ns in (("sender", here_ns), ("receiver", self.clock(there_ns))):
            if seen not in ("both", tap):
                continue
            there = tap == "receiver"
            moved = [isn + self.rewritten[side] * there for side, isn in enumerate(self.isn)]
            client = self.translated if there else CLIENT
            chosen = options_there if there and options_there is not None else options
            packet = tcp_packet(
                START_NS + time_ns,
                *((client, SERVER) if outward else (SERVER, client)),
                seq=moved[own] + start,
                ack=0 if ack is None else moved[peer] + ack,
                flags=flags,
                window=60_000,
                payload_bytes=length,
                options=encoded(chosen, moved[peer]),
            )
            (self.receiver if there else self.sender).append(packet)


def lossless(**how):
    """Return a transfer of 40 segments that arrives whole."""
    taps = Taps(**how)
    taps.handshake()
    taps.transfer(40)
    return taps


__all__ = ["CLIENT", "MS", "MSS", "SERVER", "START_NS", "Taps", "lossless"]
