"""Quantities as typed: powers of 1000 and of 1024, bits and bytes, are never taken for one another."""

import contextlib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdpcap.words import quantities

READ = {
    quantities.rate: {
        "100Mbit/s": 10**8,
        "100 Mb/s": 10**8,
        "100Mbps": 10**8,
        "12.5MB/s": 10**8,
        "100Mibit/s": 100 * 2**20,
        "1GiB/s": 2**33,
        "9600 bit/s": 9600,
        "1e3 bytes/s": 8000,
        # As tc reads them, in any case.
        "1gbit": 10**9,
        "10mbit": 10**7,
        "100Kbit/s": 10**5,
        "5mibit": 5 * 2**20,
        # As iperf reads them after -b.
        "100M": 10**8,
        "1g": 10**9,
        "500k": 500_000,
    },
    quantities.size: {
        "65536": 65536,
        "64KiB": 65536,
        "64kB": 64000,
        "1GByte": 10**9,
        "8kbit": 1000,
        "8Kibit": 1024,
        "1.5MiB": 3 * 2**19,
        # As tc reads them, and iperf 2 and iperf 3 after -w.
        "64K": 65536,
        "2M": 2**21,
        "1mbit": 125_000,
    },
    quantities.duration: {
        "25ms": Fraction(1, 40),
        "0.3 s": Fraction(3, 10),
        "10us": Fraction(1, 10**5),
        "10µs": Fraction(1, 10**5),
        "2h": 7200,
        # As tc reads them.
        "50msec": Fraction(1, 20),
        "2secs": 2,
    },
    quantities.fraction: {"0.01%": Fraction(1, 10**4), "1e-4": Fraction(1, 10**4), "1": 1},
}


@pytest.mark.parametrize(
    ("read", "text", "value"), [(read, *case) for read, cases in READ.items() for case in cases.items()]
)
def test_a_quantity_is_read_exactly(read, text, value):
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text", "says"),
    [
        (quantities.size, "64k", "1024 to tc and iperf3, in 1000 to iperf2: write KiB or kB"),
        (quantities.size, "64KB", "write kB or KiB"),
        (quantities.size, "64kb", "bytes to tc and bits to others: write kB or kbit"),
        (quantities.size, "8b", "bytes to tc and bits to others: write B or bit"),
        (quantities.rate, "64KB/s", "write kB or KiB"),
        (quantities.rate, "12mb/s", "write Mbit or MB"),
        (quantities.rate, "5bps", "write 5bit for bits, or 5B/s for bytes"),
        (quantities.rate, "500 kbps", "write 500kbit for bits, or 500kB/s for bytes"),
        (quantities.rate, "100M/s", "neither bits nor bytes"),
        (
            quantities.rate,
            "100mbps",
            "bytes to tc and bits to others: write 100mbit for bits, or 100MB/s for bytes",
        ),
        (quantities.rate, "100", "bits or bytes per second"),
        (quantities.rate, "100MB", "bits or bytes per second"),
        (quantities.rate, "100ms", "bits or bytes per second"),
        (quantities.duration, "25", "ns, us"),
        (quantities.duration, "25MS", "ns, us"),
        (quantities.duration, "0ms", "above zero"),
        (quantities.fraction, "1.5", "no share"),
        (quantities.size, "-5", "cannot read"),
        (quantities.size, "", "cannot read"),
        (quantities.size, "5parsec", "cannot read the unit"),
        (quantities.size, "٣kB", "cannot read"),
    ],
)
def test_what_could_be_read_in_two_ways_or_none_is_refused(read, text, says):
    with pytest.raises(ValueError, match=says):
        read(text)


@given(st.text(max_size=20))
def test_any_text_is_a_value_or_refused(text):
    for read in READ:
        with contextlib.suppress(ValueError):
            assert read(text) > 0


@given(st.integers(1, 10**6), st.sampled_from("kMGT"))
def test_binary_prefixes_exceed_decimal_ones_by_what_they_should(number, prefix):
    binary = {"k": "Ki"}.get(prefix, f"{prefix}i")
    power = "kMGT".index(prefix) + 1
    ratio = quantities.size(f"{number}{binary}B") / quantities.size(f"{number}{prefix}B")
    assert ratio == Fraction(1024, 1000) ** power


def test_the_binary_reading_stands_beside_bytes():
    assert quantities.kib(Fraction(65536)) == "64 KiB"
    assert quantities.kib(Fraction(100_000)) == "97.7 KiB"
    assert quantities.kib(Fraction(1023)) == "1023 B"
