"""The file of a backup: whole or not there, and never believed beyond its manifest."""

from __future__ import annotations

import io
import json
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from gpulayer_site.backup.archive import FORMAT, MANIFEST, BackupError, Manifest, unpack, writing
from gpulayer_site.backup.databases import copy_sqlite

Parts = dict[str, bytes]
FILES: Parts = {"database.sqlite3": b"rows", "secret_key": b"key", "logs/0/17.log": b"hello"}


def made(path: Path, parts: Parts = FILES) -> Path:
    """A backup with these files."""
    with writing(path) as writer:
        for name, data in parts.items():
            source = path.with_name(name.replace("/", "-"))
            source.write_bytes(data)
            assert writer.add(name, source)
        writer.finish(
            Manifest(made_at="2026-11-30", gpulayer="1", database="sqlite", migrations=[], has_keys=True,
                     has_files=True, files=writer.files)
        )  # fmt: skip
    return path


def rewritten(path: Path, change: Callable[[Parts], object], *more: tarfile.TarInfo) -> Path:
    """The same archive with another content, as somebody else may have made it."""
    with tarfile.open(path) as tar:
        parts = {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]
    change(parts)
    with tarfile.open(path, "w:gz") as tar:
        for info in more:
            tar.addfile(info)
        for name, data in parts.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def test_what_goes_in_comes_out_for_its_owner_alone(tmp_path: Path) -> None:
    path, out = made(tmp_path / "backup"), tmp_path / "out"
    out.mkdir()
    assert unpack(path, out).has_keys
    assert {str(each.relative_to(out)): each.read_bytes() for each in out.rglob("*") if each.is_file()} == FILES
    assert {each.stat().st_mode & 0o777 for each in (path, *out.rglob("*")) if each.is_file()} == {0o600}


def test_a_name_that_is_taken_is_refused_and_what_fails_leaves_nothing(tmp_path: Path) -> None:
    path = made(tmp_path / "backup")
    with pytest.raises(BackupError, match="there already"):
        made(path)
    with pytest.raises(RuntimeError), writing(tmp_path / "other"):
        raise RuntimeError
    assert not list(tmp_path.glob("*other*"))
    with pytest.raises(BackupError, match="cannot be written"):
        made(tmp_path / "no such folder" / "backup")


def test_a_file_that_is_gone_meanwhile_is_left_out(tmp_path: Path) -> None:
    with writing(tmp_path / "backup") as writer:
        assert not writer.add("logs/0/1.log", tmp_path / "gone")
        assert writer.files == {}


def a_link(name: str, target: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, target
    return info


@pytest.mark.parametrize(
    ("change", "more", "says"),
    [
        pytest.param(lambda parts: parts.update({"logs/0/17.log": b"hullo"}), (), "damaged", id="another content"),
        pytest.param(lambda parts: parts.pop("logs/0/17.log"), (), "damaged", id="a file that is missing"),
        pytest.param(lambda parts: parts.update({"logs/0/18.log": b""}), (), "damaged", id="a file too many"),
        pytest.param(lambda parts: parts.pop(MANIFEST), (), "no whole backup", id="without its end"),
        pytest.param(lambda parts: parts.update({MANIFEST: b"{"}), (), "manifest", id="a manifest that is none"),
        pytest.param(
            lambda parts: parts.update({MANIFEST: json.dumps({"format": FORMAT + 1}).encode()}), (), "its form is",
            id="of another form",
        ),
        pytest.param(lambda parts: parts.update({"../evil": b""}), (), "no place", id="out of the folder"),
        pytest.param(lambda parts: parts.update({"/etc/evil": b""}), (), "no place", id="anywhere"),
        pytest.param(lambda parts: parts.update({"logs/../../e": b""}), (), "no place", id="out by a detour"),
        pytest.param(lambda _: None, (a_link("logs/0/1.log", "/etc/shadow"),), "no place", id="a link"),
        pytest.param(lambda _: None, (a_link("logs", "/tmp"),), "no place", id="a link for a folder"),
    ],
)  # fmt: skip
def test_what_is_no_whole_backup_of_ours_is_refused(
    tmp_path: Path, change: Callable[[Parts], object], more: tuple[tarfile.TarInfo, ...], says: str
) -> None:
    path = rewritten(made(tmp_path / "backup"), change, *more)
    (out := tmp_path / "out").mkdir()
    with pytest.raises(BackupError, match=says):
        unpack(path, out)
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("data", [b"", b"text", b"\x1f\x8b" + b"\0" * 40])
def test_what_is_no_archive_is_said_in_one_line(tmp_path: Path, data: bytes) -> None:
    (path := tmp_path / "backup").write_bytes(data)
    with pytest.raises(BackupError, match=r"cannot be read|no whole backup"):
        unpack(path, tmp_path)


def test_half_an_archive_is_no_backup(tmp_path: Path) -> None:
    path = made(tmp_path / "backup", {"logs/0/17.log": bytes(range(256)) * 4_000})
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    (out := tmp_path / "out").mkdir()
    with pytest.raises(BackupError):
        unpack(path, out)


def test_a_database_is_copied_as_it_is_at_one_instant_while_others_write(tmp_path: Path) -> None:
    source = tmp_path / "a database #1?.sqlite3"
    with closing(sqlite3.connect(source, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("CREATE TABLE pairs (a, b)")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO pairs VALUES (1, 1)")
        writer.execute("COMMIT")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO pairs VALUES (2, NULL)")
        copy_sqlite(source, tmp_path / "copy")
        writer.execute("UPDATE pairs SET b = 2 WHERE a = 2")
        writer.execute("COMMIT")
    with closing(sqlite3.connect(tmp_path / "copy")) as copy:
        assert copy.execute("SELECT a, b FROM pairs").fetchall() == [(1, 1)]
