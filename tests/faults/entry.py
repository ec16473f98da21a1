"""What jobs of the fault tests run: it writes its own life into the ledger. Standard library only.

    python entry.py LEDGER [words]

Words: `sleep:S` (seconds), `lines:N` (numbered lines on standard output), `deaf` (SIGTERM is ignored),
`daemon:S` (leaves a process behind in a session of its own), `kill-parents` (SIGKILL to everything above it that is
gpulayer's), `exit:N`. One line a fact, in one write: `job,task,fence,devices,what,boottime_ns,pid`.
"""

import os
import signal
import sys
import time
from pathlib import Path


def main() -> int:
    """Do as the words say; the exit code is the last word's."""
    ledger, *words = sys.argv[1:]
    job, task, fence = os.environ["GPULAYER_TASK"].split(".")[:3]
    head = ",".join([job, task, fence, os.environ.get("CUDA_VISIBLE_DEVICES", "").replace(",", "+")])

    def note(what: str) -> None:
        file = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        line = f"{head},{what},{time.clock_gettime_ns(time.CLOCK_BOOTTIME)},{os.getpid()}\n"
        os.write(file, line.encode())
        os.close(file)

    def end(number: int, _frame: object) -> None:
        note("END")
        os._exit(128 + number)

    signal.signal(signal.SIGTERM, signal.SIG_IGN if "deaf" in words else end)
    note("START")
    code = 0
    for word in words:
        name, _, value = word.partition(":")
        if name == "sleep":
            time.sleep(float(value))
        elif name == "lines":
            for number in range(int(value)):
                print(f"line {number}", flush=number % 100 == 0)
            sys.stdout.flush()
        elif name == "daemon":
            leave_behind(float(value), note)
        elif name == "kill-parents":
            kill_parents()
        elif name == "exit":
            code = int(value)
    note("END")
    return code


def leave_behind(seconds: float, note) -> None:  # type: ignore[no-untyped-def]
    """A process that a group's signal does not reach: forked twice, in a session of its own."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            note("DAEMON")
            time.sleep(seconds)
        os._exit(0)
    os.wait()


def kill_parents() -> None:
    """SIGKILL to each process above this one whose command line is gpulayer's."""
    pid = os.getppid()
    while pid > 1:
        folder = Path(f"/proc/{pid}")
        words = (folder / "cmdline").read_bytes()
        above = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        if b"workers" not in words and b"tests.faults" not in words:
            return
        os.kill(pid, signal.SIGKILL)
        pid = above


if __name__ == "__main__":
    sys.exit(main())
