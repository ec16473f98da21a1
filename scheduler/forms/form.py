"""A job document as form fields and back, without losing what the form has no field for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from dataclasses import field as member
from typing import Any

import yaml

from scheduler.core.errors import Problem
from scheduler.forms.fields import FIELDS, GROUPS, HELD, Field
from scheduler.forms.kinds import UnreadableError

Document = dict[str, Any]

FIRST_HOLD = "4 h"
COMMANDS_ONLY = ("command", "files", "workdir", "env", "timeout_s", "retries_max", "retries_on", "lease_s")
"""What says something of a command, and nothing of a hold."""
FALLBACKS = ("fallback_1", "fallback_2")


@dataclass(slots=True)
class BoundField:
    """A field with what stands in it and what is wrong with that."""

    field: Field
    text: str = ""
    errors: list[str] = member(default_factory=list)


@dataclass(frozen=True, slots=True)
class Group:
    """The fields under one heading."""

    key: str
    heading: str
    fields: tuple[BoundField, ...]


@dataclass(slots=True)
class SubmitForm:
    """Every field with its text; `rest` is the part of the document that no field can show."""

    fields: dict[str, BoundField]
    rest: Document = member(default_factory=dict)
    hold: bool = False
    """A person chose to hold devices, whatever the fields say so far."""
    other_errors: list[Problem] = member(default_factory=list)
    secrets: tuple[str, ...] = ()
    """Names of secrets that the document has and no field shows."""

    @classmethod
    def empty(cls) -> SubmitForm:
        """A blank form that runs locally."""
        return cls.from_document({"target": "local"})

    def to_hold(self) -> None:
        """Change over to holding devices for a person: what is run is put aside, what is asked for stays."""
        self.hold = True
        for name in COMMANDS_ONLY:
            self.fields[name].text = ""
        self.fields["hold_s"].text = self.fields["hold_s"].text or FIRST_HOLD

    @property
    def is_hold(self) -> bool:
        """Whether devices are to be held for a person, with nothing run on them."""
        return self.hold or bool(self.fields["hold_s"].text)

    @classmethod
    def from_post(cls, data: Mapping[str, str]) -> SubmitForm:
        """The form as it was sent, whatever is in it."""
        fields = {spec.name: BoundField(spec, data.get(spec.name, "").strip()) for spec in FIELDS}
        return cls(fields, _rest(data.get("rest", "")), hold=data.get("mode") == "hold")

    @classmethod
    def from_document(cls, document: Document) -> SubmitForm:
        """A document in fields; what would not survive the way back stays whole in `rest`."""
        rest = _with_split_fallbacks(deepcopy(document))
        fields: dict[str, BoundField] = {}
        for spec in FIELDS:
            value = _get(rest, spec.path)
            text = None if value is None else spec.kind.shown(value)
            if text is not None and (not spec.choices or text in dict(spec.choices)):
                _drop(rest, spec.path)
            fields[spec.name] = BoundField(spec, text or "")
        form = cls(fields, _with_joined_fallbacks(rest))
        form.take_secrets(form.rest)
        form.rest.pop("secrets", None)
        return form

    def take_secrets(self, document: Document) -> None:
        """Show the document's secrets by their names, and nothing in the field where they were typed."""
        found = document.get("secrets")
        self.secrets = tuple(map(str, found)) if isinstance(found, dict) else ()
        self.fields["secrets"].text = ""

    def document(self) -> tuple[Document, tuple[Problem, ...]]:
        """The document that the fields and the rest make, and the fields that cannot be read."""
        document: Document = {}
        problems: list[Problem] = []
        for bound in self.fields.values():
            if bound.text in ("", bound.field.default):
                continue
            try:
                _put(document, bound.field.path, bound.field.kind.read(bound.text))
            except UnreadableError as error:
                found = "text that is not shown" if bound.field.hidden else bound.text
                problems.append(Problem(bound.field.path, found, str(error)))
        if self.hold and not self.fields["hold_s"].text:
            document["hold_s"] = ""
            problems.append(Problem("hold_s", "nothing", "how long: seconds, or 90 min, 6 h, 2 d"))
        return _merged(_with_joined_fallbacks(document), self.rest), tuple(problems)

    def place(self, problems: Iterable[Problem]) -> None:
        """Put every problem beside its field; what belongs to none is shown above the form."""
        for problem in problems:
            bound = self._at(problem.path)
            if bound is None:
                self.other_errors.append(problem)
            else:
                bound.errors.append(f"Found {problem.found}; expected {problem.expected}.")

    @property
    def groups(self) -> tuple[Group, ...]:
        """The fields as the page groups them; what has no place there is shown where it says something."""
        chosen = HELD if self.is_hold else GROUPS
        shown = {name for _, _, names in chosen for name in names}
        odd = [name for name, bound in self.fields.items() if name not in shown and (bound.text or bound.errors)]
        groups = [(key, title, (*names, *(odd if key == "runs" else ()))) for key, title, names in chosen]
        return tuple(Group(key, title, tuple(self.fields[name] for name in names)) for key, title, names in groups)

    @property
    def named(self) -> dict[str, BoundField]:
        """The fields by name."""
        return self.fields

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

    def _at(self, path: str) -> BoundField | None:
        fits = [
            bound for bound in self.fields.values()
            if path == bound.field.path or path.startswith((bound.field.path + ".", bound.field.path + "["))
        ]  # fmt: skip
        if not fits and path.startswith("fallback_targets"):
            return self.fields[FALLBACKS[0]]
        return max(fits, key=lambda bound: len(bound.field.path), default=None)


