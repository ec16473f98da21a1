"""Labels, drains and limits on the pages: who says what, what is read-only, one worker and many."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from tests.factories import a_job, a_pass, a_worker, changed
from workers.models import Event, Label, Worker

pytestmark = pytest.mark.django_db


def shown(client: Client, address: str, **fields: object) -> str:
    return client.get(address, fields).content.decode()


def said() -> dict[tuple[str, str, str], str]:
    rows = Label.objects.values_list("worker__name", "key", "source", "value")
    return {(name, key, source): value for name, key, source, value in rows}


class TestOneWorker:
    def test_who_says_what_is_told_apart(self, operator: Client) -> None:
        a_worker("w1", labels={"zone": "a", "gpulayer.dev/pool": "x"})
        operator.post("/workers/w1/labels", {"label": "zone=b\nrack=r1"})
        page = shown(operator, "/workers/w1")
        assert "zone: ada says b, the agent a; the operator’s counts." in page
        form = shown(operator, "/workers/w1/labels")
        assert "the agent says zone=a, which counts again when this is ticked off" in form
        assert "read-only: keys that begin with gpulayer.dev/ belong to the system" in form
        assert 'value="gpulayer.dev/pool-"' not in form

    def test_what_is_ticked_off_gives_the_agents_word_back(self, operator: Client) -> None:
        a_worker("w1", labels={"zone": "a"})
        operator.post("/workers/w1/labels", {"label": "zone=b"})
        operator.post("/workers/w1/labels", {"label": ["zone-", ""]})
        assert said() == {("w1", "zone", "agent"): "a"}
        assert list(Event.objects.filter(subject_kind="label").order_by("id").values_list("before", "after")) == [
            ("", "b"), ("b", ""),
        ]  # fmt: skip

    @pytest.mark.parametrize("label", ["zone", "gpulayer.dev/x=1", "=b", "a=" + "x" * 300, "a=\u202eb"])
    def test_a_mistake_keeps_what_was_typed(self, operator: Client, label: str) -> None:
        a_worker("w1")
        answer = operator.post("/workers/w1/labels", {"label": label})
        assert answer.status_code == 422
        assert "invalid-feedback" in answer.content.decode()
        assert not said()

    def test_limits_stand_beside_the_agents_word(self, operator: Client) -> None:
        a_worker("w1", gpus="2xA100")
        operator.post("/workers/w1/limits", {"tasks": "1", "foreign": "2 GB"})
        page = shown(operator, "/workers/w1")
        assert "(set by an operator; the agent says one per usable GPU, at least 1)" in page
        assert 'value="2GB"' in shown(operator, "/workers/w1/limits")
        assert operator.post("/workers/w1/limits", {"tasks": "many"}).status_code == 422
        operator.post("/workers/w1/limits", {"tasks": "", "foreign": ""})
        assert Worker.objects.get().limits == {}

    def test_a_drain_says_until_when_and_what_becomes_of_the_rest(self, operator: Client) -> None:
        a_worker("w1")
        a_job(timeout_s=3600, retries={"max": 1})
        a_pass(timezone.now())
        form = shown(operator, "/workers/w1/drain")
        assert "stopped at a deadline, it is run again as its retries allow" in form
        fields = {"note": "fans", "until": "2100-01-01T18:00", "stop": "on"}
        page = operator.post("/workers/w1/drain", fields, follow=True).content.decode()
        assert "fans; to be empty by 2100-01-01 18:00: what still runs then is stopped" in page
        assert operator.post("/workers/w1/drain", {"stop": "on"}).status_code == 422

    def test_others_look_and_do_not_touch(self, page: Client, operator: Client) -> None:
        a_worker("w1", labels={"zone": "a"})
        assert "zone=a" in shown(page, "/workers/w1")
        for kind in ("labels", "limits", "drain", "undrain"):
            assert page.get(f"/workers/w1/{kind}").status_code == 403
            assert page.post(f"/workers/w1/{kind}").status_code == 403
            assert operator.get(f"/workers/nobody/{kind}").status_code == 404
        assert "Edit labels…" not in shown(page, "/workers/w1")


class TestMany:
    def test_ticked_workers_are_labelled_at_once(self, operator: Client) -> None:
        for name in ("w1", "w2", "w3"):
            a_worker(name)
        asked = shown(operator, "/fleet/labels", worker=["w1", "w3"])
        assert "Labels of 2 workers" in asked
        done = operator.post("/fleet/labels", {"worker": ["w1", "w3"], "label": "rack=r1"}, follow=True)
        assert "Labels of 2 of 2 workers are changed." in done.content.decode()
        assert said() == {("w1", "rack", "operator"): "r1", ("w3", "rack", "operator"): "r1"}

    def test_all_that_a_filter_matches_are_drained_unless_these_are_others_by_then(self, operator: Client) -> None:
        for number in range(30):
            a_worker(f"a-{number:02}")
        a_worker("b-1")
        assert "Drain 30 workers?" in shown(operator, "/fleet/drain", all="1", q="a-")
        a_worker("a-99")
        late = operator.post("/fleet/drain", {"all": "1", "q": "a-", "count": "30"}, follow=True)
        assert "the filter matches 31 workers now, and not 30" in late.content.decode()
        operator.post("/fleet/drain", {"all": "1", "q": "a-", "count": "31", "note": "move"})
        drained = Worker.objects.filter(intent="draining", intent_note="move")
        assert (drained.count(), Worker.objects.get(name="b-1").intent) == (31, "active")
        operator.post("/fleet/undrain", {"all": "1", "state": "draining"})
        assert not Worker.objects.exclude(intent="active").exists()

    @pytest.mark.parametrize("fields", [{}, {"worker": "nobody"}, {"all": "1", "q": "nothing"}])
    def test_of_none_nothing_is_done(self, operator: Client, fields: dict[str, str]) -> None:
        changed(a_worker("w1"), intent="draining")
        answer = operator.post("/fleet/undrain", fields, follow=True)
        assert "Not done: no worker" in answer.content.decode()
        assert Worker.objects.get().intent == "draining"

    def test_the_list_has_ticks_for_operators_alone(self, page: Client, operator: Client) -> None:
        a_worker("w1")
        assert 'form="bulk"' in shown(operator, "/workers", q="w1")
        assert "/fleet/labels?all=1&amp;q=w1&amp;count=1" in shown(operator, "/workers", q="w1")
        assert 'form="bulk"' not in shown(page, "/workers")

    def test_ticked_workers_are_retired_all_or_none(self, operator: Client) -> None:
        for name in ("w1", "w2"):
            a_worker(name)
        a_job(placement={"worker_ids": ["w2"]})
        a_pass(timezone.now())
        assert "Retire 2 workers?" in shown(operator, "/fleet/retire", worker=["w1", "w2"])
        late = operator.post("/fleet/retire", {"worker": ["w1", "w2"]}, follow=True)
        assert "w2 still runs" in late.content.decode()
        assert not Worker.objects.filter(intent="retired").exists()
        done = operator.post("/fleet/retire", {"worker": ["w1"]}, follow=True)
        assert "w1 is retired." in done.content.decode()
