"""Answers plain http beside a server that speaks TLS: browsers are sent to https, everybody else is told.

Only the address that was given is named, never one that the caller says.
"""

import argparse
import json
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from gpulayer_site.up import linux

_READ_SECONDS = 10
_DETAIL = "This server speaks https: use {to}. A token that was sent here has travelled unencrypted: revoke it."


class Hint(BaseHTTPRequestHandler):
    """One plain request; its body is not read."""

    timeout = _READ_SECONDS
    server_version, sys_version = "gpulayer", ""
    to = ""

    def do_GET(self) -> None:
        """Pages move; an API that was called with a token does not, so that the mistake is noticed."""
        if self.path.startswith("/api/"):
            self._refuse()
            return
        self.send_response(308)
        self.send_header("Location", self.to + _path(self.path))
        self._end(b"", "text/plain")

    do_HEAD = do_GET  # noqa: N815 - as the base class has it

    def do_POST(self) -> None:
        """Nothing is taken in the clear."""
        self._refuse()

    do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_POST  # noqa: N815 - likewise

    def log_message(self, *_: object) -> None:
        """A stranger's requests are no news."""

    def _refuse(self) -> None:
        problem = {"type": "about:blank", "title": "https only", "status": 400, "code": "https_only",
                   "detail": _DETAIL.format(to=self.to)}  # fmt: skip
        self.send_response(400)
        self._end(json.dumps(problem).encode(), "application/problem+json")

    def _end(self, body: bytes, kind: str) -> None:
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        if self.command != "HEAD":
            self.wfile.write(body)


def _path(path: str) -> str:
    """The path as it was asked for, unless it would lead elsewhere or into another header."""
    plain = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isascii() and path.isprintable()
    return path if plain else "/"


def main() -> None:
    """Listen until the process is ended."""
    linux.die_with_parent()
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--host", required=True)
    words.add_argument("--port", type=int, required=True)
    words.add_argument("--to", required=True)
    given = words.parse_args()
    Hint.to = given.to.rstrip("/")
    ThreadingHTTPServer.address_family = socket.AF_INET6 if ":" in given.host else socket.AF_INET
    ThreadingHTTPServer((given.host, given.port), Hint).serve_forever()


if __name__ == "__main__":
    main()
