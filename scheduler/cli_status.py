"""What `gpulayer job status` prints: the answer, how the fleet narrows down, and every candidate beside its reasons."""

from typing import Any

import click

from gpulayer_site.terminal import say
from scheduler.cli_candidates import print_each, print_funnel, print_groups
from scheduler.core.codec import decision_from_document
from scheduler.core.sentences import group_sentence, note_sentence
from scheduler.core.words import attempt_words

Document = dict[str, Any]
SECONDS = len("2026-11-30T12:00:00")


def print_status(found: Document, document: Document | None, *, every: bool) -> None:
    """The job and its latest decision; `every`: each candidate by itself."""
    _head(found)
    if document is None:
        say(str(found.get("answer") or "no pass has considered it yet"))
        return
    decision = decision_from_document(document)
    _answer(found, document)
    print_funnel(document.get("funnel") or ())
    for reason in decision.group_reasons:
        say(group_sentence(reason), indent=2)
    for note in decision.notes:
        say(f"note: {note_sentence(note)}")
    click.echo()
    if every:
        print_each(decision)
    else:
        print_groups(decision)


def _head(found: Document) -> None:
    marks = "  simulated: nothing is really run" if found.get("simulated") else ""
    say(f"{found['job_id']}  {found['name']}  {found['state'].replace('_', ' ')}  {found['owner']}{marks}")
    moments = [(word, found.get(f"{word}_at")) for word in ("submitted", "started", "finished")]
    say(", ".join(f"{word} {_instant(moment)}" for word, moment in moments if moment))
    if found.get("worker"):
        devices = ", ".join(str(index) for index in found.get("devices") or ())
        say(f"on {found['worker']}{f', devices {devices}' if devices else ''}{_attempt(found)}")
    if found.get("exit_code") is not None:
        say(f"exit code {found['exit_code']}")
    if found.get("failure_text") and found.get("failure_code") != "unschedulable":  # the answer below says that
        say(f"{found['failure_text']} ({found.get('failure_code') or 'failed'})")
    click.echo()


def _attempt(found: Document) -> str:
    retries = (found.get("spec") or {}).get("retries") or {}
    words = attempt_words(int(found.get("attempt") or 1), int(retries.get("max") or 0))
    return f", attempt {words}" if words else ""


def _instant(text: str) -> str:
    return text[:SECONDS].replace("T", " ") + " UTC"


def _answer(found: Document, document: Document) -> None:
    answer = document.get("answer")
    if isinstance(answer, dict):
        say(str(answer["lead"]))
        for line in answer.get("more") or ():
            say(str(line), indent=2)
    else:
        say(str(found.get("answer") or ""))
