"""Sessions of browsers: how they begin and end, whose they are, and in which zone they show times."""

from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from gpulayer_site.accounts.models import BrowserSession, Person
from gpulayer_site.accounts.zones import COOKIE, zone_names
from workers.moments import clock, minute

PASSWORD = "a long password"
IDLE = timedelta(seconds=settings.GPULAYER_SESSION_IDLE_SECONDS)
LONGEST = timedelta(seconds=settings.SESSION_COOKIE_AGE)
MINUTE = timedelta(minutes=1)

pytestmark = pytest.mark.django_db


@pytest.fixture
def mira() -> User:
    return User.objects.create_user("mira", password=PASSWORD)


def sign_in(client: Client, **more: str) -> Client:
    assert client.post("/signin", {"username": "mira", "password": PASSWORD}, **more).status_code == 302
    return client


def key_of(client: Client) -> str:
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def change(client: Client, **values: datetime) -> None:
    """Let the session have begun, or been used, at another instant."""
    session = client.session
    session.update({name: at.timestamp() for name, at in values.items()})
    session.save()


def is_in(client: Client) -> bool:
    return client.get("/profile").status_code == 200


class TestHowOneBegins:
    def test_with_a_new_key_each_time(self, client, mira):
        first = key_of(sign_in(client))
        assert key_of(sign_in(client)) != first
        assert not BrowserSession.objects.filter(session_key=first).exists()

    def test_the_key_from_before_the_sign_in_is_worth_nothing(self, client, mira):
        session = client.session
        session["planted"] = True
        session.save()
        client.cookies[settings.SESSION_COOKIE_NAME] = planted = session.session_key
        sign_in(client)
        thief = Client()
        thief.cookies[settings.SESSION_COOKIE_NAME] = planted
        assert not is_in(thief)

    def test_knowing_whose_it_is_and_where_from(self, client, mira):
        sign_in(client, REMOTE_ADDR="192.0.2.7", HTTP_USER_AGENT="A browser\x1b[31m")
        row = BrowserSession.objects.get()
        assert (row.user, row.address, row.browser) == (mira, "192.0.2.7", "A browser[31m")

    def test_in_a_cookie_that_scripts_cannot_read(self, client, mira):
        cookie = sign_in(client).cookies[settings.SESSION_COOKIE_NAME]
        assert (bool(cookie["httponly"]), cookie["samesite"]) == (True, "Lax")


class TestHowOneEnds:
    @pytest.mark.parametrize(
        ("began", "seen", "goes_on"),
        [
            pytest.param(2 * IDLE, IDLE - MINUTE, True, id="used a little less than the idle time ago"),
            pytest.param(2 * IDLE, IDLE, False, id="idle for too long"),
            pytest.param(LONGEST - MINUTE, MINUTE, True, id="almost too old"),
            pytest.param(LONGEST, MINUTE, False, id="too old, however busy"),
        ],
    )
    def test_by_time(self, client, mira, began, seen, goes_on):
        sign_in(client)
        now = timezone.now()
        change(client, since=now - began, seen=now - seen)
        assert is_in(client) is goes_on

    def test_a_page_that_looks_again_by_itself_is_no_sign_of_life_and_a_person_is(self, client, mira):
        sign_in(client)
        long_ago = timezone.now() - IDLE / 2
        change(client, seen=long_ago)
        client.get("/jobs", headers={"HX-Request": "true"})
        assert client.session["seen"] == long_ago.timestamp()
        client.get("/jobs")
        assert client.session["seen"] > long_ago.timestamp()

    def test_signing_out_ends_it_on_the_server(self, client, mira):
        key = key_of(sign_in(client))
        client.post("/signout")
        thief = Client()
        thief.cookies[settings.SESSION_COOKIE_NAME] = key
        assert not is_in(thief)
        assert not BrowserSession.objects.filter(session_key=key).exists()

    def test_signing_out_everywhere_else_leaves_this_one(self, client, mira):
        other = sign_in(Client())
        sign_in(client)
        assert "This browser" in client.get("/profile").content.decode()
        client.post("/profile/sessions/end")
        assert (is_in(client), is_in(other)) == (True, False)

    def test_a_new_password_ends_the_others(self, client, mira):
        other = sign_in(Client())
        sign_in(client)
        new = "correct horse battery"
        client.post("/profile/password", {"old_password": PASSWORD, "new_password1": new, "new_password2": new})
        assert (is_in(client), is_in(other)) == (True, False)

    def test_a_user_who_is_gone_has_no_session(self, client, mira):
        sign_in(client)
        mira.delete()
        assert not is_in(client)

    def test_a_page_that_looks_again_is_told_to_load_anew_as_a_whole(self, client, mira):
        answer = client.get("/jobs", headers={"HX-Request": "true"})
        assert (answer.status_code, answer.headers["HX-Refresh"], answer.content) == (204, "true", b"")


class TestTheZone:
    @pytest.mark.parametrize(
        ("chosen", "cookie", "shown"),
        [
            pytest.param("", "", "UTC", id="nothing known"),
            pytest.param("", "Europe/Berlin", "Europe/Berlin", id="the browser's"),
            pytest.param("Asia/Tokyo", "Europe/Berlin", "Asia/Tokyo", id="the person's own choice"),
            pytest.param("", "../../etc/passwd", "UTC", id="a cookie that is no zone"),
            pytest.param("Nowhere/Land", "Europe/Berlin", "Europe/Berlin", id="a choice that is no zone any more"),
        ],
    )
    def test_of_times_is(self, client, mira, chosen, cookie, shown):
        Person.objects.filter(user=mira).update(time_zone=chosen)
        sign_in(client)
        client.cookies[COOKIE] = cookie
        assert f"Times are in {shown}." in client.get("/profile").content.decode()

    def test_is_chosen_in_the_profile(self, client, mira):
        sign_in(client)
        assert client.post("/profile/zone", {"zone": "Mars/Base"}).status_code == 422
        assert client.post("/profile/zone", {"zone": "Europe/Berlin"}).status_code == 302
        assert client.get("/profile").context["zone"] == "Europe/Berlin"

    def test_has_names_to_choose_from(self):
        assert {"UTC", "Europe/Berlin", "America/New_York"} <= set(zone_names())

    def test_says_the_time_of_day_and_the_day_as_they_are_there(self):
        noon = datetime(2026, 11, 30, 12, tzinfo=UTC)
        with timezone.override("Europe/Berlin"):
            assert clock(noon, now=noon) == "13:00:00"
            assert minute(noon + timedelta(hours=11), now=noon) == "2026-12-01 00:00"
