"""A folder is packed to the same bytes wherever and whenever its content is the same."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from scheduler.folders import files_of
from scheduler.packing import Entry, PackingError, check_size, files_in, look_at, pack
from workers.agent.bundles import stays_inside

Made = Callable[..., Path]


@pytest.fixture
def home(tmp_path: Path) -> Made:
    """A folder with these files, each with its own name in it."""

    def make(*paths: str, name: str = "home", git: bool = False) -> Path:
        folder = tmp_path / name
        for path in paths:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(path)
        if git:
            subprocess.run(["git", "init", "-q", folder], check=True)
        return folder

    return make


def archive_of(folder: Path) -> bytes:
    out = io.BytesIO()
    pack(look_at(folder, files_of(folder)).entries, out, files_in(folder))
    return out.getvalue()


def test_the_same_content_makes_the_same_bytes(home: Made) -> None:
    first, second = home("b/x.py", "a.py", name="one"), home("a.py", "b/x.py", name="two")
    os.utime(second / "a.py", (1, 1))
    (second / "b").chmod(0o700)
    (second / "a.py").chmod(0o600)
    assert archive_of(first) == archive_of(second)
    (second / "a.py").chmod(0o700)
    assert archive_of(first) != archive_of(second)


def test_the_archive_says_nothing_of_the_machine(home: Made) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive_of(home("a", "é" * 100)))) as tar:
        members = tar.getmembers()
    assert [member.name for member in members] == ["a", "é" * 100]
    assert {(member.uid, member.gid, member.uname, member.gname, member.mtime) for member in members} == {
        (0, 0, "", "", 0)
    }


def test_git_says_what_belongs_to_the_work(home: Made) -> None:
    folder = home("tracked.py", "new.py", "gone.py", "data/big.bin", ".hidden", "pkg/__init__.py", git=True)
    (folder / ".gitignore").write_text("data/\n")
    subprocess.run(["git", "add", "tracked.py", "gone.py"], cwd=folder, check=True)
    (folder / "gone.py").unlink()
    paths = [entry.path for entry in look_at(folder, files_of(folder)).entries]
    assert paths == [".gitignore", ".hidden", "new.py", "pkg/__init__.py", "tracked.py"]
    assert files_of(folder / "pkg") == ["__init__.py"]


def test_a_repository_inside_belongs_to_it(home: Made) -> None:
    folder = home("a.py", git=True)
    home("b.py", name="home/inner", git=True)
    assert set(files_of(folder)) == {"a.py", "inner/b.py"}


def test_without_git_caches_and_environments_stay_here(home: Made) -> None:
    folder = home(
        "train.py", "pkg/a.py", "pkg/__pycache__/a.pyc", ".venv/pyvenv.cfg", ".venv/bin/python", "tools/pyvenv.cfg",
        "env/game.py", "node_modules/x.js", ".mypy_cache/x", ".env", ".github/x.yml", "data/x.csv", "out/x",
    )  # fmt: skip
    (folder / ".gitignore").write_text("out\n")
    assert set(files_of(folder)) == {
        "train.py", "pkg/a.py", "env/game.py", ".github/x.yml", "data/x.csv", ".gitignore",
    }  # fmt: skip


@pytest.mark.parametrize("git", [True, False])
def test_gpulayerignore_leaves_out_what_it_names(home: Made, git: bool) -> None:
    folder = home("train.py", "data/big.bin", "data/small.csv", git=git)
    (folder / ".gpulayerignore").write_text("data/*.bin\n")
    assert set(files_of(folder)) == {"train.py", "data/small.csv", ".gpulayerignore"}


def test_links_that_lead_out_and_what_is_no_file_are_left_out_and_said(home: Made) -> None:
    folder = home("a.py", "sub/b.py")
    (folder / "inside").symlink_to("sub/b.py")
    (folder / "sub" / "up").symlink_to("../a.py")
    (folder / "out").symlink_to("/etc/passwd")
    (folder / "sub" / "far").symlink_to("../../x")
    os.mkfifo(folder / "pipe")
    found = look_at(folder, files_of(folder))
    assert [entry.path for entry in found.entries] == ["a.py", "inside", "sub/b.py", "sub/up"]
    assert found.left_out == (
        "out: a link that leads out of this folder, to /etc/passwd",
        "pipe: no file",
        "sub/far: a link that leads out of this folder, to ../../x",
    )


@pytest.mark.parametrize(
    ("path", "target", "stays"),
    [
        ("l", "a", True), ("l", "a/b", True), ("d/l", "../a", True), ("d/e/l", "../../a", True), ("l", "..", False),
        ("l", "../a", False), ("d/l", "../../a", False), ("l", "/a", False), ("l", "a/../b", False), ("l", "", False),
        ("d/l", "..", True), ("l", ".", True),
    ],
)  # fmt: skip
def test_where_a_link_leads(path: str, target: str, stays: bool) -> None:
    assert stays_inside(path, target) is stays


def test_what_is_too_large_names_what_is_large() -> None:
    entries = [Entry(f"part-{number}", number * 10_000_000) for number in range(12)]
    with pytest.raises(PackingError) as found:
        check_size(entries, 200_000_000)
    text = str(found.value)
    assert "660 MB" in text
    assert "at most 200 MB" in text
    assert text.index("part-11") < text.index("part-10")
    assert "part-1\n" not in text


def test_too_many_files_name_the_folders_with_the_most() -> None:
    with pytest.raises(PackingError, match=r"(?s)60,000 files.*60,000  node"):
        check_size([Entry(f"node/{number}") for number in range(60_000)], 10**9)


def test_what_is_packed_has_the_room_that_was_said(home: Made) -> None:
    folder = home("a", "é" * 60, "b" * 150, "c/d")
    entries = look_at(folder, files_of(folder)).entries
    size = pack(entries, None, files_in(folder)).size
    check_size(entries, size)


def test_a_file_that_shrinks_while_it_is_packed_is_said(home: Made) -> None:
    folder = home("a")
    with pytest.raises(PackingError, match="a: it changed"):
        pack([Entry("a", size=100)], None, files_in(folder))
