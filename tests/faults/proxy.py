"""A proxy between an agent and the server that loses, delays, doubles, reorders and replays whole calls, by a seed."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "date", "server"}


@dataclass(frozen=True, slots=True)
class Weather:
    """What happens to calls: `cut` all are lost; the others are chances, and `delay` the most seconds."""

    cut: bool = False
    lose_request: float = 0.0
    lose_answer: float = 0.0
    double: float = 0.0
    replay: float = 0.0
    """Of an earlier call, sent once more before this one."""
    delay: float = 0.0


FAIR = Weather()


@dataclass(slots=True)
class _Call:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class _Count:
    calls: int = 0
    lost: int = 0
    doubled: int = 0
    replayed: int = 0
    seen: list[_Call] = field(default_factory=list)


class Proxy:
    """Listens on a port of its own and passes calls on to `target`, as the weather is."""

    def __init__(self, target: str, *, seed: int = 0) -> None:
        self.weather = FAIR
        self.count = _Count()
        self._chance = random.Random(seed)
        self._lock = threading.Lock()
        self._client = httpx.Client(base_url=target, timeout=30, limits=httpx.Limits(max_connections=64))
        handler = type("Handler", (_Handler,), {"proxy": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._client.close()

    def set(self, **changes: Any) -> None:
        """Let the weather change."""
        self.weather = replace(self.weather, **changes)

    def clear(self) -> None:
        """Fair weather again."""
        self.weather = FAIR

    def pass_on(self, call: _Call) -> httpx.Response | None:
        """The server's answer; None where the call or its answer is lost."""
        weather, fate = self.weather, self._fate()
        if weather.cut or fate.random() < weather.lose_request:
            self.count.lost += 1
            return None
        if weather.delay:
            time.sleep(fate.random() * weather.delay)
        if self.count.seen and fate.random() < weather.replay:
            self.count.replayed += 1
            self._send(fate.choice(self.count.seen))
        answer = self._send(call)
        if fate.random() < weather.double:
            self.count.doubled += 1
            answer = self._send(call)
        # The weather may have turned while the server was at work.
        if answer is None or self.weather.cut or fate.random() < weather.lose_answer:
            self.count.lost += 1
            return None
        return answer

    def _send(self, call: _Call) -> httpx.Response | None:
        try:
            return self._client.request(call.method, call.path, headers=call.headers, content=call.body)
        except httpx.TransportError:
            return None

    def _fate(self) -> random.Random:
        """Of one call: drawn under the lock, so that the seed alone decides."""
        with self._lock:
            self.count.calls += 1
            return random.Random(self._chance.random())

    def remember(self, call: _Call) -> None:
        """Keep it, for replays."""
        with self._lock:
            if call.method != "GET":
                self.count.seen.append(call)


class _Handler(BaseHTTPRequestHandler):
    proxy: Proxy
    protocol_version = "HTTP/1.1"

    def _handle(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        headers = {key: value for key, value in self.headers.items() if key.lower() not in HOP}
        call = _Call(self.command, self.path, headers, self.rfile.read(length))
        answer = self.proxy.pass_on(call)
        self.proxy.remember(call)
        if answer is None:
            self.close_connection = True
            return
        body = answer.content
        self.send_response(answer.status_code)
        for key, value in answer.headers.items():
            if key.lower() not in HOP | {"content-encoding"}:
                self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if answer.status_code != 204:
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = _handle  # noqa: N815 - the base class looks for these names

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
