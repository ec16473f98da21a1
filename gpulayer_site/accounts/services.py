"""One-time codes, and the first administrator."""

from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from gpulayer_site.accounts.codes import new_code, plain_code
from gpulayer_site.accounts.models import SignInCode
from workers.auth import hashed
from workers.models import Event
from workers.roles import Role

CODE_LIFETIME = timedelta(minutes=10)
ADMINISTRATOR = "admin"
"""What the first administrator is called."""


@transaction.atomic
def create_sign_in_code(*, user: User, now: datetime) -> str:
    """Make a one-time code for `user`, good for ten minutes. Earlier ones end: only the last printed works."""
    SignInCode.objects.filter(user=user, used_at=None).delete()
    code = new_code()
    SignInCode.objects.create(user=user, hash=hashed(plain_code(code)), created_at=now, expires_at=now + CODE_LIFETIME)
    _note(user, "sign_in_code", now, cause="printed on the server")
    return code


def use_sign_in_code(*, typed: str, now: datetime) -> User | None:
    """Whom the code signs in, using it up; None when it is unknown, used, or too old."""
    usable = Q(used_at=None, expires_at__gt=now, user__is_active=True)
    code = SignInCode.objects.select_related("user").filter(usable, hash=hashed(plain_code(typed))).first()
    # Two who type it at once: the row is taken by one of them.
    if code is None or not SignInCode.objects.filter(pk=code.pk, used_at=None).update(used_at=now):
        return None
    return code.user


def administrator() -> tuple[User, bool]:
    """The first active superuser, made as `admin` without a password when there is none; and whether it was made."""
    found = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if found:
        return found, False
    user, created = User.objects.get_or_create(
        username=ADMINISTRATOR, defaults={"is_staff": True, "is_superuser": True}
    )
    if created:
        user.set_unusable_password()
        _note(user, "created", timezone.now(), cause="the first administrator", after=Role.ADMINISTRATOR)
    user.is_staff = user.is_superuser = user.is_active = True
    user.save()
    return user, created


def _note(user: User, verb: str, now: datetime, *, cause: str, after: str = "") -> None:
    Event.objects.create(
        at=now, actor="server", subject_kind="user", subject=user.get_username(), verb=verb, after=after, cause=cause
    )


def active_user(username: str | None) -> User:
    """The active user of that name, or the administrator for None; `User.DoesNotExist` when nobody has the name."""
    return User.objects.get(username=username, is_active=True) if username else administrator()[0]
