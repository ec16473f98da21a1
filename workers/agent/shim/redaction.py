"""Takes secrets out of output before anything of it is kept, also where they are split over several writes.

Caught: the value as it is, each longer line of one with several, as JSON has it, URL-encoded, and base64-encoded at
each of the three places where its bytes can begin. Not caught: values shorter than four bytes, anything encoded in
another way (hex, compressed, reversed), and values with something written between their characters (colours).
"""

from __future__ import annotations

import binascii
import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

INSTEAD = b"[secret]"
SHORTEST = 4
"""Shorter values would take half of every log with them."""
SHORTEST_LINE = 12
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")


class Redactor:
    """One stream of output. What may be the start of a secret is held back until it is known what follows."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._forms = forms(secrets)
        self._held = b""

    def feed(self, text: bytes) -> bytes:
        """What can be kept of it now."""
        if not self._forms:
            return text
        text = self._clean(self._held + text)
        held = max((_overlap(text, form) for form in self._forms), default=0)
        self._held = text[len(text) - held :]
        return text[: len(text) - held]

    def end(self) -> bytes:
        """The rest, once nothing follows."""
        rest, self._held = self._held, b""
        return rest

    def _clean(self, text: bytes) -> bytes:
        for form in self._forms:
            if form in text:
                text = text.replace(form, INSTEAD)
        return text


def forms(secrets: Iterable[str]) -> tuple[bytes, ...]:
    """Every form in which a secret is looked for, longest first."""
    found: set[bytes] = set()
    for secret in secrets:
        value = secret.encode("utf-8", "surrogateescape")
        if len(value) < SHORTEST:
            continue
        found |= {value, *_lines(value), *_json(secret), *_url(value), *_base64(value)}
    return tuple(sorted(found, key=lambda form: (-len(form), form)))


def _lines(value: bytes) -> set[bytes]:
    return {line for line in value.splitlines() if len(line) >= SHORTEST_LINE}


def _json(secret: str) -> set[bytes]:
    texts = (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    return {text.encode("utf-8", "surrogateescape") for text in texts}


def _url(value: bytes) -> set[bytes]:
    def quoted(plain: frozenset[int], digits: str) -> bytes:
        return b"".join(bytes([each]) if each in plain else f"%{each:{digits}}".encode() for each in value)

    kept = [quoted(plain, digits) for plain in (_PLAIN, _PLAIN | {ord("/")}) for digits in ("02X", "02x")]
    return {*kept, kept[0].replace(b"%20", b"+")}


def _base64(value: bytes) -> set[bytes]:
    """The characters that depend on the value alone, wherever in a longer text it was encoded."""
    found = set()
    for shift in range(3):
        text = binascii.b2a_base64(b"\0" * shift + value, newline=False)
        first = (shift * 8 + 5) // 6
        whole = text[first : (shift + len(value)) * 8 // 6]
        if len(whole) >= SHORTEST:
            found |= {whole, whole.translate(bytes.maketrans(b"+/", b"-_"))}
    return found


def _overlap(text: bytes, form: bytes) -> int:
    """How much of the end of `text` is the start of `form`."""
    longest = min(len(text), len(form) - 1)
    tail = text[len(text) - longest :]
    at = tail.find(form[:1])
    while at >= 0:
        if form.startswith(tail[at:]):
            return len(tail) - at
        at = tail.find(form[:1], at + 1)
    return 0
