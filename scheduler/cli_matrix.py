"""`gpulayer matrix`: the table of supported combinations, without a server."""

from collections.abc import Sequence
from dataclasses import asdict

import click

from gpulayer_site.terminal import say, table, write_json
from scheduler.core.support_matrix import FRAMEWORKS, ROWS, Row, Rule
from scheduler.core.words import counted, either

_TITLES = {
    Rule.PLATFORM: "Kinds of device, and where they are supported",
    Rule.PYTHON: "Frameworks and the Python they run on",
    Rule.BUILD: "Builds of frameworks, and the devices they have code for",
    Rule.CUDA: "Versions of CUDA, and the devices that a build with them can have code for",
    Rule.DRIVER: "Versions of CUDA, and the driver that any build with them needs",
    Rule.PTX: "Versions of CUDA, and the driver that can compile their PTX",
}


@click.command()
@click.option("--framework", type=click.Choice(sorted(FRAMEWORKS)), help="Only the rows about this framework.")
@click.option("--json", "as_json", is_flag=True, help="Every row with all of its columns, as JSON.")
def matrix(framework: str | None, as_json: bool) -> None:
    """List which systems, devices, drivers, versions of Python and builds of frameworks work together.

    Every row names its source. What a machine's own torch says it has code for goes before this table.
    """
    chosen = [row for row in ROWS if framework is None or row.framework == framework]
    if as_json:
        write_json([asdict(row) for row in chosen])
        return
    for rule, title in _TITLES.items():
        found = [row for row in chosen if row.rule is rule]
        if found:
            say(title)
            table(("ROW", "FOR", "ON", "NEEDS", "STATUS", "SOURCE"), [_cells(row) for row in found])
            click.echo()
    say(f"{counted(len(chosen), 'row')}; frameworks known: {either(sorted(FRAMEWORKS))}")


def _cells(row: Row) -> tuple[str, ...]:
    versions = f"{row.framework} {row.versions}".strip()
    build = row.build or (row.accelerator.value if row.accelerator else "")
    note = f" ({row.note})" if row.note else ""
    return (
        row.id,
        " ".join(part for part in (versions, build) if part),
        " ".join(part for part in (_several(row.os), _several(row.arch)) if part) or "anything",
        _needs(row),
        row.status.value,
        f"{row.publisher}, {row.title}, {row.date}{note}",
    )


def _needs(row: Row) -> str:
    if row.python:
        return f"Python {row.python}"
    return f"driver {row.driver} or later" if row.driver else " ".join(row.code)


def _several(names: Sequence[str]) -> str:
    return "/".join(names)
