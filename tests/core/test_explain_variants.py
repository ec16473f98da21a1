"""Workers with the same codes differ in figures; each different sentence says of how many it is."""

from __future__ import annotations

from scheduler.core.reasons import Code
from scheduler.core.rule import decide
from scheduler.core.schedule import schedule
from scheduler.core.variants import lines, variants
from tests.core.builders import GB, a_job, a_worker

JOB = a_job(gpus=2, gpu_memory=400 * GB)
FLEET = tuple(
    a_worker(f"w{number}", gpus=gpus)
    for number, gpus in enumerate(["2x?", "2x?", "2x?", "2xA100", "2xA100", "2xL4", "2xT4", "2xH100", "T4"])
)
SAID = (
    (
        "3: needs GPUs with ≥ 400 GB each; 0 of 2 are known to have it, the rest is unknown"
        " (an unknown value never satisfies a requirement)"
    ),
    "2: needs GPUs with ≥ 400 GB each; 0 of 2 have it (the largest has 85.9 GB)",
    "… and 3 more like this",
)


def test_the_commonest_sentence_comes_first_and_the_rest_is_counted() -> None:
    decision = decide(JOB, FLEET)
    memory, count = decision.groups()
    told = variants(decision, decision.groups(), most=2)
    assert [said.code for by_code in told for said in by_code] == [Code.GPU_MEMORY, Code.GPU_COUNT]
    assert lines(told[0], len(memory.workers)) == SAID
    assert lines(told[1], len(count.workers)) == ("needs 2 GPUs, has 1",)


def test_it_is_the_same_for_a_decision_of_a_pass() -> None:
    decision = schedule(JOB, FLEET, "j-1")
    assert lines(variants(decision, decision.groups(), most=2)[0], 8) == SAID


def test_workers_against_which_nothing_stands_are_told_nothing() -> None:
    decision = decide(a_job(), FLEET)
    assert variants(decision, decision.groups()) == ((), ())
