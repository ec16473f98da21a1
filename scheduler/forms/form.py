"""A job document as form fields and back, without losing what the form has no field for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from dataclasses import field as member
from typing import TYPE_CHECKING

from scheduler.core.errors import Problem
from scheduler.forms.bound import BoundField, sent, taken
from scheduler.forms.documents import Document, has_known_targets, joined, merged, put, split, yaml_of
from scheduler.forms.fields import FIELDS, HELD, PLACES, SECTIONS, TARGETS, Section
from scheduler.forms.kinds import UnreadableError

if TYPE_CHECKING:
    from django.http import QueryDict

FIRST_HOLD = "4 h"
COMMANDS_ONLY = frozenset((
    "command", "files", "workdir", "env", "secrets", "timeout_s", "retries_max", "retries_on", "lease_s",
    "num_workers", "procs_per_worker", "launcher", "comm_backend",
))  # fmt: skip
"""What says something of a command, and nothing of a hold."""
HOLD, JOB = "hold", "job"
FRESH, FILES, HOST = "fresh", "files", "host"


@dataclass(frozen=True, slots=True)
class Group:
    """The fields under one heading, and those behind `more`."""

    section: Section
    fields: tuple[BoundField, ...]
    more: tuple[BoundField, ...]

    @property
    def is_open(self) -> bool:
        """Whether something stands behind `more`, or is wrong there."""
        return any(bound.errors or not bound.is_empty for bound in self.more)


@dataclass(slots=True)
class SubmitForm:
    """Every field with its text; `rest` is the part of the document that no field can show."""

    fields: dict[str, BoundField]
    rest: Document = member(default_factory=dict)
    mode: str = ""
    """`hold` or `job`: what a person chose; what belongs to the other is put aside. Empty: everything counts."""
    place: str = ""
    """`fresh`, `files` or `host`: where the command is chosen to run. Empty: whatever the fields say counts."""
    other_errors: list[Problem] = member(default_factory=list)
    secrets: tuple[str, ...] = ()
    """Names of secrets that the document has and no field shows."""

    @classmethod
    def empty(cls) -> SubmitForm:
        """A blank form that runs locally."""
        return cls.from_document({"target": "local"})

    @classmethod
    def from_post(cls, data: QueryDict) -> SubmitForm:
        """The form as it was sent, whatever is in it."""
        fields = {spec.name: sent(spec, data) for spec in FIELDS}
        mode, place = data.get("mode", ""), data.get("wd", "")
        return cls(
            fields,
            _rest(data.get("rest", "")),
            mode=mode if mode in (HOLD, JOB) else "",
            place=place if place in (FRESH, FILES, HOST) else "",
        )

    @classmethod
    def from_document(cls, document: Document) -> SubmitForm:
        """A document in fields; what would not survive the way back stays whole in `rest`."""
        ordered = has_known_targets(document)
        rest = split(deepcopy(document)) if ordered else deepcopy(document)
        left = () if ordered else TARGETS
        fields = {spec.name: BoundField(spec) if spec.name in left else taken(spec, rest) for spec in FIELDS}
        form = cls(fields, joined(rest))
        form.take_secrets(form.rest)
        form.rest.pop("secrets", None)
        here = [FILES if name == "files" else HOST for name in PLACES if not fields[name].is_empty]
        beside = any(name in form.rest for name in PLACES)
        form.place = "" if len(here) > 1 or beside else here[0] if here else FRESH
        return form

    def take_secrets(self, document: Document) -> None:
        """Show the document's secrets by their names, and nothing in the rows where they were typed."""
        found = document.get("secrets")
        self.secrets = tuple(map(str, found)) if isinstance(found, dict) else ()
        self.fields["secrets"].rows = ()

    def to_hold(self) -> None:
        """Change over to holding devices for a person: what is run is put aside, what is asked for stays."""
        self.mode = HOLD
        self.fields["hold_s"].text = self.fields["hold_s"].text or FIRST_HOLD

    def to_job(self) -> None:
        """Back to running a command."""
        self.mode = JOB

    @property
    def is_hold(self) -> bool:
        """Whether devices are to be held for a person, with nothing run on them."""
        return self.mode == HOLD or (not self.mode and bool(self.fields["hold_s"].text))

    def counts(self, name: str) -> bool:
        """Whether a field says something of the document as a person has chosen it to be."""
        if self._is_aside(name):
            return False
        return name not in PLACES or not self.place or self.place == (FILES if name == "files" else HOST)

    def document(self) -> tuple[Document, tuple[Problem, ...]]:
        """The document that the fields and the rest make, and the fields that cannot be read."""
        document: Document = {}
        problems: list[Problem] = []
        for bound in self.fields.values():
            if bound.is_empty or not self.counts(bound.field.name):
                continue
            try:
                put(document, bound.field.path, bound.value())
            except UnreadableError as error:
                found = "rows" if bound.field.named_values else bound.text
                problems.append(Problem(bound.field.path, found, str(error)))
        document, missing = self._with_chosen(document)
        return merged(joined(document), self.rest), (*problems, *missing)

    def _with_chosen(self, document: Document) -> tuple[Document, list[Problem]]:
        """With what a chosen radio or tab needs, and what is missing there."""
        missing = []
        if self.mode == HOLD and not self.fields["hold_s"].text:
            document = {**document, "hold_s": ""}
            missing.append(Problem("hold_s", "nothing", "how long: seconds, or 90 min, 6 h, 2 d"))
        if self.mode != HOLD and self.place == FILES and not self.fields["files"].text:
            missing.append(Problem("files", "nothing", "files to upload, or another working directory"))
        if self.mode != HOLD and self.place == HOST and not self.fields["workdir"].text:
            missing.append(Problem("workdir", "nothing", "an absolute path, or another working directory"))
        return document, missing

    def settle(self, problems: Iterable[Problem]) -> None:
        """Put every problem beside its field; what belongs to none is shown above the form."""
        for problem in problems:
            bound = self.at(problem.path)
            if bound is None:
                self.other_errors.append(problem)
            else:
                bound.errors.append(f"Found {problem.found}; expected {problem.expected}.")

    @property
    def groups(self) -> tuple[Group, ...]:
        """The fields as the page groups them; what has no place there is shown where it says something."""
        chosen = HELD if self.is_hold else SECTIONS
        shown = {name for section in chosen for name in (*section.names, *section.more_names)}
        shown |= {*TARGETS, *PLACES}
        odd = [
            name for name, bound in self.fields.items()
            if name not in shown and self.counts(name) and (bound.errors or not bound.is_empty)
        ]  # fmt: skip
        return tuple(self._group(section, odd if section.key == "runs" else []) for section in chosen)

    def _group(self, section: Section, odd: list[str]) -> Group:
        fields = tuple(self.fields[name] for name in (*section.names, *odd))
        return Group(section, fields, tuple(self.fields[name] for name in section.more_names))

    @property
    def put_aside(self) -> tuple[BoundField, ...]:
        """Fields of the other mode that say something: they travel with the form, so that coming back loses nothing."""
        return tuple(bound for name, bound in self.fields.items() if not bound.is_empty and self._is_aside(name))

    def _is_aside(self, name: str) -> bool:
        return (self.mode == HOLD and name in COMMANDS_ONLY) or (self.mode == JOB and name == "hold_s")

    @property
    def rest_text(self) -> str:
        """The rest as it travels with the form; empty when there is none."""
        return json.dumps(self.rest, ensure_ascii=False) if self.rest else ""

    @property
    def rest_yaml(self) -> str:
        """The rest as a person reads it."""
        return yaml_of(self.rest) if self.rest else ""

    @property
    def errors(self) -> int:
        """How many errors the page shows."""
        return len(self.other_errors) + sum(len(bound.errors) for bound in self.fields.values())

    def at(self, path: str) -> BoundField | None:
        """The field that a path of the document is about."""
        if path.startswith("fallback_targets"):
            return self.fields[TARGETS[0]]
        fits = [
            bound for bound in self.fields.values()
            if path == bound.field.path or path.startswith((bound.field.path + ".", bound.field.path + "["))
        ]  # fmt: skip
        return max(fits, key=lambda bound: len(bound.field.path), default=None)


def _rest(text: str) -> Document:
    """What travelled with the form; anything that is no document counts as nothing."""
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
