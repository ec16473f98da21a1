"""What the roll-up of the queue adds to a pass: it is made there and stored, so that no page makes it."""

from __future__ import annotations

from random import Random

from django.utils import timezone

from benchmarks.pages_history import end_some, let_run
from scheduler.models import SchedulingPass
from scheduler.services.passes import run_pass
from scheduler.services.phases import Phases

ROLL_UP = ("roll-up", "count")
MOST_SECONDS = 1.0
PASSES = 3
"""The first of them learns what a process learns only once."""


def report() -> int:
    """Let jobs end and passes look at it; print where the time of the last one went. Returns whether it is too much."""
    print("\nthe roll-up of the queue, in a pass after which some jobs have ended", flush=True)
    for number in range(PASSES):
        end_some(2, Random(number), timezone.now())
        phases = Phases()
        run_pass(now=timezone.now(), holder="bench", phases=phases)
        let_run(timezone.now())
    seconds = sum(phases.seconds.get(phase, 0.0) for phase in ROLL_UP)
    over = seconds > MOST_SECONDS
    print(f"  {seconds:.2f} s of {MOST_SECONDS:.0f} s{'  OVER ITS BUDGET' if over else ''}; {phases}", flush=True)
    return int(over)


def go_on() -> None:
    """Passes find nothing new, and say so every few seconds."""
    latest = SchedulingPass.objects.order_by("-number").values("pk")[:1]
    SchedulingPass.objects.filter(pk__in=latest).update(confirmed_at=timezone.now())
