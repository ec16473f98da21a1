"""Writers that are killed between the bytes and the row that counts them: what is counted is what was sent."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
from pathlib import Path

import pytest

from scheduler.storage import FileStorage, GapError, Key, Kind, append

KEY = Key(Kind.LOGS, 1)
SENT = random.Random(1).randbytes(600_000)
DEATHS = 50


def counted(row: Path) -> int:
    return int(row.read_text())


def move(row: Path, frm: int, to: int) -> bool:
    """The compare-and-set of a row, in a file: as atomic as a database's."""
    if counted(row) != frm:
        return False
    new = row.with_suffix(".new")
    new.write_text(str(to))
    new.replace(row)
    return True


def bring(folder: Path, seed: int) -> None:
    """Append pieces from where the row says that the end is, and die at some point."""
    chance = random.Random(seed)
    row, dies_at = folder / "row", chance.randrange(1, 6)

    def maybe_die(step: int) -> None:
        if step == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    for step in range(1, 6):
        offset = counted(row)
        piece = SENT[offset : offset + chance.randrange(1, 4_000)]

        def moved(frm: int, to: int, step: int = step) -> bool:
            maybe_die(step)
            return move(row, frm, to)

        append(FileStorage(folder), KEY, piece, offset=offset, counted=lambda: counted(row), move=moved)


def test_fifty_of_them_leave_no_gap_and_no_repeat(tmp_path: Path) -> None:
    row = tmp_path / "row"
    row.write_text("0")
    context = multiprocessing.get_context("fork")
    killed = 0
    for seed in range(DEATHS):
        process = context.Process(target=bring, args=(tmp_path, seed))
        process.start()
        process.join()
        killed += process.exitcode == -signal.SIGKILL
        stored = FileStorage(tmp_path).read(KEY, offset=0, length=counted(row))
        assert stored == SENT[: counted(row)]
    assert killed == DEATHS
    assert counted(row) > 50_000


def test_two_at_once_agree_on_one(tmp_path: Path) -> None:
    """The second finds the row moved and is told so; nothing of it is counted."""
    row = tmp_path / "row"
    row.write_text("0")
    storage = FileStorage(tmp_path)

    def overtaken(frm: int, to: int) -> bool:
        assert move(row, frm, to + 1)
        return move(row, frm, to)

    with pytest.raises(GapError) as caught:
        append(storage, KEY, b"ab", offset=0, counted=lambda: counted(row), move=overtaken)
    assert caught.value.size == 3
