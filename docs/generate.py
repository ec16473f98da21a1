"""Writes and checks the pages of docs/ that are made from the program itself: `generate.py write | check`."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from gpulayer_site.access import table  # noqa: E402 - found from the line above
from gpulayer_site.access.rows import Row, Who  # noqa: E402
from gpulayer_site.cli import main as root  # noqa: E402
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


_ACCESS = """# Who may see and do what

Made from the program itself by `make docs`. One table in the code (`gpulayer_site/access/table.py`) says of every
address which methods it has and who may use them; an address without a row is refused to everybody.

**Roles.** Each may what those before it may: a *viewer* looks; a *submitter* has jobs of their own; an *operator*
keeps the fleet and every job; an *administrator* keeps people, teams and roles. A page sends a stranger to the sign-in
form, answers 403 to who may not, and 405 to a method that is not listed (HEAD comes with GET). The API answers 401, 403
with a code (`submitters_only`, `operators_only`, `administrators_only`, `scope_missing`, `not_listed`) and 405.

**Tokens** may do what their owner may, or less: with a smaller role, and only calls of their scopes: `read`, `jobs`,
`fleet`, `people`. They open no pages. What a worker comes in with opens the agents' API and nothing else; an enrolment
token lets workers in and nothing else. Role, teams and tokens are looked at with every request: a change counts at the
next one. A call that waits for work ends within seconds of its credential being revoked; each credential has at most
three of them.

**Jobs.** A job belongs to its owner and, where it was given to one, to a team. Both and operators may change it (pause,
cancel, retry, delete ...), fetch what it left, and hold its devices longer; who is only a viewer changes nothing, not
even what they submitted once. With `GPULAYER_OTHERS_JOBS=visible` everybody sees every job. With `hidden`, people see
their own and their teams', and operators all; another one is answered with the same 404 as one that is not there, and
is in no list, count, search or roll-up. Workers, and the reasons of one's own job, then say that another team's job
holds a device, and not which or for how long: a decision is shown, explained and replayed on the fleet without their
names, on which it comes to the same.

Values of `env` are shown to the job's owner and to operators; others see the names. Values of `secrets` are shown to
nobody.
"""
_MACHINES = (Who.ENROLMENT, Who.WORKER)
_CHAPTERS = (
    ("Pages", [row for row in table.PAGES.all if not row.route.startswith("admin/")]),
    ("The people's API", [row for row in table.CALLS.all if row.who not in _MACHINES]),
    ("The agents' API", [row for row in table.CALLS.all if row.who in _MACHINES]),
    ("The admin", [row for row in table.PAGES.all if row.route.startswith("admin/")]),
)


def access() -> str:
    """Who may use which address."""
    return _ACCESS + "".join(_chapter(title, rows) for title, rows in _CHAPTERS)


def _chapter(title: str, rows: list[Row]) -> str:
    lines = (
        f"| `/{_readable(row.route)}` | {' '.join(row.each_method)} | {row.who.value} | {row.scope or ''} |"
        for row in rows
    )
    return f"\n## {title}\n\n| Address | Methods | Who | Scope |\n|---|---|---|---|\n" + "\n".join(lines) + "\n"


def _readable(route: str) -> str:
    """`jobs/{job_id}` for what the resolver calls `jobs/<slug:job_id>`."""
    plain = re.sub(r"\(\?P<(\w+)>[^)*]*[)*]?", r"{\1}", route.removeprefix("^")).removesuffix("$")
    return re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", plain)


PAGES = {"access.md": access, "commands.md": commands, "reasons.md": reasons}


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
