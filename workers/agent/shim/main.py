"""The shim's life: take the locks, write down the intent, start the command, keep its output, see it to its end."""

from __future__ import annotations

import os
import sys

from workers.agent.shim import files, linux, sweep
from workers.agent.shim.causes import cause
from workers.agent.shim.control import Inbox
from workers.agent.shim.failures import spawn_failure
from workers.agent.shim.files import Reserved, write_whole
from workers.agent.shim.locks import BusyError, hold
from workers.agent.shim.output import Output
from workers.agent.shim.plan import Plan, read_plan
from workers.agent.shim.signals import Wake
from workers.agent.shim.spawn import Running, SpawnError, spawn
from workers.agent.shim.watch import Watch

LOCK_HANDLE = 3
"""The descriptor by which the agent hands over the lock that says "this shim lives"."""
CONTROL_HANDLE = 4
"""The same for the FIFO by which the agent speaks."""


def main(folder: str) -> None:
    """Run the task whose folder this is, with the plan on standard input."""
    for handle in (LOCK_HANDLE, CONTROL_HANDLE):
        os.set_inheritable(handle, False)
    plan = read_plan(0)
    if plan is None:
        return
    os.umask(0o077)
    os.chdir("/")
    result = Reserved(f"{folder}/{files.RESULT}")
    try:
        locks = [_hold(name, path) for name, path in plan.locks.items()]
    except _RefusedError as refused:
        result.write({"declined": refused.cause})
        return
    linux.adopt_orphans()
    wake = Wake()
    output = Output(f"{folder}/{files.LOG}", kept=plan.log_bytes, secrets=plan.secrets)
    inbox = Inbox(CONTROL_HANDLE)
    running = None
    if plan.argv is None:
        write_whole(f"{folder}/{files.STARTED}", {"pid": 0, "start": 0, "boot_id": files.boot_id()})
    elif (running := _start(folder, plan, locks, output, result)) is None:
        return
    Watch(folder, plan, running, output=output, inbox=inbox, wake=wake, result=result).run()


class _RefusedError(Exception):
    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.cause = cause(code, detail)


def _hold(name: str, path: str) -> int:
    try:
        return hold(path)
    except BusyError:
        raise _RefusedError("device_busy", f"{name} is held by another task of this host ({path})") from None
    except OSError as error:
        raise _RefusedError("device_busy", f"the lock of {name} ({path}): {error.strerror}") from None


def _start(folder: str, plan: Plan, locks: list[int], output: Output, result: Reserved) -> Running | None:
    """The running command; none where it could not be started, which is its result then."""
    assert plan.argv is not None
    boot = files.boot_id()
    write_whole(f"{folder}/{files.INTENT}", {"shim": os.getpid(), "boot_id": boot, "tag": plan.tag})
    try:
        running = spawn(
            plan.argv, plan.env, plan.folder, limits=plan.limits, user=plan.user, inherited=locks, cgroup=plan.cgroup
        )
    except (SpawnError, ValueError) as error:
        why = spawn_failure(error, plan.argv[0], plan.folder, plan.env)
        output.say(why["detail"])
        output.end()
        result.write({"start_error": why})
        return None
    process = sweep.process(running.pid)
    start = process.start if process else 0
    write_whole(f"{folder}/{files.STARTED}", {"pid": running.pid, "start": start, "boot_id": boot})
    return running


if __name__ == "__main__":
    main(sys.argv[1])
