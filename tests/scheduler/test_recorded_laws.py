"""Whatever happens: every decision that is kept expands to the bytes that were decided, as long as it is kept."""

from __future__ import annotations

from random import Random

import pytest
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError

from benchmarks.replay import Replay
from scheduler.core.codec import canonical_bytes, decision_to_document
from scheduler.core.schedule import run_pass
from scheduler.memory import forget
from scheduler.models import Decision, Job, JobState, Kept, Reservation, Task
from scheduler.models.decisions import Outcome
from scheduler.queue import take_queue
from scheduler.services import history, ledger
from scheduler.services.jobs import cancel_job
from scheduler.services.recorded import recorded_at
from scheduler.services.reservations import end_reservation, reserve
from scheduler.snapshot import take_fleet
from tests.factories import job_document, worker_document
from workers.changes import bump
from workers.models import Label, LabelSource, Worker
from workers.services import drain, move_worker, undrain

pytestmark = pytest.mark.django_db

CARDS = ("1xT4", "2xA100", "4xA100", "2xT4+1xA100", "8xH100")
JOBS = (
    {},
    {"gpus": 2},
    {"gpus": 4, "resources": {"gpu_memory_gb": 40}},
    {"gpus": 0, "resources": {"cpu_cores": 8, "memory_gb": 24}},
    {"retries": {"max": 2, "on": ["failed"]}},
    {"placement": {"worker_labels": {"zone": "a"}}},
    {"gpus": 1, "target": "local", "fallback_targets": ["remote"], "fallback_when": "incompatible"},
    {"gpus": 1, "distributed": {"num_workers": 2, "launcher": "torchrun", "comm_backend": "nccl"}},
    {"gpus": 4, "resources": {"gpu_models": ["NVIDIA H*"]}, "policy": "most_free_memory"},
)
HOLDERS = ("user:bench", "user:noa", "team:vision", "team:audio")


