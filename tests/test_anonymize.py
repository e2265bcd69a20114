"""Other names: none of the true ones is anywhere, the same thing has the same name, prefixes stay under a key."""

import csv
import io
import ipaddress
import json
import re
import shutil
import struct
import subprocess
import sys
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import ROOT
from packets import ETHERNET, Packet
from pcapng import FileWriter
from pcapng.blocks import EnhancedPacket, InterfaceDescription, SectionHeader
from test_excerpt import CLIENT, CLIENT_MAC, SERVER, SERVER_MAC, TUNNEL_ENDS, frames_of, in_vxlan

import bdpcap
from bdpcap.cli import main

COMMENT = "seen at hq-gateway of Example Ltd"
INTERFACE = "uplink-hq7"
FILE = "customer-4711-outage"
KEY = bytes(range(32))
IPV6_SAMPLE = ROOT / "sample_captures" / "rwnd_ipv6_drops.sender.pcapng.zst"


def write_named(path):
    """Write a tunnelled transfer whose capture names its maker, its interface and its filter."""
    section = SectionHeader(options={"opt_comment": COMMENT})
    interface = section.new_member(
        InterfaceDescription,
        link_type=ETHERNET,
        snaplen=262144,
        options={
            "if_name": INTERFACE,
            "if_description": f"{INTERFACE} to the world",
            "if_filter": [(0, f"host {ipaddress.ip_address(CLIENT)}".encode())],
        },
    )
    out = io.BytesIO()
    writer = FileWriter(out, section)
    for packet in frames_of(CLIENT, SERVER, around=in_vxlan):
        assert isinstance(packet, Packet)
        block = section.new_member(
            EnhancedPacket,
            interface_id=interface.interface_id,
            packet_data=packet.data,
            packet_len=len(packet.data),
        )
        block.timestamp_high, block.timestamp_low = divmod(packet.time_ns // 1000, 2**32)
        writer.write_block(block)
    path.write_bytes(out.getvalue())
    return path


def forms(packed):
    """Return how an address may be spelt."""
    if len(packed) == 6:
        return [packed.hex(":"), packed.hex("-"), packed.hex()]
    address = ipaddress.ip_address(packed)
    return [str(address), address.exploded]


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    folder = tmp_path_factory.mktemp("acme-site")
    return write_named(folder / f"{FILE}.pcapng")


@pytest.fixture(scope="module")
def secrets(named):
    """Return every name in the capture and of it, as text."""
    packed = [CLIENT, SERVER, CLIENT_MAC, SERVER_MAC, *TUNNEL_ENDS]
    return [
        *(form for address in packed for form in forms(address)),
        *(COMMENT, "hq-gateway", "Example Ltd", INTERFACE, FILE, "acme-site", str(named)),
    ]


def contents(bundle):
    with zipfile.ZipFile(bundle) as archive:
        assert archive.comment == b""
        return {info.filename: archive.read(info) for info in archive.infolist()}


def chunks(png):
    """Return the kinds of a PNG's chunks (its section 5.3)."""
    kinds, at = [], 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kinds.append(png[at + 4 : at + 8])
        at += 12 + length
    return kinds


def found(secrets, files):
    return {
        (secret, name)
        for name, content in files.items()
        for secret in secrets
        if secret.encode() in content or secret in name
    }


# nothing true is left


@pytest.fixture(scope="module")
def bundles(named, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundles")
    for name, more in (("plain", []), ("hidden", ["--anonymize"])):
        code = main(
            ["report", str(named), "-f", "udp", "--bundle", str(folder / f"{FILE}-{name}.zip"), *more]
        )
        assert code == 0
    return {name: contents(folder / f"{FILE}-{name}.zip") for name in ("plain", "hidden")}


def test_no_file_of_an_anonymized_bundle_has_a_true_name(bundles, secrets):
    assert found(secrets, bundles["hidden"]) == set()
    # The search finds what is there to be found.
    there = {secret for secret, _ in found(secrets, bundles["plain"])}
    assert there >= {str(ipaddress.ip_address(CLIENT)), COMMENT, INTERFACE, FILE}
    assert {name for _, name in found(secrets, bundles["plain"])} >= {
        "report.html", "summary.txt", "report.json", "flows.csv", "rtts.csv", "connections.csv",
        "manifest.json",
    }  # fmt: skip


def test_no_image_has_room_for_a_name(bundles):
    images = {name: content for name, content in bundles["hidden"].items() if name.endswith(".png")}
    if not images:
        assert "extra" in json.loads(bundles["hidden"]["manifest.json"])["images"]
    for image in images.values():
        assert set(chunks(image)) <= {b"IHDR", b"IDAT", b"IEND", b"sRGB", b"pHYs", b"sBIT"}


@pytest.mark.parametrize("command", ["info", "flows", "rtts", "events"])
@pytest.mark.parametrize("format_", ["table", "csv", "json", "jsonl"])
def test_no_table_has_a_true_name(command, format_, named, secrets, capsys):
    assert main([command, str(named), "--format", format_, "--anonymize"]) == 0
    said = capsys.readouterr()
    assert said.out
    assert found(secrets, {"stdout": said.out.encode(), "stderr": said.err.encode()}) == set()


def test_a_figure_of_an_anonymized_flow_has_no_true_name(named, secrets, tmp_path, capsys):
    page = tmp_path / "figure.html"
    assert main(["plot", str(named), "--stream", "0", "-o", str(page), "--anonymize"]) == 0
    assert found(secrets, {"page": page.read_bytes(), "stderr": capsys.readouterr().err.encode()}) == set()


def test_a_warning_of_damage_names_no_file(named, secrets, tmp_path, capsys):
    torn = tmp_path / f"{FILE}-torn.pcapng"
    torn.write_bytes(named.read_bytes()[:-5])
    for command in ("flows", "events"):
        assert main([command, str(torn), "--anonymize"]) == 1
        said = capsys.readouterr().err
        assert "capture-1: frame" in said
        assert found(secrets, {"stderr": said.encode()}) == set()


def test_a_real_capture_is_searched_too(tmp_path):
    capture = bdpcap.analyze(IPV6_SAMPLE)
    ends = {end.rpartition(":")[0].strip("[]") for end in capture.flows["sender"]}
    words = [part for comment in capture.info.comments for part in (comment, *comment.split(". "))]
    names = [interface["name"] for interface in capture.info.interfaces if interface["name"]]
    true = [*ends, *words, *names, IPV6_SAMPLE.name]
    bundle = tmp_path / "bundle.zip"
    assert main(["report", str(IPV6_SAMPLE), "--bundle", str(bundle), "--anonymize"]) == 0
    # The page's own script and words are no names.
    ours = (ROOT / "bdpcap" / "report" / "assets" / "plotly-basic.min.js").read_text()
    assert len(true) >= 4
    assert found([name for name in true if name not in ours], contents(bundle)) == set()


# the same thing has the same name


def ends_in_csv(content):
    rows = csv.DictReader(io.StringIO(content.decode()))
    return {(row["stream"], row["sender"], row["receiver"]) for row in rows}


def test_all_outputs_agree_on_names(named, bundles, tmp_path, capsys):
    files = bundles["hidden"]
    ends = ends_in_csv(files["flows.csv"])
    assert ends == ends_in_csv(files["rtts.csv"])
    flows = json.loads(files["report.json"])["flows"]
    assert ends == {(str(flow["stream"]), flow["sender"], flow["receiver"]) for flow in flows}
    for command in ("flows", "rtts", "events"):
        assert main([command, str(named), "--format", "csv", "--anonymize"]) == 0
        assert ends_in_csv(capsys.readouterr().out.encode()) >= ends
    for _, sender, receiver in ends:
        assert sender in files["summary.txt"].decode()
        assert receiver in files["report.html"].decode()
    part = tmp_path / "part.pcap"
    assert main(["excerpt", str(named), "--stream", "0", "-o", str(part), "--anonymize"]) == 0
    assert set(bdpcap.analyze(part).flows["sender"]) == {sender for _, sender, _ in ends}
    outer = bdpcap.analyze(part).info.paths
    assert list(outer) == list(json.loads(files["report.json"])["capture"]["paths"])


@pytest.mark.usefixtures("need_tshark")
def test_tshark_sees_the_names_in_the_packets(named, tmp_path):
    part = tmp_path / "part.pcap"
    assert main(["excerpt", str(named), "--stream", "0", "-o", str(part), "--anonymize"]) == 0
    fields = ["-e", "ip.addr", "-e", "eth.addr"]
    command = ["tshark", "-n", "-r", str(part), "-T", "fields", "-E", "occurrence=a", *fields]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seen = set(re.split(r"[,\s]+", said.strip()))
    assert seen == {
        *(f"240.0.0.{number}" for number in range(1, 5)),
        *("02:00:00:00:00:01", "02:00:00:00:00:02"),
    }


@given(st.lists(st.ip_addresses(), min_size=1, max_size=30))
def test_names_are_one_to_one(addresses):
    names = bdpcap.Pseudonyms()
    named = {str(address): names.address(str(address)) for address in addresses}
    assert len(set(named.values())) == len(named)
    assert all(names.address(true) == name for true, name in named.items())
    for address in addresses:
        name = ipaddress.ip_address(named[str(address)])
        assert name.version == address.version
        assert names.packed(address.packed) == name.packed


# under a key


def test_names_under_a_key_are_those_of_crypto_pan():
    # The sample of its authors' distribution (Crypto-PAn 1.0, README): key and addresses.
    key = bytes([
        21, 34, 23, 141, 51, 164, 207, 128, 19, 10, 91, 22, 73, 144, 125, 16,
        216, 152, 143, 131, 121, 121, 101, 39, 98, 87, 76, 45, 42, 132, 34, 2,
    ])  # fmt: skip
    names = bdpcap.Pseudonyms(key)
    assert names.address("128.11.68.132") == "135.242.180.132"
    assert names.address("129.118.74.4") == "134.136.186.123"


def shared_bits(one, other):
    width = ipaddress.ip_address(one).max_prefixlen
    different = int(ipaddress.ip_address(one)) ^ int(ipaddress.ip_address(other))
    return width - different.bit_length()


@given(
    st.one_of(
        st.tuples(st.ip_addresses(v=4), st.ip_addresses(v=4)),
        st.tuples(st.ip_addresses(v=6), st.ip_addresses(v=6)),
    ),
    st.integers(0, 127),
)
def test_a_key_keeps_prefixes(pair, kept):
    one, other = pair
    shift = max(0, one.max_prefixlen - kept)
    near = type(one)((int(one) >> shift << shift) | (int(other) & ((1 << shift) - 1)))
    names = bdpcap.Pseudonyms(KEY)
    assert shared_bits(names.address(str(one)), names.address(str(near))) == shared_bits(one, near)


@pytest.mark.parametrize("held", [KEY, KEY.hex().encode(), KEY.hex().encode() + b"\n"])
def test_a_key_comes_from_a_file_or_the_environment(held, named, tmp_path, capsys, monkeypatch):
    file = tmp_path / "key"
    file.write_bytes(held)
    flows = ["flows", str(named), "--format", "csv"]
    assert main([*flows, "--anonymize-key", str(file)]) == 0
    by_file = capsys.readouterr().out
    assert bdpcap.Pseudonyms(KEY).address(str(ipaddress.ip_address(CLIENT))) in by_file
    monkeypatch.setenv("BDPCAP_ANONYMIZE_KEY", KEY.hex())
    assert main([*flows, "--anonymize"]) == 0
    assert capsys.readouterr().out == by_file
    assert main(flows) == 0
    assert str(ipaddress.ip_address(CLIENT)) in capsys.readouterr().out


@pytest.mark.parametrize("held", [b"", b"tooshort-secret", b"secret" * 20, b"zz" * 32])
def test_a_key_of_another_length_is_refused_and_not_told(held, named, tmp_path, capsys):
    file = tmp_path / "key"
    file.write_bytes(held)
    assert main(["flows", str(named), "--anonymize-key", str(file)]) == 2
    said = capsys.readouterr().err
    assert "a key is 32 bytes" in said
    assert "secret" not in said
    assert "zz" not in said


def test_a_key_without_the_extra_names_it(named, tmp_path, capsys, monkeypatch):
    file = tmp_path / "key"
    file.write_bytes(KEY)
    monkeypatch.setitem(sys.modules, "yacryptopan", None)
    assert main(["flows", str(named), "--anonymize-key", str(file)]) == 2
    assert "bdpcap[anonymize]" in capsys.readouterr().err


def test_several_files_are_numbered(named, tmp_path):
    second = tmp_path / "second.pcapng"
    shutil.copyfile(named, second)
    hidden = bdpcap.analyze([named, second], pseudonyms=bdpcap.Pseudonyms())
    assert hidden.info.files == ["capture-1", "capture-2"]
    assert [one.name for one in hidden.fingerprints()] == ["capture-1", "capture-2"]
