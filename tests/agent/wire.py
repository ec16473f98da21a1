"""A server that speaks the agents' wire from a script: what the real one does only on bad days."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Answer = tuple[int, dict[str, Any]]
PATIENCE = 20.0


@dataclass
class Call:
    """One request."""

    method: str
    path: str
    query: dict[str, str]
    body: bytes
    headers: dict[str, str]

    @property
    def document(self) -> Any:
        return json.loads(self.body)


@dataclass
class Script:
    """Answers by `METHOD path`: a document, (status, document), or a function of the call. Calls are kept."""

    calls: list[Call] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)
    queued: defaultdict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    arrived: threading.Condition = field(default_factory=threading.Condition)
    url: str = ""

    def say(self, call: str, answer: Any) -> None:
        """From now on."""
        self.answers[call] = answer

    def once(self, call: str, *answers: Any) -> None:
        """Before what `say` says."""
        self.queued[call] += answers

    def made(self, call: str) -> list[Call]:
        """Those that have come."""
        method, path = call.split()
        with self.arrived:
            return [each for each in self.calls if (each.method, each.path) == (method, path)]

    def wait_for(self, call: str, count: int = 1) -> list[Call]:
        """Wait until it was called so often."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.made(call)) >= count, PATIENCE), f"{call} never came"
        return self.made(call)

    def answer(self, call: Call) -> Answer:
        with self.arrived:
            self.calls.append(call)
            self.arrived.notify_all()
            name = f"{call.method} {call.path}"
            told = self.queued[name].pop(0) if self.queued[name] else self.answers.get(name, {})
        told = told(call) if callable(told) else told
        return told if isinstance(told, tuple) else (200, told)


@contextmanager
def serving(script: Script) -> Iterator[Script]:
    """The script on a port of its own; paths are told without their root."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_call(self) -> None:
            parts = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            path = parts.path.removeprefix("/api/agent/v1/").removeprefix("/api/v1/")
            status, document = script.answer(Call(self.command, path, query, body, dict(self.headers)))
            headers = document.pop("headers", {}) if isinstance(document, dict) else {}
            answer = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            for name, value in {
                "Content-Length": str(len(answer)),
                "Content-Type": "application/json",
                **headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_PUT = handle_call  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def problem(status: int, code: str, **more: Any) -> Answer:
    """A refusal."""
    return status, {"code": code, "detail": f"refused: {code}", "status": status, **more}


Told = dict[str, Any] | Answer | Callable[[Call], Any]
