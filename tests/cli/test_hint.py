"""Whoever names no target is told where else the job could run, once it is known that it never fits here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpulayer_site.client import People, connect
from scheduler.cli_hint import hint_for, other_targets
from scheduler.cli_paths import job_path
from tests.cli.conftest import Commands
from tests.factories import a_job, a_pass, a_worker

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def people(cli: Commands, monkeypatch: pytest.MonkeyPatch) -> Iterator[People]:
    for name, value in cli.environment.items():
        monkeypatch.setenv(name, value)
    people = connect()
    yield people
    people.close()


def test_a_job_that_fits_elsewhere_only_is_told_which_target_to_name(people: People) -> None:
    a_worker("here", gpus="1xT4")
    a_worker("there", gpus="2xH100", origin="remote")
    never, waits = a_job(gpus=2), a_job(gpus=1)
    a_pass()
    told = other_targets(people, people.get(job_path(never.job_id)))
    assert told == ("hint: no target was named, so it is local only; 1 remote worker could run it: --target remote")
    assert other_targets(people, people.get(job_path(waits.job_id))) == ""


def test_where_no_other_target_helps_there_is_nothing_to_say(people: People) -> None:
    a_worker("here", gpus="1xT4")
    job = a_job(gpus=2)
    a_pass()
    assert other_targets(people, people.get(job_path(job.job_id))) == ""


@pytest.mark.parametrize("asked", [{"target": "local"}, {"fallback": ("cloud",)}])
def test_who_named_a_target_meant_it(asked: dict[str, object]) -> None:
    assert hint_for({}, asked) is None
    assert hint_for({"target": "local"}, {}) is None
    assert hint_for({}, {"target": None, "fallback": ()}) is other_targets
