"""Which files of a folder belong to the work in it: those that git knows or would add, else all but the usual rest."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pathspec

from scheduler.packing import PackingError

IGNORE_FILE = ".gpulayerignore"
"""Patterns as in .gitignore: what they match is not packed, also where git tracks it."""
NEVER = (".git", ".hg", ".svn")
USUAL_REST = (
    "__pycache__/", "*.py[cod]", ".*cache/", "node_modules/", ".tox/", ".nox/", ".ipynb_checkpoints/", "*.egg-info/",
    ".eggs/", ".env", ".DS_Store", ".idea/", ".vscode/", ".data/", "*.swp",
)  # fmt: skip
"""What is left out where no git says what belongs to the work."""
_MOST_LISTED = 1_000_000


def files_of(folder: Path) -> list[str]:
    """The paths to pack, relative to `folder`. Raises PackingError."""
    found = _known_to_git(folder)
    if found is None:
        found = list(_all_but(folder, _patterns([*USUAL_REST, *_lines(folder / ".gitignore")])))
    ignored = _patterns(_lines(folder / IGNORE_FILE))
    return [path for path in found if path.split("/", 1)[0] not in NEVER and not ignored.match_file(path)]


def _known_to_git(folder: Path) -> list[str] | None:
    """Tracked and unignored files; None where this is no repository, or there is no git."""
    try:
        answer = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=folder, capture_output=True,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except FileNotFoundError:
        return None
    if answer.returncode:
        return None
    paths = [os.fsdecode(path) for path in answer.stdout.split(b"\0") if path]
    return [inner for path in paths for inner in _with_submodule(folder, path)]


def _with_submodule(folder: Path, path: str) -> list[str]:
    """A path that git lists; a submodule and a repository inside are listed as one folder, and are asked in turn."""
    inside = folder / path
    if inside.is_symlink() or not inside.is_dir():
        return [path]
    path = path.rstrip("/")
    return [f"{path}/{inner}" for inner in files_of(inside)]


def _all_but(folder: Path, ignored: pathspec.PathSpec) -> Iterator[str]:
    count = 0
    for root, folders, names in os.walk(folder):
        below = os.path.relpath(root, folder)
        prefix = "" if below == "." else f"{below}/"
        folders[:] = [
            name for name in folders
            if name not in NEVER and not ignored.match_file(f"{prefix}{name}/") and not _is_environment(root, name)
        ]  # fmt: skip
        links = [name for name in folders if Path(root, name).is_symlink()]
        for name in (*names, *links):
            if not ignored.match_file(prefix + name):
                count += 1
                if count > _MOST_LISTED:
                    raise PackingError(f"more than {_MOST_LISTED:,} files are in {folder}: is this the right folder?")
                yield prefix + name


def _is_environment(root: str, name: str) -> bool:
    """A virtual environment belongs to this machine; workers have their own."""
    return Path(root, name, "pyvenv.cfg").exists()


def _patterns(lines: list[str]) -> pathspec.PathSpec:
    return pathspec.GitIgnoreSpec.from_lines(lines)


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
