"""Requirements on time: how long a job may run before a reservation begins, and whether it waits for its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from scheduler.core.asks import Ask, Stage, all_or_nothing
from scheduler.core.asks_host import rounded
from scheduler.core.edits import with_placement
from scheduler.core.parsing_run import SHORTEST_HOLD
from scheduler.core.reasons import Code
from scheduler.core.scene import Scene
from scheduler.core.spec import JobSpec
from scheduler.core.words import lasting

MINUTE, HOUR = 60, 3600


def asks_of_time(spec: JobSpec) -> Iterator[Ask]:
    """Those that the job states; to be without a time limit is to ask for all the time there is."""
    if spec.placement.reserved_only:
        yield _OWN_ONLY
    yield _LIMIT if spec.hold_s is None else _HOLD


def _limited(spec: JobSpec, seconds: int) -> JobSpec:
    return replace(spec, timeout_s=seconds) if spec.hold_s is None else replace(spec, hold_s=seconds)


def _shortest(spec: JobSpec) -> int:
    return 1 if spec.hold_s is None else SHORTEST_HOLD


def _loosest(spec: JobSpec, scene: Scene) -> Sequence[JobSpec]:
    least = _shortest(spec)
    asked = spec.limit_s
    return (_limited(spec, least),) if scene.board.gaps and (asked is None or asked > least) else ()


def _shorter(spec: JobSpec, scene: Scene, workers: int) -> Sequence[Stage]:
    """The times until reservations begin, the longest first, as people say them: what is done by then fits."""
    asked, least = spec.limit_s, _shortest(spec)
    gaps = {_said(gap) for gap in scene.board.gaps if asked is None or gap < asked}
    return [[(_limited(spec, gap), lasting(gap))] for gap in sorted({*gaps, least}, reverse=True) if gap >= least]


def _said(gap: int) -> int:
    """Whole minutes, of more than an hour by fives, where it is at least two of them."""
    return rounded(gap, 5 * MINUTE if gap >= HOUR else MINUTE)


def _limit_of(spec: JobSpec) -> str:
    return "none" if spec.limit_s is None else lasting(spec.limit_s)


def _ask(field: str, label: str) -> Ask:
    return Ask(
        field=field, label=label, said=_limit_of, codes=frozenset({Code.RESERVED_FROM, Code.GPU_RESERVED_FROM}),
        loosest=_loosest, stages=_shorter,
    )  # fmt: skip


_LIMIT, _HOLD = _ask("timeout_s", "time limit"), _ask("hold_s", "length of the hold")
_OWN_ONLY = all_or_nothing(
    "placement.reserved_only",
    "its own reservation only",
    {Code.NOT_RESERVED, Code.GPU_NOT_RESERVED},
    lambda spec: "yes",
    lambda spec: with_placement(spec, reserved_only=False),
    word="no",
)
