"""What every test shares. No Django here: the core's tests run on a bare Python with `-p no:django`."""

import os
import sys
from collections.abc import Generator

import pytest

# Playwright's synchronous interface runs an event loop in the test's own thread.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
# A developer's own installation must not be found by the tests' commands.
for _name in ("GPULAYER_URL", "GPULAYER_TOKEN"):
    os.environ.pop(_name, None)

NO_SKIPS = os.environ.get("GPULAYER_NO_SKIPS") == "1"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure where everything that a test could need is promised to be there."""
    report = yield
    if NO_SKIPS and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, but nothing may be skipped here: {report.longrepr}"
    return report


@pytest.fixture(autouse=True)
def no_memory_of_other_tests() -> None:
    """Forget rows of earlier tests: a new test's rows may have the same keys."""
    memory = sys.modules.get("scheduler.memory")
    if memory is not None:
        memory.forget()
