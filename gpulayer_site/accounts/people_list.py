"""Finding people, and what a list says of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Max, Q, QuerySet

from gpulayer_site.accounts.middleware import person_of
from gpulayer_site.accounts.models import ApiToken, BrowserSession
from workers.roles import Role


@dataclass(frozen=True, slots=True)
class PersonRow:
    """One person as a list shows it."""

    user: User
    role: Role
    teams: tuple[str, ...]
    seen_at: datetime | None
    """When the person, or a token of theirs, was last here."""


def found_people(*, q: str = "", role: str = "", team: str = "") -> QuerySet[User]:
    """The people whose name has this text in it, of this role and in this team; what is empty does not matter."""
    people = User.objects.select_related("person").prefetch_related("groups")
    if q:
        people = people.filter(Q(username__icontains=q) | Q(first_name__icontains=q))
    if role:
        people = people.filter(person__role=role)
    if team:
        people = people.filter(groups__name=team)
    return people


def rows_of(people: Sequence[User]) -> list[PersonRow]:
    """What a list says of these people. Two queries, however many they are."""
    seen = _last_seen(people)
    return [
        PersonRow(
            user=user,
            role=Role(person_of(user).role),
            teams=tuple(sorted(group.name for group in user.groups.all())),
            seen_at=seen.get(user.pk),
        )
        for user in people
    ]


def _last_seen(people: Sequence[User]) -> dict[int, datetime]:
    keys = [user.pk for user in people]
    seen = {user.pk: [user.last_login] for user in people}
    by_browser = BrowserSession.objects.filter(user__in=keys).values_list("user_id").annotate(Max("seen_at"))
    by_token = ApiToken.objects.filter(user__in=keys).values_list("user_id").annotate(Max("last_used_at"))
    for key, at in (*by_browser, *by_token):
        seen[key].append(at)
    return {key: max(known) for key, each in seen.items() if (known := [at for at in each if at is not None])}
