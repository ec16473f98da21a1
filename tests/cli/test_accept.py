"""`gpulayer worker accept`: an operator lets a worker have less than it had."""

from __future__ import annotations

import pytest

from scheduler.core.parsing import parse_worker_facts
from tests.cli.conftest import Commands
from tests.factories import a_worker, changed, worker_document
from workers.models import Worker
from workers.services.facts import kept_document

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_a_worker_has_less_of_is_accepted_and_said(cli: Commands) -> None:
    worker = a_worker("w1", gpus="2xA100")
    offered = kept_document(parse_worker_facts(worker_document("w1", gpus="1xA100")))
    changed(worker, offered_facts=offered, offered_at=worker.last_seen_at)
    done = cli("worker", "accept", "w1")
    assert done.exit_code == 0, done.output
    assert done.stdout == ("w1 has from now on:\n  device 1, NVIDIA A100-SXM4-80GB (GPU-w1-1): not found\n")
    assert Worker.objects.get().offered_facts is None


@pytest.mark.parametrize(("name", "said"), [("w1", "there is nothing to accept"), ("nobody", "no worker 'nobody'")])
def test_what_nobody_offers_is_not_accepted(cli: Commands, name: str, said: str) -> None:
    a_worker("w1")
    done = cli("worker", "accept", name)
    assert done.exit_code != 0
    assert said in done.output
