"""What the submit page says beside a draft: whether it would start, what would help, and what its fields reach."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.http import HttpRequest

from scheduler.core.answers import capital
from scheduler.core.codec import job_to_document
from scheduler.core.decision import Outcome
from scheduler.core.relaxed import Relaxation
from scheduler.core.spec import JobSpec
from scheduler.core.words import counted, either
from scheduler.core.would import verdict
from scheduler.forms import SubmitForm
from scheduler.forms.changes import addable, targets
from scheduler.services.preview import Known, Preview, View, known, preview
from scheduler.views.submit_draft import Draft, placeable, user_of
from scheduler.views.why_values import edits
from workers.devices import DeviceBox, device_boxes
from workers.moments import minute, now

MOST_EDITS = 5
MOST_PLACES = 4
TONES = {"placed": ("ok", "circle-check"), "reserved": ("rsv", "bookmark"), "never": ("never", "ban")}
TITLES = {
    Outcome.PLACED: "More room",
    Outcome.WAITING: "What would start it",
    Outcome.UNSCHEDULABLE: "What would make it fit",
}
DEFAULT = "default"
"""What an environment is called that is not stated."""


@dataclass(frozen=True, slots=True)
class Apply:
    """One way to ask for less, and what it puts into which fields."""

    what: str
    good_for: str
    helps: bool
    key: str
    fields: Mapping[str, str]

    @property
    def as_json(self) -> str:
        """The fields, for the script that puts them in without asking the server."""
        return json.dumps(self.fields)


@dataclass(frozen=True, slots=True)
class Place:
    """One worker that it would get."""

    worker: str
    boxes: tuple[DeviceBox, ...]


def previewed(request: HttpRequest, draft: Draft, view: View, team: str) -> Preview | None:
    """The answer of now; None where nothing can be decided of the draft."""
    spec = placeable(draft)
    if spec is None:
        return None
    clock = partial(minute, now=now())
    return preview(spec, view, user=user_of(request), team=team, clock=clock)


def preview_context(draft: Draft, found: Preview | None) -> dict[str, Any]:
    """What `_preview.html` and the bar with the button show."""
    spec = placeable(draft)
    if found is None or spec is None:
        return {"preview": None}
    return {
        "preview": found,
        "tone": TONES.get(found.answer.state, ("wait", "clock")),
        "verdict": verdict(found.answer),
        "first_place": found.places[0][0].id if found.places else "",
        "places": [Place(worker.id, device_boxes(worker, devices)) for worker, devices in found.places[:MOST_PLACES]],
        "more_places": max(0, len(found.places) - MOST_PLACES),
        "edits": list(applies(spec, found))[:MOST_EDITS],
        "edits_title": TITLES[found.outcome],
        "edits_lead": capital(found.edits_lead),
        "gang": [capital(line) for line in found.gang],
    }


def applies(spec: JobSpec, found: Preview) -> Iterable[Apply]:
    """The edits as changes of fields; of a job that would start, those that leave it more room."""
    shown = found.edits if found.outcome is not Outcome.PLACED else [edit for edit in found.edits if edit.free]
    for edit, line in zip(shown, edits(shown), strict=True):
        yield Apply(line.what, line.good_for.removesuffix("; starts now"), edit.starts, line.key, _fields(spec, edit))


def _fields(spec: JobSpec, edit: Relaxation) -> dict[str, str]:
    before, after = (_texts(one) for one in (spec, edit.spec))
    return {name: text for name, text in after.items() if text != before[name]}


def _texts(spec: JobSpec) -> dict[str, str]:
    form = SubmitForm.from_document(job_to_document(spec))
    return {name: bound.text for name, bound in form.fields.items()}


def hints_of(form: SubmitForm, found: Preview | None) -> dict[str, tuple[str, bool]]:
    """By field: how many workers meet what it asks, and whether none does."""
    said: dict[str, list[tuple[str, bool]]] = {}
    for miss in found.near_misses if found else ():
        bound = form.at(miss.field)
        if bound is not None:
            said.setdefault(bound.field.name, []).append((miss.text, miss.none))
    return {
        name: ("; ".join(text for text, _ in several), any(none for _, none in several))
        for name, several in said.items()
    }


def choices_context(form: SubmitForm, view: View) -> dict[str, Any]:
    """What targets and environments there are to choose from, with the number of their workers."""
    there = known(view)
    chosen = targets(form)
    return {
        "targets": [(target, there.targets.get(target, 0)) for target in chosen],
        "addable": [(target, there.targets.get(target, 0)) for target in addable(form)],
        "environments": list(_environments(form.fields["environment"].text, chosen, there)),
        "counted_for": ",".join(chosen),
    }


def _environments(text: str, chosen: list[str], there: Known) -> Iterable[tuple[str, str]]:
    """(value, words) of each environment in the targets, the commonest first, and of the chosen one in any case."""
    all_of = sum(there.targets.get(target, 0) for target in chosen)
    of = f"{all_of:,} {either(chosen)} {'worker' if all_of == 1 else 'workers'}"
    counts = {name: sum(by.get(target, 0) for target in chosen) for name, by in there.environments.items()}
    counts = {DEFAULT: 0, **({text: 0} if text else {}), **counts}
    for name, count in sorted(counts.items(), key=lambda item: (item[0] != DEFAULT, -item[1], item[0])):
        value = "" if name == DEFAULT != text else name
        if count or name in (DEFAULT, text):
            yield value, f"{name}: on {count:,} of {of}" if all_of else name


def button_words(form: SubmitForm, found: Preview | None) -> str:
    """What the button does."""
    if found and found.outcome is Outcome.UNSCHEDULABLE:
        return "Submit anyway, and wait" if form.fields["on_unschedulable"].text != "fail" else "Submit anyway"
    if not form.is_hold:
        return "Submit"
    held = [devices for _, devices in found.places] if found else []
    devices = sum(map(len, held))
    return f"Hold {counted(devices, 'device')}" if devices else "Hold"
