"""What this host's owner decided for the jobs that run here."""

from __future__ import annotations

from dataclasses import dataclass, field

from workers.agent.cgroups import Cgroups

LOG_BYTES = 1024**3
PROCESSES = 16_384
OPEN_FILES = 65_536
QUARANTINE_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Limits for each task, and whose rights it has."""

    run_as_submitter: bool = False
    """The agent is root, and each job runs as its submitter's account."""
    log_bytes: int = LOG_BYTES
    """The most that is kept of one task's output here."""
    processes: int = PROCESSES
    """The most processes and threads of a task (where there is no cgroup: of the user that jobs run as)."""
    memory: int | None = None
    """Bytes that a task may use (where there is no cgroup: each of its processes, as data)."""
    open_files: int = OPEN_FILES
    quarantine_s: float = QUARANTINE_SECONDS
    """How long after SIGKILL a process may live before its devices are reported unhealthy."""
    cgroups: Cgroups = field(default_factory=Cgroups)

    def limits(self) -> dict[str, int]:
        """What the kernel is told by setrlimit: no core dump either, it could hold secrets."""
        limits = {"core": 0, "nofile": self.open_files}
        if not self.cgroups.available:
            limits |= {"nproc": self.processes} | ({"data": self.memory} if self.memory else {})
        return limits

    def cgroup(self, tag: str) -> str | None:
        """A new cgroup for one task; none where this host has none to give."""
        return self.cgroups.make(tag, processes=self.processes, memory=self.memory)

    def in_words(self) -> str:
        """What is limited here, and by what."""
        what = f"{self.processes:,} processes" + (f" and {self.memory:,} bytes of memory" if self.memory else "")
        if self.cgroups.available:
            return f"each task may use {what} (its own cgroup)"
        return f"limits: {what}, by rlimit for the user that jobs run as (no cgroup is delegated to this agent)"