class History:
    """A small fleet to which things happen by lot, and what was decided in the meantime."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.fleet = [self.document(number) for number in range(7)]
        jobs = [{"spec": job_document(**fields)} for fields in self.dice.sample(JOBS, len(JOBS))]
        self.world = Replay(self.fleet, jobs, waiting=6, seed=seed)
        self.decided: dict[int, bytes] = {}
        self.rows: dict[int, tuple[object, ...]] = {}

    def document(self, number: int) -> dict[str, object]:
        origin = "remote" if number % 3 == 2 else "local"
        return worker_document(
            f"w{number}", gpus=self.dice.choice(CARDS), origin=origin, cpu_cores=self.dice.choice([8, 16, 32]),
            labels={"zone": self.dice.choice("ab")},
        )  # fmt: skip

    def go_on(self) -> None:
        """A few things happen, time goes by, and a pass looks at it."""
        for happens in self.dice.sample(HAPPENINGS, self.dice.randrange(5)):
            happens(self)
        self.world.wait(seconds=self.dice.choice([1, 2, 7, 31, 61]))
        entries = [queued.entry for queued in take_queue() if queued.entry]
        now = run_pass(entries, take_fleet(now=self.world.now).fleet())
        made = {result.entry.job_id: spelled(result.decision) for result in now}
        self.world.decide()
        rows = {row.pk: row for row in Decision.objects.select_related("job")}
        for pk, row in rows.items():
            evidence = (row.pass_row_id, row.position, row.digest, row.seen_at)
            if self.rows.get(pk) != evidence:
                self.rows[pk], self.decided[pk] = evidence, made[row.job.job_id]
        self.decided = {pk: data for pk, data in self.decided.items() if pk in rows}

    def forget_most_jobs(self) -> None:
        """Delete what is kept of all but the youngest, so that the passes before those are needed by nobody."""
        Job.objects.update(decision=None)
        spared = sorted({row[0] for row in Decision.objects.values_list("job")})[-3:]
        Decision.objects.exclude(job__in=spared).delete()
        left = set(Decision.objects.values_list("pk", flat=True))
        self.decided = {pk: data for pk, data in self.decided.items() if pk in left}

    def some(self) -> Worker:
        return self.dice.choice(list(Worker.objects.order_by("pk")))

    def jobs_come(self) -> None:
        self.world.submit(self.dice.randrange(1, 4))

    def a_job_ends(self) -> None:
        if self.world.running:
            self.world.end_one(exit_code=self.dice.choice([0, 0, 1]))

    def a_job_is_taken_back(self) -> None:
        waiting = list(Job.objects.filter(state=JobState.QUEUED).order_by("pk"))
        if waiting:
            cancel_job(job=self.dice.choice(waiting), actor="user:bench", now=self.world.now)

    def a_drain(self) -> None:
        drain(name=self.some().name, note=f"kernel {self.world.finishes}", actor="operator:ada", now=self.world.now)

    def an_undrain(self) -> None:
        undrain(name=self.some().name, actor="operator:ada", now=self.world.now)

    def silence(self) -> None:
        worker = self.some()
        to = self.dice.choice({"online": ["suspect"], "suspect": ["lost", "online"]}.get(worker.liveness, ["online"]))
        move_worker(worker.pk, to, machine="liveness", actor="", now=self.world.now, cause="test")

    def sickness(self) -> None:
        to = self.dice.choice(["ok", "unhealthy"])
        move_worker(self.some().pk, to, machine="health", actor="", now=self.world.now, cause="test", note="fan")

    def a_reservation(self) -> None:
        worker, whole = self.some(), self.dice.random() < 0.5
        try:
            reserve(
                worker=worker, holder=self.dice.choice(HOLDERS), starts_at=self.world.now, ends_at=None,
                devices=() if whole else (0,), actor="operator:ada", now=self.world.now,
            )  # fmt: skip
        except ValidationError:
            assert worker.reservations.filter(cancelled_at=None).exists(), "only what is reserved already is refused"

    def a_reservation_ends(self) -> None:
        running = list(Reservation.objects.filter(cancelled_at=None).order_by("pk"))
        if running:
            end_reservation(reservation=self.dice.choice(running), actor="operator:ada", now=self.world.now)

    def other_labels(self) -> None:
        worker, value = self.some(), self.dice.choice("abc")
        Label.objects.update_or_create(
            worker=worker, key="zone", source=LabelSource.OPERATOR, defaults={"value": value}
        )
        bump([worker.pk])

    def other_facts(self) -> None:
        busy = set(Worker.objects.filter(tasks__released_at=None, tasks__pk__gt=0).values_list("name", flat=True))
        number = self.dice.randrange(len(self.fleet))
        if f"w{number}" not in busy:
            self.world.register([self.document(number)])

    def a_team_is_joined_or_left(self) -> None:
        group, _ = Group.objects.get_or_create(name=self.dice.choice(["vision", "audio"]))
        change = self.dice.choice([self.world.owner.groups.add, self.world.owner.groups.remove])
        change(group)


HAPPENINGS = (
    History.jobs_come, History.jobs_come, History.jobs_come, History.a_job_ends, History.a_job_ends,
    History.a_job_ends, History.a_job_is_taken_back, History.a_drain, History.an_undrain, History.an_undrain,
    History.silence, History.silence,
    History.sickness, History.a_reservation, History.a_reservation_ends, History.other_labels, History.other_facts,
    History.a_team_is_joined_or_left,
)  # fmt: skip


def spelled(decision):
    """All of it, as it would be sent."""
    return canonical_bytes(decision_to_document(decision))


def same_again(history_of):
    """Every kept decision, made again from nothing but rows."""
    forget()
    kept = list(Decision.objects.select_related("job", "pass_row").order_by("pk"))
    assert {row.pk for row in kept} == set(history_of.decided)
    for row in kept:
        found = recorded_at(row)
        assert found.intact
        assert found.same_rules
        assert spelled(found.decision) == history_of.decided[row.pk], f"{row.job.job_id} in pass {row.pass_row.number}"
    return len(kept)


def walk(seed, *, steps):
    happened = History(seed)
    for step in range(steps):
        happened.go_on()
        if step % 25 == 24:
            assert same_again(happened)
    happened.forget_most_jobs()
    return happened, history.prune_passes()


@pytest.fixture
def little_is_kept(monkeypatch):
    """Keyframes come often and few decisions are kept of a job, so that a short history meets every edge."""
    monkeypatch.setattr(ledger, "KEYFRAME_EVERY", 4)
    monkeypatch.setattr(history, "MOST", 4)


@pytest.mark.parametrize("seed", range(3))
def test_every_kept_decision_of_any_history_expands_byte_for_byte(seed, little_is_kept):
    happened, dropped = walk(seed, steps=40)
    assert dropped, "passes that nobody needs are gone"
    assert same_again(happened) >= 3


def test_such_histories_meet_all_that_can_be_decided(little_is_kept):
    happened, met = History(4), set()
    for _ in range(60):
        happened.go_on()
        met |= set(Decision.objects.values_list("outcome", "kept"))
    assert {outcome for outcome, _ in met} == set(Outcome.values)
    assert {kept for _, kept in met} == set(Kept.values)
    assert Task.objects.filter(rank=1).exists(), "a gang was placed"
    assert Task.objects.filter(state="failed").exists(), "a job failed, and is not put there again"


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 200))
def test_a_hundred_longer_histories(seed, little_is_kept):
    happened, _ = walk(seed, steps=200)
    assert same_again(happened) >= 3
