"""The sending host's own account: logs of ss and of TCP_INFO, read, matched to flows, and held against the capture."""

import io
import json

import numpy as np
import pandas as pd
import pytest
import zstandard
from account import json_lines  # lab/
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from oracles import SHARED, TESTS
from packets import Address, pcap
from scenario import HANDSHAKE, scenario
from small_transfer import START, write_pcap
from test_bundle import SCHEMA

import bdpcap
from bdpcap import host, report
from bdpcap.cli import main
from bdpcap.host import ss, tcp_info
from bdpcap.report.page import html
from bdpcap.words import units

FOLDER = TESTS / "data" / "host"
"""Recorded by lab/account.py: 1.5 s in which the receive window limits, then 1.5 s of a small send buffer."""
CAPTURE = FOLDER / "sender.pcap.zst"

ENDS = "ESTAB 0 1714432 192.168.1.3:51492 192.168.1.34:5001"
DETAIL = (
    "cubic wscale:0,10 rto:232 rtt:31.407/0.845 ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:90 ssthresh:45 "
    "bytes_sent:960024 bytes_acked:896313 segs_out:665 send 33195148bps lastrcv:536 pacing_rate 66390024bps "
    "delivery_rate 16499280bps delivered:620 busy:536ms rwnd_limited:440ms(82.1%) unacked:44 retrans:1/7 "
    "rcv_rtt:99.9 rcv_space:14480 notsent:1650720 minrtt:30.458 snd_wnd:63712"
)
REVERSED = " ".join(reversed(DETAIL.replace("rate ", "rate=").split())).replace("rate=", "rate ")
SAID = {
    "rtt_ns": 31_407_000,
    "rtt_min_ns": 30_458_000,
    "mss_bytes": 1448,
    "cwnd_segments": 90,
    "ssthresh_segments": 45,
    "acked_bytes": 896_313,
    "pacing_rate_bps": 66_390_024,
    "delivery_rate_bps": 16_499_280,
    "busy_ns": 536_000_000,
    "rwnd_limited_ns": 440_000_000,
    "sndbuf_limited_ns": 0,  # left out, since it is 0
    "unacked_segments": 44,
    "retransmits": 7,
    "not_sent_bytes": 1_650_720,
    "window_bytes": 63_712,
}
"""What DETAIL says."""


def read(*lines):
    return ss.read(iter(lines))


# logs of ss


@pytest.mark.parametrize(
    "lines",
    [
        ["1795388643.235951372", "State Recv-Q Send-Q Local Address:Port Peer Address:Port", ENDS, f"\t {DETAIL}"],
        ["1795388643.235951372", ENDS, f"\t {DETAIL}  "],
        [f"1795388643.235951372 {ENDS}", f"1795388643.235951372 \t {DETAIL}"],  # ts %.s
        ["1795388643.235951372", f'{ENDS} users:(("a b",pid=5396,fd=4)) skmem:(r0,rb131072,t0) {DETAIL}'],  # -Omp
        ["1795388643.235951372", f"tcp   {ENDS}", f"\t {DETAIL}"],  # without -t
        ["1795388643.235951372", ENDS, f"	 {REVERSED}"],
    ],
    ids=["date", "no header", "ts", "one line", "netid", "other order"],
)  # fmt: skip
def test_a_connection_is_read_in_every_form_of_the_log(lines):
    reading = read(*lines)
    (sample,) = reading.samples
    assert sample.time_ns == 1_795_388_643_235_951_372
    assert (sample.sender, sample.receiver) == ("192.168.1.3:51492", "192.168.1.34:5001")
    assert sample.said == SAID
    assert reading.unread == []


@pytest.mark.parametrize(
    ("typed", "ends"),
    [
        ("10.0.0.1:40000 10.0.0.2:80", ("10.0.0.1:40000", "10.0.0.2:80")),
        ("10.0.0.1%eth0:40000 10.0.0.2:80", ("10.0.0.1:40000", "10.0.0.2:80")),
        ("[::ffff:10.0.0.1]:40000 [::ffff:10.0.0.2]:80", ("10.0.0.1:40000", "10.0.0.2:80")),
        ("[2001:db8::1]:40000 [2001:0DB8:0::2]:80", ("[2001:db8::1]:40000", "[2001:db8::2]:80")),
        ("[fe80::1%eth0]:40000 [fe80::2]:80", ("[fe80::1]:40000", "[fe80::2]:80")),
        ("[fe80::1]%eth0:40000 [fe80::2]%eth0:80", ("[fe80::1]:40000", "[fe80::2]:80")),
    ],
)
def test_addresses_are_those_of_the_tables(typed, ends):
    (sample,) = read("1795388643.2", f"ESTAB 0 0 {typed}", f"\t {DETAIL}").samples
    assert (sample.sender, sample.receiver) == ends


