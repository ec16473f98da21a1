"""The pages on which administrators look after teams."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django.contrib import messages
from django.contrib.auth.models import Group
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from gpulayer_site.accounts import people, teams
from gpulayer_site.accounts.forms_people import MemberForm, TeamForm
from gpulayer_site.accounts.views_people import administrators_only
from workers.paging import asked_of, by_key
from workers.refusals import Refused

Act = Callable[[str, datetime], None]


def team_list(request: HttpRequest) -> HttpResponse:
    """Every team, a page at a time; a POST makes another one."""
    actor = administrators_only(request)
    form, status = TeamForm(request.POST if request.method == "POST" else None), 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                team = teams.create_team(name=form.cleaned_data["name"], actor=actor, now=timezone.now())
            except Refused as refusal:
                form.add_error("name", refusal.detail)
                status = refusal.status
            else:
                return redirect("team", team.pk)
    found = Group.objects.annotate(members=Count("user"))
    context = {"nav": "people", "page": by_key(found, "name", asked_of(request.GET, ())), "form": form}
    return render(request, "accounts/teams.html", context, status=status)


def team(request: HttpRequest, pk: int) -> HttpResponse:
    """One team and who is in it."""
    administrators_only(request)
    return _page(request, _found(pk))


def team_rename(request: HttpRequest, pk: int) -> HttpResponse:
    """Call it something else."""
    found, form = _found(pk), TeamForm(request.POST)

    def act(actor: str, now: datetime) -> None:
        teams.rename_team(team=found, name=form.cleaned_data["name"], actor=actor, now=now)

    refused = _try(request, form, "name", act)
    return _page(request, _found(pk), rename=form, status=refused) if refused else redirect("team", pk)


def team_join(request: HttpRequest, pk: int) -> HttpResponse:
    """Take somebody in."""
    found, form = _found(pk), MemberForm(request.POST)

    def act(actor: str, now: datetime) -> None:
        user = people.find_person(form.cleaned_data["username"])
        teams.move(user=user, team=found, member=True, actor=actor, now=now)

    refused = _try(request, form, "username", act)
    return _page(request, _found(pk), join=form, status=refused) if refused else redirect("team", pk)


def team_leave(request: HttpRequest, pk: int, user_pk: int) -> HttpResponse:
    """Take somebody out."""
    actor, found = administrators_only(request), _found(pk)
    user = found.user_set.filter(pk=user_pk).first()
    if user is not None:
        teams.move(user=user, team=found, member=False, actor=actor, now=timezone.now())
        messages.success(request, f"{user.get_username()} is no longer in {found.name}.")
    return redirect("team", pk)


def team_delete(request: HttpRequest, pk: int) -> HttpResponse:
    """End a team that has nothing any more."""
    actor, found = administrators_only(request), _found(pk)
    try:
        teams.delete_team(team=found, actor=actor, now=timezone.now())
    except Refused as refusal:
        return _page(request, found, refused=refusal.detail, status=refusal.status)
    messages.success(request, f"Team {found.name} is deleted.")
    return redirect("teams")


def _try(request: HttpRequest, form: TeamForm | MemberForm, field: str, act: Act) -> int:
    """Do what the form asks for; else what is wrong stands beside its field, and this is the answer's status."""
    actor = administrators_only(request)
    if not form.is_valid():
        return 422
    try:
        act(actor, timezone.now())
    except Refused as refusal:
        form.add_error(field, refusal.detail)
        return refusal.status if refusal.status != 404 else 422
    return 0


def _page(
    request: HttpRequest,
    team: Group,
    *,
    rename: TeamForm | None = None,
    join: MemberForm | None = None,
    refused: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {
        "nav": "people",
        "team": team,
        "page": by_key(team.user_set.select_related("person"), "username", asked_of(request.GET, ())),
        "rename": rename or TeamForm(initial={"name": team.name}),
        "join": join or MemberForm(),
        "refused": refused,
    }
    return render(request, "accounts/team.html", context, status=status)


def _found(pk: int) -> Group:
    team = Group.objects.filter(pk=pk).first()
    if team is None:
        raise Http404("there is no such team")
    return team
