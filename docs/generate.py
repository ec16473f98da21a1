"""Writes and checks the pages of docs/ that are made from the program itself: `generate.py write | check`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from gpulayer_site.cli import main as root  # noqa: E402 - found from the line above
from scheduler.core.handbook import HANDBOOK  # noqa: E402
from scheduler.core.labels import code_label  # noqa: E402
from scheduler.core.reasons import Code, Kind  # noqa: E402

_INTRODUCTION = "# Commands\n\nMade from the program itself by `make docs`; each is what `gpulayer … --help` prints.\n"


def commands() -> str:
    """Every command with its help."""
    return _INTRODUCTION + "".join(_sections(root, ("gpulayer",)))


_KINDS = {
    Kind.CAPABILITY: "Capability: this worker could never run this job, as both stand",
    Kind.AVAILABILITY: "Availability: this worker could run it, but not now",
    Kind.GROUP: "Groups: the workers of one target could not hold a gang",
}
_REASONS = """# Reason codes

Made from the program itself by `make docs`. Every check is asked of every worker, and every one that fails leaves a
reason with a `code`, the `field` of the job's document that asks for it, what was `required`, the `actual` value, and
`unknown: true` where the worker does not say: an unknown value never satisfies a requirement. Sizes are bytes and CPU
cores thousandths of a core. Fields that do not apply are left out. `message` is the sentence made of the rest.
"""


def reasons() -> str:
    """Every reason code: what it means, what its fields hold, what can be done."""
    chapters = (
        f"\n## {title}\n" + "".join(_entry(code) for code in Code if code.kind is kind)
        for kind, title in _KINDS.items()
    )
    return _REASONS + "".join(chapters)


def _entry(code: Code) -> str:
    page = HANDBOOK[code]
    fields = [("required", page.required), ("actual", page.actual)]
    said = [f"`{name}`: {text}" for name, text in fields if text != "nothing"] + (
        [page.further] if page.further else []
    )
    holds = f"\n- Fields: {'; '.join(said)}." if said else ""
    return f"\n### `{code.text}`: {code_label(code)}\n\n{page.meaning}\n{holds}\n- What to do: {page.remedy}\n"


PAGES = {"commands.md": commands, "reasons.md": reasons}


def _sections(command: click.Command, path: tuple[str, ...]) -> Iterator[str]:
    """A section for the command, and those of the commands below it."""
    context = click.Context(command, info_name=" ".join(path), terminal_width=100, max_content_width=100)
    context.help_option_names = ["-h", "--help"]
    yield f"\n{'#' * min(len(path) + 1, 4)} {' '.join(path)}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _sections(below, (*path, name))


def main(arguments: list[str]) -> int:
    """`write` or `check`; the exit code."""
    if arguments not in (["write"], ["check"]):
        print("usage: generate.py write | check", file=sys.stderr)
        return 2
    late = [name for name, make in PAGES.items() if not _is(HERE / name, make())]
    if arguments == ["check"]:
        for name in late:
            print(f"docs/{name} is out of date; run `make docs`", file=sys.stderr)
        return 1 if late else 0
    for name in late:
        (HERE / name).write_text(PAGES[name](), encoding="utf-8")
    return 0


def _is(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
