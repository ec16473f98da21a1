"""Signing in and out, and the profile."""

import pytest
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from gpulayer_site.accounts import services
from gpulayer_site.accounts.models import ApiToken
from gpulayer_site.accounts.tokens import create_token, user_of_token

PASSWORD = "a long password"

pytestmark = pytest.mark.django_db


@pytest.fixture
def mira() -> User:
    return User.objects.create_user("mira", password=PASSWORD)


def sign_in(client, **fields):
    return client.post("/signin", fields)


class TestSigningIn:
    def test_with_name_and_password(self, client, mira):
        assert sign_in(client, username="mira", password=PASSWORD).headers["Location"] == "/"
        assert client.get("/profile").status_code == 200

    def test_with_a_one_time_code_and_only_once(self, client, mira):
        code = services.create_sign_in_code(user=mira, now=timezone.now())
        assert sign_in(client, code=code).status_code == 302
        assert client.get("/profile").status_code == 200
        again = sign_in(Client(), code=code)
        assert again.status_code == 422
        assert "gpulayer admin code" in again.content.decode()

    def test_a_wrong_password_says_so_and_not_which_of_the_two_is_wrong(self, client, mira):
        for fields in ({"username": "mira", "password": "no"}, {"username": "nobody", "password": "no"}):
            answer = sign_in(client, **fields)
            assert answer.status_code == 422
            assert "User name or password is wrong." in answer.content.decode()

    def test_an_empty_form_says_what_it_needs(self, client):
        answer = sign_in(client)
        assert answer.status_code == 422
        assert "or a one-time code" in answer.content.decode()

    @pytest.mark.parametrize(
        ("target", "goes_to"),
        [
            pytest.param("/profile?a=1", "/profile?a=1", id="to the page that was asked for"),
            pytest.param("https://elsewhere.example/", "/", id="never to another site"),
            pytest.param("//elsewhere.example/", "/", id="nor by an address without a scheme"),
            pytest.param("javascript:alert(1)", "/", id="nor into a script"),
            pytest.param("https:elsewhere.example", "/", id="nor by a scheme without slashes"),
            pytest.param("\\\\elsewhere.example", "/", id="nor by backslashes"),
            pytest.param("/\\elsewhere.example", "/", id="nor by a slash and a backslash"),
            pytest.param("http://testserver@elsewhere.example/", "/", id="nor to a site that calls our name a user"),
            pytest.param("\thttps://elsewhere.example/", "/", id="nor behind a tab"),
            pytest.param("///elsewhere.example", "/", id="nor by three slashes"),
        ],
    )
    def test_it_leads(self, client, mira, target, goes_to):
        assert sign_in(client, username="mira", password=PASSWORD, next=target).headers["Location"] == goes_to

    def test_a_null_byte_is_an_error_in_the_form(self, client):
        assert sign_in(client, username="mi\0ra", password="x").status_code == 422

    def test_a_get_signs_nobody_in(self, client, mira):
        client.get("/signin", {"username": "mira", "password": PASSWORD})
        assert client.get("/profile").status_code == 302

    def test_the_admin_has_no_door_of_its_own(self, client):
        assert client.get("/admin/login/?next=/admin/").headers["Location"] == "/signin?next=/admin/"

    def test_it_needs_the_csrf_token(self, mira):
        assert sign_in(Client(enforce_csrf_checks=True), username="mira", password=PASSWORD).status_code == 403


