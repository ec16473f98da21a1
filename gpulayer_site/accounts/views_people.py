"""The pages on which administrators look after people."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache

from gpulayer_site.accounts import lockout, passwords, people, sessions, shown_once, teams
from gpulayer_site.accounts.forms_people import ROLE_WORDS, PersonForm, RoleForm, TeamsForm, UnixForm
from gpulayer_site.accounts.middleware import person_of
from gpulayer_site.accounts.models import ApiToken
from gpulayer_site.accounts.people_list import found_people, rows_of
from gpulayer_site.accounts.tokens import live_tokens, revoke_token
from workers.live import respond
from workers.models import Event
from workers.paging import asked_of, by_key, link
from workers.refusals import Refused
from workers.roles import Role, is_administrator

FILTERS = ("q", "role", "team")
MOST_EVENTS = 12

Act = Callable[[User, str, datetime], str]
"""Does something with a person, by an actor, at an instant; returns what to say of it, empty where nothing changed."""


def administrators_only(request: HttpRequest) -> str:
    """Who acts, for events. Raises PermissionDenied for everybody but administrators."""
    if not is_administrator(request.user):
        raise PermissionDenied("only administrators look after people")
    return f"user:{request.user.get_username()}"


def people_list(request: HttpRequest) -> HttpResponse:
    """Everybody, a page at a time."""
    administrators_only(request)
    asked = asked_of(request.GET, FILTERS)
    filters = {name: asked.get(name, "") for name in FILTERS}
    page = by_key(found_people(**filters), "username", asked)
    rows = {row.user.pk: row for row in rows_of(page.rows)}
    context = {
        "nav": "people",
        "page": page.map(lambda user: rows[user.pk]),
        "filters": filters,
        "filtered": any(filters.values()),
        "roles": list(Role),
        "teams": list(Group.objects.order_by("name").values_list("name", flat=True)),
        "query": link(asked),
    }
    return respond(request, page="accounts/people.html", fragment="accounts/_people_rows.html", context=context)


@never_cache
def person_new(request: HttpRequest) -> HttpResponse:
    """Let somebody in; the person's page shows the temporary password, once."""
    actor = administrators_only(request)
    form = PersonForm(request.POST if request.method == "POST" else None)
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            data = form.cleaned_data
            try:
                user, password = people.create_person(
                    username=data["username"], full_name=data["full_name"], role=Role(data["role"]),
                    teams=list(data["teams"]), actor=actor, now=timezone.now(),
                )  # fmt: skip
            except Refused as refusal:
                form.add_error("username", refusal.detail)
                status = refusal.status
            else:
                shown_once.keep(request, what=f"password {user.pk}", secret=password)
                return redirect("person", user.pk)
    return render(request, "accounts/person_new.html", {"nav": "people", "form": form}, status=status)


@never_cache
def person(request: HttpRequest, pk: int) -> HttpResponse:
    """One person: role, teams, how they come in."""
    administrators_only(request)
    return _page(request, _found(pk))


def person_role(request: HttpRequest, pk: int) -> HttpResponse:
    """Give another role."""

    def act(user: User, actor: str, now: datetime) -> str:
        role = Role(_clean(RoleForm(request.POST), "role"))
        changed = people.set_role(user=user, role=role, actor=actor, now=now)
        return f"{user.get_username()} is {role} now." if changed else ""

    return _act(request, pk, act, "role")


def person_teams(request: HttpRequest, pk: int) -> HttpResponse:
    """Put somebody into teams, and take them out of others."""

    def act(user: User, actor: str, now: datetime) -> str:
        chosen = _clean(TeamsForm(request.POST), "teams")
        changed = teams.set_teams(user=user, teams=chosen, actor=actor, now=now)
        return f"The teams of {user.get_username()} are changed." if changed else ""

    return _act(request, pk, act, "teams")


def person_active(request: HttpRequest, pk: int) -> HttpResponse:
    """Keep somebody out, or let them in again."""
    active = request.POST.get("active") == "yes"

    def act(user: User, actor: str, now: datetime) -> str:
        changed = people.set_active(user=user, active=active, actor=actor, now=now)
        return f"{user.get_username()} {'may sign in again' if active else 'is kept out'}." if changed else ""

    return _act(request, pk, act, "active")


