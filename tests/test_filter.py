"""Capture filters: libpcap's own ``offline_filter`` is the oracle for the core's executor."""

import ctypes
import struct
import sys
from functools import cache
from ipaddress import ip_address

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bdpcap._core import filter_matches
from bdpcap.read import filter as capture_filter
from bdpcap.read.filter import FilterError, compile_filter

try:
    import libpcap
except OSError:
    pytest.skip("the package libpcap asks for the system's", allow_module_level=True)

libpcap.config(LIBPCAP="tcpdump")  # the wheel's own copy, whatever the system has

ETHERNET, NULL, RAW, LINUX_SLL, LINUX_SLL2 = 1, 0, 101, 113, 276
IP, IP6, VLAN, QINQ, MPLS, PPPOE = 0x0800, 0x86DD, 0x8100, 0x88A8, 0x8847, 0x8864
TCP, UDP, HOP_BY_HOP, AUTHENTICATION = 6, 17, 0, 51
ALICE, BOB, CAROL = "10.0.0.1", "10.0.0.2", "192.168.7.9"
ALICE6, BOB6 = "2001:db8::1", "2001:db8:1::2"


def tcp(source=40000, destination=80, flags=0x10, payload=b""):
    return struct.pack("!HHIIBBHHH", source, destination, 1, 2, 0x50, flags, 1000, 0, 0) + payload


def udp(source=40000, destination=53, payload=b""):
    return struct.pack("!HHHH", source, destination, 8 + len(payload), 0) + payload


