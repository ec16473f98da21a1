"""Version specifiers that ask for a little less: everything they admitted, and one version more."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.specifiers import Specifier
from packaging.version import Version

from scheduler.core.versions import parse_specifier, parse_version, satisfies


def widened(specifier: str, version: str) -> str | None:
    """The specifier changed as little as it takes to admit this version too; None where only dropping it does."""
    wanted, more = parse_specifier(specifier), parse_version(version)
    if wanted is None or more is None:
        return None
    clauses = [clause for one in sorted(wanted, key=str) for clause in _admitting(one, more)]
    wider = ",".join(dict.fromkeys(clauses))
    return wider if wider and satisfies(version, wider) else None


def nearest_first(specifier: str, versions: Iterable[str]) -> list[str]:
    """Known versions that don't satisfy it: the nearest below, the nearest above, the next below, and so on."""
    unknown_left_out = {text: known for text in versions if (known := parse_version(text)) is not None}
    missed = [text for text in unknown_left_out if not satisfies(text, specifier)]
    bounds = [bound for one in parse_specifier(specifier) or () if (bound := _bound(one)) is not None]
    middle = max(bounds, default=None)
    below = [text for text in missed if middle is None or unknown_left_out[text] < middle]
    above = [text for text in missed if text not in below]
    below.sort(key=lambda text: (unknown_left_out[text], text), reverse=True)
    above.sort(key=lambda text: (unknown_left_out[text], text))
    both = [text for pair in zip(below, above, strict=False) for text in pair]
    shorter = min(len(below), len(above))
    return [*both, *below[shorter:], *above[shorter:]]


def _bound(clause: Specifier) -> Version | None:
    return parse_version(clause.version.removesuffix(".*"))


def _admitting(clause: Specifier, version: Version) -> list[str]:
    """The clause as it is where it admits the version; else the clauses that take its place."""
    if clause.contains(version, prereleases=True):
        return [str(clause)]
    bound, shown = _bound(clause), version.public
    if bound is None or clause.operator == "!=":
        return []
    if clause.operator in (">", ">="):
        return [f">={shown}"]
    if clause.operator in ("<", "<="):
        return [f"<={shown}"]
    lowest, above = _range(clause, bound)
    return [f">={shown}", above] if version < bound else [lowest, f"<={shown}"]


def _range(clause: Specifier, bound: Version) -> tuple[str, str]:
    """The range that an equality stands for, as its lower and its upper clause."""
    if clause.operator == "~=":
        return f">={clause.version}", f"<{_next(bound.release[:-1])}"
    if clause.version.endswith(".*"):
        return f">={clause.version.removesuffix('.*')}.dev0", f"<{_next(bound.release)}"
    return f">={bound.public}", f"<={bound.public}"


def _next(release: tuple[int, ...]) -> str:
    """The first release after all that begin like this one."""
    return ".".join(str(part) for part in (*release[:-1], release[-1] + 1))
