"""Remarks on names that nothing has, each with the nearest that exists."""

from __future__ import annotations

import pytest

from scheduler.core.fleet import WorkerView
from scheduler.core.nearest import nearest
from scheduler.core.reasons import Note, NoteCode
from scheduler.core.spec import QueueEntry
from tests.core.builders import a_job, a_worker, an_environment
from tests.core.conftest import Decide

fleet = [
    a_worker("gpu-07", labels={"zone": "a", "disk": "ssd"}),
    a_worker("gpu-70", labels={"zone": "b"}, environments={"train": an_environment()}),
]


def note(code: str, subject: str, near: str | None) -> Note:
    return Note(code=NoteCode(code), subject=subject, nearest=near)


NOTES = [
    pytest.param(a_job(), [], [Note(code=NoteCode.NO_WORKERS)], id="there are no workers"),
    pytest.param(a_job(workers=["x"], labels={"a": "b"}), [], [Note(code=NoteCode.NO_WORKERS)], id="and that is all"),
    pytest.param(a_job(workers=["gpu-07"]), fleet, [], id="a name that exists"),
    pytest.param(
        a_job(workers=["gpu-7"]), fleet, [note("pinned_unknown", "gpu-7", "gpu-07")], id="a pin one letter short"
    ),
    pytest.param(
        a_job(workers=["gpu-07", "tpu"]), fleet, [note("pinned_unknown", "tpu", None)], id="a pin like nothing there is"
    ),
    pytest.param(
        a_job(labels={"zone": "A"}), fleet, [note("label_unknown", "zone=A", "zone=a")], id="a value in another case"
    ),
    pytest.param(
        a_job(labels={"zoen": "a", "disk": "hdd"}), fleet,
        [note("label_unknown", "disk=hdd", None), note("label_unknown", "zoen=a", "zone")], id="one for each label",
    ),
    pytest.param(
        a_job(environment="trian"), fleet, [note("environment_unknown", "trian", "train")], id="a misspelt environment"
    ),
    pytest.param(a_job(environment="train"), fleet, [], id="an environment that one worker has"),
]  # fmt: skip


@pytest.mark.parametrize(("job", "workers", "expected"), NOTES)
def test_notes(decide: Decide, job: QueueEntry, workers: list[WorkerView], expected: list[Note]) -> None:
    assert list(decide(job, workers).notes) == expected


NEAREST = [
    pytest.param("gpu-7", {"gpu-70", "gpu-07"}, "gpu-07", id="of two as near the first"),
    pytest.param("GPU-07", {"gpu-07", "gpu-08"}, "gpu-07", id="letter case is no difference"),
    pytest.param("abc", {"xyz"}, None, id="nothing is near"),
    pytest.param("", {"a"}, "a", id="one letter is near the empty name"),
    pytest.param("abcdef", {"abcdefgh", "abcdex"}, "abcdex", id="fewest changes"),
    pytest.param("a", set(), None, id="nothing exists"),
    pytest.param("trian", {"train", "triad", "tria"}, "train", id="two letters swapped are one change"),
    pytest.param("gpu-000001", {"gpu-999991"}, None, id="four letters are too many"),
]


@pytest.mark.parametrize(("name", "known", "expected"), NEAREST)
def test_the_nearest_name(name: str, known: set[str], expected: str | None) -> None:
    assert nearest(name, frozenset(known)) == expected