def ipv4(payload, protocol=TCP, source=ALICE, destination=BOB, options=b"", fragment=0):
    first = 0x40 | (5 + len(options) // 4)
    length = 20 + len(options) + len(payload)
    header = struct.pack("!BBHHHBBH", first, 0, length, 1, fragment, 64, protocol, 0)
    return header + ip_address(source).packed + ip_address(destination).packed + options + payload


def ipv6(payload, protocol=TCP, source=ALICE6, destination=BOB6):
    header = struct.pack("!IHBB", 6 << 28, len(payload), protocol, 64)
    return header + ip_address(source).packed + ip_address(destination).packed + payload


def hop_by_hop(payload, protocol=TCP):
    return bytes([protocol, 0, 1, 4, 0, 0, 0, 0]) + payload


def authentication(payload, protocol=TCP):
    return bytes([protocol, 1, 0, 0]) + bytes(8) + payload


def ethernet(payload, kind=IP, vlans=()):
    tags = b"".join(struct.pack("!HH", tag, vlan) for tag, vlan in vlans)
    return bytes.fromhex("020000000002020000000001") + tags + struct.pack("!H", kind) + payload


def mpls(payload, label=100):
    return ethernet(struct.pack("!I", label << 12 | 1 << 8 | 64) + payload, MPLS)


def pppoe(payload, session=7, protocol=0x21):
    return ethernet(struct.pack("!BBHHH", 0x11, 0, session, len(payload) + 2, protocol) + payload, PPPOE)


ACCEPTED = {
    "": b"",
    "tcp port 5001": ethernet(ipv4(tcp(destination=5001))),
    "src port 5001 or dst port 5001": ethernet(ipv4(udp(5001), UDP)),
    "portrange 5000-5010": ethernet(ipv6(tcp(5005), TCP), IP6),
    "tcp portrange 79-81 and not port 80": ethernet(ipv4(tcp(81, 79))),
    "udp": ethernet(ipv4(udp(), UDP)),
    "ip6": ethernet(ipv6(tcp()), IP6),
    "ip6 and tcp port 80": ethernet(ipv6(tcp()), IP6),
    "host 10.0.0.2": ethernet(ipv4(tcp())),
    "src host 10.0.0.1 and dst host 10.0.0.2": ethernet(ipv4(tcp())),
    "not host 10.0.0.1": ethernet(ipv4(tcp(), source=CAROL)),
    "host 2001:db8::1": ethernet(ipv6(tcp()), IP6),
    "net 192.168.0.0/16": ethernet(ipv4(tcp(), destination=CAROL)),
    "dst net 10 and src net 192.168.7": ethernet(ipv4(tcp(), source=CAROL)),
    "net 2001:db8:1::/48": ethernet(ipv6(tcp()), IP6),
    "ether host 02:00:00:00:00:01": ethernet(b"", 0x88CC),
    "tcp[13] & 2 != 0": ethernet(ipv4(tcp(flags=2))),
    "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0 and not src net 192.168.7.0/24": ethernet(ipv4(tcp(flags=1))),
    "tcp[((tcp[12] & 0xf0) >> 2):4] = 0x47455420": ethernet(ipv4(tcp(payload=b"GET /"), options=bytes(8))),
    "ip[2:2] - ((ip[0] & 0xf) << 2) - ((tcp[12] & 0xf0) >> 2) != 0": ethernet(ipv4(tcp(payload=b"x"))),
    "ip[8] * 2 / 3 % 5 ^ 1 | 8 > 1": ethernet(ipv4(tcp())),
    "ip[6:2] & 0x1fff != 0": ethernet(ipv4(b"rest", fragment=10)),
    "len > 100": ethernet(ipv4(tcp(payload=bytes(100)))),
    "len - ip[2:2] = 14": ethernet(ipv4(tcp())),
    "greater 80": ethernet(ipv4(tcp(payload=bytes(80)))),
    "less 60": ethernet(ipv4(tcp())),
    "vlan": ethernet(ipv4(tcp()), vlans=[(VLAN, 10)]),
    "vlan 10 and tcp port 80": ethernet(ipv4(tcp()), vlans=[(VLAN, 10)]),
    "vlan 20 and vlan 10 and ip": ethernet(ipv4(tcp()), vlans=[(QINQ, 20), (VLAN, 10)]),
    "mpls": mpls(ipv4(tcp())),
    "mpls 100 and tcp port 80": mpls(ipv4(tcp())),
    "pppoes": pppoe(ipv4(tcp())),
    "pppoes 7 and tcp port 80": pppoe(ipv4(tcp())),
    "ip6 protochain 6": ethernet(ipv6(hop_by_hop(authentication(tcp()), AUTHENTICATION), HOP_BY_HOP), IP6),
    "ip protochain 6": ethernet(ipv4(authentication(tcp()), AUTHENTICATION)),
}
PLAIN = ["", "tcp port 5001", "ip6 and tcp port 80", "net 10.0.0.0/8", "tcp[13] & 2 != 0", "ip6 protochain 6"]

ports = st.sampled_from([22, 53, 80, 5001, 5005, 40000])
ipv4_addresses = st.sampled_from([ALICE, BOB, CAROL])
ipv6_addresses = st.sampled_from([ALICE6, BOB6])
payloads = st.binary(max_size=12) | st.just(b"GET / HTTP/1.1") | st.just(bytes(100))
transports = (
    st.tuples(st.just(TCP), st.builds(tcp, ports, ports, st.integers(0, 255), payloads))
    | st.tuples(st.just(UDP), st.builds(udp, ports, ports, payloads))
    | st.tuples(st.integers(0, 255), st.binary(max_size=40))
)


@st.composite
def ip_packets(draw):
    """Draw an IP packet and its Ethernet type."""
    protocol, packet = draw(transports)
    for extension, build in draw(
        st.lists(st.sampled_from([(HOP_BY_HOP, hop_by_hop), (AUTHENTICATION, authentication)]), max_size=3)
    ):
        protocol, packet = extension, build(packet, protocol)
    if draw(st.booleans()):
        return IP6, ipv6(packet, protocol, draw(ipv6_addresses), draw(ipv6_addresses))
    options = bytes(draw(st.sampled_from([0, 0, 4, 40])))
    fragment = draw(st.sampled_from([0, 0, 10, 0x2000, 0x4000]))
    return IP, ipv4(packet, protocol, draw(ipv4_addresses), draw(ipv4_addresses), options, fragment)


@st.composite
def ethernet_frames(draw):
    kind, packet = draw(ip_packets())
    link = draw(st.sampled_from(["plain", "tagged", "mpls", "pppoe", "random"]))
    if link == "tagged":
        tag = st.tuples(st.sampled_from([VLAN, QINQ]), st.sampled_from([10, 20]))
        return ethernet(packet, kind, draw(st.lists(tag, min_size=1, max_size=3)))
    if link == "mpls":
        return mpls(packet, draw(st.sampled_from([100, 200])))
    if link == "pppoe":
        return pppoe(packet, draw(st.sampled_from([7, 8])), 0x21 if kind == IP else 0x57)
    if link == "random":
        return draw(st.binary(max_size=120))
    return ethernet(packet, kind)


@st.composite
def captured(draw, frames):
    """Draw a frame as a capture keeps it, perhaps cut, and its length on the wire."""
    frame = draw(frames)
    if draw(st.booleans()):
        return frame, len(frame)
    kept = draw(st.integers(0, len(frame)))
    return frame[:kept], draw(st.sampled_from([len(frame), 0, 1500, 0xFFFFFFFF]))


@cache
def program(expression, link_type):
    return compile_filter(expression, [link_type])[link_type]


def offline_filter(instructions, data, wire_len):
    """Ask libpcap about a packet."""
    steps = (libpcap.bpf_insn * len(instructions))(*instructions)
    header = libpcap.pkthdr(caplen=len(data), len=wire_len)
    packet = (ctypes.c_ubyte * max(len(data), 1)).from_buffer_copy(data or b"\0")
    code = libpcap.bpf_program(bf_len=len(instructions), bf_insns=steps)
    return libpcap.offline_filter(ctypes.byref(code), ctypes.byref(header), packet) != 0


@pytest.mark.parametrize("expression", ACCEPTED)
def test_an_example_of_what_the_filter_names_is_accepted(expression):
    data = ACCEPTED[expression]
    assert filter_matches(program(expression, ETHERNET), data, len(data))
    assert offline_filter(program(expression, ETHERNET), data, len(data))


@settings(deadline=None)  # the first example loads libpcap
@given(packet=captured(ethernet_frames()))
@example(packet=(b"", 0))
def test_ethernet_frames_are_judged_as_by_libpcap(packet):
    for expression in ACCEPTED:
        instructions = program(expression, ETHERNET)
        assert filter_matches(instructions, *packet) == offline_filter(instructions, *packet), expression


@pytest.mark.parametrize("expression", ACCEPTED)
def test_an_example_cut_anywhere_is_judged_as_by_libpcap(expression):
    instructions = program(expression, ETHERNET)
    whole = ACCEPTED[expression]
    for kept in range(len(whole)):
        for wire_len in (0, len(whole), 1500):
            judged = offline_filter(instructions, whole[:kept], wire_len)
            assert filter_matches(instructions, whole[:kept], wire_len) == judged, (kept, wire_len)


def cooked(kind, packet):
    return struct.pack("!HHH8sH", 0, 1, 6, b"\2\0\0\0\0\1", kind) + packet


def cooked2(kind, packet):
    return struct.pack("!HHIHBB8s", kind, 0, 2, 1, 0, 6, b"\2\0\0\0\0\1") + packet


def loopback(kind, packet):
    return struct.pack("=I", 2 if kind == IP else 10) + packet


def bare(_kind, packet):
    return packet


LINKS = {LINUX_SLL: cooked, LINUX_SLL2: cooked2, NULL: loopback, RAW: bare}


@pytest.mark.parametrize("link_type", LINKS)
def test_a_filter_is_compiled_for_its_link_type(link_type):
    frame = LINKS[link_type](IP, ipv4(tcp(destination=5001)))
    assert filter_matches(program("tcp port 5001", link_type), frame, len(frame))
    assert not filter_matches(program("tcp port 5002", link_type), frame, len(frame))


@pytest.mark.parametrize("link_type", LINKS)
@settings(deadline=None)  # likewise
@given(data=st.data())
def test_frames_of_other_links_are_judged_as_by_libpcap(link_type, data):
    frames = st.builds(lambda packet: LINKS[link_type](*packet), ip_packets())
    packet = data.draw(captured(frames))
    for expression in PLAIN:
        instructions = program(expression, link_type)
        assert filter_matches(instructions, *packet) == offline_filter(instructions, *packet), expression


def test_link_types_are_known_to_libpcap_by_the_numbers_that_it_reads_from_files(tmp_path):
    path = tmp_path / "empty.pcap"
    for link_type in range(300):
        path.write_bytes(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link_type))
        error = ctypes.create_string_buffer(libpcap.PCAP_ERRBUF_SIZE)
        handle = libpcap.open_offline(str(path).encode(), error)
        assert handle, error.value
        # OpenBSD's number for raw IP, which libpcap on Linux does not take for it.
        expected = 12 if link_type == 14 else libpcap.datalink(handle)
        libpcap.close(handle)
        assert capture_filter._DLT.get(link_type, link_type) == expected, link_type


