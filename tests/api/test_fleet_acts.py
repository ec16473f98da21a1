"""Labels, drains with a deadline, limits, notices and what-if over HTTP."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from gpulayer_site.accounts.tokens import create_token
from tests import factories
from tests.factories import a_job, a_pass, a_user, a_worker
from workers.models import Event, Label, Worker

pytestmark = pytest.mark.django_db

ROOT = "/api/v1/"


class Api:
    """Somebody with a token."""

    def __init__(self, name: str, *, staff: bool) -> None:
        user = a_user(name, staff=staff)
        expires = timezone.now() + timedelta(days=1)
        _, self.secret = create_token(user=user, note="a test", now=timezone.now(), expires_at=expires)
        self.client = Client()

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.secret}"}
        return self.client.generic(method, ROOT + path, data, "application/json", headers=headers)

    def post(self, path: str, body: Any = None, *, status: int = 200) -> Any:
        answer = self("POST", path, {} if body is None else body)
        assert answer.status_code == status, answer.content
        return answer.json()

    def get(self, path: str) -> Any:
        answer = self("GET", path)
        assert answer.status_code == 200, answer.content
        return answer.json()


@pytest.fixture(autouse=True)
def _today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factories, "NOW", timezone.now())


@pytest.fixture
def ada(db: None) -> Api:
    return Api("ada", staff=True)


@pytest.fixture
def mira(db: None) -> Api:
    return Api("mira", staff=False)


def problems(answer: Any) -> set[str]:
    return {problem["path"] for problem in answer["problems"]}


class TestLabels:
    def test_the_operators_word_counts_until_it_is_taken_back(self, ada: Api) -> None:
        a_worker("w1", labels={"zone": "a"})
        (label,) = ada.post("workers/w1/labels", {"labels": {"zone": "b"}})["items"]
        assert label == {
            "key": "zone", "value": "b", "source": "operator", "agents_value": "a", "set_by": "ada", "read_only": False,
        }  # fmt: skip
        (label,) = ada.post("workers/w1/labels", {"remove": ["zone"]})["items"]
        assert (label["value"], label["source"]) == ("a", "agent")

    def test_many_at_once_or_none(self, ada: Api) -> None:
        for name in ("w1", "w2", "w3"):
            a_worker(name)
        ada.post("workers/w2/labels", {"labels": {"rack": "r1"}})
        body = {"workers": ["w1", "w2", "w3"], "labels": {"rack": "r1"}}
        assert ada.post("worker-labels", body)["changed"] == ["w1", "w3"]
        ada.post("worker-labels", {"workers": ["w1", "nobody"], "labels": {"rack": "r2"}}, status=404)
        assert set(Label.objects.values_list("value", flat=True)) == {"r1"}

    def test_everything_that_is_wrong_is_told_at_once(self, ada: Api) -> None:
        a_worker("w1")
        body = {"labels": {"gpulayer.dev/x": "1", "a": "b\u202ec", "twice": "1"}, "remove": ["twice", "gpulayer.dev/y"]}
        answer = ada.post("workers/w1/labels", body, status=422)
        assert problems(answer) == {"labels.a", "labels.gpulayer.dev/x", "remove.gpulayer.dev/y", "remove.twice"}
        assert not Label.objects.exists()

    def test_are_for_operators(self, mira: Api) -> None:
        a_worker("w1")
        for path in ("workers/w1/labels", "workers/w1/limits", "notices", "what-if"):
            mira.post(path, {"text": "x"} if path == "notices" else {}, status=403)
        assert mira.get("workers/w1/labels")["items"] == []


class TestDrain:
    @pytest.mark.parametrize(
        ("body", "path"),
        [
            ({"until": "2020-01-01T00:00:00Z"}, "until"),
            ({"stop": True}, "stop"),
            ({"until": "2030-01-01T00:00:00"}, "until"),
            ({"until": 2_000_000_000}, "until"),
            ({"note": "a\nb"}, "note"),
            ({"note": "a\u202eb"}, "note"),
            ({"reason": "fans"}, "reason"),
        ],
    )
    def test_a_mistake_is_told_at_its_field(self, ada: Api, body: dict[str, Any], path: str) -> None:
        a_worker("w1")
        assert path in problems(ada.post("workers/w1/drain", body, status=422))
        assert Worker.objects.get().intent == "active"

    def test_again_replaces_note_and_deadline_and_undraining_forgets_them(self, ada: Api) -> None:
        a_worker("w1")
        ada.post("workers/w1/drain", {"note": "fans"})
        answer = ada.post("workers/w1/drain", {"note": "disk", "until": "2100-01-01T00:00:00+01:00", "stop": True})
        assert answer == {
            "name": "w1", "intent": "draining", "intent_note": "disk", "drain_deadline": "2099-12-31T23:00:00Z",
            "drain_stops": True,
        }  # fmt: skip
        assert ada.post("workers/w1/undrain")["drain_deadline"] is None


class TestLimits:
    def test_count_over_the_agents_word_in_the_next_pass(self, ada: Api) -> None:
        a_worker("w1", gpus="2xA100")
        answer = ada.post("workers/w1/limits", {"max_concurrent_tasks": 1})
        assert answer["limits"] == {"max_concurrent_tasks": 1}
        first = answer["items"][0]
        assert (first["value"], first["by_operator"], first["agents"]) == ("1", True, "one per usable GPU, at least 1")
        jobs = [a_job(), a_job()]
        a_pass()
        assert factories.states(*jobs) == ["assigned", "queued"]
        assert ada.post("workers/w1/limits", {"max_concurrent_tasks": None})["limits"] == {}
        a_pass()
        assert factories.states(*jobs) == ["assigned", "assigned"]

    def test_what_is_not_said_stays(self, ada: Api) -> None:
        a_worker("w1")
        ada.post("workers/w1/limits", {"max_concurrent_tasks": 3})
        answer = ada.post("workers/w1/limits", {"foreign_allowance_bytes": 0})
        assert answer["limits"] == {"max_concurrent_tasks": 3, "foreign_allowance_bytes": 0}
        assert Event.objects.filter(subject="w1", verb="limits").count() == 2


class TestNotices:
    def test_are_put_up_by_operators_and_read_by_all(self, ada: Api, mira: Api) -> None:
        made = ada.post("notices", {"text": "Power cut at 18:00", "level": "warning"}, status=201)
        assert [each["text"] for each in mira.get("notices")["items"]] == ["Power cut at 18:00"]
        assert ada.post(f"notices/{made['id']}/end")["ended_at"]
        assert ada.post(f"notices/{made['id']}/end")["ended_at"]
        assert mira.get("notices")["items"] == []
        assert list(Event.objects.filter(subject_kind="notice").order_by("id").values_list("verb", flat=True)) == [
            "created", "ended",
        ]  # fmt: skip

    def test_there_are_never_many(self, ada: Api) -> None:
        for number in range(5):
            ada.post("notices", {"text": f"{number}"}, status=201)
        assert ada.post("notices", {"text": "one more"}, status=409)["code"] == "notices_full"


class TestWhatIf:
    def test_says_which_jobs_change_and_saves_nothing(self, ada: Api) -> None:
        a_worker("w1", labels={"rack": "r12"})
        a_worker("w2")
        for _ in range(2):
            a_job()
        pinned = a_job(placement={"worker_labels": {"rack": "r12"}}, on_unschedulable="fail")
        a_pass()
        answer = ada.post("what-if", {"workers": ["w1"], "labels": {"rack": "r13"}})
        (job,) = answer["jobs"]
        assert (job["job_id"], job["effect"], job["can_run"]) == (pinned.job_id, "never_fits", [1, 0])
        assert job["then"].startswith("would never fit: ")
        assert job["then"].endswith("; it ends as failed (on_unschedulable: fail)")
        assert answer["summary"] == "Of 1 waiting job, 1 loses workers. 1 would never fit."
        assert not Label.objects.filter(source="operator").exists()

    def test_knows_limits_reservations_and_retiring(self, ada: Api) -> None:
        a_worker("w1", gpus="2xA100")
        first, second = a_job(), a_job()
        ada.post("workers/w1/limits", {"max_concurrent_tasks": 1})
        a_pass()
        assert factories.states(first, second) == ["assigned", "queued"]
        freed = ada.post("what-if", {"workers": ["w1"], "limits": {"max_concurrent_tasks": None}})
        assert freed["counts"] == {"starts": 1}
        kept = ada.post("what-if", {"reservations": [{"worker": "w1", "holder": "team:vision"}]})
        assert kept["counts"] == {"never_fits": 1}
        assert ada.post("what-if", {"workers": ["w1"], "retire": True})["counts"] == {"never_fits": 1}
        assert ada.post("what-if", {"workers": ["w1"]})["summary"] == "Nothing changes for the one waiting job."

    def test_a_mistake_is_told_at_its_field(self, ada: Api) -> None:
        a_worker("w1")
        ada.post("what-if", {"workers": ["nobody"], "drain": True}, status=404)
        bad = {"reservations": [{"worker": "w1", "holder": "robot:x"}]}
        assert problems(ada.post("what-if", bad, status=422)) == {"reservations[0].holder"}
