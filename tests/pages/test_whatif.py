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
        assert "Of 2 waiting jobs, 2 lose workers." in shown
        assert "only w1 can run it" in shown
        assert shown.index("kernels") < shown.index("anywhere")
        assert "1 → <strong>0</strong>" in shown
        assert "2 → <strong>1</strong>" in shown

    def test_asking_saves_nothing(self, operator: Client) -> None:
        waiting(operator, "/workers/w1/drain")
        assert operator.post("/workers/w1/drain", {"preview": "1", "note": "fans"}).status_code == 200
        assert Worker.objects.get(name="w1").intent == "active"
        assert not Event.objects.filter(subject="w1", verb="intent").exists()


@pytest.mark.usefixtures("rack")
class TestFragment:
    def ask(self, client: Client, **fields: object) -> str:
        answer = client.post("/what-if", fields, headers={"HX-Request": "true"})
        assert answer.status_code == 200, answer.content
        return answer.content.decode()

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"kind": "labels", "worker": "w1", "label": "rack=r13"}, "1 would never fit"),
            ({"kind": "labels", "worker": ["w1", "w2"], "label": ["rack=r12", ""]}, "1 has more workers"),
            ({"kind": "labels", "worker": "w1", "label": "zone=b"}, "Nothing changes for the 2 waiting jobs."),
            ({"kind": "labels", "worker": "w1", "label": "zone"}, "key=value to set a label"),
            ({"kind": "labels", "worker": "w1", "label": "gpulayer.dev/x=1"}, "belong to the system"),
            ({"kind": "drain", "all": "1", "q": "w"}, "2 would have no worker left"),
            ({"kind": "drain", "worker": "w1", "until": "2020-01-01T10:00"}, "an instant to come"),
            ({"kind": "limits", "worker": "w1", "tasks": "2"}, "Nothing changes"),
            ({"kind": "limits", "worker": "w1", "foreign": "lots"}, "a size such as 2 GB"),
            ({"kind": "retire", "worker": "w1"}, "1 would never fit"),
            ({"kind": "drain"}, "no worker is picked"),
            ({"kind": "drain", "worker": "nobody"}, "no worker"),
        ],
    )
    def test_follows_the_form(self, operator: Client, fields: dict[str, object], said: str) -> None:
        assert said in self.ask(operator, **fields)

    def test_is_for_operators(self, page: Client, operator: Client) -> None:
        assert page.post("/what-if", {"kind": "drain", "worker": "w1"}).status_code == 403
        assert operator.post("/what-if", {"kind": "explode", "worker": "w1"}).status_code == 404

    def test_names_only_so_many_jobs(self, operator: Client) -> None:
        for number in range(60):
            a_job(name=f"many-{number}")
        shown = self.ask(operator, kind="drain", worker="w1")
        assert shown.count('scope="row"') == 50
        assert "And 12 more jobs." in shown

    def test_names_some_that_gain_beside_many_that_lose(self, operator: Client) -> None:
        for _ in range(60):
            a_job(placement={"worker_labels": {"rack": "r12"}})
        lucky = a_job(placement={"worker_labels": {"rack": "r13"}})
        shown = self.ask(operator, kind="labels", worker="w1", label="rack=r13")
        assert "61 would never fit, 1 could run at last." in shown
        assert shown.count('scope="row"') == 50
        assert f">{lucky.job_id}</a>" in shown
        assert shown.count("no worker has the label rack=r12") == 8, "why, is looked for of the first few"
