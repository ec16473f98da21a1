"""People: a role and what follows from it; who is in which team; who may sign in."""

from threading import Barrier, Thread

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.utils import timezone

from gpulayer_site.accounts.models import Person
from gpulayer_site.accounts.people import set_role
from workers.refusals import Refused
from workers.roles import Role, role_of

pytestmark = pytest.mark.django_db


class TestRoleAndFlags:
    @pytest.mark.parametrize(
        ("flags", "role"),
        [
            pytest.param({}, Role.SUBMITTER, id="no flag: a submitter"),
            pytest.param({"is_staff": True}, Role.OPERATOR, id="staff: an operator"),
            pytest.param(
                {"is_staff": True, "is_superuser": True}, Role.ADMINISTRATOR, id="superuser: an administrator"
            ),
            pytest.param({"is_superuser": True}, Role.ADMINISTRATOR, id="superuser alone: an administrator too"),
        ],
    )
    def test_a_new_user_is_known_by_the_flags(self, flags, role):
        assert role_of(User.objects.create_user("mira", **flags)) == role

    def test_the_role_follows_flags_that_change_and_ends_the_sessions(self):
        mira = User.objects.create_user("mira")
        mira.is_staff = True
        mira.save()
        assert role_of(mira) == Role.OPERATOR
        mira.is_staff = False
        mira.save()
        assert (role_of(mira), mira.person.epoch) == (Role.SUBMITTER, 3)

    def test_a_viewer_stays_one_when_other_things_are_saved(self):
        mira = User.objects.create_user("mira")
        Person.objects.filter(user=mira).update(role=Role.VIEWER)
        mira.first_name = "Mira"
        mira.save()
        assert (role_of(mira), mira.person.epoch) == (Role.VIEWER, 1)

    def test_a_save_of_other_fields_asks_nothing(self, django_assert_num_queries):
        mira = User.objects.create_user("mira")
        with django_assert_num_queries(1):
            mira.save(update_fields=["last_name"])


class TestTheLastAdministrator:
    @pytest.mark.django_db(transaction=True)
    def test_two_who_demote_each_other_at_once_leave_one(self):
        pair = [User.objects.create_superuser(name) for name in ("ada", "bo")]
        together, answers = Barrier(2), []

        def demote(whom: User) -> None:
            together.wait()
            try:
                answers.append(set_role(user=whom, role=Role.VIEWER, actor="user:x", now=timezone.now()))
            except Refused as refusal:
                answers.append(refusal.code)
            finally:
                connections.close_all()

        threads = [Thread(target=demote, args=(user,)) for user in pair]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(map(str, answers)) == ["True", "last_administrator"]
        assert Person.objects.filter(role=Role.ADMINISTRATOR).count() == 1
