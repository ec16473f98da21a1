"""Passwords: one's own, and temporary ones that an administrator gives."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F

from gpulayer_site.accounts.codes import new_code
from gpulayer_site.accounts.models import Person, SignInCode
from gpulayer_site.accounts.sessions import end_sessions
from workers.models import Event

TEMPORARY_LIFETIME = timedelta(days=3)


@transaction.atomic
def give_temporary(*, user: User, actor: str, now: datetime) -> str:
    """Replace the password by a temporary one and return it: this is the only time that it is known.

    It is good for one sign-in within three days, after which another has to be chosen. Sessions and one-time codes of
    the person end.
    """
    password = new_code()
    user.set_password(password)
    user.save(update_fields=["password"])
    Person.objects.filter(user=user).update(
        must_change_password=True, temporary_until=now + TEMPORARY_LIFETIME, epoch=F("epoch") + 1
    )
    SignInCode.objects.filter(user=user, used_at=None).delete()
    end_sessions(user)
    _note(user, actor, "reset", now)
    return password


@transaction.atomic
def use_temporary(*, user: User, now: datetime) -> bool:
    """Use up the password that was just right, where it is a temporary one; False for one that is too old or used.

    A password of the person's own is not touched.
    """
    person = Person.objects.filter(user=user).first()
    if person is None or person.temporary_until is None:
        return True
    if person.temporary_until <= now:
        return False
    given = user.password
    user.set_unusable_password()
    # Two who use it at once: it lets one of them in.
    return User.objects.filter(pk=user.pk, password=given).update(password=user.password) == 1


@transaction.atomic
def choose(*, user: User, password: str, now: datetime) -> None:
    """Give oneself a password; other sessions end. The caller keeps its own by taking over the new epoch."""
    user.set_password(password)
    user.save(update_fields=["password"])
    Person.objects.filter(user=user).update(must_change_password=False, temporary_until=None, epoch=F("epoch") + 1)
    user.person.refresh_from_db()
    _note(user, f"user:{user.get_username()}", "chosen", now)


def _note(user: User, actor: str, what: str, now: datetime) -> None:
    Event.objects.create(
        at=now, actor=actor, subject_kind="user", subject=user.get_username(), verb="password", after=what
    )
