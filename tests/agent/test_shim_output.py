"""A task's output on disk: whole frames without secrets, whatever the program, the disk and the shim do."""

from __future__ import annotations

import base64
import json
import random
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest

from tests.agent.shimmed import Shimmed, python, sh, texts
from workers.agent.frames import FRAME_BYTES, HEADER, frame, whole_frames
from workers.agent.shim.output import Output
from workers.agent.shim.redaction import INSTEAD, Redactor
from workers.agent.spool import CHUNK_BYTES, Spool

Run = Callable[..., Shimmed]
SECRET = 's3cr3t/with spaces+änd "quotes"\nand a second line'


def kept(path: Path) -> list[tuple[bytes, bytes]]:
    spool, found = Spool(path), b""
    while part := spool.chunk(len(found)):
        found += part
    return texts(found)


def test_both_streams_are_kept_apart(run: Run) -> None:
    task = run(*sh("echo out; echo err >&2; printf tail"))
    task.over()
    streams = {b"o": b"", b"e": b""}
    for stream, text in task.frames:
        streams[stream] += text
    assert streams == {b"o": b"out\ntail", b"e": b"err\n"}


def test_a_lot_of_output_is_whole(run: Run) -> None:
    task = run(*python("import sys", "sys.stdout.buffer.write(bytes(range(256)) * 4096)"))
    task.over()
    assert task.output == bytes(range(256)) * 4096


@pytest.mark.parametrize("flood", [
    pytest.param("sys.stdout.buffer.write((b'x' * 99 + b'\\n') * 10_000)", id="lines"),
    pytest.param("sys.stdout.buffer.write(b'x' * 1_000_000)", id="one endless line"),
    pytest.param("sys.stdout.buffer.write(bytes(1_000_000))", id="nothing but NUL"),
])  # fmt: skip
def test_a_flood_is_cut_and_the_program_goes_on(run: Run, flood: str) -> None:
    task = run(*python("import sys", f"for _ in range(20): {flood}", "sys.exit(7)"), log_bytes=1_000_000)
    task.started()
    shim, most = task.process(), 0
    with suppress(psutil.Error):
        while task.shim.result() is None:
            most = max(most, shim.memory_info().rss)
    assert task.over()["exit_code"] == 7
    assert most < 64 * 2**20
    (said,) = [text for stream, text in task.frames if stream == b"e"]
    assert said == b"gpulayer: the log is cut: more than 1,000,000 bytes of output, the rest is not kept\n"
    assert 900_000 < sum(len(text) for _, text in task.frames) < 1_001_000


def test_a_full_disk_does_not_stop_the_program_and_what_is_missing_is_said(tmp_path: Path) -> None:
    output = Output(str(tmp_path / "log"), kept=2**30)
    output.append(b"o", b"kept")
    size = (tmp_path / "log").stat().st_size
    with no_file_beyond(size + 20):
        output.append(b"o", b"x" * 100)
        output.say("lost too")
        assert (tmp_path / "log").stat().st_size == size
    output.append(b"o", b"after")
    output.end()
    said = b"gpulayer: the log is cut: 100 bytes of output are missing here, the disk was full\n"
    assert kept(tmp_path / "log") == [(b"o", b"kept"), (b"e", said), (b"o", b"after")]


