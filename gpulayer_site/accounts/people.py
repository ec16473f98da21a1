"""What administrators do with people: let them in, give them a role, keep them out. Each is an event."""

from __future__ import annotations

import re
from datetime import datetime

from django.contrib.auth.models import Group, User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F

from gpulayer_site.accounts.lockout import forget
from gpulayer_site.accounts.models import Person, UnixAccount
from gpulayer_site.accounts.passwords import give_temporary
from gpulayer_site.accounts.sessions import end_sessions
from gpulayer_site.accounts.signals import flags_of
from scheduler.core.errors import Problem
from scheduler.core.reading import quoted
from workers.models import Event
from workers.refusals import NotFound, Refused
from workers.roles import Role

LONGEST_NAME = 150
_ACCOUNT_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,30}[a-z0-9_$-]?")


def invalid(path: str, found: str, expected: str) -> Refused:
    """The refusal of one value."""
    return Refused("invalid", f"{path}: {expected}", status=422, problems=(Problem(path, quoted(found), expected),))


def find_person(username: str) -> User:
    """The user of this name. Raises NotFound."""
    user = User.objects.select_related("person", "unix_account").filter(username=username).first()
    if user is None:
        raise NotFound(f"there is nobody called {quoted(username)}")
    return user


@transaction.atomic
def create_person(
    *, username: str, role: Role, teams: list[Group], actor: str, now: datetime, full_name: str = ""
) -> tuple[User, str]:
    """Let somebody in. The second value is a temporary password: this is the only time that it is known.

    Raises Refused for a name that is none (422) or taken (409).
    """
    _check_username(username)
    try:
        with transaction.atomic():
            _check_free(username)
            user = User.objects.create(username=username, first_name=full_name[:LONGEST_NAME], **flags_of(role))
    except IntegrityError:  # somebody else was faster
        _check_free(username)
        raise
    Person.objects.filter(user=user).update(role=role)
    user.groups.set(teams)
    _note(user, "created", actor, now, after=role, detail={"teams": sorted(team.name for team in teams)})
    password = give_temporary(user=user, actor=actor, now=now)
    return find_person(username), password


@transaction.atomic
def set_role(*, user: User, role: Role, actor: str, now: datetime) -> bool:
    """Give another role; the person's sessions end. False where it is the role already.

    Raises Refused (409) for the last administrator who can sign in.
    """
    person = Person.objects.select_for_update().get(user=user)
    before = Role(person.role)
    if before == role:
        return False
    if before is Role.ADMINISTRATOR:
        _keep_an_administrator(user)
    Person.objects.filter(pk=person.pk).update(role=role, epoch=F("epoch") + 1)
    User.objects.filter(pk=user.pk).update(**flags_of(role))
    end_sessions(user)
    _note(user, "role", actor, now, before=before, after=role)
    return True


@transaction.atomic
def set_active(*, user: User, active: bool, actor: str, now: datetime) -> bool:
    """Keep somebody out, or let them in again: password, codes, tokens and sessions. False where nothing changes.

    Raises Refused (409) for the last administrator.
    """
    if not active:
        _keep_an_administrator(user)
    if not User.objects.filter(pk=user.pk, is_active=not active).update(is_active=active):
        return False
    Person.objects.filter(user=user).update(epoch=F("epoch") + 1)
    end_sessions(user)
    words = {True: "enabled", False: "disabled"}
    _note(user, "access", actor, now, before=words[not active], after=words[active])
    return True


@transaction.atomic
def set_unix_user(*, user: User, name: str, actor: str, now: datetime) -> bool:
    """Say which account on the hosts the person's jobs run as; empty takes it away. False where nothing changes."""
    name = check_unix_name(name) if name else ""
    account = UnixAccount.objects.select_for_update().filter(user=user).first()
    before = account.name if account else ""
    if before == name:
        return False
    if name:
        UnixAccount.objects.update_or_create(user=user, defaults={"name": name})
    elif account:
        account.delete()
    _note(user, "unix_account", actor, now, before=before, after=name)
    return True


@transaction.atomic
def sign_out(*, user: User, actor: str, now: datetime) -> None:
    """End every session of somebody's."""
    Person.objects.filter(user=user).update(epoch=F("epoch") + 1)
    end_sessions(user)
    _note(user, "sessions_ended", actor, now)


@transaction.atomic
def unlock(*, user: User, actor: str, now: datetime) -> None:
    """Forget failed sign-ins under this name: whoever was locked out may try again."""
    forget(user.get_username())
    _note(user, "unlocked", actor, now)


def check_unix_name(name: str) -> str:
    """The name, if it can be an account's. Raises Refused (422)."""
    if not _ACCOUNT_NAME.fullmatch(name):
        expected = (
            "an account's name: lower-case letters, digits, _ and -, at most 32 of them, not beginning with a digit"
        )
        raise invalid("unix_user", name, expected)
    if name == "root":
        raise invalid("unix_user", name, "another account than root: jobs never run as root")
    return name


def _check_username(username: str) -> None:
    expected = f"letters, digits and . _ - + @, at most {LONGEST_NAME} of them"
    try:
        UnicodeUsernameValidator()(username)
    except ValidationError:
        raise invalid("username", username, expected) from None
    if not username or len(username) > LONGEST_NAME:
        raise invalid("username", username, expected)


def _check_free(username: str) -> None:
    """Raise Refused for a name that somebody has, however it is capitalised."""
    if User.objects.filter(username__iexact=username).exists():
        raise Refused("name_taken", f"there is somebody called {quoted(username)} already")


def _keep_an_administrator(user: User) -> None:
    """Raise Refused where nobody else could give roles.

    Whoever asks holds the rows until the transaction ends. The flags are asked, which say the same as the role and
    stand in the very rows that are held: two who demote each other are one after the other.
    """
    administrators = User.objects.select_for_update().filter(is_active=True, is_superuser=True)
    found = list(administrators.order_by("pk").values_list("pk", flat=True))
    if found == [user.pk]:
        raise Refused("last_administrator", f"{user.get_username()} is the last administrator: make another one first")


def _note(
    user: User, verb: str, actor: str, now: datetime, *, before: str = "", after: str = "", detail: object = None
) -> None:
    Event.objects.create(
        at=now, actor=actor, subject_kind="user", subject=user.get_username(), verb=verb, before=before, after=after,
        detail=detail or {},
    )  # fmt: skip
