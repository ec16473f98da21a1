"""Somebody else keeps the whole database for a while: calls wait for it, and nobody is blamed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection

from tests.api.callers import Caller, Placed
from tests.api.gangs import beat, finish, run, states
from workers.models import Liveness, Worker

pytestmark = pytest.mark.django_db(transaction=True)

BUSY_SECONDS = 1.5
_LOCKS = {
    "sqlite": ("BEGIN EXCLUSIVE",),
    "postgresql": ("BEGIN", "LOCK TABLE scheduler_task, scheduler_job, workers_worker IN ACCESS EXCLUSIVE MODE"),
}


@contextmanager
def busy() -> Iterator[threading.Event]:
    """Another connection holds everything; the event is set when it has let go."""
    taken, gone = threading.Event(), threading.Event()

    def hold() -> None:
        with connection.cursor() as cursor:
            for statement in _LOCKS[connection.vendor]:
                cursor.execute(statement)
            taken.set()
            threading.Event().wait(BUSY_SECONDS)
            gone.set()
            cursor.execute("COMMIT")
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert taken.wait(30)
    try:
        yield gone
    finally:
        thread.join()


def test_calls_wait_for_a_busy_database_and_are_done_then(agent: Caller, placed: Placed) -> None:
    run(agent, placed)
    with busy() as gone:
        told = beat(agent, placed)
        assert gone.is_set(), "it waited"
    assert told["kill"] == []
    with busy() as gone:
        assert finish(agent, placed).status_code == 200
        assert gone.is_set()
    assert states(placed) == ("succeeded", "succeeded", "succeeded")
    assert Worker.objects.get().liveness == Liveness.ONLINE
