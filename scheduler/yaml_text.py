"""YAML text -> plain data as YAML 1.2 reads it: no aliases, no tags, no doubled keys; `on` is text, `3.10` a number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import yaml

from scheduler.core.errors import DocumentError
from scheduler.core.reading import quoted, show
from scheduler.json_text import DEEPEST, real_number, refuse, whole_number

_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WHOLE = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_REAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_NAMED = re.compile(r"\.([iInN])")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NO_KEY = object()


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """One document and where it stands."""

    data: object
    line: int
    item_lines: tuple[int, ...]
    """Of a list, where each item begins."""


def read_yaml(text: str, *, most_nodes: int | None = None) -> Iterator[YamlDocument]:
    """Every document of the text; empty ones are passed over. Raises `DocumentError`."""
    try:
        yield from _Builder(most_nodes).build(yaml.parse(text, Loader=_LOADER))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        refuse(place, (error.problem or "text that is no YAML").removeprefix("found "), "YAML or JSON")
    except yaml.YAMLError as error:
        refuse("", " ".join(str(error).split())[:200], "YAML or JSON")
    except (UnicodeError, RecursionError, ValueError) as error:
        if isinstance(error, DocumentError):
            raise
        refuse("", "text that is no YAML", "YAML or JSON in UTF-8")


class _Builder:
    """Builds data from parser events with a stack of its own, so that neither depth nor aliases can hurt."""

    def __init__(self, most_nodes: int | None) -> None:
        self.most_nodes = most_nodes
        self.nodes = 0
        self.item_lines: list[int] = []
        self.open: list[tuple[dict[Any, Any] | list[Any], object]] = []

    def build(self, events: Iterator[Any]) -> Iterator[YamlDocument]:
        """Each document as soon as it ends."""
        line, root = 1, None
        for event in events:
            match event:
                case yaml.DocumentStartEvent():
                    root = None
                    self.item_lines.clear()
                case yaml.DocumentEndEvent():
                    if root is not None:
                        yield YamlDocument(root, line, tuple(self.item_lines))
                case yaml.AliasEvent():
                    self.refuse(event, f"the alias *{event.anchor}", "the value itself; aliases are not read")
                case yaml.ScalarEvent() | yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                    if not self.open:
                        line = _line_of(event)
                    elif len(self.open) == 1 and isinstance(root, list):
                        self.item_lines.append(_line_of(event))
                    root = self.begin(event, root)
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    self.open.pop()

    def begin(self, event: Any, root: object) -> object:
        """Put one more value where it belongs; the answer is the document's root."""
        self.count(event)
        value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        if isinstance(event, yaml.ScalarEvent):
            value = self.scalar(event)
        at_root = not self.open
        self.put(event, value)
        if isinstance(value, dict | list):
            self.open.append((value, _NO_KEY))
        return value if at_root else root

    def count(self, event: Any) -> None:
        """Keep the document within bounds."""
        self.nodes += 1
        if event.tag is not None and event.tag != "!":
            self.refuse(event, f"the tag {event.tag}", "a plain value; tags are not read")
        if self.most_nodes is not None and self.nodes > self.most_nodes:
            self.refuse(event, f"more than {self.most_nodes:,} values", f"at most {self.most_nodes:,}")
        if len(self.open) >= DEEPEST:
            self.refuse(event, "a document that is nested too deeply", f"at most {DEEPEST} levels")

    def put(self, event: Any, value: object) -> None:
        """Add the value to what is open: as an item, as a field's name, or as that field's value."""
        if not self.open:
            return
        container, key = self.open[-1]
        if isinstance(container, list):
            container.append(value)
        elif key is not _NO_KEY:
            container[key] = value
            self.open[-1] = (container, _NO_KEY)
        elif isinstance(value, dict | list):
            self.refuse(event, f"{show(value)} as a field's name", "field names that are text")
        elif value in container:
            self.refuse(event, f"{quoted(str(value))} more than once in one mapping", "each field once")
        else:
            self.open[-1] = (container, value)

    def scalar(self, event: Any) -> object:
        """What a plain scalar means; one in quotes is text."""
        text: str = event.value
        if not event.implicit[0]:
            return text
        if text in _NULLS:
            return None
        if text in _BOOLEANS:
            return _BOOLEANS[text]
        try:
            if _WHOLE.fullmatch(text):
                return whole_number(text)
            return real_number(_NAMED.sub(r"\1", text)) if _REAL.fullmatch(text) else text
        except DocumentError as error:
            self.refuse(event, error.problems[0].found, error.problems[0].expected)

    def refuse(self, event: Any, found: str, expected: str) -> NoReturn:
        """Raise one problem at the event's place."""
        mark = event.start_mark
        refuse(f"line {mark.line + 1}, column {mark.column + 1}", found, expected)


def _line_of(event: yaml.Event) -> int:
    """The line where it begins, from 1."""
    return event.start_mark.line + 1 if event.start_mark else 1
