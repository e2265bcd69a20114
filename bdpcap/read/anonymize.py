"""Pseudonyms for the addresses, files, interfaces and comments of a capture.

A `Capture` takes its pseudonyms when it is made, so no table, figure or report made from it can show a true name.
This is pseudonymisation: the same thing always has the same pseudonym, and times, sizes and ports stay as they are.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from typing import TYPE_CHECKING, Any, Final

from bdpcap.errors import ArgumentError, wanted

if TYPE_CHECKING:
    from bdpcap.read.facts import CaptureInfo, Damage

__all__ = ["KEY_BYTES", "Pseudonyms"]

KEY_BYTES: Final = 32
"""Length of a key: 16 bytes for AES, and 16 bytes that are encrypted to give the padding (Xu et al. 2002, section 4)."""

LEFT_OUT: Final = "(left out)"

_FIRST: Final = {
    # Reserved addresses (RFC 1112 section 4) are never in use, so no pseudonym can be taken for a true address.
    4: int(ipaddress.IPv4Address("240.0.0.0")),
    # Documentation prefix (RFC 9637).
    6: int(ipaddress.IPv6Address("3fff::")),
}
_LOCAL_UNICAST_MAC: Final = 0x02 << 40
_MAC_BYTES: Final = 6
_OUTER: Final = re.compile(r"(?<=\bIP )(\S+) > (\S+)")


class Pseudonyms:
    """Pseudonyms, numbered in the order of the requests; the same thing always has the same pseudonym.

    Parameters
    ----------
    key
        32 secret bytes. With a key addresses keep their prefixes: two addresses that share their first n bits have
        pseudonyms that share n bits. Under one key an address has the same pseudonym in every capture (Crypto-PAn:
        Xu, Fan, Ammar, Moon, "Prefix-Preserving IP Address Anonymization", ICNP 2002). Without a key addresses are
        numbered.

    Raises
    ------
    ArgumentError
        The key is of another type or length.
    ModuleNotFoundError
        A key needs yacryptopan: the extra ``bdpcap[anonymize]``.

    Examples
    --------
    >>> capture = bdpcap.analyze(
    ...     "sample_captures/linux61_advwinscale2_w50000.pcap.zst", pseudonyms=bdpcap.Pseudonyms()
    ... )
    >>> capture[0].sender
    '240.0.0.1:54348'
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._known: dict[tuple[str, Any], Any] = {}
        self._counts: dict[str, int] = {}
        self._prefix_preserving = None
        if key is not None:
            if not isinstance(key, bytes) or len(key) != KEY_BYTES:  # the text never shows the secret
                raise ArgumentError(f"a key is {KEY_BYTES} bytes, as secrets.token_bytes({KEY_BYTES}) gives")
            from yacryptopan import CryptoPAn  # noqa: PLC0415 - an optional dependency

            self._prefix_preserving = CryptoPAn(key)

    def _number(self, kind: str, thing: Any) -> int:
        """Return the number of a thing among the things of its kind, counted from 1."""
        if (kind, thing) not in self._known:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._known[kind, thing] = self._counts[kind]
        number: int = self._known[kind, thing]
        return number

    def address(self, text: str) -> str:
        """Return the pseudonym of an IPv4 or IPv6 address.

        Examples
        --------
        >>> names = bdpcap.Pseudonyms()
        >>> names.address("192.0.2.1"), names.address("192.0.2.2"), names.address("192.0.2.1")
        ('240.0.0.1', '240.0.0.2', '240.0.0.1')
        """
        try:
            true = ipaddress.ip_address(text)
        except ValueError:
            raise ArgumentError(f"{text!r} is no address: give one such as 192.0.2.1") from None
        return str(type(true)(self._address(int(true), true.version)))

    def _address(self, value: int, version: int) -> int:
        if self._prefix_preserving is None:
            return _FIRST[version] + self._number(f"IPv{version}", value)
        kind = (f"Crypto-PAn IPv{version}", value)
        if kind not in self._known:
            self._known[kind] = self._prefix_preserving.anonymize_bin(value, version)
        named: int = self._known[kind]
        return named

    def packed(self, address: bytes) -> bytes:
        """Return the pseudonym of an address in packet form: 4 bytes are IPv4, 6 a MAC address, 16 IPv6.

        Examples
        --------
        >>> bdpcap.Pseudonyms().packed(bytes([192, 0, 2, 1])).hex()
        'f0000001'
        """
        fits = isinstance(address, bytes) and len(address) in (4, _MAC_BYTES, 16)
        wanted("address", address, f"4, {_MAC_BYTES} or 16 bytes", fits=fits)
        value = int.from_bytes(address)
        if len(address) == _MAC_BYTES:
            return (_LOCAL_UNICAST_MAC + self._number("MAC", value)).to_bytes(_MAC_BYTES)
        return self._address(value, 4 if len(address) == 4 else 6).to_bytes(len(address))

    def endpoint(self, end: str) -> str:
        """Return the pseudonym of ``address:port``, IPv6 in brackets. The port stays as it is.

        Examples
        --------
        >>> bdpcap.Pseudonyms().endpoint("[2001:db8::1]:443")
        '[3fff::1]:443'
        """
        wanted("end", end, "an address with its port, such as 192.0.2.1:80", fits=isinstance(end, str))
        address, _, port = end.rpartition(":")
        if address.startswith("["):
            return f"[{self.address(address[1:-1])}]:{port}"
        return f"{self.address(address)}:{port}"

    def file(self, name: str) -> str:
        """Return the pseudonym of a capture file.

        Examples
        --------
        >>> bdpcap.Pseudonyms().file("secret-site.pcap")
        'capture-1'
        """
        return f"capture-{self._number('file', name)}"

    def directions(self, directions: dict[str, Any]) -> dict[str, Any]:
        """Return the core's columns about directions with pseudonyms for senders and receivers.

        Examples
        --------
        >>> bdpcap.Pseudonyms().directions({"sender": ["192.0.2.1:80"], "payload_bytes": [28]})
        {'sender': ['240.0.0.1:80'], 'payload_bytes': [28]}
        """
        sides = [side for side in ("sender", "receiver") if side in directions]
        renamed: dict[str, Any] = {side: [self.endpoint(end) for end in directions[side]] for side in sides}
        return {**directions, **renamed}

    def damage(self, damage: Damage) -> Damage:
        """Return the damage with a pseudonym for its file.

        Examples
        --------
        >>> damage = bdpcap.Damage("secret-site.pcap", frame=7, offset=1024, reason="the file ends inside a frame")
        >>> print(bdpcap.Pseudonyms().damage(damage))
        capture-1: frame 7, byte 1024: the file ends inside a frame
        """
        return dataclasses.replace(damage, file=self.file(damage.file))

    def info(self, info: CaptureInfo) -> CaptureInfo:
        """Return the facts of a capture with pseudonyms for all names, and without comments, descriptions and filters.

        Examples
        --------
        >>> bdpcap.Pseudonyms().info(capture.info).files
        ['capture-1']
        """
        return dataclasses.replace(
            info,
            files=[self.file(name) for name in info.files],
            interfaces=[self._interface(interface) for interface in info.interfaces],
            comments=[f"comment {self._number('comment', comment)} {LEFT_OUT}" for comment in info.comments],
            paths={self._path(path): count for path, count in sorted(info.paths.items())},
        )

    def _interface(self, interface: dict[str, Any]) -> dict[str, Any]:
        renamed = {name: LEFT_OUT for name in ("description", "filter") if interface.get(name) is not None}
        if interface.get("name") is not None:
            renamed["name"] = f"interface-{self._number('interface', interface['name'])}"
        return {**interface, **renamed}

    def _path(self, path: str) -> str:
        """Return a path of tags and tunnels with pseudonyms for the addresses of outer headers."""
        return _OUTER.sub(lambda outer: f"{self.address(outer[1])} > {self.address(outer[2])}", path)
