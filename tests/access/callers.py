"""Everybody who might call: people of each role by session and by token, machines, and who is let in no more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from gpulayer_site.access.rows import Row, Who
from gpulayer_site.accounts.models import ApiToken
from gpulayer_site.accounts.people import set_role
from gpulayer_site.accounts.tokens import create_token
from tests.factories import a_user
from workers.auth import create_credential, create_enrolment_token
from workers.models import Credential
from workers.roles import Role, Scope

EVERYTHING = frozenset(Scope)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: with which role and scopes as a person, or as which machine; with neither they are nobody."""

    name: str
    client: Client
    role: Role | None = None
    """What a person may, after what their token takes from it."""
    scopes: frozenset[Scope] = field(default=EVERYTHING)
    by_token: bool = False
    """A browser's session opens pages and calls, a token only calls."""
    machine: Who | None = None


def people() -> dict[Role, User]:
    """One of each role."""
    made = {role: a_user(f"a-{role}") for role in Role}
    for role, user in made.items():
        set_role(user=user, role=role, actor="server", now=timezone.now())
    return made


def callers() -> list[Caller]:
    """All of them, with rows of their own."""
    users = people()
    return [Caller("anonymous", Client()), *_sessions(users), *_tokens(users), *_machines(), *_shut_out(users)]


def _sessions(users: dict[Role, User]) -> Iterable[Caller]:
    for role, user in users.items():
        client = Client()
        client.force_login(user)
        yield Caller(f"{role}", client, role)


def _tokens(users: dict[Role, User]) -> Iterable[Caller]:
    for role, user in users.items():
        yield Caller(f"token of a {role}", bearer(token(user)), role, by_token=True)
    administrator = users[Role.ADMINISTRATOR]
    for role in (Role.VIEWER, Role.SUBMITTER, Role.OPERATOR):
        yield Caller(
            f"an administrator's token for a {role}", bearer(token(administrator, role=role)), role, by_token=True
        )
    for scope in Scope:
        client = bearer(token(administrator, scopes=[scope]))
        yield Caller(f"an administrator's token for {scope} only", client, Role.ADMINISTRATOR, frozenset({scope}), True)


def _machines() -> Iterable[Caller]:
    secret, _ = create_credential(fleet=False, now=timezone.now())
    yield Caller("worker", bearer(secret), machine=Who.WORKER)
    secret, _ = create_enrolment_token(
        uses=9, origin="", simulated=False, note="", created_by=None, now=timezone.now()
    )  # fmt: skip
    yield Caller("enrolment token", bearer(secret), machine=Who.ENROLMENT)


def _shut_out(users: dict[Role, User]) -> Iterable[Caller]:
    """Those who once were let in: nobody now."""
    now, administrator = timezone.now(), users[Role.ADMINISTRATOR]
    gone = a_user("gone", staff=True)
    session = Client()
    session.force_login(gone)
    yield Caller("session of one who was disabled", session)
    yield Caller("token of one who was disabled", bearer(token(gone)))
    User.objects.filter(pk=gone.pk).update(is_active=False)
    revoked, expired = token(administrator, note="revoked"), token(administrator, note="expired")
    ApiToken.objects.filter(note="revoked").update(revoked_at=now)
    ApiToken.objects.filter(note="expired").update(expires_at=now - timedelta(seconds=1))
    yield Caller("revoked token", bearer(revoked))
    yield Caller("expired token", bearer(expired))
    secret, row = create_credential(fleet=False, now=now)
    Credential.objects.filter(pk=row.pk).update(revoked_at=now)
    yield Caller("revoked worker", bearer(secret))
    yield Caller("guess", bearer("glu_" + "A" * 43))


def token(user: User, *, note: str = "a test", **less: Any) -> str:
    """A token of this user; `role` and `scopes` make it less."""
    return create_token(user=user, note=note, now=timezone.now(), **less)[1]


def bearer(secret: str) -> Client:
    """What calls with this secret."""
    return Client(headers={"authorization": f"Bearer {secret}"})


def may(caller: Caller, row: Row, *, is_call: bool) -> int | str:
    """What the row says that this caller is answered: `in`, `sign in`, or the status of the refusal."""
    if row.who is Who.ANYONE or (caller.machine is not None and caller.machine is row.who):
        return "in"
    known = caller.role is not None and (is_call or not caller.by_token)
    if row.who in (Who.WORKER, Who.ENROLMENT) or not known:
        return 401 if is_call else "sign in"
    assert caller.role is not None
    assert row.who.role is not None
    if not caller.role.reaches(row.who.role):
        return 403
    return 403 if caller.by_token and row.scope is not None and row.scope not in caller.scopes else "in"
