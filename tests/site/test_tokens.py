"""Tokens and one-time codes: what they open, for how long, and what is kept of them."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User

from gpulayer_site.accounts import services
from gpulayer_site.accounts.models import ApiToken, SignInCode
from gpulayer_site.accounts.tokens import create_token, revoke_token, user_of_token

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

pytestmark = pytest.mark.django_db


@pytest.fixture
def mira() -> User:
    return User.objects.create_user("mira", password="a long password")


def token_for(user, **more):
    return create_token(user=user, note="notebook", now=NOW, **more)


class TestTokens:
    def test_a_token_names_its_owner(self, mira):
        _, secret = token_for(mira)
        assert user_of_token(secret=secret, now=NOW) == mira

    def test_the_secret_is_recognisable_and_nowhere_in_the_database(self, mira):
        row, secret = token_for(mira)
        assert secret.startswith("glu_")
        assert len(secret) == 4 + 43
        kept = [str(value) for value in ApiToken.objects.values_list().get(pk=row.pk)]
        assert not any(secret in value for value in kept)

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param({"revoked_at": NOW}, id="it was revoked"),
            pytest.param({"expires_at": NOW}, id="it has expired"),
        ],
    )
    def test_a_token_opens_nothing_when(self, mira, change):
        row, secret = token_for(mira)
        ApiToken.objects.filter(pk=row.pk).update(**change)
        assert user_of_token(secret=secret, now=NOW) is None

    def test_a_token_of_someone_who_may_not_sign_in_opens_nothing(self, mira):
        _, secret = token_for(mira)
        User.objects.update(is_active=False)
        assert user_of_token(secret=secret, now=NOW) is None

    @pytest.mark.parametrize("secret", ["", "glu_", "glu_" + "x" * 43, "gle_" + "x" * 43, "glu_\udcff", "é"])
    def test_what_is_no_token_opens_nothing(self, secret):
        assert user_of_token(secret=secret, now=NOW) is None

    def test_it_expires_when_it_was_told_to(self, mira):
        _, secret = token_for(mira, expires_at=NOW + MINUTE)
        assert user_of_token(secret=secret, now=NOW) == mira
        assert user_of_token(secret=secret, now=NOW + MINUTE) is None

    def test_revoking_twice_is_revoking_once(self, mira):
        row, _ = token_for(mira)
        assert revoke_token(token=row, now=NOW) is True
        assert revoke_token(token=row, now=NOW + MINUTE) is False
        assert ApiToken.objects.get().revoked_at == NOW

    def test_the_last_use_is_noted_to_the_minute_without_a_write_each_time(self, mira, django_assert_num_queries):
        _, secret = token_for(mira)
        user_of_token(secret=secret, now=NOW)
        with django_assert_num_queries(1):
            user_of_token(secret=secret, now=NOW + MINUTE / 2)
        user_of_token(secret=secret, now=NOW + MINUTE)
        assert ApiToken.objects.get().last_used_at == NOW + MINUTE


class TestOneTimeCodes:
    def test_a_code_signs_in_once(self, mira):
        code = services.create_sign_in_code(user=mira, now=NOW)
        assert services.use_sign_in_code(typed=code, now=NOW) == mira
        assert services.use_sign_in_code(typed=code, now=NOW) is None

    @pytest.mark.parametrize(
        ("after", "opens"),
        [
            pytest.param(timedelta(minutes=9, seconds=59), True, id="just before ten minutes are over"),
            pytest.param(timedelta(minutes=10), False, id="after ten minutes"),
        ],
    )
    def test_a_code_is_good_for_ten_minutes(self, mira, after, opens):
        code = services.create_sign_in_code(user=mira, now=NOW)
        assert (services.use_sign_in_code(typed=code, now=NOW + after) is not None) is opens

    def test_a_code_may_be_typed_as_people_type(self, mira):
        code = services.create_sign_in_code(user=mira, now=NOW)
        assert services.use_sign_in_code(typed=f"  {code.lower().replace('-', ' ')} ", now=NOW) == mira

    def test_a_new_code_ends_the_one_before(self, mira):
        first = services.create_sign_in_code(user=mira, now=NOW)
        second = services.create_sign_in_code(user=mira, now=NOW)
        assert services.use_sign_in_code(typed=first, now=NOW) is None
        assert services.use_sign_in_code(typed=second, now=NOW) == mira

    def test_a_code_for_someone_who_may_not_sign_in_is_worth_nothing(self, mira):
        code = services.create_sign_in_code(user=mira, now=NOW)
        User.objects.update(is_active=False)
        assert services.use_sign_in_code(typed=code, now=NOW) is None

    def test_the_code_is_nowhere_in_the_database(self, mira):
        code = services.create_sign_in_code(user=mira, now=NOW)
        assert code not in [str(value) for value in SignInCode.objects.values_list().get()]


class TestTheAdministrator:
    def test_the_first_one_is_made_without_a_password(self):
        user, created = services.administrator()
        assert created
        assert (user.username, user.is_staff, user.is_superuser) == ("admin", True, True)
        assert not user.has_usable_password()

    def test_there_is_no_second_one(self):
        first, _ = services.administrator()
        assert services.administrator() == (first, False)

    def test_a_superuser_that_is_there_is_taken(self, admin_user):
        assert services.administrator() == (admin_user, False)
