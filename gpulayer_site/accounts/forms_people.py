"""The forms by which administrators let people in, and teams together."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import Group

from gpulayer_site.accounts import people, teams
from gpulayer_site.accounts.forms import shown
from workers.form_checks import one_line
from workers.roles import Role

ROLE_WORDS = {
    Role.VIEWER: "viewer: sees, changes nothing",
    Role.SUBMITTER: "submitter: has jobs",
    Role.OPERATOR: "operator: keeps the fleet, and every job",
    Role.ADMINISTRATOR: "administrator: keeps people too",
}
_ROLES = [(role.value, words) for role, words in ROLE_WORDS.items()]


class TeamChoice(forms.ModelMultipleChoiceField):
    """Any of the teams there are."""

    def __init__(self, **more: Any) -> None:
        queryset = Group.objects.order_by("name")
        boxes = forms.CheckboxSelectMultiple(attrs={"class": "form-check-input"})
        super().__init__(queryset=queryset, required=False, widget=boxes, **more)


class PersonForm(forms.Form):
    """Somebody new."""

    username = forms.CharField(
        max_length=people.LONGEST_NAME, label="User name", strip=True,
        help_text="letters, digits and . _ - + @", widget=shown(forms.TextInput, autocomplete="off"),
    )  # fmt: skip
    full_name = forms.CharField(
        max_length=people.LONGEST_NAME, required=False, label="Full name", validators=[one_line],
        widget=shown(forms.TextInput, autocomplete="off"),
    )  # fmt: skip
    role = forms.ChoiceField(choices=_ROLES, initial=Role.SUBMITTER, widget=shown(forms.Select, "form-select"))
    teams = TeamChoice()


class RoleForm(forms.Form):
    """Another role."""

    role = forms.ChoiceField(choices=_ROLES, widget=shown(forms.Select, "form-select"))


class TeamsForm(forms.Form):
    """Which teams somebody is in."""

    teams = TeamChoice()


class UnixForm(forms.Form):
    """The account on the hosts."""

    unix_user = forms.CharField(
        max_length=32, required=False, label="Unix user", help_text="empty: none",
        widget=shown(forms.TextInput, autocomplete="off", spellcheck="false"),
    )  # fmt: skip


class TeamForm(forms.Form):
    """A team's name."""

    name = forms.CharField(
        max_length=teams.LONGEST_NAME, label="Name", widget=shown(forms.TextInput, autocomplete="off")
    )


class MemberForm(forms.Form):
    """Somebody who joins a team."""

    username = forms.CharField(
        max_length=people.LONGEST_NAME, label="Add a person",
        widget=shown(forms.TextInput, autocomplete="off", placeholder="user name"),
    )  # fmt: skip
