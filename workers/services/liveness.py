"""When a worker shall call next, and what is still taken as being there."""

from __future__ import annotations

from django.conf import settings

from workers.models import Liveness, Worker

REAL_SECONDS, REAL_AT_THAT_PACE = 2.0, 50
SIMULATED_SECONDS, SIMULATED_AT_THAT_PACE = 10.0, 1000


def next_in(*, simulated: bool) -> float:
    """Seconds until the next heartbeat is due, more of them the more workers call; agents add their own jitter."""
    calling = Worker.objects.filter(liveness=Liveness.ONLINE, simulated=simulated).count()
    if simulated:
        return paced(SIMULATED_SECONDS, calling, SIMULATED_AT_THAT_PACE)
    return paced(REAL_SECONDS, calling, REAL_AT_THAT_PACE)


def paced(seconds: float, calling: int, at_that_pace: int) -> float:
    """So long that the server is called no more often than by `at_that_pace` workers every `seconds`."""
    return round(min(settings.GPULAYER_HEARTBEAT_SECONDS, seconds * max(1.0, calling / at_that_pace)), 2)
