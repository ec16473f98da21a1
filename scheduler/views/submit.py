"""Submitting a job: one document, as a form or as YAML, with every error beside what it is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from scheduler.core.errors import DocumentError, Problem
from scheduler.core.parsing import parse_job
from scheduler.documents import read_text
from scheduler.forms import SubmitForm, yaml_of
from scheduler.forms.lines import line_of
from scheduler.forms.masking import masked_text
from scheduler.forms.shell import Shell, shell_of, wrapped
from scheduler.models import Job
from scheduler.packing import megabytes
from scheduler.services.copies import document_to_clone, left_out
from scheduler.services.jobs import Origin, submit_job
from scheduler.services.sealing import HIDDEN_VALUE, masked, with_kept
from scheduler.services.teams import choices_for
from scheduler.views.job_frame import job_seen
from scheduler.views.submit_files import take_archive
from scheduler.views.submit_secrets import KEEP, Carried, carried, of_job, with_ticked
from workers.moments import now
from workers.paging import asked_of

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Draft:
    """What a person has so far: the document where there is one, its text, and everything wrong with it."""

    form: SubmitForm
    text: str
    """As it may be shown."""
    document: object = field(repr=False)
    """With the values of its secrets, as far as they are known: never shown."""
    problems: tuple[Problem, ...]
    carried: Carried = field(default_factory=Carried)


def submit(request: HttpRequest) -> HttpResponse:
    """The form; a POST submits it, or only changes over to the other view of the same document."""
    if request.method == "GET":
        draft, view = _blank(request), request.GET.get("as")
        if view == "yaml":
            draft = _with_example(draft)
        return _page(request, _held(draft) if view == "hold" else draft, yaml=view == "yaml")
    draft = _draft(request)
    act = request.POST.get("act", "submit")
    if act == "hold":
        return _page(request, _held(draft), yaml=False)
    if act in ("yaml", "form"):
        return _changed_over(request, draft, to_yaml=act == "yaml")
    if act == "shell":
        command = draft.form.fields["command"]
        command.text = wrapped(command.text)
        return _page(request, draft, yaml=False)
    return _submitted(request, draft)


def check(request: HttpRequest) -> HttpResponse:
    """What the document says so far and what is wrong with it, for the panel beside the form."""
    yaml = _is_yaml(request)
    context = _context(_checked(_draft(request)), yaml=yaml)
    return render(request, "scheduler/_check.html", {**context, "oob": not yaml})


def page_with(request: HttpRequest, document: Document, *, like: Job) -> HttpResponse:
    """The form, filled with an edited document of a job; its secrets are those that a clone would have."""
    secrets = document_to_clone(_user(request), like).get("secrets")
    document = {**document, **({"secrets": secrets} if secrets else {})}
    return _page(request, _drafted(document, of_job(_user(request), like), text=yaml_of(document)), yaml=False)


def _submitted(request: HttpRequest, draft: Draft) -> HttpResponse:
    draft = _checked(draft)
    if not draft.problems:
        earlier = draft.carried.earlier
        origin = Origin(earlier, "clone") if earlier else None
        try:
            job = submit_job(
                document=draft.document, owner=_user(request), now=now(), origin=origin, team=request.POST.get("team")
            )
        except DocumentError as error:
            draft = replace(draft, problems=error.problems)
        else:
            return redirect("job-devices" if "hold_s" in job.spec else "job", job.job_id)
    return _page(request, draft, yaml=_is_yaml(request))


def _held(draft: Draft) -> Draft:
    """The same placement as a hold, which says nothing of a command."""
    draft.form.to_hold()
    document, problems = draft.form.document()
    return replace(draft, document=document, text=yaml_of(masked(document)), problems=problems)


def _changed_over(request: HttpRequest, draft: Draft, *, to_yaml: bool) -> HttpResponse:
    """The other view of the same document; a text that is no document can only stay text."""
    if to_yaml and draft.problems:
        return _page(request, draft, yaml=False)
    if not to_yaml and not isinstance(draft.document, dict):
        return _page(request, _checked(draft), yaml=True)
    return _page(request, _with_example(draft) if to_yaml else draft, yaml=to_yaml)


def _with_example(draft: Draft) -> Draft:
    """The draft, or the example where nothing has been written yet."""
    if draft.document != UNTOUCHED:
        return draft
    return replace(draft, text=EXAMPLE, document=read_text(EXAMPLE, format="yaml"))


def _draft(request: HttpRequest) -> Draft:
    """What was sent, as document and text alike."""
    came = carried(request, _user(request))
    if _is_yaml(request):
        text = request.POST["yaml"]
        shown = masked_text(text, HIDDEN_VALUE)
        try:
            document = read_text(text, format="auto")
        except DocumentError as error:
            return Draft(SubmitForm.empty(), shown, None, error.problems, came)
        return _drafted(document, came, text=shown)
    form = SubmitForm.from_post(request.POST)
    refused = take_archive(request, form)
    made, problems = form.document()
    whole = with_ticked(made, request.POST.getlist(KEEP))
    draft = _drafted(whole, came, text=yaml_of(masked(whole)))
    form.take_secrets(masked(whole))
    return replace(draft, form=form, problems=(*refused, *problems))


def _drafted(document: object, came: Carried, *, text: str) -> Draft:
    came = came.with_typed(document)
    shown = masked(document)
    form = SubmitForm.from_document(shown if isinstance(shown, dict) else {})
    return Draft(form, text, came.whole(document), (), came)


def _blank(request: HttpRequest) -> Draft:
    """A new document, or that of an earlier job to begin from."""
    earlier = asked_of(request.GET, ("like",)).get("like")
    if not earlier:
        return Draft(SubmitForm.from_document(dict(UNTOUCHED)), "", dict(UNTOUCHED), ())
    job = job_seen(request.user, earlier)
    document = document_to_clone(_user(request), job)
    return _drafted(document, of_job(_user(request), job), text=yaml_of(document))


def _checked(draft: Draft) -> Draft:
    """The same with everything that the parser finds, beside what could not be read at all."""
    if draft.document is None:
        return draft
    try:
        with_kept(parse_job(draft.document), {})
    except DocumentError as error:
        unread = {problem.path for problem in draft.problems}
        found = tuple(problem for problem in error.problems if problem.path not in unread)
        return replace(draft, problems=(*draft.problems, *found))
    return draft


def _page(request: HttpRequest, draft: Draft, *, yaml: bool) -> HttpResponse:
    draft.form.place(draft.problems)
    came, user = draft.carried, _user(request)
    context = {
        "nav": "jobs",
        "sealed": came.sealed(user),
        "earlier": came.earlier,
        "left_out": left_out(user, came.earlier) if came.earlier else (),
        **_teams(request, came.earlier),
        "known_secrets": came.values.keys(),
        **_context(_checked(draft), yaml=yaml),
    }
    return render(request, "scheduler/submit.html", context)


def _teams(request: HttpRequest, earlier: Job | None) -> dict[str, Any]:
    """The teams to choose from, and the chosen one: what was sent, else that of the earlier job, else the only one."""
    names = [team.name for team in choices_for(_user(request))[:MOST_TEAMS]]
    own = list(_user(request).groups.values_list("name", flat=True)[:2])
    usual = own[0] if len(own) == 1 else ""
    before = earlier.team.name if earlier and earlier.team and earlier.team.name in names else usual
    return {"teams": names, "team": request.POST.get("team", before)}


def _context(draft: Draft, *, yaml: bool) -> dict[str, Any]:
    command = draft.form.fields["command"].text
    shell: Shell = shell_of(command)
    return {
        "form": draft.form,
        "files_limit": megabytes(settings.GPULAYER_FILES_LIMIT_BYTES),
        "text": draft.text,
        "yaml": yaml,
        "problems": list(_with_lines(draft)) if yaml else draft.problems,
        "shell": shell,
        "started": bool(command) or yaml or (draft.form.is_hold and bool(draft.form.fields["name"].text)),
    }


def _with_lines(draft: Draft) -> Iterable[dict[str, Any]]:
    for problem in draft.problems:
        yield {"line": line_of(draft.text, problem.path), "path": problem.path, "found": problem.found,
               "expected": problem.expected}  # fmt: skip


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _is_yaml(request: HttpRequest) -> bool:
    return "yaml" in request.POST


MOST_TEAMS = 500
UNTOUCHED: Document = {"target": "local"}
"""What an empty form makes."""
EXAMPLE = """\
name: finetune-7b
command: ["python", "train.py"]        # a list of arguments, not a shell line
# workdir: /data/mira/finetune         # absolute, on the worker; left out: a fresh private directory
# env: {EPOCHS: "3"}
target: local                          # local | remote | cloud
# fallback_targets: [remote]           # tried in this order
resources:
  gpus: 1
  gpu_memory_gb: 24                    # each device; 1 GB is 10^9 bytes
# runtime:
#   environment: default
#   frameworks: {torch: ">=2.5,<3"}    # versions are text: quote them
# timeout_s: 86400
"""
