"""Systems by their SYNs: p0f's published signatures, captures of known hosts, rewritten SYNs, and any bytes at all."""

from __future__ import annotations

import io
import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import SAMPLES, SHARED
from packets import Address, pcap, tcp_packet
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap import _core, hosts, tables
from bdpcap.explain import trust
from bdpcap.hosts import columns
from bdpcap.read import core_pass

SYN, SYN_ACK, ACK = 2, 18, 16
LINUX = "mss,sok,ts,nop,ws"
SIGNATURES = {
    # p0f 3.09b, p0f.fp: version:ttl:options:mss:window,scale:layout:quirks, of SYNs.
    "*:64:0:*:mss*10,7:mss,sok,ts,nop,ws:df,id+": "linux",
    "*:64:0:*:mss*4,2:mss,sok,ts,nop,ws:df,id+": "linux",
    "*:64:0:*:mss*44,1:mss,sok,ts,nop,ws:df,id+": "linux",
    "*:64:0:16396:mss*2,4:mss,sok,ts,nop,ws:df,id+": "linux",
    "*:64:0:*:5840,7:mss,nop,nop,sok,nop,ws:df,id+": "linux",
    "*:128:0:*:16384,0:mss,nop,nop,sok:df,id+": "windows",
    "*:128:0:*:65535,2:mss,nop,ws,nop,nop,sok:df,id+": "windows",
    "*:128:0:*:8192,8:mss,nop,ws,nop,nop,sok:df,id+": "windows",
    "*:64:0:*:65535,3:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+": "macos",
    "*:64:0:*:65535,4:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+": "macos",
    "*:64:0:*:65535,6:mss,nop,ws,sok,ts:df,id+": "freebsd",
    "*:64:0:*:16384,3:mss,nop,nop,sok,nop,ws,nop,nop,ts:df,id+": "openbsd",
    "*:64:0:*:mss*34,0:mss,nop,ws,nop,nop,sok:df,id+": "solaris",
    # Hosts that no row is about.
    "4:128:0:1460:2920,0:mss,nop,ws:": None,
    "4:64:0:1024:mss*4,0:mss:": None,
    "*:64:0:1460:1024,0:mss:": None,
    "*:64:0:0:4,10:sok,ts,ws,eol+0:ack+": None,
    "*:128:0:1452:65535,0:mss,nop,nop,sok,nop,nop,ts:": None,
    "*:192:0:1331:1337,5:mss,ws,sok,ts,nop,eol+3:": None,
}
ANSWERS = {
    # The same, of SYN-ACKs.
    "*:64:0:*:mss*10,7:mss,sok,ts,nop,ws:df": "linux",
    "*:64:0:*:mss*4,7:mss,nop,nop,ts,nop,ws:df": "linux",
    "*:64:0:*:mss*10,7:mss,nop,nop,sok,nop,ws:df": "linux",
    "*:64:0:*:mss*10,0:mss,nop,nop,sok:df": "linux",
    "*:128:0:*:65535,0:mss,nop,ws,nop,nop,ts,nop,nop,sok:df,id+": "windows",
    "*:128:0:*:8192,8:mss,nop,ws,sok,ts:df,id+": "windows",
    "*:128:0:*:8192,8:mss,nop,ws,nop,nop,sok:df,id+": "windows",
    "*:64:0:*:65535,6:mss,nop,ws,sok,ts:df,id+": "freebsd",
    "*:64:0:*:65535,3:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+": "macos",
    "*:64:0:*:mss*19,0:nop,nop,ts,nop,ws,nop,nop,sok,mss:df,id+": "solaris",
    "*:64:0:*:mss*37,0:nop,nop,ts,mss,nop,ws,nop,nop,sok:df,id+": "solaris",
    "*:64:0:*:32768,0:mss,ws,nop:df,id+": "hpux",
    # FreeBSD and macOS send it alike.
    "*:64:0:*:65535,6:mss,nop,ws,nop,nop,ts:df,id+": None,
    "4:64:0:1460:mss*25,0:mss,nop,ws:df,id+": None,
}


