"""What to say to somebody whose job never fits where nobody said that it should run. Over HTTP; no Django here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from gpulayer_site.client import Failure, People
from scheduler.cli_paths import job_path
from scheduler.core.words import counted, either

Hint = Callable[[People, dict[str, Any]], str]


def other_targets(people: People, found: dict[str, Any]) -> str:
    """That workers of another target could run a waiting job, where none of its own ever can; empty otherwise."""
    if found["state"] != "queued" or not (found["answer"] or "").startswith("Never fits"):
        return ""
    try:
        alone = people.get(job_path(found["job_id"], "why"), part="relaxations")["why"]["relaxations"]["alone"]
    except Failure:
        return ""  # it is a hint, and no reason to stop following the job
    for edit in alone:
        if [change["field"] for change in edit["changes"]] == ["fallback_targets"] and edit["fits"]:
            there = edit["spec"]["fallback_targets"]
            workers = f"{counted(edit['gained'], f'{either(there)} worker')} could"
            options = either(f"--target {target}" for target in there)
            return f"hint: no target was named, so it is local only; {workers} run it: {options}"
    return ""


def hint_for(document: dict[str, Any], asked: dict[str, Any]) -> Hint | None:
    """The hint for a job of which nobody said where to run it."""
    said = document.get("target") or asked.get("target") or document.get("fallback_targets") or asked.get("fallback")
    return None if said else other_targets


def give(hint: Hint | None, people: People, found: dict[str, Any]) -> Hint | None:
    """Say it if there is something to say; the answer is what is still to be asked."""
    text = hint(people, found) if hint else ""
    if text:
        click.echo(text, err=True)
    return None if text else hint
