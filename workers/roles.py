"""Who may do what, in four steps: the role of whoever is calling, as it counts for this call."""

from __future__ import annotations

from typing import Any

from django.db import models


class Role(models.TextChoices):
    """Each may what those before it may."""

    VIEWER = "viewer"
    SUBMITTER = "submitter"
    OPERATOR = "operator"
    ADMINISTRATOR = "administrator"

    @property
    def step(self) -> int:
        """0 for viewers to 3 for administrators."""
        return _STEPS[self]

    def reaches(self, other: Role) -> bool:
        """Whether this role may what the other may."""
        return self.step >= other.step


_STEPS = {role: step for step, role in enumerate(Role)}


class Scope(models.TextChoices):
    """What an API token is for; a session is for everything."""

    READ = "read"
    """To look at what its owner may see."""
    JOBS = "jobs"
    """To submit and change jobs."""
    FLEET = "fleet"
    """To change workers, labels, reservations and drains."""
    PEOPLE = "people"
    """To change people, teams and tokens."""


def role_of(user: Any) -> Role | None:
    """The role that counts: the person's, or a token's where that is less; None for who is not signed in.

    A token's role and scopes stand on the user of its request as `token_role` and `token_scopes`.
    """
    if not user.is_authenticated or not user.is_active:
        return None
    own = _own_role(user)
    cap = getattr(user, "token_role", None)
    return own if cap is None or Role(cap).reaches(own) else Role(cap)


def _own_role(user: Any) -> Role:
    person = getattr(user, "person", None)
    if person is not None:
        return Role(person.role)
    return Role.ADMINISTRATOR if user.is_superuser else Role.OPERATOR if user.is_staff else Role.SUBMITTER


def is_at_least(user: Any, role: Role) -> bool:
    """Whether whoever is calling may what this role may."""
    own = role_of(user)
    return own is not None and own.reaches(role)


def is_operator(user: Any) -> bool:
    """Whether whoever is calling keeps the fleet."""
    return is_at_least(user, Role.OPERATOR)


def is_administrator(user: Any) -> bool:
    """Whether whoever is calling keeps people and their roles."""
    return is_at_least(user, Role.ADMINISTRATOR)


def may_submit(user: Any) -> bool:
    """Whether whoever is calling may have jobs."""
    return is_at_least(user, Role.SUBMITTER)