def options(layout, mss, scale):
    """Encode the options of a p0f signature."""
    encoded = {
        "mss": struct.pack(">BBH", 2, 4, mss),
        "ws": struct.pack(">BBB", 3, 3, scale),
        "sok": bytes([4, 2]),
        "ts": struct.pack(">BBII", 8, 10, 1, 0),
        "nop": b"\x01",
    }
    words = layout.split(",")
    return b"".join(bytes(1 + int(word[4:])) if word.startswith("eol") else encoded[word] for word in words)


def with_ip(packet, *, ttl, dont_fragment):
    """Return an IPv4 packet with another TTL, with or without DF."""
    data = bytearray(packet.data)
    data[14 + 8] = ttl
    data[14 + 6] = 0x40 if dont_fragment else 0
    return replace(packet, data=bytes(data))


def signed(signature, way, *, time_ns=0, hops=3, client=CLIENT):
    """Return the SYN of a signature; for `way` ``<`` a SYN-ACK."""
    _, ttl, _, mss, window_and_scale, layout, quirks = signature.split(":")
    mss = 1460 if mss == "*" else int(mss)
    window, scale = window_and_scale.split(",")
    window = mss * int(window[4:]) if window.startswith("mss*") else int(window)
    ends = (client, SERVER) if way == ">" else (SERVER, client)
    packet = tcp_packet(
        time_ns,
        *ends,
        seq=7,
        ack=0 if way == ">" else 8,
        flags=SYN if way == ">" else SYN_ACK,
        window=window,
        options=options(layout, mss, int(scale)),
        identification=4711 if "id+" in quirks or "df" not in quirks else 0,
    )
    return with_ip(packet, ttl=int(ttl) - hops, dont_fragment="df" in quirks)


def connection(*packets):
    return bdpcap.analyze(io.BytesIO(pcap(packets))).connections.iloc[0]


JA4T = {
    # FoxIO's JA4T, ja4plus-mapping.csv: window, kinds of options, MSS, scale; the initial TTL is of the system's own.
    ("64240_2-1-3-1-1-4_1460_8", 128): "windows",
    ("64240_2-4-8-1-3_1460_7", 64): "linux",
    ("62727_2-4-8-1-3_8961_7", 64): "linux",
    ("65535_2-4-8-1-3_1460_8", 64): "linux",
    ("65535_2-1-3-1-1-8-4-0-0_1460_6", 64): "macos",
    ("28960_2-4-8-1-3_1460_3", 64): "linux",
    ("29200_2-1-1-4-1-3_1460_3", 64): "linux",
    ("1024_2_1460_00", 64): None,
}
LETTERS = {"0": "E", "1": "N", "2": "M", "3": "W", "4": "S", "8": "T"}


@pytest.mark.parametrize(("fingerprint", "family"), JA4T.items())
def test_a_fingerprint_of_ja4t(fingerprint, family):
    fields, ttl = fingerprint
    window, kinds, mss, scale = fields.split("_")
    layout = "".join(LETTERS[kind] for kind in kinds.split("-"))
    scale = int(scale) if "W" in layout else None
    syn = hosts.Syn(layout, ttl, int(window), scale, int(mss), dont_fragment=True, identification_zero=False)
    found = hosts.system_of(syn)
    assert (found and found.family) == family


def or_none(value):
    return value if isinstance(value, str) else None


@pytest.mark.parametrize(("signature", "family"), SIGNATURES.items())
def test_a_syn_that_p0f_knows(signature, family):
    found = connection(signed(signature, ">"))
    assert or_none(found.client_system) == family
    assert or_none(found.client_system_certainty) == (None if family is None else "likely")
    assert or_none(found.server_system) is None


@pytest.mark.parametrize(("signature", "family"), ANSWERS.items())
def test_an_answer_that_p0f_knows(signature, family):
    asked = signed(f"*:64:0:*:mss*10,7:{LINUX}:df,id+", ">")
    found = connection(asked, signed(signature, "<", time_ns=10**7))
    assert (or_none(found.client_system), or_none(found.server_system)) == ("linux", family)


