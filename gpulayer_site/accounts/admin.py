"""People and their keys in the administration, for administrators: to see and to end. Who gets in is made elsewhere."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from gpulayer_site.accounts import people
from gpulayer_site.accounts.models import ApiToken, SignInCode, UnixAccount
from gpulayer_site.accounts.tokens import revoke_token
from workers.admin_below import below
from workers.admin_parts import ForAdministrators, PeoplesEvidence, actor_of, each
from workers.refusals import Refused

# Django's own forms of these know neither roles nor the trail.
admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class UserAdmin(PeoplesEvidence):
    """People to find, and to keep out. Roles, teams and passwords are given on the page of a person."""

    list_display = ("username", "role", "is_active", "last_login", "date_joined")
    list_filter = ("person__role", "is_active")
    list_select_related = ("person",)
    search_fields = ("username", "first_name", "last_name", "email")
    ordering = ("username",)
    fields = (
        "username", "first_name", "role", "is_active", "date_joined", "last_login", "own_page", "teams_below",
        "tokens_below",
    )  # fmt: skip
    readonly_fields = ("role", "own_page", "teams_below", "tokens_below")
    actions = ("keep_out", "let_in", "sign_out", "unlock")

    def trail_of(self, row: Any) -> str:
        """As events call it."""
        return f"user:{row.get_username()}"

    def page_of(self, row: Any) -> str:
        """Where people look at it."""
        return reverse("person", args=[row.pk])

    @admin.display(description="Role")
    def role(self, user: User) -> str:
        """What the person may do."""
        return str(user.person.role)

    @admin.display(description="Page")
    def own_page(self, user: User) -> SafeString:
        """Where role, teams, password and unix user are set."""
        return format_html("<a href='{}'>role, teams, password</a>", reverse("person", args=[user.pk]))

    @admin.display(description="Teams")
    def teams_below(self, user: User) -> SafeString | str:
        """Those that the person is in."""
        return below(user.groups.order_by("name"), ("name",))

    @admin.display(description="Tokens")
    def tokens_below(self, user: User) -> SafeString | str:
        """Those that were ever made."""
        columns = ("prefix", "note", "role", "last_used_at", "expires_at", "revoked_at")
        return below(user.api_tokens.order_by("-pk"), columns, more=f"q={user.get_username()}")

    @admin.action(description="Keep them out: password, tokens and sessions")
    def keep_out(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Until they are let in again."""
        actor, now = actor_of(request), timezone.now()
        each(
            request,
            queryset,
            lambda row: people.set_active(user=row, active=False, actor=actor, now=now),
            done="kept out",
        )

    @admin.action(description="Let them in again")
    def let_in(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """With what they had."""
        actor, now = actor_of(request), timezone.now()
        each(
            request, queryset, lambda row: people.set_active(user=row, active=True, actor=actor, now=now), done="let in"
        )

    @admin.action(description="Sign them out everywhere")
    def sign_out(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Their tokens go on."""
        actor, now = actor_of(request), timezone.now()
        each(request, queryset, lambda row: people.sign_out(user=row, actor=actor, now=now), done="signed out")

    @admin.action(description="Forget their failed sign-ins")
    def unlock(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Who was locked out may try again."""
        actor, now = actor_of(request), timezone.now()
        each(request, queryset, lambda row: people.unlock(user=row, actor=actor, now=now), done="may try again")


@admin.register(Group)
class TeamAdmin(PeoplesEvidence):
    """Teams, as Django's groups."""

    list_display = ("name",)
    search_fields = ("name",)
    fields = ("name", "members_below")
    readonly_fields = ("members_below",)

    def trail_of(self, row: Any) -> str:
        """As events call it."""
        return f"team:{row.name}"

    @admin.display(description="Members")
    def members_below(self, team: Group) -> SafeString | str:
        """Who is in it."""
        return below(team.user_set.order_by("username"), ("username", "is_active", "last_login"))


@admin.register(ApiToken)
class ApiTokenAdmin(PeoplesEvidence):
    """Everybody's tokens; the tokens themselves are shown once, when made."""

    list_display = ("prefix", "user", "note", "role", "created_at", "last_used_at", "expires_at", "revoked_at")
    list_filter = ("role", ("revoked_at", admin.EmptyFieldListFilter))
    list_select_related = ("user",)
    search_fields = ("prefix", "note", "user__username")
    search_help_text = "First characters, note or owner"
    exclude = ("hash",)
    actions = ("revoke",)

    def trail_of(self, row: Any) -> str:
        """As events call it."""
        return f"token:{row.prefix}"

    @admin.action(description="Revoke the chosen tokens")
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        """End them."""
        actor, now = actor_of(request), timezone.now()
        rows = queryset.select_related("user")
        each(request, rows, lambda row: revoke_token(token=row, now=now, actor=actor), done="revoked")


@admin.register(SignInCode)
class SignInCodeAdmin(PeoplesEvidence):
    """One-time codes that were printed, never the codes themselves."""

    list_display = ("user", "created_at", "expires_at", "used_at")
    list_select_related = ("user",)
    search_fields = ("user__username",)
    exclude = ("hash",)


class UnixAccountForm(forms.ModelForm):
    """Whose account it is, and its name."""

    class Meta:
        model = UnixAccount
        fields = ("user", "name")
        help_texts = {
            "name": "The account that this person's jobs run as, on hosts whose agent was started with "
            "--run-as-submitter. It has to exist there, with a uid of at least 1000.",
        }

    def clean_name(self) -> str:
        """Refuse what is no account's name, and the one that may do everything."""
        try:
            return people.check_unix_name(str(self.cleaned_data["name"]).strip())
        except Refused as refusal:
            raise forms.ValidationError([problem.expected for problem in refusal.problems]) from refusal


@admin.register(UnixAccount)
class UnixAccountAdmin(ForAdministrators):
    """Who may name an account may run commands as it, on every such host."""

    form = UnixAccountForm
    list_display = ("user", "name")
    list_select_related = ("user",)
    search_fields = ("user__username", "name")
    autocomplete_fields = ("user",)
    sortable_by = ()

    def get_readonly_fields(self, request: HttpRequest, obj: UnixAccount | None = None) -> tuple[str, ...]:
        """An account that is there stays its person's."""
        return ("user",) if obj else ()

    def save_model(self, request: HttpRequest, obj: UnixAccount, form: Any, change: bool) -> None:
        """Keep it, with its event."""
        people.set_unix_user(user=obj.user, name=obj.name, actor=actor_of(request), now=timezone.now())
        obj.pk = UnixAccount.objects.get(user=obj.user).pk

    def delete_model(self, request: HttpRequest, obj: UnixAccount) -> None:
        """Take it away, with its event."""
        people.set_unix_user(user=obj.user, name="", actor=actor_of(request), now=timezone.now())

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[UnixAccount]) -> None:
        """The same for each of them."""
        for account in queryset.select_related("user"):
            self.delete_model(request, account)
