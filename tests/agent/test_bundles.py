"""A job's files are fetched once, checked, kept, and never put anything outside of their folder."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from scheduler.packing import files_in, look_at, pack
from tests.archives import a_tar
from workers.agent.bundles import unpack
from workers.agent.command import DeclinedError, StartFailedError
from workers.agent.messages import Claim
from workers.agent.transport import ONCE, Retry, UnreachableError


@dataclass
class Source:
    """Gives out an archive as a server does, some bytes at a time; `failing` calls get no answer."""

    data: bytes
    part: int = 1000
    failing: int = 0
    asked: list[int] = field(default_factory=list)

    def files(self, task: int, fence: int, offset: int, *, retry: Retry) -> bytes:
        self.asked.append(offset)
        if self.failing and len(self.asked) == self.failing:
            raise UnreachableError("no answer in time")
        return self.data[offset : offset + self.part]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def into(tmp_path: Path) -> Path:
    return tmp_path / "files"


@pytest.fixture
def fetch(a_claim: Callable[..., Claim], cache: Path, into: Path) -> Callable[..., None]:
    """Unpack what a source has."""

    def call(source: Source, *, sha256: str = "", size: int | None = None, to: Path = into, **more: Any) -> None:
        named = sha256 or hashlib.sha256(source.data).hexdigest()
        claim = a_claim("true", files={"sha256": named, "size": len(source.data) if size is None else size})
        unpack(source, claim, into=to, cache=cache, retry=ONCE, **more)  # type: ignore[arg-type]

    return call


def a_member(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def test_a_folder_arrives_as_it_was(tmp_path: Path, into: Path, fetch: Callable[..., None]) -> None:
    home = tmp_path / "home"
    (home / "pkg").mkdir(parents=True)
    (home / "pkg" / "__init__.py").write_text("X = 1\n")
    (home / "run.sh").write_text("#!/bin/sh\n")
    (home / "run.sh").chmod(0o755)
    (home / "名.txt").write_bytes(b"x" * 5000)
    (home / "link").symlink_to("pkg/__init__.py")
    paths = [str(path.relative_to(home)) for path in home.rglob("*")]
    out = io.BytesIO()
    packed = pack(look_at(home, paths).entries, out, files_in(home))
    fetch(Source(out.getvalue()), sha256=packed.sha256)
    assert {str(path.relative_to(into)) for path in into.rglob("*") if not path.is_dir()} == {
        "pkg/__init__.py", "run.sh", "名.txt", "link",
    }  # fmt: skip
    assert (into / "link").read_text() == "X = 1\n"
    assert os.access(into / "run.sh", os.X_OK)
    assert not os.access(into / "名.txt", os.X_OK)
    assert into.stat().st_mode & 0o777 == 0o700


def test_what_was_fetched_once_is_not_fetched_again(tmp_path: Path, fetch: Callable[..., None]) -> None:
    source = Source(a_tar(("a", b"1" * 5000)))
    fetch(source)
    calls = len(source.asked)
    fetch(source, to=tmp_path / "second")
    assert len(source.asked) == calls


def test_a_fetch_that_was_cut_goes_on_where_it_was(tmp_path: Path, fetch: Callable[..., None]) -> None:
    source = Source(a_tar(("a", b"1" * 5000)), failing=4)
    with pytest.raises(DeclinedError) as cut:
        fetch(source)
    assert cut.value.why.code == "files_unavailable"
    fetch(source)
    assert source.asked == [0, 1000, 2000, 3000, *range(3000, 10240, 1000)]


def test_a_copy_that_was_damaged_is_fetched_anew(tmp_path: Path, cache: Path, fetch: Callable[..., None]) -> None:
    source = Source(a_tar(("a", b"one")), part=10**6)
    fetch(source)
    (kept,) = cache.iterdir()
    kept.write_bytes(b"\0" * kept.stat().st_size)
    fetch(source, to=tmp_path / "second")
    assert (tmp_path / "second" / "a").read_text() == "one"


def test_what_was_not_used_for_long_goes_first(tmp_path: Path, cache: Path, fetch: Callable[..., None]) -> None:
    sources = [Source(a_tar(("a", bytes([number]))), part=10**6) for number in range(3)]
    names = [hashlib.sha256(source.data).hexdigest() for source in sources]
    for place in (0, 1):
        fetch(sources[place], to=tmp_path / f"to-{place}")
        os.utime(cache / names[place], (place, place))
    fetch(sources[0], to=tmp_path / "again")
    fetch(sources[2], to=tmp_path / "to-2", most=2 * 10240)
    assert {path.name for path in cache.iterdir()} == {names[0], names[2]}


@pytest.mark.parametrize(
    "more", [{"sha256": "0" * 64}, {"size": 99}, {"size": 10**6}], ids=["another hash", "too much", "too little"]
)
def test_what_is_not_what_was_announced_goes_back_to_the_queue(
    more: dict[str, Any], into: Path, fetch: Callable[..., None]
) -> None:
    with pytest.raises(DeclinedError) as declined:
        fetch(Source(a_tar(("a", b"one"))), **more)
    assert declined.value.why.code == "files_unavailable"
    assert not into.exists()


@pytest.mark.parametrize(
    ("members", "words"),
    [
        pytest.param([("../evil", b"x")], "none below its folder", id="a path up"),
        pytest.param([("a/../../evil", b"x")], "none below its folder", id="a path up, inside"),
        pytest.param([("/tmp/evil", b"x")], "none below its folder", id="an absolute path"),
        pytest.param([a_member("d", tarfile.SYMTYPE, "/etc/passwd")], "leads out of", id="an absolute link"),
        pytest.param([a_member("d", tarfile.SYMTYPE, "../x")], "leads out of", id="a link up"),
        pytest.param([a_member("a/d", tarfile.SYMTYPE, "../../x")], "leads out of", id="a link up, deeper"),
        pytest.param(
            [a_member("a/b", tarfile.SYMTYPE, "."), a_member("l", tarfile.SYMTYPE, "a/b/../../x")],
            "leads out of", id="a link through a link",
        ),
        pytest.param(
            [a_member("d", tarfile.SYMTYPE, "inside"), ("d/evil", b"x")], "through a link", id="a file behind a link"
        ),
        pytest.param([a_member("d", tarfile.SYMTYPE, "x"), ("d", b"x")], "through a link", id="a file over a link"),
        pytest.param([("d", b"x"), a_member("d", tarfile.SYMTYPE, "x")], "two things", id="a link over a file"),
        pytest.param([("d", b"x"), ("d", b"y")], "two things", id="one file twice"),
        pytest.param([("d", b"x"), ("d/e", b"y")], "two things", id="a file as a folder"),
        pytest.param([a_member("d", tarfile.LNKTYPE, "/etc/passwd")], "neither", id="a hard link"),
        pytest.param([a_member("d", tarfile.CHRTYPE)], "neither", id="a device"),
        pytest.param([a_member("d", tarfile.FIFOTYPE)], "neither", id="a pipe"),
        pytest.param([a_member("d", tarfile.GNUTYPE_SPARSE)], "", id="a file with holes"),
        pytest.param([("a" * 1001, b"x")], "none below its folder", id="an endless name"),
    ],
)  # fmt: skip
def test_nothing_leaves_the_folder(
    members: list[Any], words: str, tmp_path: Path, into: Path, fetch: Callable[..., None]
) -> None:
    before = {path for path in tmp_path.rglob("*") if "cache" not in path.parts}
    with pytest.raises(StartFailedError) as failed:
        fetch(Source(a_tar(*members)))
    assert failed.value.error.code == "files_invalid"
    assert words in failed.value.error.detail
    outside = {path for path in tmp_path.rglob("*") if not {"cache", "files"} & set(path.parts)}
    assert outside == before - {into}


def test_a_file_that_is_mostly_holes_is_not_unpacked(fetch: Callable[..., None]) -> None:
    holes = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": "x",
        "GNU.sparse.realsize": str(10**7),
    }
    info = tarfile.TarInfo("x")
    info.pax_headers, data = holes, f"1\n{10**7 - 1}\n1\n".encode().ljust(512, b"\0") + b"x"
    info.size = len(data)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(info, io.BytesIO(data))
    with pytest.raises(StartFailedError, match="neither a file"):
        fetch(Source(out.getvalue()))


@pytest.mark.parametrize("data", [b"no archive at all" * 100, b"PK\x03\x04" + b"\0" * 2000, b"\x1f\x8b" + b"\0" * 2000])
def test_what_is_no_archive_is_said_to_be_none(data: bytes, fetch: Callable[..., None]) -> None:
    with pytest.raises(StartFailedError) as failed:
        fetch(Source(data))
    assert failed.value.error.code == "files_invalid"


def test_a_server_that_names_a_path_in_place_of_a_hash_is_not_followed(fetch: Callable[..., None]) -> None:
    with pytest.raises(StartFailedError):
        fetch(Source(a_tar(("a", b"x"))), sha256="../" + "a" * 61)
