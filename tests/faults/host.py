"""`gpulayer worker start` on a host that has made-up devices: the real agent over a double of the driver's bindings.

python -m tests.faults.host DEVICES worker start …      DEVICES: UUIDs, separated by commas; or -

FAULTS_CLOCK names a file with seconds by which this agent's wall clock is wrong; read at every look at the clock.
"""

import os
import sys
import time
from pathlib import Path

from tests.agent import nvml_double


def main() -> None:
    """Put the double in the place of the bindings, then be the command line."""
    if "FAULTS_CLOCK" in os.environ:
        set_wrong(Path(os.environ["FAULTS_CLOCK"]))
    uuids = [uuid for uuid in sys.argv.pop(1).split(",") if uuid != "-"]
    double = nvml_double.NvmlDouble(*({**nvml_double.H100, "uuid": uuid} for uuid in uuids))
    sys.modules["pynvml"] = double  # type: ignore[assignment]
    from gpulayer_site.cli import main as command

    command()


def set_wrong(file: Path) -> None:
    """From now on the wall clock is wrong by what the file says at that moment."""
    right, right_ns = time.time, time.time_ns
    time.time = lambda: right() + int(file.read_text())
    time.time_ns = lambda: right_ns() + int(file.read_text()) * 10**9


if __name__ == "__main__":
    main()
