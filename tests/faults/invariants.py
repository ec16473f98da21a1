"""What holds whatever has happened, from the database alone (the ledger has its own)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from tests.faults.database import Database
from tests.faults.ledger import tagged

ENDED = ("succeeded", "failed", "cancelled", "timed_out")
FINAL = {"job": ENDED, "task": (*ENDED, "revoked", "lost"), "attempt": (*ENDED, "revoked", "lost")}
QUERIES = {
    "I2: a device is held twice": """
        SELECT device_id AS what FROM scheduler_devicehold WHERE released_at IS NULL
        GROUP BY device_id HAVING count(*) > 1""",
    "I3: a job has two live attempts": """
        SELECT job_id AS what FROM scheduler_attempt WHERE active GROUP BY job_id HAVING count(*) > 1""",
    "I7: a job is over while an attempt is not": f"""
        SELECT j.job_id AS what FROM scheduler_job j JOIN scheduler_attempt a ON a.job_id = j.id
        WHERE a.active AND j.state IN {ENDED}""",
    "I7: a job that is assigned or running has no attempt": """
        SELECT j.job_id AS what FROM scheduler_job j WHERE j.state IN ('assigned', 'running') AND NOT EXISTS (
            SELECT 1 FROM scheduler_attempt a WHERE a.job_id = j.id AND a.active)""",
    "I7: a job succeeded though a task of its last attempt did not": """
        SELECT j.job_id AS what FROM scheduler_job j JOIN scheduler_attempt a ON a.job_id = j.id
        JOIN scheduler_task t ON t.attempt_id = a.id
        WHERE j.state = 'succeeded' AND t.state <> 'succeeded'
        AND a.number = (SELECT max(b.number) FROM scheduler_attempt b WHERE b.job_id = j.id)""",
    "I7: an attempt is over while a task of it is not": """
        SELECT a.id AS what FROM scheduler_attempt a JOIN scheduler_task t ON t.attempt_id = a.id
        WHERE NOT a.active AND t.finished_at IS NULL""",
    "I8: a later attempt has a smaller fence": """
        SELECT a.job_id AS what FROM scheduler_attempt a JOIN scheduler_attempt b
        ON a.job_id = b.job_id AND a.number < b.number AND a.fence >= b.fence""",
    "I2: a hold is open though its task was released": """
        SELECT h.id AS what FROM scheduler_devicehold h JOIN scheduler_task t ON t.id = h.task_id
        WHERE h.released_at IS NULL AND t.released_at IS NOT NULL""",
}


def violations(database: Database, submitted: Iterable[str] = (), *, folder: Path) -> list[str]:
    """What does not hold, a line each; `submitted` are the jobs that the server said it has, `folder` the rig's."""
    found = [f"{name}: {row['what']}" for name, query in QUERIES.items() for row in database.rows(query)]
    return [*found, *_lost(database, submitted), *_trail(database), *_left_alive(database, folder)]


def _lost(database: Database, submitted: Iterable[str]) -> Iterator[str]:
    """I5: an acknowledged job is there, and ended or says why it waits."""
    rows = {row["job_id"]: row for row in database.rows("SELECT job_id, state, paused_text FROM scheduler_job")}
    for job_id in submitted:
        row = rows.get(job_id)
        if row is None:
            yield f"I5: {job_id} was acknowledged and is gone"
        elif row["state"] not in ENDED and not (row["state"] == "paused" and row["paused_text"]):
            yield f"I5: {job_id} is {row['state']}"
    twice = """
        SELECT idempotency_key AS what FROM scheduler_job WHERE idempotency_key IS NOT NULL
        GROUP BY idempotency_key HAVING count(*) > 1"""
    yield from (f"I5: two jobs of one key: {row['what']}" for row in database.rows(twice))


def _trail(database: Database) -> Iterator[str]:
    """I6 and I11: the moves of a subject form one chain that ends at its state and never leaves an end."""
    states = {
        kind: {
            str(row["key"]): row["state"] for row in database.rows(f"SELECT {key} AS key, state FROM scheduler_{kind}")
        }
        for kind, key in (("job", "job_id"), ("task", "id"), ("attempt", "id"))
    }
    moves: defaultdict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for row in database.rows(
        "SELECT subject_kind, subject, before, after, actor FROM workers_event WHERE verb = 'state' ORDER BY id"
    ):
        moves[row["subject_kind"], row["subject"]].append(row)
    for (kind, subject), chain in moves.items():
        for earlier, later in pairwise(chain):
            if earlier["after"] != later["before"]:
                yield f"I11: {kind} {subject} went to {earlier['after']}, then on from {later['before']}"
            if earlier["after"] in FINAL.get(kind, ()):
                yield f"I6: {kind} {subject} left its end {earlier['after']}"
        if subject in states.get(kind, {}) and states[kind][subject] != chain[-1]["after"]:
            yield f"I11: {kind} {subject} is {states[kind][subject]}, its last event says {chain[-1]['after']}"


def _left_alive(database: Database, folder: Path) -> Iterator[str]:
    """I10: what is released has no process."""
    released = """
        SELECT a.fence FROM scheduler_task t JOIN scheduler_attempt a ON a.id = t.attempt_id
        WHERE t.released_at IS NOT NULL"""
    for row in database.rows(released):
        for pid in tagged(int(row["fence"]), folder):
            yield f"I10: fence {row['fence']} was released and process {pid} carries its tag"