@pytest.mark.parametrize(
    ("rate", "bps"),
    [
        ("1000bps", 1000),
        ("12.5Kbps", 12_500),
        ("33.2Mbps", 33_200_000),
        ("1.5Gbps", 1_500_000_000),
        ("xbps", None),
    ],
)
def test_rates_have_a_prefix_or_none(rate, bps):
    (sample,) = read("1795388643.2", ENDS, f"\t cubic cwnd:10 delivery_rate {rate} delivered:3").samples
    assert sample.said.get("delivery_rate_bps") == bps
    assert sample.said["cwnd_segments"] == 10


def test_what_ss_leaves_out_is_missing_unless_it_can_only_be_zero():
    (sample,) = read("1795388643.2", ENDS, "\t reno rtt:40/20 cwnd:10 ssthresh:nonsense").samples
    assert sample.said == {
        "rtt_ns": 40_000_000, "cwnd_segments": 10, "retransmits": 0, "unacked_segments": 0,
    }  # fmt: skip


def test_lines_that_are_not_understood_are_told_by_their_numbers():
    reading = read(
        "Nov 22 23:04:02 ESTAB 0 0 10.0.0.1:1 10.0.0.2:2",  # a time without a year
        ENDS,
        f"\t {DETAIL}",  # when?
        "1795388643.2",
        "ESTAB 0 0 client.example:ssh 10.0.0.2:2",  # not in numbers
        f"\t {DETAIL}",
        "LISTEN 0 128 0.0.0.0:22 0.0.0.0:*",  # as it should be, and of no use
        "\t cubic cwnd:10",
        "TIME-WAIT 0 0 10.0.0.1:1 10.0.0.2:2",
        "",
        "sh: ss: not found",
        ENDS,
        f"\t {DETAIL}",
    )
    assert reading.unread == [1, 3, 5, 11]
    assert len(reading.samples) == 1


@given(
    st.lists(
        st.text(st.characters(codec="utf-8"), max_size=60) | st.sampled_from([ENDS, DETAIL, "1795388643.2"])
    )
)
def test_no_text_breaks_the_reading(lines):
    for reader in (ss.read, tcp_info.read):
        reading = reader(iter(lines))
        assert len(reading.samples) + len(reading.unread) <= len(lines)


@given(st.integers(0, len(DETAIL) - 1), st.text("0123456789.:eE-%()msMGK ", max_size=3), st.integers(0, 40))
def test_damaged_details_make_a_table_all_the_same(tmp_path_factory, at, put, cut):
    path = tmp_path_factory.mktemp("log") / "ss.log"
    path.write_text(
        f"1795388643.2\n{ENDS}\n\t {DETAIL[:at]}{put}{DETAIL[at + cut :]}\n1795388644.2\n{ENDS}\n\t {DETAIL}\n"
    )
    table = host.read([path]).samples
    assert 1 <= len(table) <= 2
    assert (table.drop(columns=["sender", "receiver"]).fillna(0) >= 0).all(axis=None)


# TCP_INFO as JSON lines


def line(**more):
    return json.dumps({"time": 1795388643.25, "source": "10.0.0.1:1", "destination": "10.0.0.2:2"} | more)


def test_units_are_the_kernels():
    more = {
        "tcpi_rtt": 31407,
        "min_rtt": 30458,
        "busy_time": 536_000,
        "delivery_rate": 1000,
        "snd_cwnd": 90,
        "new": [1],
    }
    (sample,) = tcp_info.read(iter([line(**more)])).samples
    assert sample.time_ns == 1_795_388_643_250_000_000
    assert sample.said == {
        "rtt_ns": 31_407_000, "rtt_min_ns": 30_458_000, "busy_ns": 536_000_000, "delivery_rate_bps": 8000,
        "cwnd_segments": 90,
    }  # fmt: skip


def test_the_kernels_words_for_none_are_missing():
    none = {
        "snd_ssthresh": 0x7FFFFFFF,
        "min_rtt": 0xFFFFFFFF,
        "pacing_rate": 2**64 - 1,
        "rtt": -1,
        "snd_wnd": 2**80,
    }
    (sample,) = tcp_info.read(iter([line(**none, unacked="5")])).samples
    assert sample.said == {}


@pytest.mark.parametrize(
    "bad",
    ["{", "[]", "7", "null", line(time=None), line(time="yesterday"), line(source="10.0.0.1"), line(source=7),
     line(destination="10.0.0.2:99999"), line(time=float("nan")), "[" * 100_000],
)  # fmt: skip
def test_a_line_that_is_no_sample_is_counted(bad):
    reading = tcp_info.read(iter([line(), "", bad]))
    assert (len(reading.samples), reading.unread) == (1, [3])