def test_a_flow_has_the_systems_of_its_ends():
    asked = signed("*:128:0:*:8192,8:mss,nop,ws,nop,nop,sok:df,id+", ">")
    answer = signed("*:64:0:*:mss*10,7:mss,nop,nop,sok,nop,ws:df", "<", time_ns=10**7)
    data = tcp_packet(2 * 10**7, SERVER, CLIENT, seq=8, ack=8, payload_bytes=1000)
    capture = bdpcap.analyze(io.BytesIO(pcap([asked, answer, data])))
    row = capture.flows.iloc[0]
    assert (row.sender_system, row.sender_system_certainty) == ("linux", "likely")
    assert (row.receiver_system, row.receiver_system_certainty) == ("windows", "likely")
    sender, receiver = capture[0].systems
    assert hosts.sentence(sender) == "Linux, from its SYN-ACK"
    assert hosts.sentence(receiver) == "Windows Vista to 8.1 or Server 2012, from its SYN"


def test_info_says_the_systems_of_few_hosts_and_counts_those_of_many():
    def opened(client):
        asked = signed("*:128:0:*:64240,8:mss,nop,ws,nop,nop,sok:df,id+", ">", client=client)
        data = tcp_packet(1, client, SERVER, seq=8, ack=8, payload_bytes=1000)
        return [asked, data]

    clients = [Address(f"192.0.2.{last}", 40000) for last in range(1, 8)]
    packets = [packet for client in clients for packet in opened(client)]
    for count, said in ((2, "192.0.2.1 Windows 10 or later"), (14, "Windows 10 or later (7 hosts)")):
        capture = bdpcap.analyze(io.BytesIO(pcap(packets[:count])))
        assert said in dict(trust.facts(capture))["systems, by SYN"]


def test_without_a_syn_no_system_is_named():
    capture = bdpcap.analyze(io.BytesIO(pcap([tcp_packet(0, CLIENT, SERVER, seq=1, payload_bytes=10)])))
    assert capture[0].systems == (None, None)
    assert capture.flows["sender_system"].isna().all()


def test_a_bare_answer_without_df_is_a_virtual_machines_nat():
    asked = signed(f"*:64:0:*:mss*10,7:{LINUX}:df,id+", ">")
    nat = signed("*:128:0:1460:64240,0:mss:", "<", time_ns=1, hops=0)
    assert connection(asked, nat).server_system == "virtual-nat"
    # A client that offered no more was answered in full.
    assert or_none(connection(signed("*:64:0:1460:64240,0:mss:df,id+", ">"), nat).server_system) is None


def test_a_raised_ttl_makes_a_linux_less_sure():
    found = connection(signed(f"*:255:0:*:mss*20,7:{LINUX}:df,id+", ">"))
    assert (found.client_system, found.client_system_certainty) == ("linux", "possible")


SCALE_OUT = "mss,sok,ts,nop,nop,nop,nop"
TIMESTAMPS_OUT = "mss,sok," + ",".join(["nop"] * 11) + ",ws"


@pytest.mark.parametrize(("layout", "gone"), [(SCALE_OUT, ("W",)), (TIMESTAMPS_OUT, ("T",)), (LINUX, ())])
def test_options_that_a_middlebox_blanked_are_named(layout, gone):
    packet = signed(f"*:64:0:1460:64240,7:{layout}:df,id+", ">")
    capture = bdpcap.analyze(io.BytesIO(pcap([packet])))
    client, server = capture._contents.systems.syns_of(0)
    assert (hosts.stripped(client), server) == (gone, None)
    assert capture.connections.client_system[0] == "linux"


def test_a_host_that_leaves_an_option_out_is_not_taken_for_a_middlebox():
    # Linux with net.ipv4.tcp_sack=0 and with tcp_timestamps=0, and Windows without scaling.
    for layout in ("MNNTNW", "MNNSNW", "MNNS"):
        assert hosts.stripped(hosts.Syn(layout, 64, 64240)) == ()


def test_a_clamped_mss_shows_in_the_window_of_linux():
    syn = hosts.Syn("MSTNW", 64, 64240, 7, 1460, dont_fragment=True, identification_zero=False)
    assert hosts.clamped_from_mss_bytes(syn) is None
    assert hosts.clamped_from_mss_bytes(replace(syn, mss_bytes=1380)) == 1460
    # A SYN-ACK leaves room for timestamps (tcp_openreq_init_rwin()): 45 and 4 segments of 1,448 bytes.
    for window in (45 * 1448, 4 * 1448):
        assert hosts.clamped_from_mss_bytes(replace(syn, mss_bytes=536, window_bytes=window)) == 1460
        assert hosts.clamped_from_mss_bytes(replace(syn, window_bytes=window)) is None
    assert hosts.clamped_from_mss_bytes(replace(syn, mss_bytes=536, window_bytes=125 * 524)) is None
    # A route with an MTU of 1,400 has another window: 48 segments of 1,360 bytes.
    assert hosts.clamped_from_mss_bytes(replace(syn, mss_bytes=1360, window_bytes=48 * 1360)) is None


