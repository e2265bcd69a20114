"""`bdpcap view`: who is answered, and what the page does in a real browser, which is allowed no other address."""

import http.client
import re
import signal
import socket
import subprocess
import sys

import pytest
from oracles import ROOT
from small_transfer import write_many
from werkzeug.test import Client

import bdpcap
from bdpcap.cli import main
from bdpcap.view.page import span_of
from bdpcap.view.server import ADDRESS, site
from bdpcap.view.viewer import Viewer

LOSS = ROOT / "sample_captures" / "cwnd_loss_2pct.sender.pcap.zst"
TOKEN = "a" * 43
ASSETS = (
    "",
    "assets/native.js",
    "assets/view.js",
    "assets/view.css",
    "_dash-layout",
    "_dash-dependencies",
    "_favicon.ico",
)
FIGURE = "document.querySelector('#figure .js-plotly-plot')"


@pytest.fixture(scope="module")
def client():
    capture = bdpcap.analyze(LOSS)
    return Client(site(Viewer(capture, capture.flow(0)), TOKEN))


def asked(client, path, host="127.0.0.1:8050"):
    answer = client.get(path, headers={"Host": host})
    answer.close()  # files stay open otherwise
    return answer


@pytest.mark.parametrize("path", ASSETS)
def test_all_is_answered_below_the_token_and_nothing_elsewhere(client, path):
    assert asked(client, f"/{TOKEN}/{path}").status_code == 200
    for wrong in (
        f"/{path}",
        f"/{TOKEN[1:]}b/{path}",
        f"/{TOKEN}b/{path}",
        f"//{TOKEN}/{path}",
        f"/x/{TOKEN}/{path}",
    ):
        assert asked(client, wrong).status_code == 404


@pytest.mark.parametrize("path", ASSETS)
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8050", "127.0.0.1.evil.example", "localhost.evil:80", "[::1]:80"]
)
def test_a_name_that_was_rebound_to_this_host_is_refused(client, path, host):
    assert asked(client, f"/{TOKEN}/{path}", host).status_code == 403
    assert asked(client, f"/{path}", host).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost", "localhost:8050"])
def test_this_host_may_be_forwarded(client, host):
    assert asked(client, f"/{TOKEN}/", host).status_code == 200


