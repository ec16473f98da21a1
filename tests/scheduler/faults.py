"""What may happen at the worst moment of a pass."""

from __future__ import annotations

from django.db import OperationalError

from scheduler.services import passes


def between_snapshot_and_commit(act):
    """Do `act` after a pass has decided and before it commits anything; not again in a pass that `act` runs."""
    return before_each_batch(lambda batch: act() if batch == 0 else None)


class before_each_batch:  # noqa: N801 - reads as a statement
    """Call `act` with the number of each batch before it is committed."""

    def __init__(self, act):
        self.act = act

    def __enter__(self):
        self.real, self.batch = passes.commit, 0
        passes.commit = self.commit

    def __exit__(self, *_):
        passes.commit = self.real

    def commit(self, plans, work):
        batch, self.batch = self.batch, self.batch + 1
        self.act(batch)
        return self.real(plans, work)


class FailsAt:
    """Refuses the n-th statement."""

    def __init__(self, number):
        self.number, self.count = number, 0

    def __call__(self, execute, sql, params, many, context):
        self.count += 1
        if self.count == self.number:
            raise OperationalError("the database went away")
        return execute(sql, params, many, context)
