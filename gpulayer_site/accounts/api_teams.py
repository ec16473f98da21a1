"""Teams over HTTP, for administrators."""

from __future__ import annotations

from typing import Annotated, Any

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Count
from django.http import HttpRequest
from django.utils import timezone
from ninja import Path, Router, Status
from pydantic import Field

from gpulayer_site.accounts import teams
from gpulayer_site.accounts.api_people import Limit, TeamName, Text, Username, administrators_only
from scheduler.core.errors import Problem
from workers.refusals import Refused
from workers.wire import Answer, Body, refusals

router = Router(tags=["people"])

MOST_MEMBERS = 10_000

Which = Annotated[str, Path(max_length=teams.LONGEST_NAME)]


class TeamIn(Body):
    """A new team and who is in it."""

    name: TeamName
    members: Annotated[list[Username], Field(max_length=MOST_MEMBERS)] = []


class TeamChange(Body):
    """What is to be otherwise; what is left out stays. `members`: all of them."""

    name: TeamName | None = None
    members: Annotated[list[Username], Field(max_length=MOST_MEMBERS)] | None = None


class TeamOut(Answer):
    """One team."""

    name: str
    members: list[str]


class TeamCount(Answer):
    """A team in a list."""

    name: str
    members: int


class TeamsOut(Answer):
    """By name. `next`: give it as `after` for more; null at the end."""

    items: list[TeamCount]
    next: str | None


@router.get("teams", response={200: TeamsOut, **refusals(403)})
def list_teams(request: HttpRequest, after: Text = "", limit: Limit = 100) -> Any:
    """Every team, with how many are in it."""
    administrators_only(request)
    found = Group.objects.filter(name__gt=after).annotate(members=Count("user")).order_by("name")
    rows = list(found.values("name", "members")[: limit + 1])
    return {"items": rows[:limit], "next": rows[limit - 1]["name"] if len(rows) > limit else None}


@router.post("teams", response={201: TeamOut, **refusals(403, 409, body=True)})
def create_team(request: HttpRequest, payload: TeamIn) -> Any:
    """A new team."""
    actor, now = administrators_only(request), timezone.now()
    with transaction.atomic():
        team = teams.create_team(name=payload.name, actor=actor, now=now)
        teams.set_members(team=team, members=_users(payload.members), actor=actor, now=now)
    return Status(201, _team(team))


@router.get("teams/{name}", response={200: TeamOut, **refusals(403, 404)})
def show_team(request: HttpRequest, name: Which) -> Any:
    """One team and who is in it."""
    administrators_only(request)
    return _team(teams.find_team(name))


@router.patch("teams/{name}", response={200: TeamOut, **refusals(403, 404, 409, body=True)})
def change_team(request: HttpRequest, name: Which, payload: TeamChange) -> Any:
    """Another name, other members: all of it or, where refused, nothing."""
    actor, now = administrators_only(request), timezone.now()
    with transaction.atomic():
        team = teams.find_team(name)
        if payload.members is not None:
            teams.set_members(team=team, members=_users(payload.members), actor=actor, now=now)
        if payload.name is not None:
            teams.rename_team(team=team, name=payload.name, actor=actor, now=now)
    return _team(team)


@router.delete("teams/{name}", response={200: TeamOut, **refusals(403, 404, 409)})
def delete_team(request: HttpRequest, name: Which) -> Any:
    """End a team that has neither jobs nor reservations."""
    team = teams.find_team(name)
    was = _team(team)
    teams.delete_team(team=team, actor=administrators_only(request), now=timezone.now())
    return was


def _team(team: Group) -> dict[str, Any]:
    return {"name": team.name, "members": list(team.user_set.order_by("username").values_list("username", flat=True))}


def _users(names: list[str]) -> list[User]:
    """The people of these names. Raises Refused (422) that names those there are not."""
    wanted = sorted(set(names))
    found = list(User.objects.filter(username__in=wanted))
    if missing := sorted(set(wanted) - {user.username for user in found}):
        problems = tuple(Problem("members", name, "the name of somebody that there is") for name in missing)
        raise Refused("invalid", f"{len(missing)} of the members are nobody's names", status=422, problems=problems)
    return found
