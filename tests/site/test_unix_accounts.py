"""Which account on the hosts is whose: for administrators to say, and for nobody else."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from gpulayer_site.accounts.models import UnixAccount
from scheduler.core.errors import DocumentError
from scheduler.services.jobs import submit_job
from tests.factories import NOW, a_user, job_document
from workers.models import Event

pytestmark = pytest.mark.django_db
PLACE = "/admin/accounts/unixaccount/"


@pytest.fixture
def administrator() -> Client:
    return signed_in(User.objects.create_superuser("admin"))


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_an_administrator_gives_changes_and_takes_it_away_and_the_trail_knows(administrator: Client) -> None:
    mira = a_user("mira")
    administrator.post(f"{PLACE}add/", {"user": mira.pk, "name": "mira"})
    account = UnixAccount.objects.get()
    administrator.post(f"{PLACE}{account.pk}/change/", {"name": "m_ira-2"})
    administrator.post(f"{PLACE}{account.pk}/delete/", {"post": "yes"})
    assert not UnixAccount.objects.exists()
    events = Event.objects.filter(verb="unix_account").order_by("pk")
    assert [(event.actor, event.subject, event.before, event.after) for event in events] == [
        ("user:admin", "mira", "", "mira"), ("user:admin", "mira", "mira", "m_ira-2"),
        ("user:admin", "mira", "m_ira-2", ""),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["root", "", "Mira", "1a", "a b", "../x", "a" * 33, "ü", "-a", "a;b"])
def test_a_name_that_no_account_may_have_is_refused(administrator: Client, name: str) -> None:
    answer = administrator.post(f"{PLACE}add/", {"user": a_user("mira").pk, "name": name})
    assert answer.status_code == 200
    assert "name" in answer.context["adminform"].form.errors
    assert not UnixAccount.objects.exists()


def test_operators_and_others_may_not_even_look() -> None:
    operator = a_user("ada", staff=True)
    operator.is_superuser = False
    operator.save()
    UnixAccount.objects.create(user=a_user("mira"), name="mira")
    for user in (operator, a_user("noa")):
        for page in (PLACE, f"{PLACE}add/", f"{PLACE}1/change/"):
            assert signed_in(user).get(page).status_code in (302, 403)
            assert signed_in(user).post(page, {"user": user.pk, "name": "noa"}).status_code in (302, 403)
    assert list(UnixAccount.objects.values_list("name", flat=True)) == ["mira"]


@pytest.mark.parametrize("field", ["unix_user", "run_as", "user"])
def test_a_job_document_cannot_say_it(field: str) -> None:
    with pytest.raises(DocumentError, match=field):
        submit_job(document=job_document(**{field: "root"}), owner=a_user("mira"), now=NOW)
