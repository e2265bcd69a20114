"""TLS alerts that end a handshake: their names, and advice."""

from __future__ import annotations

from typing import Final

__all__ = ["advice", "name"]

_NAMES: Final = {
    10: "unexpected_message",
    20: "bad_record_mac",
    22: "record_overflow",
    40: "handshake_failure",
    42: "bad_certificate",
    43: "unsupported_certificate",
    44: "certificate_revoked",
    45: "certificate_expired",
    46: "certificate_unknown",
    47: "illegal_parameter",
    48: "unknown_ca",
    49: "access_denied",
    50: "decode_error",
    51: "decrypt_error",
    70: "protocol_version",
    71: "insufficient_security",
    80: "internal_error",
    86: "inappropriate_fallback",
    109: "missing_extension",
    110: "unsupported_extension",
    112: "unrecognized_name",
    115: "unknown_psk_identity",
    116: "certificate_required",
    120: "no_application_protocol",
}
"""Names of alerts by their descriptions (RFC 8446 section 6)."""

_WORKED: Final = "TCP worked."
_ANY: Final = "See in the log of either end what it did not accept."
_CERTIFICATE: Final = "The {} did not accept the certificate of the {}: see in its log why."
_PLAIN: Final = "The {} got no TLS: the {} may speak plain text there, as on a port without TLS."
_ADVICE: Final = {
    22: _PLAIN,
    40: "No set of parameters suited both ends: compare the ciphers, groups and certificates that each allows.",
    42: _CERTIFICATE,
    45: "The {} found the certificate of the {} expired: renew it, or set the clock of the end that checked it.",
    46: _CERTIFICATE,
    48: "The {} does not trust the issuer of the certificate of the {}. If it should, install the issuer's certificate "
    "there, or send the missing ones of the chain.",
    70: "See which TLS versions both ends allow.",
    112: "The server knows no host of the name that the client asked for (SNI): check that name.",
    120: "Both ends share no application protocol (ALPN): see which ones each allows.",
}
"""Advice by description; the places are for the sender of the alert and the other end (RFC 8446 section 6.2)."""


def name(description: int) -> str:
    """Return the name of an alert; of an unknown one its number."""
    return _NAMES.get(description, str(description))


def advice(description: int | None, *, by_client: bool) -> str:
    """Return the advice on a handshake that an alert of the client, or else of the server, ended; None if several did."""
    ends = ("client", "server") if by_client else ("server", "client")
    words = _ANY if description is None else _ADVICE.get(description, _ANY)
    return f"{_WORKED} {words.format(*ends)}"
