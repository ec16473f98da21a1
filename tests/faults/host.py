"""`gpulayer worker start` on a host that has made-up devices: the real agent over a double of the driver's bindings.

python -m tests.faults.host DEVICES worker start …      DEVICES: UUIDs, separated by commas; or -
"""

import sys

from tests.agent import nvml_double


def main() -> None:
    """Put the double in the place of the bindings, then be the command line."""
    uuids = [uuid for uuid in sys.argv.pop(1).split(",") if uuid != "-"]
    double = nvml_double.NvmlDouble(*({**nvml_double.H100, "uuid": uuid} for uuid in uuids))
    sys.modules["pynvml"] = double  # type: ignore[assignment]
    from gpulayer_site.cli import main as command

    command()


if __name__ == "__main__":
    main()
