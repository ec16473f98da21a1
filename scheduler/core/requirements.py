"""Every requirement of a job that an edit could loosen, in the order of the checks."""

from __future__ import annotations

from scheduler.core.asks import Ask
from scheduler.core.asks_devices import asks_of_devices
from scheduler.core.asks_host import asks_of_host
from scheduler.core.asks_place import asks_of_place
from scheduler.core.asks_software import asks_of_gang, asks_of_software
from scheduler.core.asks_time import asks_of_time
from scheduler.core.spec import JobSpec


def requirements(spec: JobSpec) -> tuple[Ask, ...]:
    """What the job states; what it doesn't state is not here."""
    return (
        *asks_of_place(spec), *asks_of_host(spec), *asks_of_software(spec), *asks_of_devices(spec), *asks_of_gang(spec),
        *asks_of_time(spec),
    )  # fmt: skip
