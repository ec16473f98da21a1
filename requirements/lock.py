"""Writes and checks the lock: every package of an environment, with the hashes of its files, and no address.

`lock.py write` resolves anew (needs uv and the package index); `lock.py check` needs neither: each lock file begins
with a digest of what pyproject.toml asks for, so one that was not written anew after a change is found.
"""

import hashlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYPROJECT = HERE.parent / "pyproject.toml"
OLDEST_PYTHON = "3.11"
FILES = {
    "server.txt": ("pyproject.toml", "--extra", "server", "--group", "build"),
    "dev.txt": ("pyproject.toml", "--extra", "server", "--group", "dev"),
    "uv.txt": ("--group", "uv"),
}


def first_line() -> str:
    """The line that ties a lock to what pyproject.toml asks for."""
    document = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    project = document["project"]
    asked = {
        "python": project["requires-python"],
        "base": project["dependencies"],
        "extras": project["optional-dependencies"],
        "groups": document["dependency-groups"],
        "files": FILES,
    }
    return f"# for pyproject.toml {hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:32]}"


def outdated() -> list[str]:
    """The lock files that do not belong to this pyproject.toml."""
    expected = first_line()
    return [name for name in FILES if not _starts_with(HERE / name, expected)]


def write() -> None:
    """Resolve anew. Versions that still fit are kept; delete a file first to have the newest."""
    words = ["uv", "pip", "compile", "--universal", "--generate-hashes", "--no-header", "--no-annotate", "--quiet"]
    words += ["--python-version", OLDEST_PYTHON]
    for name, choice in FILES.items():
        path = HERE / name
        subprocess.run([*words, *choice, "--output-file", str(path)], check=True, cwd=PYPROJECT.parent)
        path.write_text(f"{first_line()}\n{path.read_text(encoding='utf-8')}", encoding="utf-8")


def _starts_with(path: Path, line: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8").startswith(line + "\n")


def main(arguments: list[str]) -> int:
    """`write` or `check`; the exit code."""
    if arguments == ["write"]:
        write()
        return 0
    if arguments != ["check"]:
        print("usage: lock.py write | check", file=sys.stderr)
        return 2
    for name in (late := outdated()):
        print(f"requirements/{name} is older than pyproject.toml; run `make lock`", file=sys.stderr)
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
