"""What jobs of the fault tests run: it writes its own life into the ledger. Standard library only.

    python entry.py LEDGER [words]

Words: `sleep:S` (seconds), `lines:N` (numbered lines on standard output), `deaf` (SIGTERM is ignored),
`daemon:S` (leaves a process behind in a session of its own), `kill-parents` (SIGKILL to everything above it that is
gpulayer's), `flood:MB` and `endless:MB` (that much at full speed, in lines or without an end of line), `ticks:S` (ten
times a second the instant at which it is written), `bomb:N` (so many processes at once), `hog:MB` (that much RAM),
`exit:N`. One line a fact, in one write: `job,task,fence,devices,what,boottime_ns,pid`.
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
        elif name in LOADS:
            LOADS[name](int(value))
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


def flood(megabytes: int) -> None:
    """Lines at full speed."""
    block = (b"." * 99 + b"\n") * 10_000
    for _ in range(megabytes):
        sys.stdout.buffer.write(block)
    sys.stdout.flush()


def endless(megabytes: int) -> None:
    """One line, with NULs and bytes that are no text."""
    block = (b"\0\xff" + b"." * 98) * 10_000
    for _ in range(megabytes):
        sys.stdout.buffer.write(block)
    sys.stdout.flush()


def ticks(seconds: int) -> None:
    """Ten lines a second: the nanoseconds of CLOCK_BOOTTIME."""
    for _ in range(10 * seconds):
        print(time.clock_gettime_ns(time.CLOCK_BOOTTIME), flush=True)
        time.sleep(0.1)


def bomb(processes: int) -> None:
    """Fork until it is refused, or this often; the processes stay for a while. Refused: an error, as anywhere."""
    for number in range(processes):
        print("alive", number, flush=True)
        if os.fork() == 0:
            time.sleep(5)
            os._exit(0)
    time.sleep(5)


def hog(megabytes: int) -> None:
    """Take RAM and use all of it."""
    taken = []
    for number in range(megabytes):
        print("taken", number, flush=True)
        taken.append(bytearray(b"x" * 1_000_000))
    time.sleep(1)


LOADS = {"flood": flood, "endless": endless, "ticks": ticks, "bomb": bomb, "hog": hog}


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
