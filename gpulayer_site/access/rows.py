"""What a row of the table of access says: an address, its methods, and who may use them there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from workers.roles import Role, Scope

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
"""Every method that a row may name; HEAD comes with GET on pages."""


class Who(StrEnum):
    """Who may use an address: people by their role, or a machine by what it calls with."""

    ANYONE = "anyone"
    SIGNED_IN = "viewer"
    SUBMITTER = "submitter"
    OPERATOR = "operator"
    ADMINISTRATOR = "administrator"
    ENROLMENT = "enrolment token"
    WORKER = "worker credential"

    @property
    def role(self) -> Role | None:
        """The least role that a person needs; None where it is no matter of roles."""
        return Role(self.value) if self.value in Role.values else None


@dataclass(frozen=True, slots=True)
class Row:
    """One address with some of its methods: `methods` are words, `scope` is what a token has to be for.

    A route that ends in `*` stands for all that begin like it.
    """

    route: str
    methods: str
    who: Who
    scope: Scope | None = None

    @property
    def each_method(self) -> tuple[str, ...]:
        """The methods by themselves."""
        return tuple(self.methods.split())


class Rows:
    """Rows that can be asked for."""

    def __init__(self, rows: Iterable[Row], *, head: bool) -> None:
        """`head`: HEAD is answered wherever GET is."""
        self.all = tuple(rows)
        self._exact: dict[str, dict[str, Row]] = {}
        self._beginnings: dict[str, dict[str, Row]] = {}
        for row in self.all:
            whole = not row.route.endswith("*")
            by_method = (self._exact if whole else self._beginnings).setdefault(row.route.removesuffix("*"), {})
            for method in row.each_method:
                if method not in METHODS or method in by_method:
                    raise ValueError(f"{method} {row.route!r} is said twice, or is no method")
                by_method[method] = row
            if head and "GET" in row.each_method:
                by_method.setdefault("HEAD", row)

    def of(self, route: str) -> Mapping[str, Row] | None:
        """The rows of an address by method; None where it is not listed."""
        found = self._exact.get(route)
        if found is None:
            found = next((rows for start, rows in self._beginnings.items() if route.startswith(start)), None)
        return found