@contextmanager
def no_file_beyond(size: int) -> Iterator[None]:
    """Writing beyond this many bytes fails, as on a full disk, after a part of it was written."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_chunk_ends_with_a_frame_and_the_next_goes_on_from_there(tmp_path: Path) -> None:
    output = Output(str(tmp_path / "log"), kept=2**30)
    output.append(b"o", b"x" * (CHUNK_BYTES + 3 * FRAME_BYTES))
    spool = Spool(tmp_path / "log")
    first = spool.chunk(0)
    assert CHUNK_BYTES - 2 * FRAME_BYTES < len(first) <= CHUNK_BYTES
    rest = spool.chunk(len(first))
    assert b"".join(text for _, text in texts(first + rest)) == b"x" * (CHUNK_BYTES + 3 * FRAME_BYTES)
    output.end()


@pytest.mark.parametrize("torn", [b"o", HEADER.pack(b"o", 0, 10), HEADER.pack(b"o", 0, 10) + b"123"])
def test_a_frame_torn_by_a_crash_is_cut_off(tmp_path: Path, torn: bytes) -> None:
    (tmp_path / "log").write_bytes(frame(b"o", b"kept", 5) + torn)
    spool = Spool(tmp_path / "log")
    assert texts(spool.chunk(0)) == [(b"o", b"kept")]
    spool.say("after")
    assert texts(spool.chunk(0)) == [(b"o", b"kept"), (b"e", b"gpulayer: after\n")]


def test_whole_frames_leave_the_unfinished_rest() -> None:
    assert whole_frames(frame(b"o", b"abc", 1) + b"o\0\0") == frame(b"o", b"abc", 1)
    assert whole_frames(b"") == b""


def test_the_digest_is_of_the_beginning_that_was_asked_for(tmp_path: Path) -> None:
    import hashlib

    (tmp_path / "log").write_bytes(b"abcdef")
    spool = Spool(tmp_path / "log")
    for size in (2, 5, 5, 1, 6):
        assert spool.digest(size) == hashlib.sha256(b"abcdef"[:size]).hexdigest()


FORMS = {
    "as it is": SECRET.encode(),
    "its second line": b"and a second line",
    "as JSON": json.dumps(SECRET)[1:-1].encode(),
    "as JSON with its own letters": json.dumps(SECRET, ensure_ascii=False)[1:-1].encode(),
    "in a URL": quote(SECRET, safe="").encode(),
    "in a path": quote(SECRET).encode(),
    "in a query": quote(SECRET, safe="").replace("%20", "+").encode(),
    "in base64": base64.b64encode(SECRET.encode()),
    "in base64 behind one byte": base64.b64encode(b"x" + SECRET.encode() + b"yz"),
    "in base64 behind two bytes": base64.b64encode(b"xy" + SECRET.encode() + b"z"),
    "in base64 for URLs": base64.urlsafe_b64encode(b"Bearer " + SECRET.encode()),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("pieces", [1, 2, 7, 1000])
def test_a_secret_does_not_leave_the_host(form: bytes, pieces: int) -> None:
    text, chance = b"before " + form + b" after", random.Random(pieces)
    redactor = Redactor([SECRET])
    cuts = sorted(chance.sample(range(len(text)), min(pieces, len(text)) - 1)) if pieces > 1 else []
    parts = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    out = b"".join(redactor.feed(part) for part in parts) + redactor.end()
    assert INSTEAD in out
    assert (out.startswith(b"before "), out.endswith(b" after")) == (True, True)
    # At the ends of base64 a character or two say less than a byte.
    assert all(form[start : start + 8] not in out for start in range(4, max(len(form) - 12, 5)))


def test_what_only_began_like_a_secret_is_kept_whole() -> None:
    redactor = Redactor(["password123"])
    out = [redactor.feed(each) for each in (b"my pass", b"word is passwor")]
    assert out == [b"my ", b"password is "]
    assert redactor.end() == b"passwor"


def test_values_too_short_to_be_told_apart_are_left_alone() -> None:
    assert Redactor(["abc", ""]).feed(b"abcdef") == b"abcdef"


def test_secrets_are_on_no_disk_and_in_no_process_list(run: Run) -> None:
    task = run(*sh("echo [$TOKEN] ${#TOKEN}; printf abc; sleep 600"), secrets=["hunter2hunter2"],
               env={"TOKEN": "hunter2hunter2"}).after_it_says(b"]")  # fmt: skip
    assert b"[[secret]] 14" in task.output
    assert all(b"hunter2" not in path.read_bytes() for path in task.folder.iterdir() if path.is_file())
    assert "hunter2" not in " ".join(task.process().cmdline())
    assert b"hunter2" not in Path(f"/proc/{task.process().pid}/environ").read_bytes()
    task.shim.stop("enough", 0.0)
    task.over()
    assert b"abc" in task.output, "what was held back comes in the end"


def test_the_disk_is_the_only_bound_of_speed(run: Run) -> None:
    lines = "sys.stdout.buffer.write((b'x' * 999 + b'\\n') * 1000)"
    task = run(*python("import sys", f"for _ in range(20): {lines}"), secrets=[SECRET])
    assert task.over()["exit_code"] == 0
    assert len(task.output) == 20_000_000
