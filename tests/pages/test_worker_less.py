"""A worker that reads less than it had, as its page says it, and the operator's Accept."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from scheduler.core.parsing import parse_worker_facts
from tests.factories import a_user, a_worker, changed, worker_document
from workers.models import Worker
from workers.services.facts import kept_document

pytestmark = pytest.mark.django_db
GONE = "device 1, NVIDIA A100-SXM4-80GB (GPU-w1-1): not found"


@pytest.fixture
def less() -> Worker:
    worker = a_worker("w1", gpus="2xA100")
    offered = kept_document(parse_worker_facts(worker_document("w1", gpus="1xA100")))
    return changed(worker, offered_facts=offered, offered_at=worker.last_seen_at)


def text(client: Client, *place: str) -> str:
    return client.get(reverse(*place[:1], args=place[1:])).content.decode()


def test_everybody_sees_what_is_gone_and_operators_may_accept_it(less: Worker, page: Client, operator: Client) -> None:
    for client, may in ((page, False), (operator, True)):
        assert GONE in text(client, "worker", "w1")
        assert ("Accept…" in text(client, "worker", "w1")) is may
    assert page.get(reverse("worker-accept", args=["w1"])).status_code == 403
    assert page.post(reverse("worker-accept", args=["w1"])).status_code == 403


def test_accepting_asks_first_and_then_says_so(less: Worker, operator: Client) -> None:
    place = reverse("worker-accept", args=["w1"])
    asked = operator.get(place).content.decode()
    assert GONE in asked
    assert "Nothing is stopped" in asked
    assert "<dialog" in operator.get(place, headers={"HX-Request": "true"}).content.decode()
    after = operator.post(place, follow=True).content.decode()
    assert "has from now on what it read last" in after
    assert "It reads less than it had" not in after
    assert Worker.objects.get().facts.number == 2  # type: ignore[union-attr]


def test_what_nobody_offers_cannot_be_accepted(operator: Client) -> None:
    a_worker("w1")
    place = reverse("worker-accept", args=["w1"])
    assert operator.get(place).headers["Location"] == reverse("worker", args=["w1"])
    assert "nothing to accept" in operator.post(place, follow=True).content.decode()
    assert operator.get(reverse("worker-accept", args=["nobody"])).status_code == 404


def test_somebody_who_is_not_signed_in_is_asked_to(client: Client) -> None:
    a_user("mira")
    a_worker("w1")
    assert "/signin" in client.post(reverse("worker-accept", args=["w1"])).headers["Location"]
