"""Read by each Python process whose wall clock libfaketime sets: `clock_nanosleep` it can't answer, `select` it can."""

import select
import time


def sleep(seconds: float) -> None:
    """As `time.sleep` does."""
    select.select([], [], [], seconds)


time.sleep = sleep