def test_ss_and_tcp_info_say_the_same_of_one_connection():
    """Two programs ask the kernel, one formats by iproute2's code: between neighbours in time values can only rise."""
    by_ss, by_info = (
        host.read([FOLDER / "ss.log"]).samples,
        host.read((), [FOLDER / "tcp_info.jsonl"]).samples,
    )
    assert {*by_ss["sender"]} == {*by_info["sender"]}
    after = by_info["time_ns"].searchsorted(by_ss["time_ns"])
    inside = (after > 0) & (after < len(by_info))
    assert inside.sum() > 20
    before, following = by_info.iloc[after[inside] - 1], by_info.iloc[after[inside]]
    for clock in ("busy_ns", "rwnd_limited_ns", "sndbuf_limited_ns"):
        seen = by_ss[clock][inside].to_numpy(dtype=np.int64)
        # ss is started after `date` has told the time, which takes some milliseconds.
        assert (seen >= before[clock].to_numpy(dtype=np.int64) - 1_000_000).all()
        assert (seen <= following[clock].to_numpy(dtype=np.int64) + 40_000_000).all()
    for column in ("cwnd_segments", "mss_bytes"):
        assert {*by_ss[column].iloc[-5:]} == {*by_info[column].iloc[-5:]}


# beside the capture


@pytest.fixture(scope="module", params=["ss", "tcp_info"])
def told(request):
    logs = {"ss": ([FOLDER / "ss.log"],), "tcp_info": ((), [FOLDER / "tcp_info.jsonl"])}
    return bdpcap.analyze(CAPTURE, host=host.read(*logs[request.param]))


def test_the_capture_shows_what_the_kernel_counted(told):
    compared = host.compare(told.flow(0))
    # A round is a thirtieth of a second, of some three seconds: edges of stretches are known to a few hundredths.
    assert compared.host_rwnd_share == pytest.approx(compared.rwnd_share, abs=0.05)
    assert compared.host_rwnd_share == pytest.approx(0.5, abs=0.06)
    assert compared.host_busy_share == pytest.approx(compared.busy_share, abs=0.05)
    assert compared.sndbuf_share == pytest.approx(0.5, abs=0.06)  # by the recording's own phases
    assert compared.host_rtt_ns == pytest.approx(
        compared.rtt_ns, rel=0.1
    )  # a smoothed RTT has delayed ACKs in it
    assert compared.cwnd_used_share < 0.6  # two other windows were smaller
    assert compared.host_retransmits in (0, None)
    assert compared.retransmits == 0


def test_bytes_in_flight_are_the_kernels_unacknowledged_segments():
    capture = bdpcap.analyze(CAPTURE, host=host.read((), [FOLDER / "tcp_info.jsonl"]))
    samples = host.samples_of(capture.flow(0))
    events = capture.flow(0).events
    known = events[events["in_flight_bytes"].notna()]
    place = known["time_ns"].searchsorted(samples["time_ns"], side="right") - 1
    ours = known["in_flight_bytes"].to_numpy(dtype=np.int64)[place]
    theirs = (samples["unacked_segments"] * samples["mss_bytes"]).to_numpy(dtype=np.int64)
    # A last segment may be short, and between the sample and the tap a burst of two or three may be on its way.
    assert np.median(abs(ours - theirs)) <= 1448
    assert np.mean(abs(ours - theirs) <= 4 * 1448) > 0.9


@pytest.mark.usefixtures("need_shared")
def test_retransmissions_of_real_programs_are_as_many_as_their_kernels_counted(tmp_path):
    compared = 0
    for name in ("curl_limit_rate", "b_nginx_tls_slowreader", "iperf3_fqrate", "http_small_keepalive"):
        folder = SHARED / "captures" / "apps" / name
        log = tmp_path / f"{name}.jsonl"
        with log.open("w") as file:
            for flow in json.loads((folder / "meta.json").read_text())["flows"]:
                ports = (flow[end].rpartition(":")[2] for end in ("sender", "receiver"))
                packed = (folder / f"info_{'_'.join(ports)}.csv.zst").read_bytes()
                samples = pd.read_csv(io.BytesIO(zstandard.decompress(packed, max_output_size=1 << 28)))
                file.writelines(f"{one}\n" for one in json_lines(samples, flow["sender"], flow["receiver"]))
        capture = bdpcap.analyze(folder / "sender.pcap.zst", host=host.read((), [log]))
        assert capture.host.doubts(capture) == []
        for _, row in capture.flows.iterrows():
            told = host.compare(capture.flow(row["stream"], row["sender"]))
            if told is not None:
                # What is under way at the first and at the last sample is counted by one of the two only.
                assert told.retransmits == pytest.approx(told.host_retransmits, abs=2), name
                compared += 1
    assert compared >= 4


