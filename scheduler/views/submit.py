"""Submitting a job: one document, as a form or as YAML, with every error and the answer of now beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from scheduler.core.errors import DocumentError, Problem
from scheduler.forms import yaml_of
from scheduler.forms.changes import change
from scheduler.forms.lines import line_of
from scheduler.forms.shell import shell_of, wrapped_words
from scheduler.models import Job
from scheduler.packing import megabytes
from scheduler.services.copies import document_to_clone, left_out
from scheduler.services.jobs import Origin, submit_job
from scheduler.services.preview import latest_view, view_mark
from scheduler.services.teams import choices_for
from scheduler.services.visibility import seen_by
from scheduler.views import submit_preview as beside
from scheduler.views.submit_copy import Copies, copies_of
from scheduler.views.submit_draft import (
    Document,
    Draft,
    blank,
    checked,
    draft_of,
    drafted,
    is_yaml,
    placeable,
    remade,
    user_of,
    with_example,
)
from scheduler.views.submit_secrets import of_job
from workers.live import is_fragment
from workers.moments import now

APPLY = "apply-"
MOST_TEAMS = 500
EARLIER_JOBS = 8


def submit(request: HttpRequest) -> HttpResponse:
    """The form; a POST submits it, or does what another of its buttons says and shows it again."""
    if request.method == "GET":
        return _begun(request, request.GET.get("as"))
    draft, act = draft_of(request), request.POST.get("act", "submit")
    if act in ("yaml", "form", "hold"):
        return _changed_over(request, draft, act)
    if act == "check":
        return _page(request, checked(draft), yaml=is_yaml(request), told=True)
    if act.startswith(APPLY):
        return _applied(request, draft, act.removeprefix(APPLY))
    if not is_yaml(request) and change(draft.form, act):
        return _page(request, remade(draft), yaml=False)
    return _submitted(request, draft)


def check(request: HttpRequest) -> HttpResponse:
    """What the draft says so far, what is wrong with it and what would become of it, as pieces of the page.

    A GET only tells whether something has happened since the fleet was seen that a page was made from.
    """
    if request.method == "GET":
        mark = request.GET.get("seen")
        return redirect("submit") if mark is None else HttpResponse(status=204 if mark == view_mark() else 205)
    draft, yaml = checked(draft_of(request)), is_yaml(request)
    if not is_fragment(request):
        return _page(request, draft, yaml=yaml, told=True)
    draft.form.settle(problem for problem in draft.problems if not _is_missing(draft, problem))
    context = _context(request, draft, yaml=yaml)
    recount = request.POST.get("counted") != context["counted_for"]
    return render(request, "scheduler/_checked.html", {**context, "oob": True, "recount": recount})


def page_with(request: HttpRequest, document: Document, *, like: Job) -> HttpResponse:
    """The form, filled with an edited document of a job; its secrets are those that a clone would have."""
    secrets = document_to_clone(user_of(request), like).get("secrets")
    document = {**document, **({"secrets": secrets} if secrets else {})}
    return _page(request, drafted(document, of_job(user_of(request), like), text=yaml_of(document)), yaml=False)


def _begun(request: HttpRequest, view: str | None) -> HttpResponse:
    draft = blank(request)
    if view == "hold":
        draft.form.to_hold()
        draft = remade(draft)
    return _page(request, with_example(draft) if view == "yaml" else draft, yaml=view == "yaml")


def _submitted(request: HttpRequest, draft: Draft) -> HttpResponse:
    draft = checked(draft)
    if not draft.problems:
        earlier = draft.carried.earlier
        origin = Origin(earlier, "clone") if earlier else None
        try:
            job = submit_job(
                document=draft.document, owner=user_of(request), now=now(), origin=origin, team=request.POST.get("team")
            )
        except DocumentError as error:
            draft = replace(draft, problems=error.problems)
        else:
            return redirect("job-devices" if "hold_s" in job.spec else "job", job.job_id)
    return _page(request, draft, yaml=is_yaml(request), told=True)


def _changed_over(request: HttpRequest, draft: Draft, to: str) -> HttpResponse:
    """Another view of the same document; a text that is no document can only stay text."""
    if is_yaml(request) and to != "yaml" and not isinstance(draft.document, dict):
        return _page(request, checked(draft), yaml=True, told=True)
    if to == "yaml":
        unread = bool(draft.problems) and not is_yaml(request)
        return _page(request, draft if unread else with_example(draft), yaml=not unread, told=unread)
    if to == "hold":
        draft.form.to_hold()
    elif not is_yaml(request):
        draft.form.to_job()
    return _page(request, remade(draft), yaml=False, before=draft.text if is_yaml(request) else "")


def _applied(request: HttpRequest, draft: Draft, key: str) -> HttpResponse:
    """The draft with what one of the lines under the answer says; unchanged where there is no such line any more."""
    found, spec = beside.previewed(request, draft, latest_view(now()), _team(request)), placeable(draft)
    if found is not None and spec is not None:
        for line in beside.applies(spec, found):
            if line.key == key:
                for name, text in line.fields.items():
                    draft.form.fields[name].text = text
                draft = remade(draft)
    return _page(request, draft, yaml=is_yaml(request))


def _page(request: HttpRequest, draft: Draft, *, yaml: bool, told: bool = False, before: str = "") -> HttpResponse:
    """The page; `told`: with what is wrong beside every field, also where nothing has been written yet."""
    draft = checked(draft)
    shown = draft.problems if told else [problem for problem in draft.problems if not _is_missing(draft, problem)]
    draft.form.settle(shown)
    came, user = draft.carried, user_of(request)
    context = {
        "nav": "jobs",
        "sealed": came.sealed(user),
        "earlier": came.earlier,
        "left_out": left_out(user, came.earlier) if came.earlier else (),
        "known_secrets": came.values.keys(),
        "files_limit": megabytes(settings.GPULAYER_FILES_LIMIT_BYTES),
        "before": before or request.POST.get("before", ""),
        "earlier_jobs": _earlier_jobs(request),
        **_context(request, draft, yaml=yaml),
    }
    return render(request, "scheduler/submit.html", context)


def _context(request: HttpRequest, draft: Draft, *, yaml: bool) -> dict[str, Any]:
    """What page and pieces have in common."""
    mark = view_mark()
    view, teams = latest_view(now()), _teams(request, draft.carried.earlier)
    found = beside.previewed(request, draft, view, teams["team"])
    command = draft.form.fields["command"].text
    missing = [] if yaml else [problem for problem in draft.problems if _is_missing(draft, problem)]
    return {
        "form": draft.form,
        "mark": mark,
        "text": draft.text,
        "yaml": yaml,
        "shell": shell_of(command),
        "wrapped": wrapped_words(command),
        "problems": _with_lines(draft) if yaml else [one for one in draft.problems if one not in missing],
        "missing": [_label_of(draft, problem) for problem in missing],
        "hints": beside.hints_of(draft.form, found),
        "button": beside.button_words(draft.form, found),
        "copies": _copies(request, draft, teams["team"] if teams["teams"] else None),
        **teams,
        **beside.choices_context(draft.form, view),
        **beside.preview_context(draft, found),
    }


def _copies(request: HttpRequest, draft: Draft, team: str | None) -> Copies | None:
    """For a terminal; None while something is wrong or missing."""
    return copies_of(draft.document, request, team) if isinstance(draft.document, dict) and not draft.problems else None


def _is_missing(draft: Draft, problem: Problem) -> bool:
    """Whether a problem is merely that something has not been filled in yet."""
    bound = draft.form.at(problem.path)
    return bound is not None and bound.field.path == problem.path and bound.is_empty and problem.path not in _PLACED


_PLACED = ("target",)


def _label_of(draft: Draft, problem: Problem) -> str:
    bound = draft.form.at(problem.path)
    return bound.field.label.lower() if bound else problem.path


def _with_lines(draft: Draft) -> list[dict[str, Any]]:
    """The problems of a text by their lines; what stands nowhere in it is last."""
    told = [
        {"line": line_of(draft.text, problem.path), "path": problem.path, "found": problem.found,
         "expected": problem.expected}
        for problem in draft.problems
    ]  # fmt: skip
    return sorted(told, key=lambda one: one["line"] or len(draft.text))


def _team(request: HttpRequest) -> str:
    return request.POST.get("team", "")


def _teams(request: HttpRequest, earlier: Job | None) -> dict[str, Any]:
    """The teams to choose from, and the chosen one: what was sent, else that of the earlier job, else the only one."""
    names = [team.name for team in choices_for(user_of(request))[:MOST_TEAMS]]
    own = list(user_of(request).groups.values_list("name", flat=True)[:2])
    usual = own[0] if len(own) == 1 else ""
    before = earlier.team.name if earlier and earlier.team and earlier.team.name in names else usual
    return {"teams": names, "team": request.POST.get("team", before)}


def _earlier_jobs(request: HttpRequest) -> Iterable[Job]:
    """Jobs of one's own to begin from."""
    own = seen_by(request.user).filter(owner=user_of(request)).order_by("-pk")
    return own.only("job_id", "name", "state", "submitted_at")[:EARLIER_JOBS]
