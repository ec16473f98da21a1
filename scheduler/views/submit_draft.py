"""What a person has of a job so far: from the address, from a form, or from a text, with everything wrong with it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest

from scheduler.core.errors import DocumentError, Problem
from scheduler.core.parsing import parse_job
from scheduler.core.spec import JobSpec
from scheduler.documents import read_text
from scheduler.forms import SubmitForm, yaml_of
from scheduler.forms.masking import masked_text
from scheduler.services.copies import document_to_clone
from scheduler.services.sealing import HIDDEN_VALUE, masked, with_kept
from scheduler.views.job_frame import job_seen
from scheduler.views.submit_files import take_archive
from scheduler.views.submit_secrets import KEEP, Carried, carried, of_job, with_ticked
from workers.paging import asked_of

Document = dict[str, Any]

ELSEWHERE = ("name", "command", "files", "workdir", "env", "secrets")
"""What no decision looks at: a preview does not wait for it."""
LONGEST_BEFORE = 20_000


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

    @property
    def is_untouched(self) -> bool:
        """Nothing has been written yet."""
        return self.document == UNTOUCHED


def user_of(request: HttpRequest) -> User:
    """Who is signed in."""
    assert isinstance(request.user, User)
    return request.user


def is_yaml(request: HttpRequest) -> bool:
    """Whether a text was sent, and no form."""
    return "yaml" in request.POST


def draft_of(request: HttpRequest) -> Draft:
    """What was sent, as document and text alike."""
    came = carried(request, user_of(request))
    if is_yaml(request):
        return _draft_of_text(request.POST["yaml"], came)
    form = SubmitForm.from_post(request.POST)
    refused = take_archive(request, form)
    made, problems = form.document()
    whole = with_ticked(made, request.POST.getlist(KEEP)) if form.counts("secrets") else made
    draft = drafted(whole, came, text=_text_of(masked(whole), request.POST.get("before", "")))
    form.take_secrets(masked(with_ticked({"secrets": made.get("secrets") or {}}, request.POST.getlist(KEEP))))
    return replace(draft, form=form, problems=(*refused, *problems))


def _draft_of_text(text: str, came: Carried) -> Draft:
    shown = masked_text(text, HIDDEN_VALUE)
    try:
        document = read_text(text, format="auto")
    except DocumentError as error:
        return Draft(SubmitForm.empty(), shown, None, error.problems, came)
    return drafted(document, came, text=shown)


def _text_of(document: Document, before: str) -> str:
    """The document as text: as it stood in the YAML view, comments and all, where that says the same."""
    if before and len(before) <= LONGEST_BEFORE:
        try:
            if read_text(before, format="auto") == document:
                return masked_text(before, HIDDEN_VALUE)
        except DocumentError:
            pass
    return yaml_of(document)


def drafted(document: object, came: Carried, *, text: str) -> Draft:
    """A document with what travels beside it."""
    came = came.with_typed(document)
    shown = masked(document)
    form = SubmitForm.from_document(shown if isinstance(shown, dict) else {})
    return Draft(form, text, came.whole(document), (), came)


def blank(request: HttpRequest) -> Draft:
    """A new document, or that of an earlier job to begin from."""
    earlier = asked_of(request.GET, ("like",)).get("like")
    if not earlier:
        return Draft(SubmitForm.from_document(dict(UNTOUCHED)), "", dict(UNTOUCHED), ())
    job = job_seen(request.user, earlier)
    document = document_to_clone(user_of(request), job)
    return drafted(document, of_job(user_of(request), job), text=yaml_of(document))


def with_example(draft: Draft) -> Draft:
    """The draft, or the example where nothing has been written yet."""
    if not draft.is_untouched:
        return draft
    return replace(draft, text=EXAMPLE, document=read_text(EXAMPLE, format="yaml"))


def remade(draft: Draft) -> Draft:
    """The same after its form was changed: document and text follow."""
    document, problems = draft.form.document()
    if draft.form.counts("secrets"):
        document = with_ticked(document, list(draft.form.secrets))
    return replace(
        draft, document=draft.carried.whole(document), text=yaml_of(masked(document)), problems=problems
    )  # fmt: skip


def checked(draft: Draft) -> Draft:
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


def placeable(draft: Draft) -> JobSpec | None:
    """The job as far as a decision looks at it; None where something of that is wrong."""
    if not isinstance(draft.document, dict):
        return None
    if any(_top(problem.path) not in ELSEWHERE for problem in draft.problems):
        return None
    runs = {"name": NAMELESS} if "hold_s" in draft.document else {"name": NAMELESS, "command": ["true"]}
    kept = {key: value for key, value in draft.document.items() if key not in ELSEWHERE}
    try:
        return parse_job({**kept, **runs})
    except DocumentError:
        return None


def _top(path: str) -> str:
    return re.split(r"[.\[]", path, maxsplit=1)[0]


NAMELESS = "a job"
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
