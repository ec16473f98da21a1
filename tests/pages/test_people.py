"""The pages on which administrators look after people and teams."""

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from gpulayer_site.accounts import passwords
from gpulayer_site.accounts.models import Person
from gpulayer_site.accounts.tokens import create_token, user_of_token
from workers.models import Event
from workers.roles import Role, role_of

PASSWORD = "a long password"

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return User.objects.create_superuser("ada", password=PASSWORD)


@pytest.fixture
def mira() -> User:
    return User.objects.create_user("mira", password=PASSWORD)


@pytest.fixture
def client(ada) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def signed_in(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def is_in(client) -> bool:
    return client.get("/profile").status_code == 200


def text(answer) -> str:
    return answer.content.decode()


class TestTheList:
    def test_it_shows_everybody_with_role_and_teams(self, client, mira):
        mira.groups.add(Group.objects.create(name="vision"))
        page = text(client.get("/people"))
        assert all(word in page for word in ("ada", "administrator", "mira", "submitter", "vision"))

    @pytest.mark.parametrize(
        ("query", "names"),
        [
            pytest.param({"q": "IR"}, {"mira"}, id="by a part of the name"),
            pytest.param({"role": "administrator"}, {"ada"}, id="by role"),
            pytest.param({"team": "vision"}, {"mira"}, id="by team"),
            pytest.param({"team": "vision", "role": "operator"}, set(), id="by both"),
        ],
    )
    def test_it_finds(self, client, mira, query, names):
        mira.groups.add(Group.objects.create(name="vision"))
        rows = client.get("/people", query).context["page"].rows
        assert {row.user.username for row in rows} == names

    def test_ten_thousand_people_cost_what_ten_do(self, client, django_assert_max_num_queries):
        User.objects.bulk_create(User(username=f"user{each:05}") for each in range(10_000))
        Person.objects.bulk_create(Person(user=user) for user in User.objects.filter(person=None))
        with django_assert_max_num_queries(12):
            page = client.get("/people", {"after": "user05000"})
        assert next(row.user.username for row in page.context["page"].rows) == "user05001"


class TestLettingSomebodyIn:
    def test_the_temporary_password_is_shown_once_and_loading_again_makes_nobody_else(self, client):
        answer = client.post("/people/new", {"username": "noor", "role": "operator"})
        page = client.get(answer.headers["Location"])
        password = page.context["new_password"]
        assert password in text(page)
        assert password not in text(client.get(answer.headers["Location"]))
        assert role_of(User.objects.get(username="noor")) == Role.OPERATOR

    @pytest.mark.parametrize(
        ("fields", "status"),
        [
            pytest.param({"username": "ada", "role": "viewer"}, 409, id="a name that is taken"),
            pytest.param({"username": "ADA", "role": "viewer"}, 409, id="the same in capitals"),
            pytest.param({"username": "a b", "role": "viewer"}, 422, id="a name with a space"),
            pytest.param({"username": "noor", "role": "king"}, 422, id="no such role"),
            pytest.param({"username": "noor", "role": "viewer", "teams": ["7"]}, 422, id="no such team"),
        ],
    )
    def test_the_form_is_shown_again_with(self, client, fields, status):
        assert client.post("/people/new", fields).status_code == status
        assert User.objects.count() == 1

    def test_a_temporary_password_is_good_for_one_sign_in_and_for_choosing_another(self, mira):
        password = passwords.give_temporary(user=mira, actor="user:ada", now=timezone.now())
        browser = Client()
        assert browser.post("/signin", {"username": "mira", "password": password}).status_code == 302
        assert browser.get("/jobs").headers["Location"] == "/profile/password"
        assert browser.get("/api/v1/jobs").json()["code"] == "password_due"
        assert Client().post("/signin", {"username": "mira", "password": password}).status_code == 422
        new = "correct horse battery"
        browser.post("/profile/password", {"new_password1": new, "new_password2": new})
        assert browser.get("/jobs").status_code == 200
        assert Client().post("/signin", {"username": "mira", "password": new}).status_code == 302

    def test_an_old_temporary_password_is_worth_nothing(self, mira):
        long_ago = timezone.now() - passwords.TEMPORARY_LIFETIME
        password = passwords.give_temporary(user=mira, actor="user:ada", now=long_ago)
        assert Client().post("/signin", {"username": "mira", "password": password}).status_code == 422


class TestWhatEndsSessions:
    @pytest.mark.parametrize(
        ("act", "fields"),
        [
            pytest.param("role", {"role": "viewer"}, id="another role"),
            pytest.param("teams", {"teams": ["TEAM"]}, id="another team"),
            pytest.param("active", {"active": "no"}, id="being disabled"),
            pytest.param("password", {}, id="a password that was reset"),
            pytest.param("sessions/end", {}, id="an administrator who says so"),
        ],
    )
    def test_at_the_next_request(self, client, mira, act, fields):
        team = Group.objects.create(name="vision")
        browser = signed_in(mira)
        assert is_in(browser)
        chosen = {name: [str(team.pk)] if value == ["TEAM"] else value for name, value in fields.items()}
        assert client.post(f"/people/{mira.pk}/{act}", chosen).status_code == 302
        assert not is_in(browser)
        event = Event.objects.filter(subject_kind="user", subject="mira").latest("id")
        assert (event.actor, event.via, event.address) == ("user:ada", "session", "127.0.0.1")

    def test_even_where_only_the_epoch_says_so(self, mira):
        browser = signed_in(mira)
        Person.objects.filter(user=mira).update(epoch=7)
        assert not is_in(browser)

    def test_what_changes_nothing_ends_nothing(self, client, mira):
        browser = signed_in(mira)
        client.post(f"/people/{mira.pk}/role", {"role": "submitter"})
        client.post(f"/people/{mira.pk}/teams", {})
        assert is_in(browser)

    def test_a_role_counts_for_tokens_at_the_next_call(self, client, mira):
        _, secret = create_token(user=mira, note="", now=timezone.now())
        client.post(f"/people/{mira.pk}/role", {"role": "viewer"})
        assert role_of(user_of_token(secret=secret, now=timezone.now())) == Role.VIEWER
        client.post(f"/people/{mira.pk}/active", {"active": "no"})
        assert user_of_token(secret=secret, now=timezone.now()) is None


class TestTheLastAdministrator:
    @pytest.mark.parametrize(("act", "fields"), [("role", {"role": "operator"}), ("active", {"active": "no"})])
    def test_stays_one(self, client, ada, act, fields):
        answer = client.post(f"/people/{ada.pk}/{act}", fields)
        assert answer.status_code == 409
        assert "make another one first" in text(answer)
        ada = User.objects.get(username="ada")
        assert (role_of(ada), ada.is_superuser) == (Role.ADMINISTRATOR, True)

    def test_a_disabled_one_does_not_count(self, client, ada):
        User.objects.create_superuser("bo", is_active=False)
        assert client.post(f"/people/{ada.pk}/role", {"role": "viewer"}).status_code == 409

    def test_one_of_two_may_go(self, client, ada):
        User.objects.create_superuser("bo")
        assert client.post(f"/people/{ada.pk}/role", {"role": "viewer"}).status_code == 302
        assert not is_in(client)


class TestTheUnixUser:
    @pytest.mark.parametrize(
        ("name", "status"), [("mira", 302), ("", 302), ("root", 422), ("Mira", 422), ("a b", 422), ("x" * 33, 422)]
    )
    def test_a_name(self, client, mira, name, status):
        assert client.post(f"/people/{mira.pk}/unix", {"unix_user": name}).status_code == status


class TestALock:
    def test_an_administrator_lifts_it(self, client, mira):
        for host in range(4):
            for _ in range(5):
                Client().post("/signin", {"username": "mira", "password": "no"}, REMOTE_ADDR=f"192.0.2.{host}")
        assert "Locked until" in text(client.get(f"/people/{mira.pk}"))
        client.post(f"/people/{mira.pk}/unlock")
        assert "Locked until" not in text(client.get(f"/people/{mira.pk}"))
        assert Client().post("/signin", {"username": "mira", "password": PASSWORD}).status_code == 302


class TestTeams:
    def test_made_renamed_joined_left_and_deleted(self, client, mira):
        there = client.post("/teams", {"name": "vision"}).headers["Location"]
        client.post(f"{there}/name", {"name": "sight"})
        client.post(f"{there}/join", {"username": "mira"})
        assert [group.name for group in mira.groups.all()] == ["sight"]
        assert "mira" in text(client.get(there))
        client.post(f"{there}/leave/{mira.pk}")
        client.post(f"{there}/delete")
        assert not Group.objects.exists()
        verbs = list(Event.objects.filter(subject_kind="team").order_by("id").values_list("verb", flat=True))
        assert verbs == ["created", "renamed", "deleted"]

    @pytest.mark.parametrize(
        ("path", "fields", "status", "said"),
        [
            pytest.param("", {"name": "Vision"}, 409, "already", id="a name that is taken"),
            pytest.param("", {"name": "a/b"}, 422, "without a slash", id="a name with a slash"),
            pytest.param("", {"name": ""}, 422, "required", id="no name"),
            pytest.param("/{pk}/join", {"username": "nobody"}, 422, "there is nobody called", id="a stranger"),
            pytest.param("/{pk}/name", {"name": "a\nb"}, 422, "one line", id="a name of two lines"),
        ],
    )
    def test_a_form_is_shown_again_with(self, client, path, fields, status, said):
        team = Group.objects.create(name="vision")
        answer = client.post("/teams" + path.format(pk=team.pk), fields)
        assert answer.status_code == status
        assert said in text(answer)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.SUBMITTER, Role.OPERATOR])
def test_nobody_else_gets_in(mira, role):
    Person.objects.filter(user=mira).update(role=role)
    browser = signed_in(User.objects.get(pk=mira.pk))
    for path in ("/people", "/people/new", f"/people/{mira.pk}", "/teams"):
        assert browser.get(path).status_code == 403
    assert browser.post(f"/people/{mira.pk}/role", {"role": "administrator"}).status_code == 403
    assert reverse("people") not in text(browser.get("/jobs"))
