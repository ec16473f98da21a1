"""What the README and `make help` promise is there."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gpulayer_site.cli import main
from tests.browser.shots import SHOWN

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "deploy").iterdir())]


def make(*words):
    return subprocess.run(["make", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def find(words):
    """The command that `gpulayer words…` calls, and its context."""
    command, context = main, click.Context(main, info_name="gpulayer")
    for word in words:
        below = command.get_command(context, word) if isinstance(command, click.Group) else None
        if below is None:
            break
        command, context = below, click.Context(below, info_name=word, parent=context)
    return command


def commands_in(text):
    """Every `gpulayer …` of the examples, as words."""
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL) + re.findall(r"`([^`\n]+)`", text):
        for line in block.splitlines():
            found = re.match(r"^(?:[$#] )?(?:[^ ]*/)?gpulayer ((?!\[).+)$", line.split("  #")[0].strip())
            if found:
                yield shlex.split(found[1])


@pytest.mark.parametrize("target", ["run", "test", "check", "bench", "soak", "lock", "docs", "pictures", "help"])
def test_make_help_lists(target):
    line = next(line for line in make("help").splitlines() if line.split()[:2] == ["make", target])
    assert len(line.split()) > 4


@pytest.mark.parametrize("words", sorted({tuple(words) for words in commands_in(README)}), ids=" ".join)
def test_a_command_in_the_readme_exists(words):
    command = find(words)
    assert not isinstance(command, click.Group) or any(word.startswith("-") for word in words)
    known = {name for parameter in command.params for name in parameter.opts} | {"--help"}
    ours = words[: words.index("--")] if "--" in words else words  # what follows is somebody else's command
    assert {word for word in ours if word.startswith("--")} <= known


def test_every_picture_of_the_documentation_is_there_and_every_one_there_is_shown():
    shown = [
        (document.parent / found).resolve()
        for document in DOCUMENTS
        for found in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", document.read_text())
    ]
    assert sorted(set(shown)) == sorted((ROOT / "docs" / "pictures").iterdir())
    assert {path.stem for path in shown} == set(SHOWN)


def test_the_first_screen_of_the_readme_gives_the_two_commands():
    first_screen = "\n".join(README.splitlines()[:24])
    assert "make run" in first_screen
    assert "worker simulate --demo 20" in first_screen
    assert "Trusted submitters only" in first_screen


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(path):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", path.read_text()):
        assert (path.parent / target).exists(), target


def test_every_variable_that_the_settings_read_is_documented():
    read = set(re.findall(r'env\.\w+\(\s*"(\w+)"', (ROOT / "gpulayer_site" / "settings.py").read_text()))
    read |= {"GPULAYER_DATA", "HOST", "PORT", "GPULAYER_TOKEN", "GPULAYER_AGENT"}
    documented = set(re.findall(r"`([A-Z_]+)`", (ROOT / "docs" / "configuration.md").read_text()))
    assert read <= documented


def test_the_lock_belongs_to_what_the_project_asks_for():
    subprocess.run([sys.executable, ROOT / "requirements" / "lock.py", "check"], check=True)


def test_the_lock_has_a_hash_for_every_package_and_no_address():
    for path in sorted((ROOT / "requirements").glob("*.txt")):
        text = path.read_text()
        packages = re.findall(r"^[a-z0-9].*?(?=^[a-z0-9]|\Z)", text, re.MULTILINE | re.DOTALL)
        assert packages
        assert all("--hash=sha256:" in package for package in packages), path.name
        assert "://" not in text