def connection(port, start):
    """A short transfer of 192.0.2.1, and two samples of it."""
    packets = scenario(
        HANDSHAKE + "+.1 > P. 1:101(100) ack 1 win 502\n +.02 < . 1:1(0) ack 101 win 502",
        client=Address("192.0.2.1", port),
        isn=(int(start) % 1000 * 1_000_000, 7),
    )
    shift = int(start * 1e9) - packets[0].time_ns
    return [type(one)(one.time_ns + shift, one.data, one.wire_length) for one in packets]


def test_samples_belong_to_the_connection_that_lived_then(tmp_path):
    """Ports that were used again a minute later are two streams; samples between, or of others, are told."""
    path, log = tmp_path / "t.pcap", tmp_path / "info.jsonl"
    path.write_bytes(pcap([*connection(40000, START), *connection(40000, START + 60)]))
    times = [START + 0.01, START + 0.1, START + 30, START + 60.1]
    lines = [
        line(time=time, source="192.0.2.1:40000", destination="198.51.100.2:80", snd_cwnd=10)
        for time in times
    ]
    log.write_text("\n".join([*lines, line()]))
    capture = bdpcap.analyze(path, host=host.read((), [log]))
    assert [len(host.samples_of(capture.flow(stream))) for stream in (0, 1)] == [2, 1]
    assert host.compare(capture.flow(1)) is None
    elsewhere, outside = capture.host.doubts(capture)
    assert elsewhere == "1 sample of connections that the capture does not hold."
    assert outside.startswith("1 sample from before or after the connection's packets")


def test_the_congestion_window_is_drawn_beside_the_receive_window(told):
    flow = told.flow(0)
    figure = flow.plot("window")
    (line,) = (trace for trace in figure.data if trace.name == "cwnd x MSS, by the host")
    samples = host.samples_of(flow)
    assert "(kB)" in figure.layout.yaxis.title.text
    assert max(line.y) * 1000 == (samples["cwnd_segments"] * samples["mss_bytes"]).max()
    assert line.x[0] == pytest.approx((samples["time_ns"].iloc[0] - told.info.first_ns) / 1e9)
    without = bdpcap.analyze(CAPTURE).flow(0)
    assert len(without.plot("window").data) == len(figure.data) - 2


# in the report


def test_text_page_and_json_show_both(told):
    document = json.loads(json.dumps(report.document(told)))
    Draft202012Validator(SCHEMA).validate(document)
    both = document["flows"][0]["host"]
    assert document["host"] == {"samples": both["samples"], "doubts": []}
    text = report.text(told)
    assert "THE HOST'S OWN ACCOUNT" in text
    (row,) = (line for line in text.splitlines() if line.lstrip().startswith("limited by the receive window"))
    assert row.endswith(f"{units.share(both['host_rwnd_share']):>12}{units.share(both['rwnd_share']):>12}")
    assert "In flight at the samples" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "The sending host&#39;s own account" in html(told)


def test_without_logs_nothing_is_said_of_a_host():
    capture = bdpcap.analyze(CAPTURE)
    document = json.loads(json.dumps(report.document(capture)))
    Draft202012Validator(SCHEMA).validate(document)
    assert (document["host"], document["flows"][0]["host"]) == (None, None)
    assert "HOST'S" not in report.text(capture)


def test_other_names_are_matched_and_no_true_one_is_shown():
    account = host.read([FOLDER / "ss.log"])
    capture = bdpcap.analyze(CAPTURE, pseudonyms=bdpcap.Pseudonyms(), host=account)
    told = report.text(capture, full=True) + html(capture) + json.dumps(report.document(capture))
    assert "limited by the receive window" in told
    assert "192.168.1.3" not in told


def test_the_command_warns_of_lines_that_were_not_understood(tmp_path, capsys):
    log = tmp_path / "ss.log"
    log.write_text("nonsense\n" + (FOLDER / "ss.log").read_text())
    out = ["--text", str(tmp_path / "r.txt")]
    assert (
        main(["report", str(CAPTURE), "--ss", str(log), "--tcp-info", str(FOLDER / "tcp_info.jsonl"), *out])
        == 0
    )
    assert capsys.readouterr().err == f"bdpcap: warning: {log}: 1 line not understood, the first is line 1\n"
    assert "1 line of the host's logs not understood." in (tmp_path / "r.txt").read_text()


def test_a_log_without_samples_is_usage_and_one_that_is_not_there_an_error(tmp_path, capsys):
    capture, empty = write_pcap(tmp_path / "t.pcap"), tmp_path / "empty.log"
    empty.write_text("State Recv-Q\n")
    assert main(["report", str(capture), "--ss", str(empty), "--text", "-"]) == 2
    assert f"{empty} holds no sample" in capsys.readouterr().err
    assert main(["report", str(capture), "--ss", str(tmp_path / "none"), "--text", "-"]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert (
        main(["report", str(capture), "--ss", str(FOLDER / "ss.log"), "--text", str(FOLDER / "ss.log")]) == 2
    )
