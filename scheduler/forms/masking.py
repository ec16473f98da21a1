"""A YAML or JSON text as a page may show it again: with the names of its secrets and none of their values."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

MOST_READ = 256 * 1024
"""Characters beyond which a text is no document anyway, and is not read as one."""

_KEY = "secrets"
_LINE = re.compile(r"^(?P<indent>[ \t]*)(?:.*[{,\s])?[\"']?secrets[\"']?[ \t]*:", re.MULTILINE)
_OPENING = frozenset("{}[]-'\"|>&!*")
_TAKEN_OUT = " # taken out: type them again"


def masked_text(text: str, sign: str) -> str:
    """The text with `sign`, in quotes, in place of every value below a key `secrets`, wherever that stands.

    What cannot be read as YAML loses everything that could belong to that key.
    """
    if _KEY not in text:
        return text
    if len(text) > MOST_READ:
        return _cut(text)
    try:
        spans = sorted(set(_spans(yaml.compose(text, Loader=yaml.SafeLoader), set())), reverse=True)
    except (yaml.YAMLError, RecursionError):
        return _cut(text)
    for start, end in spans:
        tail = "\n" if text[start:end].endswith("\n") else ""  # a block of lines ends behind its last one
        text = f'{text[:start]}"{sign}"{tail}{text[end:]}'
    return text


def _spans(node: yaml.Node | None, seen: set[int]) -> Iterator[tuple[int, int]]:
    """Where the values stand."""
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _spans(item, seen)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _values(value) if key.value == _KEY else _spans(value, seen)


def _values(node: yaml.Node) -> Iterator[tuple[int, int]]:
    parts = [value for _, value in node.value] if isinstance(node, yaml.MappingNode) else [node]
    for part in parts:
        yield part.start_mark.index, part.end_mark.index


def _cut(text: str) -> str:
    """The text without what follows each such key: what is indented below it, or all the rest where it is no block."""
    kept: list[str] = []
    deeper: int | None = None
    for line in text.splitlines():
        bare = line.lstrip()
        if deeper is not None and (not bare or len(line) - len(bare) > deeper or bare[0] in _OPENING):
            continue
        found = _LINE.match(line)
        kept.append(line[: found.end()] + _TAKEN_OUT if found else line)
        if found and (line[found.end() :].strip() or text.lstrip()[:1] in _OPENING):
            break
        deeper = len(line) - len(bare) if found else None
    return "\n".join(kept)
