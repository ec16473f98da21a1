"""What follows from a user being saved, from coming in and from being kept out."""

from __future__ import annotations

from typing import Any

from axes.signals import user_locked_out
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.db import transaction
from django.db.models import F
from django.db.models.signals import post_save
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

from gpulayer_site.accounts import sessions
from gpulayer_site.accounts.lockout import CODES
from gpulayer_site.accounts.models import Person
from workers.models import Event
from workers.roles import Role

_FLAGS = frozenset({"is_staff", "is_superuser"})
_NOBODY = "anonymous"


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


@receiver(user_login_failed, dispatch_uid="gpulayer-refused")
def note_failure(credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    """Write down that somebody was not let in. Tries that were not even heard are not: the lock was written down."""
    if request is not None and getattr(request, "axes_failures_since_start", None) is not None:
        _note("refused", _name(credentials.get("username")))


@receiver(user_locked_out, dispatch_uid="gpulayer-locked")
def note_lock(request: HttpRequest, username: str | None, **_: Any) -> None:
    """Write down that from now on somebody has to wait."""
    if getattr(request, "axes_failures_since_start", None) is not None:
        _note("locked", _name(username))


def _name(typed: str | None) -> str:
    """The name, if it is anybody's: people also type passwords where names belong."""
    known = typed == CODES or User.objects.filter(username=typed or "").exists()
    return typed if typed and known else "(unknown name)"


def _note(verb: str, name: str) -> None:
    Event.objects.create(at=timezone.now(), actor=_NOBODY, subject_kind="sign_in", subject=name, verb=verb)
