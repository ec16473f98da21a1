"""Job documents as plain data: paths into them, two of them in one, and the YAML that a person would write."""

from __future__ import annotations

from typing import Any

import yaml

from scheduler.forms.fields import BY_NAME, FIELDS, TARGETS

Document = dict[str, Any]

FALLBACKS = len(TARGETS) - 1


class _Dumper(yaml.SafeDumper):
    """Lists on one line, maps on many."""


_Dumper.add_representer(list, lambda dumper, items: dumper.represent_sequence("tag:yaml.org,2002:seq", items, True))


def yaml_of(document: Document) -> str:
    """The document as YAML that a person would write, in the given order."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, default_flow_style=False, allow_unicode=True, width=100)


def has_known_targets(document: Document) -> bool:
    """Whether all of its targets are some that a list of targets can show."""
    fallbacks = document.get("fallback_targets", [])
    known = dict(BY_NAME[TARGETS[0]].choices)
    return (
        isinstance(fallbacks, list)
        and len(fallbacks) <= FALLBACKS
        and all(isinstance(one, str) and one in known for one in (document.get("target"), *fallbacks))
    )


def split(document: Document) -> Document:
    """Each fallback under a key of its own, as the form has a field for each."""
    targets = document.pop("fallback_targets", [])
    return document | {f"fallback_targets[{place}]": target for place, target in enumerate(targets)}


def joined(document: Document) -> Document:
    """The fallbacks as one list again."""
    keys = [f"fallback_targets[{place}]" for place in range(FALLBACKS)]
    targets = [document[key] for key in keys if key in document]
    kept = {key: value for key, value in document.items() if key not in keys}
    return in_order(kept | {"fallback_targets": targets}) if targets else kept


def in_order(document: Document) -> Document:
    """Top-level keys in the order of the contract; unknown ones last."""
    order = list(dict.fromkeys(spec.path.split(".")[0].split("[")[0] for spec in FIELDS))
    return dict(sorted(document.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order)))


def get(document: Document, path: str) -> Any:
    """The value there; None where there is none."""
    found: Any = document
    for key in path.split("."):
        if not isinstance(found, dict):
            return None
        found = found.get(key)
    return found


def drop(document: Document, path: str) -> None:
    """Take a value out, and every map that is empty without it."""
    key, _, below = path.partition(".")
    if below:
        drop(document[key], below)
        if document[key]:
            return
    del document[key]


def put(document: Document, path: str, value: Any) -> None:
    """Set a value, with the maps above it."""
    *above, last = path.split(".")
    for key in above:
        document = document.setdefault(key, {})
    document[last] = value


def merged(document: Document, rest: Document) -> Document:
    """Both in one; where both say something, what the person typed counts."""
    whole = dict(document)
    for key, value in rest.items():
        here = whole.get(key)
        if isinstance(here, dict) and isinstance(value, dict):
            whole[key] = merged(here, value)
        elif key not in whole:
            whole[key] = value
    return in_order(whole)
