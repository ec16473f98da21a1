"""People over HTTP, for administrators."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from ninja import Path, Query, Router, Status
from pydantic import Field

from gpulayer_site.accounts import passwords, people, teams
from gpulayer_site.accounts.api import RoleName
from gpulayer_site.accounts.people_list import PersonRow, found_people, rows_of
from workers.refusals import Refused
from workers.roles import Role, is_administrator
from workers.wire import Answer, Body, Line, refusals

router = Router(tags=["people"])

MOST_TEAMS = 200

Username = Annotated[Line, Field(min_length=1, max_length=people.LONGEST_NAME)]
TeamName = Annotated[Line, Field(min_length=1, max_length=teams.LONGEST_NAME)]
Whose = Annotated[str, Path(max_length=people.LONGEST_NAME)]
Limit = Annotated[int, Query(ge=1, le=500)]
Text = Annotated[str, Query(max_length=200, pattern=r"^[^\x00]*$")]


class PersonIn(Body):
    """Somebody new."""

    username: Username
    full_name: Annotated[Line, Field(max_length=people.LONGEST_NAME)] = ""
    role: RoleName = "submitter"
    teams: Annotated[list[TeamName], Field(max_length=MOST_TEAMS)] = []


class PersonChange(Body):
    """What is to be otherwise; what is left out stays. `teams`: all of them. `unix_user`: empty for none."""

    role: RoleName | None = None
    teams: Annotated[list[TeamName], Field(max_length=MOST_TEAMS)] | None = None
    active: bool | None = None
    unix_user: Annotated[Line, Field(max_length=32)] | None = None


class PersonOut(Answer):
    """One person. `must_change_password`: has a temporary password, or used it and chose none yet."""

    username: str
    full_name: str
    role: str
    teams: list[str]
    active: bool
    unix_user: str | None
    must_change_password: bool
    seen_at: datetime | None


class NewPersonOut(PersonOut):
    """The person, with a temporary password that is shown this once."""

    password: str


class PeopleOut(Answer):
    """By name. `next`: give it as `after` for more; null at the end."""

    items: list[PersonOut]
    next: str | None


class PasswordOut(Answer):
    """A temporary password, shown this once: for one sign-in until then."""

    password: str
    good_until: datetime


@router.get("people", response={200: PeopleOut, **refusals(403)})
def list_people(
    request: HttpRequest,
    q: Text = "",
    role: RoleName | None = None,
    team: Text = "",
    after: Text = "",
    limit: Limit = 100,
) -> Any:
    """Everybody, or those whose name has `q` in it, of this role and in this team."""
    administrators_only(request)
    found = found_people(q=q, role=role or "", team=team).select_related("unix_account").filter(username__gt=after)
    rows = list(found.order_by("username")[: limit + 1])
    more = rows[limit - 1].username if len(rows) > limit else None
    return {"items": [_person(row) for row in rows_of(rows[:limit])], "next": more}


@router.post("people", response={201: NewPersonOut, **refusals(403, 409, body=True)})
def create_person(request: HttpRequest, payload: PersonIn) -> Any:
    """Let somebody in; they choose a password of their own when they first sign in."""
    user, password = people.create_person(
        username=payload.username, full_name=payload.full_name, role=Role(payload.role),
        teams=teams.find_teams(payload.teams), actor=administrators_only(request), now=timezone.now(),
    )  # fmt: skip
    return Status(201, {**_about(user), "password": password})


@router.get("people/{username}", response={200: PersonOut, **refusals(403, 404)})
def show_person(request: HttpRequest, username: Whose) -> Any:
    """One person."""
    administrators_only(request)
    return _about(people.find_person(username))


@router.patch("people/{username}", response={200: PersonOut, **refusals(403, 404, 409, body=True)})
def change_person(request: HttpRequest, username: Whose, payload: PersonChange) -> Any:
    """Another role, other teams, in or out, another account on the hosts: all of it or, where refused, nothing."""
    actor, now = administrators_only(request), timezone.now()
    with transaction.atomic():
        user = people.find_person(username)
        if payload.role is not None:
            people.set_role(user=user, role=Role(payload.role), actor=actor, now=now)
        if payload.teams is not None:
            teams.set_teams(user=user, teams=teams.find_teams(payload.teams), actor=actor, now=now)
        if payload.active is not None:
            people.set_active(user=user, active=payload.active, actor=actor, now=now)
        if payload.unix_user is not None:
            people.set_unix_user(user=user, name=payload.unix_user, actor=actor, now=now)
    return _about(people.find_person(username))


@router.post("people/{username}/password", response={201: PasswordOut, **refusals(403, 404)})
def reset_password(request: HttpRequest, username: Whose) -> Any:
    """Replace somebody's password by a temporary one."""
    actor, now = administrators_only(request), timezone.now()
    password = passwords.give_temporary(user=people.find_person(username), actor=actor, now=now)
    return Status(201, {"password": password, "good_until": now + passwords.TEMPORARY_LIFETIME})


def administrators_only(request: HttpRequest) -> str:
    """Who acts, for events. Raises Refused (403) for everybody but administrators."""
    if not is_administrator(request.user):
        raise Refused("administrators_only", "only administrators look after people and teams", status=403)
    return f"user:{request.user.get_username()}"


def _about(user: User) -> dict[str, Any]:
    return _person(rows_of([user])[0])


def _person(row: PersonRow) -> dict[str, Any]:
    account = getattr(row.user, "unix_account", None)
    return {
        "username": row.user.get_username(),
        "full_name": row.user.first_name,
        "role": row.role,
        "teams": list(row.teams),
        "active": row.user.is_active,
        "unix_user": account.name if account else None,
        "must_change_password": row.user.person.must_change_password,
        "seen_at": row.seen_at,
    }
