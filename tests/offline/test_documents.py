"""Text becomes plain data, strictly: what YAML or JSON might mean otherwise is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.core.errors import DocumentError
from scheduler.documents import read_located, read_text


@pytest.mark.parametrize(
    ("text", "data"),
    [
        pytest.param("a: 1", {"a": 1}, id="YAML"),
        pytest.param('{"a": [1, 2.5, null, true, "x"]}', {"a": [1, 2.5, None, True, "x"]}, id="JSON"),
        pytest.param("{a: 1, b: [x, 'y']}", {"a": 1, "b": ["x", "y"]}, id="YAML that begins like JSON"),
        pytest.param("retries: {on: [lost]}", {"retries": {"on": ["lost"]}}, id="on is text"),
        pytest.param("[yes, no, off, y, n]", ["yes", "no", "off", "y", "n"], id="only true and false are booleans"),
        pytest.param("[true, False, ~, null, '']", [True, False, None, None, ""], id="true, false and null"),
        pytest.param("[3.10, 1e3, .5, 0x10, 0o10, -7, +5, 010]", [3.1, 1000.0, 0.5, 16, 8, -7, 5, 10], id="numbers"),
        pytest.param("a: 2026-11-30T18:00:00Z", {"a": "2026-11-30T18:00:00Z"}, id="instants stay text"),
        pytest.param("a: 12:30:00", {"a": "12:30:00"}, id="no numbers to the base of sixty"),
        pytest.param("a: 1_000", {"a": "1_000"}, id="no underscores in numbers"),
        pytest.param("a: '3.10'", {"a": "3.10"}, id="quotes keep text"),
        pytest.param("<<: {a: 1}", {"<<": {"a": 1}}, id="no merging"),
        pytest.param("---\n# only this\na: 1\n---\n", {"a": 1}, id="an empty second document does not count"),
        pytest.param("a: >-\n  one\n  two\n", {"a": "one two"}, id="folded text"),
    ],
)
def test_it_reads(text: str, data: object) -> None:
    assert read_text(text) == data


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        pytest.param("a: &x 1\nb: *x", "line 2, column 4", "alias *x", id="an alias"),
        pytest.param("a: 1\na: 2", "line 2, column 1", '"a" more than once', id="a doubled key in YAML"),
        pytest.param('{"a": 1, "a": 2}', "", '"a" more than once', id="a doubled key in JSON"),
        pytest.param("a: !!python/object/apply:os.system [x]", "line 1, column 4", "tags are not read", id="a tag"),
        pytest.param("a: !mine 1", "line 1, column 4", "tags are not read", id="a tag of one's own"),
        pytest.param("a: .nan", "line 1, column 4", "finite", id="NaN in YAML"),
        pytest.param("a: -.INF", "line 1, column 4", "finite", id="infinity in YAML"),
        pytest.param('{"a": NaN}', "", "finite", id="NaN in JSON"),
        pytest.param('{"a": 1e999}', "", "finite", id="a number beyond floats"),
        pytest.param("a: " + "1" * 5000, "line 1, column 4", "5,000 digits", id="a number of five thousand digits"),
        pytest.param("[" * 60 + "]" * 60, "", "nested too deeply", id="sixty levels"),
        pytest.param("? [a]\n: 1", "line 1, column 3", "names that are text", id="a list as a key"),
        pytest.param("a: b: c", "line 1, column 5", "not allowed", id="no YAML"),
        pytest.param("a: \x07", "", "control characters", id="a bell"),
        pytest.param("a: \ud800", "", "UTF-8", id="half a character"),
        pytest.param("", "", "no documents; one", id="nothing"),
        pytest.param("a: 1\n---\nb: 2", "", "2 documents; one", id="two documents"),
        pytest.param("a: " + "x" * 300_000, "", "at most 262,144", id="more than 256 KiB"),
        pytest.param("[" + "1," * 10_001 + "1]", "", "at most 10,000", id="more than ten thousand values"),
    ],
)
def test_it_refuses(text: str, path: str, words: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_text(text)
    (problem,) = caught.value.problems
    assert problem.path == path
    assert words in f"{problem.found}; {problem.expected}"


def test_json_is_json_where_it_is_asked_for() -> None:
    assert read_text('{"a": 1}', format="json") == {"a": 1}
    with pytest.raises(DocumentError, match="line 1, column 2"):
        read_text("{a: 1}", format="json")


def test_an_alias_bomb_costs_nothing() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    with pytest.raises(DocumentError, match="alias"):
        read_text("\n".join(lines))


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_answered(text: str) -> None:
    _answered(text)


@settings(deadline=None)
@given(st.text(alphabet="{}[]:,-?!&*#|>'\"% \n\tabc019.~\\", max_size=60))
def test_any_yaml_like_text_is_answered(text: str) -> None:
    _answered(text)


def _answered(text: str) -> None:
    try:
        read_text(text)
    except DocumentError as error:
        str(error).encode("utf-8")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("a.yaml", "id: 1\n---\nid: 2\n", id="YAML, a document for each"),
        pytest.param("a.yml", "- id: 1\n- {id: 2}\n", id="YAML, a list"),
        pytest.param("a.yaml", "- id: 1\n---\nid: 2\n...\n---\n", id="YAML, lists and documents"),
        pytest.param("a.json", '[{"id": 1}, {"id": 2}]', id="JSON, a list"),
        pytest.param("a.jsonl", '{"id": 1}\n\n{"id": 2}\n', id="JSON lines"),
        pytest.param("a.txt", '[{"id": 1}, {"id": 2}]', id="JSON under another name"),
        pytest.param("a.yaml", '\ufeff[{"id": 1}, {"id": 2}]', id="with a byte order mark"),
    ],
)
def test_a_file_holds_documents(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert [found.data for found in read_located(path)] == [{"id": 1}, {"id": 2}]


def test_a_json_file_may_hold_a_single_document(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"id": 1}', encoding="utf-8")
    assert [found.data for found in read_located(path)] == [{"id": 1}]


def test_each_document_knows_its_place(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("# first\nid: 1\n---\n- id: 2\n- id: 3\n", encoding="utf-8")
    (tmp_path / "a.jsonl").write_text('{"id": 1}\n\n{"id": 2}\n', encoding="utf-8")
    assert [found.place for found in read_located(tmp_path / "a.yaml")] == [
        "document 1, from line 2", "document 2, from line 4", "document 3, from line 5",
    ]  # fmt: skip
    assert [found.place for found in read_located(tmp_path / "a.jsonl")] == ["line 1", "line 3"]


def test_every_wrong_line_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1}\n{"id": \n{"id": 3, "id": 4}\n', encoding="utf-8")
    with pytest.raises(DocumentError) as caught:
        read_located(path)
    assert [problem.path for problem in caught.value.problems] == ["line 2", "line 3"]


@pytest.mark.parametrize("kind", ["missing", "folder", "binary"])
def test_what_cannot_be_read_is_said(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.yaml"
    if kind == "folder":
        path.mkdir()
    if kind == "binary":
        path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DocumentError, match="a readable file"):
        read_located(path)
