"""HTTP to the server, for agents and for the command line: time limits, retries, and errors one can act on."""

from __future__ import annotations

import email.utils
import random
import ssl
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from workers import agent
from workers.agent.trust import TrustError, is_loopback, trusting

Wait = Callable[[float], bool]
"""Waits that many seconds; true as soon as it is time to give up."""

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 20.0
ANSWER_BYTES = 64 * 1024 * 1024
"""The longest answer that is read; what a server says beyond it is not this protocol."""
RETRIED = frozenset({429, 500, 502, 503, 504, 507})

_OF_THE_TRANSFER = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class AddressError(ValueError):
    """The server's address cannot be used as it stands."""


class UnreachableError(Exception):
    """No answer: the network, or a server that is not there or not well (429, 5xx: its `status`)."""

    def __init__(self, detail: str, status: int | None = None) -> None:
        super().__init__(detail)
        self.status = status


class RefusedError(Exception):
    """The server answered no. `code` is stable, `detail` is for people, `body` the whole problem document."""

    def __init__(self, status: int, code: str, detail: str, body: Mapping[str, Any]) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.body = body


class Retry:
    """How long to keep trying: full jitter, doubling from `base` seconds to `cap`, at most `tries` times."""

    def __init__(
        self, wait: Wait, *, tries: int | None = None, base: float = 0.5, cap: float = 15.0,
        chance: Callable[[], float] = random.random,
    ) -> None:  # fmt: skip
        self._wait = wait
        self._tries = tries
        self._base = base
        self._cap = cap
        self._chance = chance

    def again(self, tried: int, retry_after: float | None, status: int | None = None) -> bool:
        """Wait before try number `tried + 1`; false when there will be none. `status`: what the server answered."""
        if self._tries is not None and tried >= self._tries:
            return False
        limit = min(self._cap, self._base * 2.0 ** min(tried - 1, 16))
        return not self._wait((retry_after or 0.0) + limit * self._chance())


ONCE = Retry(threading.Event().wait, tries=1)


class Transport:
    """One server and one token. Safe to share between threads; `close` it in the end."""

    def __init__(
        self, url: str, token: str | None, *, allow_http: bool = False, ca_file: Path | None = None,
        answer_bytes: int = ANSWER_BYTES,
    ) -> None:  # fmt: skip
        """`ca_file`: the only authorities that are believed (PEM), instead of those that everybody knows."""
        self.url = checked_url(url, allow_http=allow_http)
        self._answer_bytes = answer_bytes
        headers = {"User-Agent": f"gpulayer/{agent.VERSION}", "Accept": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._client = httpx.Client(
            base_url=self.url,
            headers=headers,
            # A proxy from the environment must never see what is meant for this very machine.
            trust_env=not is_loopback(self.url),
            verify=_verify(ca_file, self.url),
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def use(self, token: str) -> None:
        """Speak with this token from now on."""
        self._client.headers["Authorization"] = f"Bearer {token}"

    def call(
        self, method: str, path: str, *, retry: Retry = ONCE, document: object = None, content: bytes | None = None,
        params: Mapping[str, str | int] | None = None, headers: Mapping[str, str] | None = None,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> httpx.Response:  # fmt: skip
        """The server's answer below 300. Raises RefusedError for its no, UnreachableError once `retry` has given up."""
        timeout = httpx.Timeout(answer_seconds, connect=CONNECT_SECONDS)
        options: dict[str, Any] = {"params": params, "headers": headers, "timeout": timeout}
        if content is not None:
            options["content"] = content
        elif document is not None:
            options["json"] = document
        tried = 0
        while True:
            tried += 1
            try:
                response = self._answer(method, path, options)
            except httpx.TransportError as error:
                pause, why = None, UnreachableError(f"{self.url} cannot be reached: {_reason(error, self.url)}")
            else:
                if response.status_code not in RETRIED:
                    return _accepted(response)
                pause, status = retry_after(response), response.status_code
                why = UnreachableError(f"{self.url} answered {status}", status)
            if not retry.again(tried, pause, why.status):
                raise why

    def _answer(self, method: str, path: str, options: Mapping[str, Any]) -> httpx.Response:
        """The answer with its whole body, which has a bound, unpacked or not."""
        body = bytearray()
        with self._client.stream(method, path, **options) as response:
            for part in response.iter_bytes():
                body += part
                if len(body) > self._answer_bytes:
                    raise UnreachableError(f"{self.url} answered with more than {self._answer_bytes:,} bytes")
        headers = [
            (name, value) for name, value in response.headers.multi_items() if name.lower() not in _OF_THE_TRANSFER
        ]
        return httpx.Response(response.status_code, headers=headers, content=bytes(body), request=response.request)


def checked_url(url: str, *, allow_http: bool) -> str:
    """`url` without a slash at its end. Raises AddressError where a token would travel in the clear."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise AddressError(f"{url!r} is no server address: write it as https://host or http://127.0.0.1:8000")
    if parts.scheme == "http" and not allow_http and not is_loopback(url):
        raise AddressError(
            f"{url} would send the token unencrypted: use https, or, on a network that you trust, "
            "GPULAYER_ALLOW_HTTP=1 (`worker start` also takes --allow-http)"
        )
    return url.rstrip("/")


def _verify(ca_file: Path | None, url: str) -> ssl.SSLContext | bool:
    if ca_file is None or not url.startswith("https:"):
        return True
    try:
        return trusting(ca_file, url)
    except TrustError as error:
        raise AddressError(str(error)) from error


def _accepted(response: httpx.Response) -> httpx.Response:
    if response.status_code < 300:
        return response
    if response.status_code < 400:
        target = response.headers.get("location", "")
        raise RefusedError(response.status_code, "redirected", f"the server points to {target}: use that address", {})
    body = _problem(response)
    code = str(body.get("code") or f"http_{response.status_code}")
    detail = str(body.get("detail") or body.get("title") or f"the server answered {response.status_code}")
    raise RefusedError(response.status_code, code, detail, body)


def _problem(response: httpx.Response) -> Mapping[str, Any]:
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def retry_after(response: httpx.Response) -> float | None:
    """Seconds from the Retry-After header, in either of its two forms; at most ten minutes."""
    text = response.headers.get("retry-after", "")
    if text.isascii() and text.isdigit():
        return min(float(text), 600.0)
    try:
        instant = email.utils.parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return min(max((instant - datetime.now(UTC)).total_seconds(), 0.0), 600.0) if instant.tzinfo else None


def _reason(error: httpx.TransportError, url: str) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "no answer in time"
    text = str(error) or type(error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return f"{text}; where an authority of your own signed its certificate, name that: --ca-file, GPULAYER_CA_FILE"
    if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError) and url.startswith("http:"):
        return f"{text}; where it speaks TLS, write https://"
    return text