def test_the_page_may_load_nothing_from_elsewhere(client):
    headers = asked(client, f"/{TOKEN}/").headers
    policy = dict(rule.strip().split(" ", 1) for rule in headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    sources = {source for rule in policy.values() for source in rule.split()}
    assert {source for source in sources if not source.startswith("'sha256-")} <= {
        "'none'", "'self'", "'unsafe-inline'", "data:", "blob:",
    }  # fmt: skip
    assert "'unsafe-inline'" not in policy["script-src"]
    assert headers["Referrer-Policy"] == "no-referrer"  # the address is secret


@pytest.mark.parametrize(
    ("change", "span"),
    [
        (None, None),
        ({"autosize": True}, None),
        ({"xaxis.range[0]": 1, "xaxis.range[1]": 2.5}, (1, 2.5, None)),
        ({"xaxis.range": [1, 2]}, (1, 2, None)),
        ({"xaxis.range": [2, 1]}, None),
        ({"xaxis.range": ["a", None]}, None),
        ({"xaxis.range": [1, 2], "yaxis4.range[0]": 3, "yaxis4.range[1]": 4}, (1, 2, (3, 4))),
        ({"yaxis4.range[0]": 3, "yaxis4.range[1]": 4}, None),
    ],
)
def test_a_change_of_the_axes_is_read(change, span):
    found = span_of(change)
    assert (found and (found.start, found.end, found.sequence)) == span


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Yield the address of a server of two captures' flows, and its process."""
    many = write_many(tmp_path_factory.mktemp("view") / "many.pcap", 3)
    command = [sys.executable, "-m", "bdpcap", "view", str(LOSS), str(many), "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        said = server.stderr.readline()
        yield re.search(r"http://\S+", said)[0], server
        server.send_signal(signal.SIGINT)
        assert server.stderr.read() == ""
        assert server.wait(10) == 0


def test_the_server_listens_on_this_host_alone(served):
    address, _ = served
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([\w-]{43})/", address)
    for path, status in ((f"/{found[2]}/", 200), ("/", 404)):
        connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=10)
        connection.request("GET", path)
        assert connection.getresponse().status == status
        connection.close()
    with pytest.raises(OSError, match=r"refused|unreachable|assign"):
        socket.create_connection(("127.0.0.2", int(found[1])), timeout=10)


def test_a_port_that_is_taken_is_one_line(capsys):
    with socket.create_server((ADDRESS, 0)) as other:
        port = other.getsockname()[1]
        assert main(["view", str(LOSS), "--no-browser", "--port", str(port)]) == 2
    said = capsys.readouterr().err
    assert "--port" in said
    assert said.count("\n") == 1


@pytest.fixture(scope="module")
def page(served, browser):
    """Return the page; requests to other addresses fail, and all that was asked for and complained of is noted."""
    address, _ = served
    opened = browser.new_page(viewport={"width": 1200, "height": 1300})
    opened.asked, opened.complaints = [], []
    opened.route(lambda url: not url.startswith(address), lambda route: route.abort())
    opened.on("request", lambda request: opened.asked.append(request.url))
    opened.on("console", lambda message: opened.complaints.append(message.text))
    opened.on("pageerror", lambda error: opened.complaints.append(str(error)))
    opened.goto(address)
    opened.wait_for_function(f"() => {FIGURE}?.calcdata?.length > 5")
    yield opened
    opened.context.close()
    assert opened.complaints == []
    assert all(url.startswith((address, "data:", "blob:")) for url in opened.asked)


def test_plotly_has_the_functions_of_the_browser(page):
    """Dash's polyfill has others, which take a fifth of the time of a step."""
    said = page.evaluate("[parseInt, Number.parseInt, String.prototype.trim].map(String)")
    assert all("[native code]" in one for one in said)


def time_range(page):
    return page.evaluate(f"{FIGURE}.layout.xaxis.range")


def pressed(page, key):
    """Press a key, and wait until another time is drawn."""
    before = time_range(page)
    page.keyboard.press(key)
    page.wait_for_function(
        f"([low, high]) => {{ const [a, b] = {FIGURE}.layout.xaxis.range; return a !== low || b !== high; }}",
        arg=before,
    )
    return time_range(page)


def test_keys_pan_and_zoom(page):
    start, end = time_range(page)
    low, high = pressed(page, "+")
    assert (low - start, end - high) == pytest.approx(((end - start) / 4,) * 2)
    assert pressed(page, "ArrowRight")[0] == pytest.approx(low + (high - low) / 4)
    assert pressed(page, "ArrowLeft")[0] == pytest.approx(low)
    pressed(page, "-")
    pressed(page, "+")
    assert pressed(page, "Home") == [start, end]
    pressed(page, "+")
    assert pressed(page, "0") == [start, end]


def test_dragging_over_a_time_draws_its_events(page):
    whole = time_range(page)
    box = page.evaluate(
        f"(() => {{ const plot = {FIGURE}; const {{ left, top }} = plot.getBoundingClientRect();"
        " const { xaxis, yaxis2 } = plot._fullLayout;"
        " return [left + xaxis._offset, top + yaxis2._offset + yaxis2._length / 2, xaxis._length]; })()"
    )
    page.mouse.move(box[0] + 0.5 * box[2], box[1])
    page.mouse.down()
    page.mouse.move(box[0] + 0.52 * box[2], box[1], steps=5)
    page.mouse.up()
    page.wait_for_function("() => document.querySelector('#shown').textContent.includes('all drawn')")
    low, high = time_range(page)
    assert high - low == pytest.approx(
        0.02 * (whole[1] - whole[0]), rel=0.2
    )  # a pixel is 5 % of the time dragged over


def test_a_limit_tells_its_rule_wherever_one_points_at_it(page):
    pressed(page, "Home")
    before = time_range(page)
    for _ in range(5):
        pressed(page, "+")
    left, length, middle = page.evaluate(
        f"(() => {{ const plot = {FIGURE}; const {{ left, top }} = plot.getBoundingClientRect();"
        " const { xaxis, yaxis } = plot._fullLayout;"
        " return [left + xaxis._offset, xaxis._length, top + yaxis._offset + yaxis._length / 2]; })()"
    )
    for place in range(1, 20):
        page.mouse.move(0, 0)
        page.wait_for_selector("#figure .hoverlayer .hovertext", state="detached")
        page.mouse.move(left + length * place / 20, middle)
        page.get_by_text("rule: ").first.wait_for()
    page.mouse.move(0, 0)
    assert pressed(page, "Home") == before


def test_a_click_on_a_packet_gives_its_frame(page):
    pressed(page, "+")
    place = page.evaluate(
        f"(() => {{ const plot = {FIGURE}; const {{ left, top }} = plot.getBoundingClientRect();"
        " const points = plot.calcdata.find(([{ trace }]) => trace.name === 'sent');"
        " const { xaxis, yaxis4 } = plot._fullLayout; const at = points[0];"
        " return [left + xaxis._offset + xaxis.l2p(at.x), top + yaxis4._offset + yaxis4.l2p(at.y)]; })()"
    )
    page.mouse.move(place[0] - 40, place[1])
    page.mouse.move(*place, steps=8)
    page.wait_for_selector("#figure .hoverlayer .hovertext")
    page.mouse.click(*place)
    page.wait_for_selector("#packet code")
    said = page.locator("#packet").inner_text()
    frame = int(re.search(r"frame\.number == (\d+)", said)[1])
    assert "of cwnd_loss_2pct.sender.pcap.zst" in said
    assert frame in bdpcap.analyze(LOSS).flow(0).events["frame"].tolist()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#packet .copy").first.click()
    page.wait_for_function(
        "async (text) => await navigator.clipboard.readText() === text", arg=f"frame.number == {frame}"
    )


def test_another_flow_is_drawn_whole(page):
    before = page.locator("#verdict").inner_text()
    page.locator("#flow").click()
    page.get_by_text("stream 2:").first.click()
    page.wait_for_function("old => document.querySelector('#verdict').innerText !== old", arg=before)
    assert page.locator("#packet").inner_text() == ""
    assert time_range(page)[0] > 0
