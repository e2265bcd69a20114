"""The server: on this host alone, below a secret path, with a policy that keeps the page from loading anything else."""

from __future__ import annotations

import hmac
import secrets
import socket
import threading
import webbrowser
from typing import TYPE_CHECKING, Final

from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response

from bdpcap.view.page import application

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from bdpcap.view.viewer import Viewer

__all__ = ["ADDRESS", "guarded", "serve", "site"]

ADDRESS: Final = "127.0.0.1"
"""The only address that is listened on."""
_HOSTS: Final = (ADDRESS, "localhost")
"""Names in the Host header that are answered. A page elsewhere whose name is rebound to this host sends its own name."""
_TOKEN_BYTES: Final = 32
"""Random bytes in the path, as many as `secrets` takes by default."""

_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class _Quiet(WSGIRequestHandler):
    """Handler that keeps connections open and logs no request."""

    protocol_version = "HTTP/1.1"

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


def guarded(app: WSGIApplication, token: str, policy: str) -> WSGIApplication:
    """
    Return an application that answers requests for this host and below the token's path alone.

    Parameters
    ----------
    app
        The application to guard.
    token
        First part of every path that is answered; another path gets 404.
    policy
        Content security policy of every response.

    Notes
    -----
    A Host header with another name gets 403: so no page can reach the server by DNS rebinding.
    """

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        if request.host.rpartition(":")[0] not in _HOSTS and request.host not in _HOSTS:
            return Response("another host\n", 403)(environ, start_response)
        if not hmac.compare_digest(request.path.split("/")[1].encode(), token.encode()):
            return Response("not found\n", 404)(environ, start_response)

        def start(status: str, headers: list[tuple[str, str]], *rest: object) -> Callable[[bytes], object]:
            own = {**_HEADERS, "Content-Security-Policy": policy}
            kept = [(name, value) for name, value in headers if name not in own]
            return start_response(status, [*kept, *own.items()], *rest)  # type: ignore[arg-type]

        return app(environ, start)

    return answer


def site(viewer: Viewer, token: str) -> WSGIApplication:
    """Return the guarded application that shows the flows of a viewer."""
    app = application(viewer, f"/{token}/")
    policy = (
        f"default-src 'none'; script-src 'self' {' '.join(app.csp_hashes())}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return guarded(app.server, token, policy)


def serve(viewer: Viewer, *, port: int, browser: bool, say: Callable[[str], object]) -> None:
    """
    Serve the figures until the process is interrupted.

    Parameters
    ----------
    viewer
        The flows to choose from.
    port
        Port to listen on; 0 is a free one.
    browser
        Whether to open the page in the user's browser.
    say
        Function that is called with the address.

    Raises
    ------
    OSError
        The port is taken, or may not be listened on.
    """
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    with socket.create_server((ADDRESS, port)) as listening:
        port = listening.getsockname()[1]
        server = make_server(
            ADDRESS, port, site(viewer, token), threaded=True, request_handler=_Quiet, fd=listening.fileno()
        )
        address = f"http://{ADDRESS}:{port}/{token}/"
        say(address)
        if browser:
            # A browser in the terminal returns when it is closed.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        server.serve_forever()
