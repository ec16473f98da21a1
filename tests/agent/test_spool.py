"""A task's output on disk: whole frames, whatever happens to the disk and the agent."""

from __future__ import annotations

import resource
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from workers.agent.spool import CHUNK_BYTES, FRAME_BYTES, HEADER, Spool, frame, whole_frames


def texts(chunk: bytes) -> list[tuple[bytes, bytes]]:
    """(stream, text) of each frame."""
    found, at = [], 0
    while at < len(chunk):
        stream, _, length = HEADER.unpack_from(chunk, at)
        found.append((stream, chunk[at + HEADER.size : at + HEADER.size + length]))
        at += HEADER.size + length
    return found


def test_output_comes_back_as_it_was_written(tmp_path: Path) -> None:
    with closing(Spool(tmp_path / "log")) as spool:
        spool.append(b"o", b"one\n")
        spool.append(b"e", b"two\n")
        assert texts(spool.chunk(0)) == [(b"o", b"one\n"), (b"e", b"two\n")]
        assert spool.size == len(spool.chunk(0))


def test_a_chunk_ends_with_a_frame_and_the_next_goes_on_from_there(tmp_path: Path) -> None:
    with closing(Spool(tmp_path / "log")) as spool:
        spool.append(b"o", b"x" * (CHUNK_BYTES + 3 * FRAME_BYTES))
        first = spool.chunk(0)
        assert CHUNK_BYTES - 2 * FRAME_BYTES < len(first) <= CHUNK_BYTES
        rest = spool.chunk(len(first))
        assert b"".join(text for _, text in texts(first + rest)) == b"x" * (CHUNK_BYTES + 3 * FRAME_BYTES)


@pytest.mark.parametrize("torn", [b"o", HEADER.pack(b"o", 0, 10), HEADER.pack(b"o", 0, 10) + b"123"])
def test_a_frame_torn_by_a_crash_is_cut_off(tmp_path: Path, torn: bytes) -> None:
    whole = frame(b"o", b"kept", 5)
    (tmp_path / "log").write_bytes(whole + torn)
    with closing(Spool(tmp_path / "log")) as spool:
        assert spool.size == len(whole)
        spool.append(b"e", b"after")
        assert texts(spool.chunk(0)) == [(b"o", b"kept"), (b"e", b"after")]


def test_whole_frames_leave_the_unfinished_rest() -> None:
    assert whole_frames(frame(b"o", b"abc", 1) + b"o\0\0") == frame(b"o", b"abc", 1)
    assert whole_frames(b"") == b""


def test_what_is_beyond_the_limit_is_dropped_and_that_is_said_once(tmp_path: Path) -> None:
    with closing(Spool(tmp_path / "log", kept=100)) as spool:
        for _ in range(5):
            spool.append(b"o", b"x" * 40)
        said = texts(spool.chunk(0))
        assert [stream for stream, _ in said] == [b"o", b"e"]
        assert b"the rest is not kept" in said[1][1]


def test_a_full_disk_does_not_stop_the_program_that_writes(tmp_path: Path) -> None:
    with closing(Spool(tmp_path / "log")) as spool:
        spool.append(b"o", b"kept")
        size = spool.size
        with no_file_beyond(size + 20):
            spool.append(b"o", b"x" * 100)
            spool.say("lost too")
        assert spool.size == size == (tmp_path / "log").stat().st_size
        assert texts(spool.chunk(0)) == [(b"o", b"kept")]


@contextmanager
def no_file_beyond(size: int) -> Iterator[None]:
    """Writing beyond this many bytes fails, as on a full disk, after a part of it was written."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_reader_waits_for_more_and_hears_of_the_end(tmp_path: Path) -> None:
    with closing(Spool(tmp_path / "log")) as spool:
        heard: list[bool] = []
        reader = threading.Thread(target=lambda: heard.extend([spool.wait_beyond(0), spool.wait_beyond(spool.size)]))
        reader.start()
        spool.append(b"o", b"x")
        spool.end()
        reader.join(10)
        assert heard == [True, False]
