"""What a task leaves is found without following a link, and comes to the server whole, once, whatever goes wrong."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from workers.agent.folder import AgentFolder, TaskRecord
from workers.agent.messages import Claim
from workers.agent.outputs import Notes, files_below, something_in, upload
from workers.agent.reporting import Session
from workers.agent.transport import RefusedError, UnreachableError


class Store:
    """A server's outputs: bytes by path; `limits` refuses, `cut` loses the answer of that call."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.notes: list[str] = []
        self.refusals: dict[str, tuple[int, str]] = {}
        self.cut = 0
        self.calls = 0

    def put_output(self, task: int, fence: int, path: str, data: bytes, *, offset: int, size: int, retry: Any) -> int:
        self.calls += 1
        if path in self.refusals:
            status, code = self.refusals[path]
            raise RefusedError(status, code, code, {})
        have = self.kept.get(path, b"")
        if offset > len(have):
            raise RefusedError(416, "output_gap", "a gap", {"size": len(have)})
        self.kept[path] = have + data[len(have) - offset :]
        if self.calls == self.cut:
            raise UnreachableError("no answer in time")
        return len(self.kept[path])

    def outputs_done(self, task: int, fence: int, note: str, *, retry: Any) -> None:
        self.notes.append(note)


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def session_of(store: Store) -> Session:
    return Session(store)  # type: ignore[arg-type]


@pytest.fixture
def record(folder: AgentFolder, a_claim: Callable[..., Claim]) -> TaskRecord:
    made = folder.new_task(a_claim("true"))
    folder.make_work(made, None)
    return made


@pytest.fixture
def out(record: TaskRecord) -> Path:
    return Path(record.outputs or "")


def found(out: Path) -> tuple[list[str], Mapping[str, str]]:
    """Paths, and what is left out with its reason."""
    notes = Notes()
    paths = [path for path, _, _ in files_below(out, notes)]
    return paths, dict(line.split(": ", 1) for line in notes.text().splitlines())


def test_every_plain_file_below_is_found(out: Path) -> None:
    (out / "b" / "deep").mkdir(parents=True)
    for path in ("a.txt", "b/deep/c.bin", "b/.hidden", "名"):
        (out / path).write_text(path)
    assert found(out) == (["a.txt", "名", "b/.hidden", "b/deep/c.bin"], {})


def test_links_pipes_and_sockets_are_left_out_and_said(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "key").write_text("secret")
    (out / "file").symlink_to(tmp_path / "elsewhere" / "key")
    (out / "folder").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(out / "pipe")
    # A socket's address is at most 107 bytes, whatever folder the tests run in.
    monkeypatch.chdir(out)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("s")
    paths, left = found(out)
    assert paths == []
    assert left == {
        "file": "a link",
        "folder": "a link",
        "pipe": "no file",
        "s": "it cannot be read: No such device or address",
    }


def test_a_folder_that_became_a_link_is_not_followed(out: Path, tmp_path: Path) -> None:
    out.rmdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "key").write_text("secret")
    out.symlink_to(tmp_path / "elsewhere")
    assert found(out)[0] == []


def test_names_that_cannot_be_kept_are_said(out: Path) -> None:
    for name in (b"a\nb", b"\xff", b"back\\slash", "\u202eturned".encode()):
        (Path(os.fsdecode(os.fsencode(out) + b"/" + name))).write_text("x")
    paths, left = found(out)
    assert paths == []
    assert set(left.values()) == {"its name cannot be kept"}


def test_all_of_it_arrives_and_is_said_to_be_complete(
    record: TaskRecord, out: Path, store: Store, session_of: Session
) -> None:
    (out / "model.bin").write_bytes(os.urandom(2_500_000))
    (out / "empty").touch()
    upload(session_of, record)
    assert store.kept == {"model.bin": (out / "model.bin").read_bytes(), "empty": b""}
    assert store.notes == [""]


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_after_a_lost_answer_a_later_agent_goes_on_from_what_is_there(
    record: TaskRecord, out: Path, store: Store, session_of: Session, cut: int
) -> None:
    (out / "model.bin").write_bytes(os.urandom(2_500_000))
    store.cut = cut
    with pytest.raises(UnreachableError):
        upload(session_of, record)
    store.cut = 0
    upload(session_of, record)
    assert store.kept == {"model.bin": (out / "model.bin").read_bytes()}


def test_what_is_too_much_is_left_out_and_the_rest_comes(
    record: TaskRecord, out: Path, store: Store, session_of: Session
) -> None:
    record.outputs_limit_bytes = 100
    for name, size in (("a", 60), ("b", 60), ("c", 40)):
        (out / name).write_bytes(b"x" * size)
    upload(session_of, record)
    assert set(store.kept) == {"a", "c"}
    assert store.notes == ["b: 60 bytes, more than is left of what a task may have brought"]


def test_what_the_server_does_not_take_is_said_and_the_rest_comes(
    record: TaskRecord, out: Path, store: Store, session_of: Session
) -> None:
    store.refusals["a"] = (413, "outputs_full")
    for name in "ab":
        (out / name).write_text(name)
    upload(session_of, record)
    assert (set(store.kept), store.notes) == ({"b"}, ["a: outputs_full"])


def test_a_task_that_the_server_gave_up_brings_nothing_more(
    record: TaskRecord, out: Path, store: Store, session_of: Session
) -> None:
    store.refusals["a"] = (409, "task_over")
    for name in "ab":
        (out / name).write_text(name)
    upload(session_of, record)
    assert (store.kept, store.notes) == ({}, [])


def test_of_thousands_that_are_left_out_only_some_are_listed(out: Path) -> None:
    notes = Notes()
    for number in range(5000):
        notes.add(f"{'long ' * 100}{number}", "a link")
    lines = notes.text().splitlines()
    assert (len(lines), lines[-1]) == (21, "4,980 more")
    assert len(notes.text()) <= 4000


def test_an_empty_folder_is_nothing(record: TaskRecord, out: Path, store: Store, session_of: Session) -> None:
    assert something_in(record.outputs) is None
    upload(session_of, record)
    assert (store.calls, store.notes) == (0, [])
    (out / "a").touch()
    assert something_in(record.outputs) == record.outputs
