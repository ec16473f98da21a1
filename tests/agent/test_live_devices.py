"""Devices that come, go and are used while an agent runs, as the real server sees them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.agent.nvml_double import H100, LOST, MIB, Error
from tests.agent.test_live import Here, credential, start
from tests.live import Server, server
from workers.models import Device, Event, Worker

__all__ = ["credential", "server", "start"]
pytestmark = pytest.mark.django_db(transaction=True)
FIRST, SECOND = H100 | {"uuid": "GPU-a"}, H100 | {"uuid": "GPU-b"}


def device(uuid: str) -> Device:
    return Device.objects.get(uuid=uuid)


def test_a_device_that_is_lost_is_unhealthy_and_well_again_when_it_is_back(
    server: Server, start: Callable[[], Here]
) -> None:
    here = start()
    here.double.devices[0] = Error(LOST)
    server.until(lambda: device("GPU-a").health_note == "gpu is lost")
    assert (device("GPU-a").healthy, device("GPU-a").present) == (False, True)
    assert device("GPU-b").healthy is not False
    here.double.devices[0] = FIRST
    server.until(lambda: device("GPU-a").healthy)
    assert Worker.objects.get().offered_facts is None


def test_a_device_that_goes_away_is_missing_and_offered(server: Server, start: Callable[[], Here]) -> None:
    here = start()
    here.double.devices = [SECOND]
    server.until(lambda: Worker.objects.get().offered_facts is not None)
    assert (device("GPU-a").present, device("GPU-b").present, device("GPU-b").index) == (False, True, 0)
    here.double.devices = [FIRST, SECOND]
    server.until(lambda: device("GPU-a").present and Worker.objects.get().offered_facts is None)


def test_a_worker_whose_nvml_fails_is_unhealthy_until_it_answers(server: Server, start: Callable[[], Here]) -> None:
    here = start()
    here.double.devices = []
    server.until(lambda: Worker.objects.get().health == "unhealthy")
    assert "could not start them" in Worker.objects.get().unknown["devices"]
    here.double.devices = [FIRST, SECOND]
    server.until(lambda: Worker.objects.get().health == "ok")
    assert Worker.objects.get().unknown == {}


def test_a_task_on_a_device_that_it_does_not_hold_is_told_on_its_job(server: Server, start: Callable[[], Here]) -> None:
    here = start()
    job_id = server.submit("sleep", "600", resources={"gpus": 1})
    task = server.until_running(job_id)
    held, other = (FIRST, SECOND) if task.devices == [0] else (SECOND, FIRST)
    at = {held["uuid"]: 500, other["uuid"]: 2000}
    here.double.devices = [each | {"processes": [(task.pid, at[each["uuid"]])]} for each in (FIRST, SECOND)]
    server.until(lambda: Event.objects.filter(subject_kind="job", subject=job_id, verb="stray").exists())
    server.until(lambda: device(str(other["uuid"])).foreign_memory == 2000 * MIB)
    mine = device(str(held["uuid"]))
    assert [(each["pid"], each["task"]) for each in mine.processes] == [(task.pid, task.pk)]
    assert mine.foreign_memory == 0
