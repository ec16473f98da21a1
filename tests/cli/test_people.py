"""What administrators do with people and teams from the command line, and everybody with their tokens."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User

from gpulayer_site.accounts.models import ApiToken
from tests.cli.conftest import Commands
from workers.roles import Role, role_of

pytestmark = pytest.mark.django_db(transaction=True)


def mira() -> User:
    return User.objects.get(username="mira")


def test_a_person_from_the_first_day_to_the_last(cli: Commands) -> None:
    Group.objects.create(name="vision")
    password = cli("person", "add", "mira", "--team", "vision", "--full-name", "Mira M").stdout.strip()
    assert mira().check_password(password)
    assert cli("person", "role", "mira", "operator").stdout == "mira is operator now\n"
    assert cli("person", "unix-user", "mira", "mm").exit_code == 0
    assert cli("person", "team", "mira").stdout == "mira is in no team now\n"
    other = cli("person", "password", "mira").stdout.strip()
    assert (mira().check_password(password), mira().check_password(other)) == (False, True)
    assert cli("person", "disable", "mira").exit_code == 0
    found = cli.json("person", "show", "mira")
    del found["seen_at"]
    assert found == {
        "username": "mira", "full_name": "Mira M", "role": "operator", "teams": [], "active": False,
        "unix_user": "mm", "must_change_password": True,
    }  # fmt: skip
    assert cli("person", "enable", "mira").exit_code == 0
    assert role_of(mira()) == Role.OPERATOR
    assert [each["username"] for each in cli.json("person", "list", "ir", "--role", "operator")] == ["mira"]
    assert "mira" in cli("person", "list").stdout


@pytest.mark.parametrize(
    ("words", "exit_code", "said"),
    [
        (("role", "nobody", "viewer"), 1, "there is nobody called"),
        (("add", "a b"), 2, "letters, digits"),
        (("add", "noor", "--team", "none"), 2, "names of teams"),
        (("unix-user", "mira", "root"), 2, "jobs never run as root"),
    ],
)
def test_what_cannot_be_is_refused_in_words(cli: Commands, words: tuple[str, ...], exit_code: int, said: str) -> None:
    User.objects.create_user("mira")
    answer = cli("person", *words)
    assert answer.exit_code == exit_code
    assert said in answer.output


def test_a_team(cli: Commands) -> None:
    for name in ("mira", "noor"):
        User.objects.create_user(name)
    assert cli("team", "add", "vision", "mira").exit_code == 0
    assert cli("team", "rename", "vision", "far sight").exit_code == 0
    assert cli("team", "members", "far sight", "mira", "noor").stdout == "team far sight has 2 members now\n"
    assert cli.json("team", "show", "far sight")["members"] == ["mira", "noor"]
    assert cli.json("team", "list") == [{"name": "far sight", "members": 2}]
    assert cli("team", "delete", "far sight").exit_code == 0
    assert not Group.objects.exists()


def test_a_token_is_made_used_and_ended(cli: Commands) -> None:
    secret = cli("token", "create", "--note", "ci", "--role", "viewer", "--scope", "read", "--days", 7).stdout.strip()
    row = ApiToken.objects.get(note="ci")
    assert (row.role, row.scopes) == ("viewer", ["read"])
    assert cli("worker", "list", GPULAYER_TOKEN=secret).exit_code == 0
    refused = cli("person", "list", GPULAYER_TOKEN=secret)
    assert (refused.exit_code, "not allowed" in refused.output) == (3, True)
    assert "ci" in {each["note"] for each in cli.json("token", "list")}
    assert cli("token", "revoke", row.pk).stdout == f"token {row.prefix}… is revoked\n"
    assert cli("worker", "list", GPULAYER_TOKEN=secret).exit_code == 3


def test_a_token_hands_on_no_more_than_it_has(cli: Commands) -> None:
    less = cli(
        "token", "create", "--role", "operator", "--scope", "people", "--scope", "read", "--days", 7
    ).stdout.strip()
    for more in (("--role", "administrator"), ("--scope", "fleet")):
        assert cli("token", "create", *more, GPULAYER_TOKEN=less).exit_code == 2
    cli("token", "create", "--note", "child", "--days", 300, GPULAYER_TOKEN=less)
    child, parent = ApiToken.objects.get(note="child"), ApiToken.objects.exclude(expires_at=None).order_by("pk").first()
    assert parent is not None
    assert (child.role, child.scopes, child.expires_at) == ("operator", ["read", "people"], parent.expires_at)
