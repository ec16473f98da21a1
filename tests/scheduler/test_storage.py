"""The storage: appended to by compare-and-set, never through what is not ours, never to the last byte of a disk."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scheduler.storage import (
    DiffersError,
    FileStorage,
    GapError,
    Key,
    Kind,
    StorageError,
    StorageFullError,
    append,
)

KEY = Key(Kind.OUTPUTS, 1_234)


class Row:
    """Counts what is stored, as a database row does."""

    def __init__(self, storage: FileStorage, key: Key = KEY) -> None:
        self.storage, self.key, self.size = storage, key, 0

    def append(self, data: bytes, *, offset: int) -> int:
        return append(self.storage, self.key, data, offset=offset, counted=lambda: self.size, move=self.move)

    def move(self, frm: int, to: int) -> bool:
        moved = self.size == frm
        if moved:
            self.size = to
        return moved

    @property
    def content(self) -> bytes:
        return self.storage.read(self.key, offset=0, length=self.size)


@pytest.fixture
def row(tmp_path: Path) -> Row:
    return Row(FileStorage(tmp_path))


class TestAppending:
    def test_adds_to_the_end(self, row: Row) -> None:
        assert [row.append(b"one", offset=0), row.append(b"two", offset=3)] == [3, 6]
        assert row.content == b"onetwo"

    def test_of_the_same_again_changes_nothing(self, row: Row) -> None:
        row.append(b"one", offset=0)
        assert row.append(b"one", offset=0) == 3
        assert row.append(b"onetwo", offset=0) == 6
        assert row.content == b"onetwo"

    def test_of_something_else_is_refused(self, row: Row) -> None:
        row.append(b"one", offset=0)
        with pytest.raises(DiffersError) as caught:
            row.append(b"two", offset=0)
        assert caught.value.size == 3

    def test_behind_a_gap_is_refused_with_the_true_size(self, row: Row) -> None:
        row.append(b"one", offset=0)
        with pytest.raises(GapError) as caught:
            row.append(b"x", offset=4)
        assert caught.value.size == 3

    def test_writes_over_what_nobody_counted(self, row: Row) -> None:
        row.append(b"one", offset=0)
        with row.storage.writing(KEY) as blob:
            blob.write(3, b"lost in a crash")
        assert row.append(b"two", offset=3) == 6
        assert row.content == b"onetwo"

    def test_that_another_call_was_faster_than_is_refused(self, row: Row) -> None:
        moves = iter([False])
        with pytest.raises(GapError):
            append(row.storage, KEY, b"x", offset=0, counted=lambda: 0, move=lambda *_: next(moves))

    def test_is_durable_before_it_is_counted(self, row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
        order: list[str] = []
        real = os.fdatasync

        def noted(file: int) -> None:
            order.append("synced")
            real(file)

        monkeypatch.setattr(os, "fdatasync", noted)
        append(
            row.storage, KEY, b"x", offset=0, counted=lambda: 0, move=lambda *_: bool(order.append("counted")) or True
        )
        assert order == ["synced", "counted"]

    def test_by_many_at_once_loses_and_repeats_nothing(self, row: Row) -> None:
        def bring(letter: bytes) -> None:
            for _ in range(50):
                while True:
                    try:
                        row.append(letter, offset=row.size)
                        break
                    except (GapError, DiffersError):
                        continue

        threads = [threading.Thread(target=bring, args=(letter,)) for letter in (b"a", b"b", b"c", b"d")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert row.size == len(row.content)
        # Where two bring the same at the same place it counts once; nothing else is there.
        assert set(row.content) <= set(b"abcd")


class TestFiles:
    def test_are_private(self, row: Row, tmp_path: Path) -> None:
        row.append(b"x", offset=0)
        path = tmp_path / "outputs" / "1" / "1234.file"
        modes = [each.stat().st_mode & 0o777 for each in (path, path.parent, path.parent.parent)]
        assert modes == [0o600, 0o700, 0o700]

    @pytest.mark.parametrize("trap", ["link", "pipe", "folder", "folder link"])
    def test_are_never_reached_through_what_is_not_ours(self, row: Row, tmp_path: Path, trap: str) -> None:
        outside = tmp_path / "outside"
        path = tmp_path / "outputs" / "1" / "1234.file"
        path.parent.parent.mkdir()
        if trap == "folder link":
            outside.mkdir()
            path.parent.symlink_to(outside)
        else:
            path.parent.mkdir()
            {"link": lambda: path.symlink_to(outside), "pipe": lambda: os.mkfifo(path), "folder": path.mkdir}[trap]()
        with pytest.raises(StorageError):
            row.append(b"x", offset=0)
        with pytest.raises(StorageError):
            row.storage.read(KEY, offset=0, length=1)
        assert not outside.exists() or not list(outside.iterdir())

    def test_that_are_not_there_are_empty(self, row: Row) -> None:
        assert (row.storage.read(KEY, offset=0, length=9), row.storage.size(KEY), row.storage.delete(KEY)) == (
            b"", None, False,
        )  # fmt: skip

    def test_are_deleted(self, row: Row) -> None:
        row.append(b"x", offset=0)
        assert row.storage.size(KEY) == 1
        assert row.storage.delete(KEY)
        assert row.storage.size(KEY) is None

    def test_are_listed_by_kind_and_whatever_is_not_ours_is_not(self, row: Row, tmp_path: Path) -> None:
        for key in (KEY, Key(Kind.OUTPUTS, 5), Key(Kind.LOGS, 5)):
            Row(row.storage, key).append(b"xy", offset=0)
        (tmp_path / "outputs" / "1" / "notes.txt").write_text("of an operator")
        (tmp_path / "outputs" / "README").write_text("too")
        listed = {(found.key.number, found.size) for found in row.storage.listing(Kind.OUTPUTS)}
        assert listed == {(1_234, 2), (5, 2)}
        assert list(row.storage.listing(Kind.BUNDLES)) == []

    def test_have_numbers_for_names(self) -> None:
        with pytest.raises(ValueError, match="numbered"):
            Key(Kind.LOGS, -1)


class TestAFullDisk:
    def test_takes_nothing_and_recovers(self, row: Row) -> None:
        row.append(b"x" * 100_000, offset=0)
        with files_no_larger_than(1_000_000), pytest.raises(StorageFullError):
            row.append(b"y" * 1_000_000, offset=100_000)
        assert row.size == row.storage.size(KEY) == 100_000
        assert row.append(b"y" * 1_000_000, offset=100_000) == 1_100_000

    def test_is_never_filled_to_the_end(self, tmp_path: Path) -> None:
        room = os.statvfs(tmp_path)
        row = Row(FileStorage(tmp_path, keep_free=room.f_bavail * room.f_frsize + 10**9))
        with pytest.raises(StorageFullError, match="left free"):
            row.append(b"x", offset=0)
        assert row.size == 0


@contextmanager
def files_no_larger_than(limit: int) -> Iterator[Callable[[], None]]:
    """Let the system refuse to write beyond, as a quota does; what is given lifts it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))

    def lift() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    try:
        yield lift
    finally:
        lift()
