"""The process that a person starts. It starts the supervisor, passes signals on, and outlives it to clean up."""

import os
import signal
import subprocess
import sys
from types import FrameType

from gpulayer_site.up import linux

_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def keep() -> int:
    """Run an installation in the foreground; returns its exit code.

    With `GPULAYER_END_WITH_PARENT` set it also stops when the program that started it (make) is killed.
    """
    if os.environ.get("GPULAYER_END_WITH_PARENT"):
        linux.die_with_parent(signal.SIGTERM)
    linux.adopt_orphans()
    # A process group of its own: the terminal's Ctrl-C comes here alone, and is passed on once.
    supervisor = subprocess.Popen([sys.executable, "-m", "gpulayer_site.up.supervisor"], process_group=0)

    def pass_on(number: int, _frame: FrameType | None) -> None:
        supervisor.send_signal(number)

    for each in _PASSED_ON:
        signal.signal(each, pass_on)
    code = supervisor.wait()
    linux.kill_descendants()
    if code < 0:
        print(
            f"gpulayer: the supervisor was killed ({signal.Signals(-code).name}); everything is ended", file=sys.stderr
        )
        return 1
    return code