@pytest.fixture
def without_system_library(monkeypatch):
    monkeypatch.setattr(capture_filter, "_NAMES", ("libpcap.so.none",))
    capture_filter._libpcap.cache_clear()
    yield
    capture_filter._libpcap.cache_clear()


@pytest.mark.usefixtures("without_system_library")
def test_without_a_system_library_the_extra_compiles_the_same():
    for expression in PLAIN:
        assert compile_filter(expression, [ETHERNET])[ETHERNET] == program(expression, ETHERNET)


@pytest.mark.usefixtures("without_system_library")
def test_without_any_libpcap_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "libpcap", None)
    with pytest.raises(FilterError, match=r"install tcpdump, or pip install 'bdpcap\[filter\]'"):
        compile_filter("tcp", [ETHERNET])


def test_a_link_type_on_which_a_filter_has_no_meaning_gets_a_reason():
    programs = compile_filter("ether host 02:00:00:00:00:01", [ETHERNET, RAW])
    assert isinstance(programs[ETHERNET], list)
    assert "ethernet addresses supported only on" in programs[RAW]


@pytest.mark.parametrize(
    "expression", ["tcp prt 80", "port 99999999", "host 10.0.0.300", "(tcp", "tcp\0port", "tcp \ud800"]
)
def test_a_bad_filter_is_an_error_of_one_line_that_names_it(expression):
    with pytest.raises(FilterError) as caught:
        compile_filter(expression, [ETHERNET, RAW])
    message = str(caught.value)
    assert repr(expression) in message
    assert "tcpdump -d" in message
    assert "\n" not in message


def test_a_filter_without_meaning_on_any_link_type_is_an_error():
    with pytest.raises(FilterError, match="VLAN"):
        compile_filter("vlan 10", [RAW])


@pytest.mark.parametrize(
    "instructions",
    [[], [(0, 0, 0, 1)], [(0xFF, 0, 0, 0), (6, 0, 0, 0)], [(5, 0, 0, 9), (6, 0, 0, 0)]],
    ids=["empty", "no return", "unknown operation", "jump out of the program"],
)
def test_a_program_that_could_go_astray_is_refused(instructions):
    with pytest.raises(ValueError, match="filter"):
        filter_matches(instructions, b"", 0)
