"""Who lifts a drain while the worker is found empty is never in the way of that, nor it in theirs."""

from __future__ import annotations

from collections.abc import Callable
from threading import Barrier, Thread

import pytest
from django.db import connection

from scheduler.services.silence import finish_draining
from tests.factories import NOW, a_worker
from workers.models import Event
from workers.services import drain, undrain

ROUNDS = 40


@pytest.mark.django_db(transaction=True)
def test_lifted_while_it_is_found_empty() -> None:
    worker = a_worker("w1")
    went_wrong: list[Exception] = []
    for _ in range(ROUNDS):
        drain(name="w1", note="new fans", actor="user:ada", now=NOW)
        together = Barrier(2)

        def at_once(act: Callable[[], object], together: Barrier = together) -> None:
            together.wait()
            try:
                act()
            except Exception as error:
                went_wrong.append(error)
            finally:
                connection.close()

        acts = (lambda: finish_draining(NOW), lambda: undrain(name="w1", actor="user:ada", now=NOW))
        threads = [Thread(target=at_once, args=(act,)) for act in acts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        worker.refresh_from_db()
        assert (went_wrong, worker.intent) == ([], "active")
    assert Event.objects.filter(verb="intent", after="active").count() == ROUNDS
