"""What a change would mean for the jobs that wait: said before it is saved, on every form that changes workers."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.factories import a_job, a_pass, a_user, a_worker
from workers.models import Event, Worker

pytestmark = pytest.mark.django_db


def waiting(client: Client, address: str, **fields: object) -> str:
    answer = client.get(address, fields)
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.fixture
def rack(db: None) -> None:
    """w1 alone has the label that one of two waiting jobs needs; both workers are taken."""
    a_worker("w1", labels={"rack": "r12"})
    a_worker("w2")
    owner = a_user("mira")
    for name in ("busy-1", "busy-2"):
        a_job(owner=owner, name=name)
    a_job(owner=owner, name="kernels", placement={"worker_labels": {"rack": "r12"}})
    a_job(owner=owner, name="anywhere")
    a_pass()


@pytest.mark.usefixtures("rack")
class TestDrain:
    def test_names_the_job_that_would_have_no_worker_left_first(self, operator: Client) -> None:
        shown = waiting(operator, "/workers/w1/drain")
        assert "Of 2 waiting jobs, 2 change." in shown
        assert "only w1 can run it" in shown
        assert shown.index("kernels") < shown.index("anywhere")
        assert "1 → <strong>0</strong>" in shown
        assert "2 → <strong>1</strong>" in shown

    def test_asking_saves_nothing(self, operator: Client) -> None:
        waiting(operator, "/workers/w1/drain")
        assert operator.post("/workers/w1/drain", {"preview": "1", "note": "fans"}).status_code == 200
        assert Worker.objects.get(name="w1").intent == "active"
        assert not Event.objects.filter(subject="w1", verb="intent").exists()
