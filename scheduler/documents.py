"""Text -> plain data: YAML, JSON and JSON lines, read strictly. What the data means is the core's affair."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from scheduler.core.errors import DocumentError, Problem
from scheduler.json_text import NotJsonError, read_json
from scheduler.yaml_text import read_yaml

Format = Literal["yaml", "json", "auto"]

LONGEST_TEXT = 256 * 1024
MOST_NODES = 10_000


@dataclass(frozen=True, slots=True)
class Located:
    """One document of a file and where it stands there, for people: `line 12`, `document 3`."""

    place: str
    data: object


def read_text(text: str, *, format: Format = "auto") -> object:
    """One document of a bounded size; raises `DocumentError`. `auto` reads JSON where the text begins like it."""
    length = len(text.encode("utf-8", "surrogatepass"))
    if length > LONGEST_TEXT:
        raise DocumentError([Problem("", f"{length:,} bytes", f"at most {LONGEST_TEXT:,}")])
    if format == "json" or (format == "auto" and _begins_like_json(text)):
        try:
            return read_json(text, most_nodes=MOST_NODES)
        except NotJsonError:
            if format == "json":
                raise  # otherwise it may be YAML in flow style
    documents = [document.data for document in read_yaml(text, most_nodes=MOST_NODES)]
    if len(documents) != 1:
        raise DocumentError([Problem("", f"{len(documents) or 'no'} documents", "one document")])
    return documents[0]


def read_located(path: Path) -> list[Located]:
    """Every document of a file of any size, with its place; a list stands for its items.

    Raises `DocumentError`, which tells every line that is wrong.
    """
    text = _file_text(path)
    if path.suffix in (".jsonl", ".ndjson"):
        return _lines(text)
    if path.suffix == ".json" or _begins_like_json(text):
        try:
            return _items(read_json(text))
        except NotJsonError:
            if path.suffix == ".json":
                raise
    return _yaml_items(text)


def _begins_like_json(text: str) -> bool:
    return text[:100].lstrip()[:1] in ("{", "[")


def _file_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"a byte that is no UTF-8 at {error.start:,}"
    except (OSError, ValueError) as error:
        found = (getattr(error, "strerror", None) or str(error)).lower()
    raise DocumentError([Problem("", found, "a readable file of YAML, JSON or JSON lines")])


def _lines(text: str) -> list[Located]:
    documents: list[Located] = []
    problems: list[Problem] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.isspace():
            continue
        try:
            documents.append(Located(f"line {number}", read_json(line)))
        except DocumentError as error:
            problems += [Problem(f"line {number}", problem.found, problem.expected) for problem in error.problems]
    if problems:
        raise DocumentError(problems)
    return documents


def _items(data: object) -> list[Located]:
    items = data if isinstance(data, list) else [data]
    return [Located(f"document {number}", item) for number, item in enumerate(items, 1)]


def _yaml_items(text: str) -> list[Located]:
    found: list[tuple[int, object]] = []
    for document in read_yaml(text):
        if isinstance(document.data, list):
            found += zip(document.item_lines, document.data, strict=True)
        else:
            found.append((document.line, document.data))
    return [Located(f"document {number}, from line {line}", item) for number, (line, item) in enumerate(found, 1)]