def person_password(request: HttpRequest, pk: int) -> HttpResponse:
    """Give a temporary password; the person's page shows it, once."""

    def act(user: User, actor: str, now: datetime) -> str:
        password = passwords.give_temporary(user=user, actor=actor, now=now)
        shown_once.keep(request, what=f"password {user.pk}", secret=password)
        return ""

    return _act(request, pk, act, "password")


def person_unix(request: HttpRequest, pk: int) -> HttpResponse:
    """Say which account on the hosts their jobs run as."""

    def act(user: User, actor: str, now: datetime) -> str:
        name = _clean(UnixForm(request.POST), "unix_user")
        changed = people.set_unix_user(user=user, name=name, actor=actor, now=now)
        return f"Jobs of {user.get_username()} run as {name or 'nobody in particular'}." if changed else ""

    return _act(request, pk, act, "unix")


def person_unlock(request: HttpRequest, pk: int) -> HttpResponse:
    """Let somebody try again who failed to sign in too often."""

    def act(user: User, actor: str, now: datetime) -> str:
        people.unlock(user=user, actor=actor, now=now)
        return f"{user.get_username()} may try again."

    return _act(request, pk, act, "unlock")


def person_sessions_end(request: HttpRequest, pk: int) -> HttpResponse:
    """Sign somebody out everywhere."""

    def act(user: User, actor: str, now: datetime) -> str:
        people.sign_out(user=user, actor=actor, now=now)
        return f"{user.get_username()} is signed out everywhere."

    return _act(request, pk, act, "sessions")


def person_token_revoke(request: HttpRequest, pk: int, token_pk: int) -> HttpResponse:
    """End a token of somebody's."""
    token = get_object_or_404(ApiToken.objects.select_related("user"), pk=token_pk, user_id=pk)

    def act(_user: User, actor: str, now: datetime) -> str:
        revoke_token(token=token, now=now, actor=actor)
        return f"Token {token.prefix}… is revoked."

    return _act(request, pk, act, "tokens")


def _act(request: HttpRequest, pk: int, act: Act, what: str) -> HttpResponse:
    """Do it and show the page again; a refusal stands beside the form that asked for it."""
    actor, user = administrators_only(request), _found(pk)
    try:
        if said := act(user, actor, timezone.now()):
            messages.success(request, said)
    except Refused as refusal:
        return _page(request, user, refused=(what, refusal.detail), status=refusal.status)
    # Who changes their own role is signed out by it, and maybe no administrator any more.
    return redirect("person", pk)


def _page(
    request: HttpRequest, user: User, *, refused: tuple[str, str] | None = None, status: int = 200
) -> HttpResponse:
    now = timezone.now()
    known = person_of(user)
    account = getattr(user, "unix_account", None)
    context: dict[str, Any] = {
        "nav": "people",
        "row": rows_of([user])[0],
        "known": known,
        "words": ROLE_WORDS[Role(known.role)],
        "role_form": RoleForm(initial={"role": known.role}),
        "teams_form": TeamsForm(initial={"teams": list(user.groups.all())}),
        "unix_form": UnixForm(initial={"unix_user": account.name if account else ""}),
        "tokens": list(live_tokens(user, now=now)),
        "sessions": list(sessions.own_sessions(user, now=now)),
        "locked_until": lockout.locked_until(user.get_username(), now=now),
        "events": Event.objects.filter(subject_kind="user", subject=user.get_username())[:MOST_EVENTS],
        "new_password": shown_once.take(request, f"password {user.pk}"),
        "refused": dict([refused]) if refused else {},
        "here": reverse("person", args=[user.pk]),
    }
    return render(request, "accounts/person.html", context, status=status)


def _found(pk: int) -> User:
    user = User.objects.select_related("person", "unix_account").filter(pk=pk).first()
    if user is None:
        raise Http404("there is no such person")
    return user


def _clean(form: forms.Form, name: str) -> Any:
    """The one value of a form. Raises Refused with what is wrong with it."""
    if not form.is_valid():
        raise Refused("invalid", " ".join(str(error) for error in form.errors[name]), status=422)
    return form.cleaned_data[name]
