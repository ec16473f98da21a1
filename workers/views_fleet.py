"""Labels, drains and limits: forms for one worker or many, with what they would change, before anything is saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from scheduler.core.quantities import size_document
from workers import asked, services
from workers.asked import Asked
from workers.live import is_fragment
from workers.models import Worker
from workers.picking import Picked, picked_of, picked_one
from workers.proposed import Change
from workers.refusals import NotFound, Refused
from workers.services.limits import FOREIGN, TASKS, limits_of
from workers.services.operator_labels import labels_of

WhatIf = Callable[[HttpRequest, Change], SafeString]
"""The panel that says what a change would mean for the jobs that wait."""
TasksOn = Callable[[int], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Form:
    """One form: its words, its fields, and what saving it does."""

    kind: str
    question: str
    button: str
    fields: str
    save: Callable[[Picked, Asked, HttpRequest, datetime], str]
    danger: bool = False
    leaves: bool = False
    """The workers have no page afterwards."""


def _label(picked: Picked, said: Asked, request: HttpRequest, now: datetime) -> str:
    changed = services.change_labels(
        picked.ids, labels=said.change.labels, removed=said.change.unlabels, actor=actor_of(request), now=now,
        created_by=request.user,
    )  # fmt: skip
    return f"Labels of {_count(picked, changed)} are changed."


def _drain(picked: Picked, said: Asked, request: HttpRequest, now: datetime) -> str:
    services.drain_all(
        picked.ids, note=said.note, until=said.until, stop=said.stop, actor=actor_of(request), now=now
    )  # fmt: skip
    return f"{picked.words} {'is' if len(picked.ids) == 1 else 'are'} draining: no more work goes there."


def _undrain(picked: Picked, said: Asked, request: HttpRequest, now: datetime) -> str:
    services.undrain_all(picked.ids, actor=actor_of(request), now=now)
    return f"{picked.words} may have work again."


def _limit(picked: Picked, said: Asked, request: HttpRequest, now: datetime) -> str:
    changed = services.set_limits(picked.ids, limits=said.change.limits, actor=actor_of(request), now=now)
    return f"Limits of {_count(picked, changed)} are changed."


FORMS: Mapping[str, Form] = {
    form.kind: form
    for form in (
        Form("labels", "Labels of {}", "Save labels", "workers/_fields_labels.html", _label),
        Form("drain", "Drain {}?", "Drain {}", "workers/_fields_drain.html", _drain, danger=True),
        Form("undrain", "Let {} have work again?", "Undrain {}", "workers/_fields_none.html", _undrain),
        Form("limits", "Limits of {}", "Save limits", "workers/_fields_limits.html", _limit),
    )
}


def one(request: HttpRequest, name: str, kind: str, what_if: WhatIf, tasks_on: TasksOn, **_: Any) -> HttpResponse:
    """A form for one worker."""
    try:
        picked = picked_one(name)
    except NotFound as refusal:
        raise Http404(refusal.detail) from refusal
    return answer(request, FORMS[kind], picked, what_if, tasks_on)


def many(request: HttpRequest, kind: str, what_if: WhatIf, tasks_on: TasksOn, **_: Any) -> HttpResponse:
    """The same for those that were picked in the list."""
    return of_many(request, FORMS[kind], what_if, tasks_on)


def of_many(request: HttpRequest, form: Form, what_if: WhatIf, tasks_on: TasksOn) -> HttpResponse:
    """This form for those that were picked in the list."""
    try:
        picked = picked_of(_data(request))
    except Refused as refusal:
        messages.error(request, f"Not done: {refusal.detail}.")
        return redirect("workers")
    return answer(request, form, picked, what_if, tasks_on)


def answer(request: HttpRequest, form: Form, picked: Picked, what_if: WhatIf, tasks_on: TasksOn) -> HttpResponse:
    """The form with what it would change; a POST without `preview` saves it."""
    now, data = timezone.now(), _data(request)
    if request.method == "GET" and form.kind == "limits":
        data = _limits_now(picked)
    said = asked.KINDS[form.kind](data, picked.names, timezone.get_current_timezone(), now)
    saves = request.method == "POST" and "preview" not in data
    if saves and not said.problems and not said.is_empty:
        try:
            messages.success(request, form.save(picked, said, request, now))
        except Refused as refusal:
            messages.error(request, f"Not done: {refusal.detail}.")
        return redirect(reverse("workers") if form.leaves else _back(picked))
    problems = said.problems if request.method == "POST" or data.get("label") else ()
    status = 422 if saves and said.problems else 200
    context = _context(form, picked, said, what_if(request, said.change) if not said.problems else "", tasks_on)
    template = "workers/_fleet.html" if is_fragment(request) and request.method == "GET" else "workers/fleet.html"
    return render(request, template, {**context, "problems": _by_field(problems), "here": request.path}, status=status)


def _context(form: Form, picked: Picked, said: Asked, panel: SafeString | str, tasks_on: TasksOn) -> dict[str, Any]:
    only = Worker.objects.select_related("facts").get(pk=picked.ids[0]) if len(picked.ids) == 1 else None
    return {
        "nav": "workers", "form": form, "picked": picked, "worker": only, "asked": said, "panel": panel,
        "question": form.question.format(picked.words), "button": form.button.format(picked.words),
        "keep": _back(picked),
        "tasks": tasks_on(only.pk) if only and form.kind == "drain" else (),
        "labels": labels_of(only) if only and form.kind == "labels" else (),
        "limits": limits_of(only) if only and form.kind == "limits" else (),
    }  # fmt: skip


def _limits_now(picked: Picked) -> QueryDict:
    """The fields as they are before anybody has typed."""
    own = Worker.objects.values_list("limits", flat=True).get(pk=picked.ids[0])
    fields = QueryDict(mutable=True)
    if TASKS in own:
        fields["tasks"] = str(own[TASKS])
    if FOREIGN in own:
        fields["foreign"] = size_document(own[FOREIGN])
    return fields


def _by_field(problems: Sequence[Any]) -> dict[str, list[str]]:
    told: dict[str, list[str]] = {}
    for problem in problems:
        field = problem.path.partition(".")[0].partition("[")[0]
        where = problem.path if problem.path != field else ""
        told.setdefault(_FIELDS.get(problem.path, _FIELDS.get(field, field)), []).append(
            f"{where}{': ' if where else ''}found {problem.found}; expected {problem.expected}"
        )
    return told


_FIELDS = {
    "labels": "label", "remove": "label", "limits.max_concurrent_tasks": "tasks",
    "limits.foreign_allowance_bytes": "foreign",
}  # fmt: skip


def _back(picked: Picked) -> str:
    return reverse("worker", args=[picked.names[0]]) if len(picked.names) == 1 else reverse("workers")


def _data(request: HttpRequest) -> QueryDict:
    return request.POST if request.method == "POST" else request.GET


def _count(picked: Picked, changed: Sequence[int]) -> str:
    return picked.words if len(picked.ids) == 1 else f"{len(changed):,} of {picked.words}"


def actor_of(request: HttpRequest) -> str:
    """Who did it, for events."""
    return f"user:{request.user.get_username()}"
