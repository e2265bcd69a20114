"""A store as Google's on this machine: as much of its JSON API as gcsfs asks for.

The API is told at https://cloud.google.com/storage/docs/json_api.
"""

import contextlib
import http.server
import json
import re
import sys
from urllib.parse import parse_qs, unquote, urlsplit

LATER = "2026-01-01T00:00:00Z"


class QuietServer(http.server.ThreadingHTTPServer):
    """A server on this machine whose clients may close their connections at any time."""

    def __init__(self, handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class GoogleStore(QuietServer):
    """Buckets of objects by name, and the parts that were asked for, as (name, range)."""

    def __init__(self):
        super().__init__(Handler)
        self.buckets, self.parts = {}, []


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def handle_any(self):
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        found = re.fullmatch(
            r"(/download|/upload)?/storage/v1/b/([^/]+)"
            r"(?:/o(?:/([^/]+)(?:/moveTo/o/([^/]+)|/rewriteTo/b/[^/]+/o/([^/]+))?)?)?",
            parts.path,
        )
        if not found or found[2] not in self.server.buckets:
            return self.answer(404, {"error": {"code": 404, "message": "no such bucket"}})
        kind, bucket = found[1], found[2]
        name, target, copied = (one and unquote(one) for one in found.groups()[2:])
        objects = self.server.buckets[bucket]
        if kind == "/upload":
            return self.take(bucket, query, body)
        if name is None:
            return self.answer(
                200, listed(bucket, objects, query) if parts.path.endswith("/o") else {"name": bucket}
            )
        if name not in objects:
            return self.answer(404, {"error": {"code": 404, "message": "no such object"}})
        if target is not None:
            objects[target] = objects.pop(name)
            return self.answer(200, about(bucket, target, objects))
        if copied is not None:
            objects[copied] = objects[name]
            return self.answer(200, {"done": True, "resource": about(bucket, copied, objects)})
        if self.command == "DELETE":
            del objects[name]
            return self.answer(204, b"")
        if query.get("alt") != "media":
            return self.answer(200, about(bucket, name, objects))
        return self.give(name, objects[name])

    do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815 - http.server's names

    def give(self, name, data):
        """Answer with an object or a range of it."""
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        self.server.parts.append((name, asked and asked[0]))
        if not asked:
            return self.answer(200, data)
        first, last = int(asked[1]), min(int(asked[2] or len(data)), len(data) - 1)
        if first >= len(data):
            return self.answer(416, b"")
        return self.answer(
            206, data[first : last + 1], {"Content-Range": f"bytes {first}-{last}/{len(data)}"}
        )

    def take(self, bucket, query, body):
        """Store an object that comes with its metadata, or announces them and then comes in pieces."""
        objects = self.server.buckets[bucket]
        if query["uploadType"] == "multipart":
            boundary = re.search("boundary=[\"']?([^\"';]+)", self.headers["Content-Type"])[1].encode()
            _, described, content, _ = body.split(b"--" + boundary, 3)
            name = json.loads(described.split(b"\n\n", 1)[1])["name"]
            objects[name] = content.split(b"\n\n", 1)[1].removesuffix(b"\n")
        elif "upload_id" not in query:
            location = f"{self.server.url}/upload/storage/v1/b/{bucket}/o?uploadType=resumable&upload_id={query['name']}"
            objects[query["name"]] = b""
            return self.answer(200, {}, {"Location": location})
        else:
            name = query["upload_id"]
            objects[name] += body
            if self.headers["Content-Range"].endswith("*"):
                return self.answer(308, b"", {"Range": f"bytes=0-{len(objects[name]) - 1}"})
        return self.answer(200, about(bucket, name, objects))

    def answer(self, status, body, headers=()):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **dict(headers)}.items():
            self.send_header(name, value)
        with contextlib.suppress(BrokenPipeError):  # gcsfs gives up what it no longer needs
            self.end_headers()
            self.wfile.write(data)


def about(bucket, name, objects):
    return {
        "kind": "storage#object", "bucket": bucket, "name": name, "size": str(len(objects[name])), "generation": "1",
        "updated": LATER, "timeCreated": LATER, "contentType": "application/octet-stream",
    }  # fmt: skip


def listed(bucket, objects, query):
    """Return a page of objects and of folders below a prefix; all of them fit in one page."""
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter")
    own = sorted(name for name in objects if name.startswith(prefix))
    folders = {
        prefix + name[len(prefix) :].partition(delimiter)[0] + delimiter
        for name in own
        if delimiter and delimiter in name[len(prefix) :]
    }
    files = [name for name in own if not any(name.startswith(folder) for folder in folders)]
    return {"prefixes": sorted(folders), "items": [about(bucket, name, objects) for name in files]}
