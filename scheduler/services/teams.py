"""The team that a job is given to when it is submitted."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import QuerySet

from scheduler.core.errors import DocumentError, Problem
from workers.roles import is_operator

MOST_TOLD = 10
NO_TEAM = ""
"""Asks for a job that is its owner's alone."""


def team_for(owner: User, asked: str | None) -> Group | None:
    """The team of this name; of None the owner's only one, where there is exactly one; of `NO_TEAM` none.

    People give jobs to their own teams, operators to any. Raises DocumentError for every other name alike.
    """
    if asked == NO_TEAM:
        return None
    own = list(owner.groups.order_by("name"))
    if asked is None:
        return own[0] if len(own) == 1 else None
    found = next((team for team in own if team.name == asked), None) or _any(owner, asked)
    if found is None:
        raise DocumentError([Problem("team", ascii(asked[:100]), _expected(own))])
    return found


def choices_for(user: Any) -> QuerySet[Group]:
    """The teams that this user can give a job to, by name."""
    teams = Group.objects.all() if is_operator(user) else user.groups.all()
    return teams.order_by("name")


def _any(owner: User, asked: str) -> Group | None:
    fits = "\0" not in asked and is_operator(owner)
    return Group.objects.filter(name=asked).first() if fits else None


def _expected(own: list[Group]) -> str:
    names = ", ".join(team.name for team in own[:MOST_TOLD])
    return f"one of your teams ({names}), or nothing" if own else "nothing: you are in no team"
