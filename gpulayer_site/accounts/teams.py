"""Teams: who shares jobs with whom. Each change is an event, and ends the sessions of whoever joined or left."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import F, ProtectedError

from gpulayer_site.accounts.models import Person
from gpulayer_site.accounts.people import invalid
from gpulayer_site.accounts.sessions import end_sessions
from scheduler.core.reading import quoted
from scheduler.models import Job, Reservation
from scheduler.services.reservations import live
from workers.models import Event
from workers.refusals import NotFound, Refused

LONGEST_NAME = 100


def find_team(name: str) -> Group:
    """The team of this name. Raises NotFound."""
    team = Group.objects.filter(name=name).first()
    if team is None:
        raise NotFound(f"there is no team {quoted(name)}")
    return team


def find_teams(names: Iterable[str]) -> list[Group]:
    """The teams of these names. Raises Refused (422) that names those there are not."""
    wanted = sorted(set(names))
    found = list(Group.objects.filter(name__in=wanted))
    if missing := sorted(set(wanted) - {team.name for team in found}):
        raise invalid("teams", ", ".join(missing), "names of teams that there are")
    return found


@transaction.atomic
def create_team(*, name: str, actor: str, now: datetime) -> Group:
    """A new team without members. Raises Refused for a name that is none (422) or taken (409)."""
    team = Group.objects.create(name=_free(name))
    _note(team.name, "created", actor, now)
    return team


@transaction.atomic
def rename_team(*, team: Group, name: str, actor: str, now: datetime) -> bool:
    """Call it something else; its reservations go with it. False where that is its name."""
    before = team.name
    if name == before:
        return False
    team.name = _free(name)
    team.save(update_fields=["name"])
    Reservation.objects.filter(holder=f"team:{before}").update(holder=f"team:{name}")
    _note(name, "renamed", actor, now, before=before, after=name)
    return True


@transaction.atomic
def set_members(*, team: Group, members: Iterable[User], actor: str, now: datetime) -> tuple[list[str], list[str]]:
    """These are its members from now on; return the names of those who joined and of those who left."""
    wanted, present = {user.pk: user for user in members}, {user.pk: user for user in team.user_set.all()}
    joined = [user for key, user in wanted.items() if key not in present]
    left = [user for key, user in present.items() if key not in wanted]
    for user in joined:
        move(user=user, team=team, member=True, actor=actor, now=now)
    for user in left:
        move(user=user, team=team, member=False, actor=actor, now=now)
    return sorted(user.get_username() for user in joined), sorted(user.get_username() for user in left)


@transaction.atomic
def set_teams(*, user: User, teams: Iterable[Group], actor: str, now: datetime) -> bool:
    """The person is in these teams from now on. False where nothing changes."""
    wanted, present = {team.pk: team for team in teams}, {team.pk: team for team in user.groups.all()}
    joined = [team for key, team in wanted.items() if key not in present]
    left = [team for key, team in present.items() if key not in wanted]
    for team in joined:
        move(user=user, team=team, member=True, actor=actor, now=now)
    for team in left:
        move(user=user, team=team, member=False, actor=actor, now=now)
    return bool(joined or left)


def move(*, user: User, team: Group, member: bool, actor: str, now: datetime) -> None:
    """Into a team or out of it; sessions end, so that no page shows what is no longer the person's to see."""
    if member:
        user.groups.add(team)
    else:
        user.groups.remove(team)
    Person.objects.filter(user=user).update(epoch=F("epoch") + 1)
    end_sessions(user)
    before, after = ("", team.name) if member else (team.name, "")
    Event.objects.create(
        at=now, actor=actor, subject_kind="user", subject=user.get_username(), verb="team", before=before, after=after
    )


@transaction.atomic
def delete_team(*, team: Group, actor: str, now: datetime) -> None:
    """End a team. Raises Refused (409) for one that has jobs or reservations: they would be nobody's."""
    if Job.objects.filter(team=team).exists():
        raise Refused("team_has_jobs", f"team {team.name} has jobs: they would lose their team")
    if live(now).filter(holder=f"team:{team.name}").exists():
        raise Refused("team_has_reservations", f"team {team.name} has reservations: end them first")
    set_members(team=team, members=(), actor=actor, now=now)
    _note(team.name, "deleted", actor, now)
    try:
        team.delete()
    except ProtectedError as error:  # a job came meanwhile
        raise Refused("team_has_jobs", f"team {team.name} has jobs: they would lose their team") from error


def _free(name: str) -> str:
    """The name, if a team may be called so."""
    if not name or len(name) > LONGEST_NAME or name != name.strip() or not name.isprintable() or "/" in name:
        raise invalid("name", name, f"one line of 1 to {LONGEST_NAME} characters without a slash")
    if Group.objects.filter(name__iexact=name).exists():
        raise Refused("name_taken", f"there is a team {quoted(name)} already")
    return name


def _note(name: str, verb: str, actor: str, now: datetime, *, before: str = "", after: str = "") -> None:
    Event.objects.create(at=now, actor=actor, subject_kind="team", subject=name, verb=verb, before=before, after=after)