@given(st.binary(max_size=40), st.integers(0, 255), st.integers(0, 65535), st.sampled_from([SYN, SYN_ACK]))
def test_any_options_are_data(encoded, ttl, window, flags):
    packet = tcp_packet(0, CLIENT, SERVER, seq=1, flags=flags, window=window, options=encoded)
    found = connection(with_ip(packet, ttl=ttl, dont_fragment=False))
    for end in ("client", "server"):
        system, certainty = found[f"{end}_system"], found[f"{end}_system_certainty"]
        assert or_none(system) in {None, *hosts.FAMILIES}
        assert isinstance(system, str) == isinstance(certainty, str)


def test_every_row_names_a_family_and_its_source():
    rows = [row for several in hosts.systems._rows().values() for row in several]
    assert len({id(row) for row in rows}) <= 60
    for row in rows:
        assert row.family in hosts.FAMILIES
        assert row.certainty in hosts.CERTAINTIES
        assert row.source.strip()
    assert {row.family for row in rows} == set(hosts.FAMILIES)
    assert all(hosts.named(family) for family in hosts.FAMILIES)


def with_payload(packet, payload):
    return replace(packet, data=packet.data[: -len(payload)] + payload)


@pytest.mark.parametrize(
    ("payload", "port", "program"),
    [
        (b"abcdefghijklmnopqrstuvwxyz2345672345\0", 80, ("iperf3", "likely")),
        (b"abcdefghijklmnopqrstuvwxyz2345672345!", 80, ("http", "possible")),
        (b"ABCDEFGHIJKLMNOPQRSTUVWXYZ2345672345\0", 5001, ("iperf", "possible")),
        (b"GET / HTTP/1.1", 54321, None),
    ],
)
def test_a_program_is_known_by_its_cookie_or_its_port(payload, port, program):
    server = Address(SERVER.host, port)
    opened = scenario(HANDSHAKE, server=server, isn=(0, 0))
    first = tcp_packet(opened[-1].time_ns, CLIENT, server, seq=1, ack=1, payload_bytes=len(payload))
    capture = bdpcap.analyze(io.BytesIO(pcap([*opened, with_payload(first, payload)])))
    row = capture.connections.iloc[0]
    found = (row.program, row.program_certainty) if isinstance(row.program, str) else None
    assert found == program
    assert capture[0].program == program


def test_without_a_syn_either_port_may_be_the_servers():
    assert hosts.program_of(443, 50000) is None
    assert hosts.program_of(443, 50000, has_syn=False) == ("https", "possible")
    assert hosts.program_of(20, 50000) == ("ftp-data", "possible")
    assert set(tables.CONNECTIONS["program"].only) == set(hosts.PROGRAMS)