class TestTheLock:
    def test_after_too_many_failures_even_the_right_password_has_to_wait_and_is_told_how_long(self, client, mira):
        statuses = [sign_in(client, username="mira", password="no").status_code for _ in range(5)]
        assert statuses == [422] * 4 + [429]
        answer = sign_in(client, username="mira", password=PASSWORD)
        assert answer.status_code == 429
        assert "Try again at " in answer.content.decode()
        assert 0 < int(answer.headers["Retry-After"]) <= 15 * 60 + 1

    def test_a_name_is_not_locked_for_other_addresses_at_once(self, client, mira):
        fail(5, "mira", "192.0.2.7")
        assert sign_in(client, username="mira", password=PASSWORD).status_code == 302

    def test_but_is_when_enough_addresses_have_tried(self, client, mira):
        for host in range(5):
            fail(4, "mira", f"192.0.2.{host}")
        assert sign_in(client, username="mira", password=PASSWORD).status_code == 429

    def test_who_is_locked_out_by_strangers_still_comes_in_with_a_code(self, client, mira):
        for host in range(5):
            fail(4, "mira", f"192.0.2.{host}")
        code = services.create_sign_in_code(user=mira, now=timezone.now())
        assert sign_in(client, code=code).status_code == 302

    def test_many_names_from_one_address_count_together(self, client, mira):
        for each in range(30):
            fail(1, f"user{each}", "127.0.0.1")
        assert sign_in(client, username="mira", password=PASSWORD).status_code == 429

    def test_who_has_an_account_there_does_not_wipe_the_address_clean(self, client, mira):
        for each in range(29):
            fail(1, f"user{each}", "127.0.0.1")
        assert sign_in(client, username="mira", password=PASSWORD).status_code == 302
        fail(1, "user29", "127.0.0.1")
        assert sign_in(Client(), username="mira", password=PASSWORD).status_code == 429

    def test_codes_cannot_be_guessed_at_length(self, client):
        statuses = [sign_in(client, code=f"GUESS{each}").status_code for each in range(6)]
        assert statuses == [422] * 4 + [429] * 2

    def test_nor_does_guessing_codes_lock_those_of_others_out(self, client, mira):
        for host in range(6):
            for each in range(5):
                Client().post("/signin", {"code": f"GUESS{each}"}, REMOTE_ADDR=f"192.0.2.{host}")
        code = services.create_sign_in_code(user=mira, now=timezone.now())
        assert sign_in(client, code=code).status_code == 302

    def test_a_success_wipes_the_slate(self, client, mira):
        fail(4, "mira", "127.0.0.1")
        sign_in(client, username="mira", password=PASSWORD)
        assert sign_in(Client(), username="mira", password="no").status_code == 422

    def test_old_failures_do_not_count(self, client, mira):
        fail(5, "mira", "127.0.0.1")
        AccessAttempt.objects.update(attempt_time=timezone.now() - settings.AXES_COOLOFF_TIME)
        assert sign_in(client, username="mira", password=PASSWORD).status_code == 302

    def test_a_header_that_anybody_can_send_makes_no_other_address(self, client, mira):
        for each in range(5):
            client.post(
                "/signin", {"username": "mira", "password": "no"}, headers={"X-Forwarded-For": f"10.0.0.{each}"}
            )
        assert sign_in(client, username="mira", password=PASSWORD).status_code == 429

    def test_another_browser_is_no_other_address(self, client, mira):
        for each in range(5):
            client.post("/signin", {"username": "mira", "password": "no"}, headers={"User-Agent": f"browser {each}"})
        assert sign_in(client, username="mira", password=PASSWORD).status_code == 429

    def test_nothing_that_was_typed_is_kept_beside_the_name(self, client, mira):
        sign_in(client, username="mira", password="tYped wrongly", code="", next="/jobs?secret=1")
        sign_in(client, code="K7QF-2M9X-PD4T-HH3W")
        kept = " ".join(str(value) for row in AccessAttempt.objects.values_list() for value in row)
        assert not any(word in kept for word in ("tYped", "K7QF", "secret=1"))


def fail(times, name, address):
    for _ in range(times):
        Client().post("/signin", {"username": name, "password": "no"}, REMOTE_ADDR=address)


class TestSigningOut:
    def test_by_post(self, client, mira):
        client.force_login(mira)
        client.post("/signout")
        assert client.get("/profile").status_code == 302

    def test_not_by_following_a_link(self, client, mira):
        client.force_login(mira)
        assert client.get("/signout").status_code == 405
        assert client.get("/profile").status_code == 200


class TestTheProfile:
    def test_a_token_is_shown_once(self, client, mira):
        client.force_login(mira)
        assert client.post("/profile/tokens", {"note": "notebook", "expires": "90"}).headers["Location"] == "/profile"
        page = client.get("/profile")
        assert "glu_" in page.content.decode()
        assert "no-store" in page.headers["Cache-Control"]
        secret = page.context["new_token"]
        assert user_of_token(secret=secret, now=timezone.now()) == mira
        assert secret not in client.get("/profile").content.decode()
        assert ApiToken.objects.count() == 1

    @pytest.mark.parametrize("fields", [{}, {"note": "x", "expires": "soon"}, {"note": "x" * 101}])
    def test_a_form_that_does_not_do_makes_no_token(self, client, mira, fields):
        client.force_login(mira)
        assert client.post("/profile/tokens", fields).status_code == 422
        assert not ApiToken.objects.exists()

    def test_a_token_can_be_revoked(self, client, mira):
        client.force_login(mira)
        row, secret = create_token(user=mira, note="", now=timezone.now())
        assert client.post(f"/profile/tokens/{row.pk}/revoke").status_code == 302
        assert user_of_token(secret=secret, now=timezone.now()) is None

    def test_but_not_someone_elses(self, client, mira, admin_user):
        row, secret = create_token(user=mira, note="", now=timezone.now())
        client.force_login(admin_user)
        assert client.post(f"/profile/tokens/{row.pk}/revoke").status_code == 404
        assert user_of_token(secret=secret, now=timezone.now()) == mira

    def test_who_came_in_by_a_code_can_set_a_password(self, client):
        user, _ = services.administrator()
        client.force_login(user)
        new = "correct horse battery"
        assert client.post("/profile/password", {"new_password1": new, "new_password2": new}).status_code == 302
        assert client.get("/profile").status_code == 200
        assert sign_in(Client(), username="admin", password=new).status_code == 302

    def test_who_has_a_password_needs_it_to_change_it(self, client, mira):
        client.force_login(mira)
        new = "correct horse battery"
        assert client.post("/profile/password", {"new_password1": new, "new_password2": new}).status_code == 422

    @pytest.mark.parametrize("path", ["/profile", "/profile/tokens", "/profile/tokens/1/revoke", "/profile/password"])
    def test_a_stranger_is_sent_to_the_sign_in_form(self, client, path):
        for method in (client.get, client.post):
            assert method(path).headers["Location"].startswith("/signin?next=/profile")