class _Dumper(yaml.SafeDumper):
    """Lists on one line, maps on many."""


_Dumper.add_representer(list, lambda dumper, items: dumper.represent_sequence("tag:yaml.org,2002:seq", items, True))


def yaml_of(document: Document) -> str:
    """The document as YAML that a person would write, in the given order."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, default_flow_style=False, allow_unicode=True, width=100)


def _rest(text: str) -> Document:
    """What travelled with the form; anything that is no document counts as nothing."""
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _with_split_fallbacks(document: Document) -> Document:
    """Each fallback under a key of its own, as the form has a field for each."""
    targets = document.get("fallback_targets")
    if not isinstance(targets, list) or len(targets) > len(FALLBACKS):
        return document
    del document["fallback_targets"]
    return document | {f"fallback_targets[{place}]": target for place, target in enumerate(targets)}


def _with_joined_fallbacks(document: Document) -> Document:
    keys = [f"fallback_targets[{place}]" for place in range(len(FALLBACKS))]
    targets = [document[key] for key in keys if key in document]
    kept = {key: value for key, value in document.items() if key not in keys}
    return _in_order(kept | {"fallback_targets": targets}) if targets else kept


def _in_order(document: Document) -> Document:
    """Top-level keys in the order of the contract; unknown ones last."""
    order = list(dict.fromkeys(spec.path.split(".")[0].split("[")[0] for spec in FIELDS))
    return dict(sorted(document.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order)))


def _get(document: Document, path: str) -> Any:
    found: Any = document
    for key in path.split("."):
        if not isinstance(found, dict):
            return None
        found = found.get(key)
    return found


def _drop(document: Document, path: str) -> None:
    """Take a value out, and every map that is empty without it."""
    key, _, below = path.partition(".")
    if below:
        _drop(document[key], below)
        if document[key]:
            return
    del document[key]


def _put(document: Document, path: str, value: Any) -> None:
    *above, last = path.split(".")
    for key in above:
        document = document.setdefault(key, {})
    document[last] = value


def _merged(document: Document, rest: Document) -> Document:
    """Both in one; where both say something, what the person typed counts."""
    whole = dict(document)
    for key, value in rest.items():
        here = whole.get(key)
        if isinstance(here, dict) and isinstance(value, dict):
            whole[key] = _merged(here, value)
        elif key not in whole:
            whole[key] = value
    return _in_order(whole)