LABS = ("lab", "lab_b", "linux61", "apps", "apps_b", "programs", "windows", "seed")
"""Folders of captures whose hosts all run Linux."""
STACKS = {"l": "linux", "n": "netstack"}
REAL = {
    # Who the hosts are is known from elsewhere than their SYNs: (client, server), None where it is not.
    "wild/cubic-flow.pcapng.zst": ("linux", None),  # TCP CUBIC as a module of the guest
    "wild/vegas-flow.pcapng.zst": ("linux", None),
    "wild/mlab-363A84.pcap.zst": (None, "linux"),  # M-Lab's servers run Linux
    "wild/mlab-5B90B.pcap.zst": (None, "linux"),
    "wild/mlab-5B9EA.pcap.zst": (None, "linux"),
    "wild/mlab-C2DA9.pcap.zst": (None, "linux"),
    "wild/smb3_multichannel.pcap.zst": ("windows", "windows"),  # SMB 3 multichannel
    "wild/zwnd.pcap.zst": ("solaris", None),  # windows of whole segments
    "wild_b/feup_ftp.pcapng.zst": ("linux", "linux"),  # hosts named tux and netlab
    "wild_b/hadoop_client.pcap.zst": ("linux", "linux"),  # HDFS
    "wild_b/http_download_psexec.pcap.zst": ("windows", None),  # PsExec
    "wild_b/kdrive_download.pcapng.zst": ("windows", None),  # Wireshark's application names it
    "wild_b/kurose_tcp_ethereal_1.pcap.zst": ("windows", None),  # Windows, by the labs' text
    "wild_b/ldap_vbox_copies.pcap.zst": ("linux", "windows"),  # ldapsearch asks Active Directory
    "wild_b/virtualbox_nat_http3.pcap.zst": ("linux", "virtual-nat"),  # 10.0.2.15 is VirtualBox's guest
    "public/the-tcpdump-group__tcpdump/tests/accecn_handshake.pcap": ("freebsd", None),  # AccECN's tests
    "public/the-tcpdump-group__tcpdump/tests/mptcp-v1.pcap": ("linux", "linux"),
    "public/the-tcpdump-group__tcpdump/tests/mptcp-v0.pcap": ("linux", "linux"),
    "public/the-tcpdump-group__tcpdump/tests/of10_s4810.pcap": ("netbsd", None),  # its switch runs NetBSD
}


def captured():
    """Yield the captures whose systems are known, each with the families of client and server."""
    folder = SHARED / "captures"
    for lab in LABS:
        for path in sorted((folder / lab).rglob("*.pcap*")):
            yield path, ("linux", "linux")
    for path in sorted((folder / "stacks").rglob("*.pcap*")):
        client, server = path.parent.name.split("_")[1]
        lwip = "lwip" in path.parent.name
        yield path, (STACKS[client], "embedded" if lwip else STACKS[server])
    for name, families in REAL.items():
        yield folder / name, families
    for path in SAMPLES:
        yield path, ("linux", "linux")


def families(path):
    """Return the families named for the captured SYNs and for the SYN-ACKs of a capture; None without one."""
    core = core_pass.opened([str(path)], None, events=False)
    for _ in core_pass.steps(core, [str(path)], None):
        pass
    directions = core.directions(names=columns.NEEDED)
    sent = np.flatnonzero(directions["syn_layout"] != bdpcap._core.NULL)
    places, _ = columns.systems(directions, sent)
    return [
        {hosts.FAMILIES[place] for place in places[sent % 2 == end] if place >= 0}
        if (sent % 2 == end).any()
        else None
        for end in (0, 1)
    ]


def grades():
    """Yield for each known host of which a SYN was captured its capture, its family and the families named."""
    for path, known in captured():
        for family, named in zip(known, families(path), strict=True):
            if family is not None and named is not None:
                yield path, family, named


@pytest.mark.usefixtures("need_shared")
def test_known_hosts_are_named_and_named_right():
    found = list(grades())
    named = [(path, family, names) for path, family, names in found if names]
    wrong = [(path, family, names) for path, family, names in named if names != {family}]
    assert len(found) > 400
    assert len(named) >= 0.8 * len(found)
    assert len(wrong) <= 0.05 * len(named), wrong


field = st.sampled_from([_core.NULL, 0, 2, 64, 128, 1460, 14_600, 65_535, 0x123, 0x654_213])


@given(st.lists(st.tuples(*[field] * len(columns.NEEDED)), max_size=20), st.randoms())
def test_each_of_many_syns_is_judged_as_if_it_were_alone(rows, chance):
    whole = rows[: len(rows) // 2 * 2]
    directions = {
        name: np.array([row[at] for row in whole], dtype=np.int64) for at, name in enumerate(columns.NEEDED)
    }
    wanted = np.array(chance.sample(range(len(whole)), len(whole)), dtype=np.int64)
    syns = columns.syns(directions)
    alone = [
        None
        if syns[row] is None
        else hosts.system_of(syns[row], syns[row ^ 1] if row % 2 else None, is_answer=bool(row % 2))
        for row in wanted.tolist()
    ]
    assert columns.systems_of(directions, wanted) == alone
    families, certainties = columns.systems(directions, wanted)
    assert [None if at < 0 else hosts.FAMILIES[at] for at in families] == [
        one and one.family for one in alone
    ]
    assert [at < 0 for at in certainties] == [one is None for one in alone]
