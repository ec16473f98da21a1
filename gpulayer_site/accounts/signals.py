"""What follows from a user being saved, and from coming in."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.db import transaction
from django.db.models import F
from django.db.models.signals import post_save
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

from gpulayer_site.accounts import sessions
from gpulayer_site.accounts.models import Person
from workers.roles import Role

_FLAGS = frozenset({"is_staff", "is_superuser"})


def role_by_flags(user: User) -> Role:
    """The role that Django's two flags speak of; they cannot tell viewers from submitters."""
    return Role.ADMINISTRATOR if user.is_superuser else Role.OPERATOR if user.is_staff else Role.SUBMITTER


def flags_of(role: Role) -> dict[str, bool]:
    """The flags that say the same as the role."""
    return {"is_staff": role.reaches(Role.OPERATOR), "is_superuser": role.reaches(Role.ADMINISTRATOR)}


@receiver(post_save, sender=User, dispatch_uid="gpulayer-person")
def know_person(instance: User, raw: bool, update_fields: frozenset[str] | None, **_: Any) -> None:
    """Make the person's row with the user's; after that the role follows flags that were changed.

    A role that changes ends the person's sessions.
    """
    if raw or (update_fields is not None and not _FLAGS & set(update_fields)):
        return
    role = role_by_flags(instance)
    with transaction.atomic():
        person, _created = Person.objects.get_or_create(user=instance, defaults={"role": role})
        if flags_of(Role(person.role)) != flags_of(role):
            Person.objects.filter(pk=person.pk).update(role=role, epoch=F("epoch") + 1)
            person.refresh_from_db(fields=["role", "epoch"])
    # Whoever holds this user sees the row as it is now; a freshly made row has linked itself.
    instance.person = person


@receiver(user_logged_in, dispatch_uid="gpulayer-session")
def begin_session(request: HttpRequest, user: User, **_: Any) -> None:
    """The session says whose it is and since when."""
    person, _created = Person.objects.get_or_create(user=user, defaults={"role": role_by_flags(user)})
    sessions.begin(request, person, now=timezone.now())
