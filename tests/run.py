"""Runs every test in six parts, and closes with one line that counts them all.

1. the core on a bare Python, without Django, and beside it distributed jobs with real torch, in an environment of their
own; 2. the rest on SQLite; 3. the pages in Chromium, in two installations at once; 4. faults put into whole
installations; 5. what touches the database again on PostgreSQL, and 6. the faults that matter there. What a machine
lacks is left out with a line that says so; with GPULAYER_NO_SKIPS=1 that is a failure. `--soak` runs the whole counts
instead.
"""

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests import chromium, postgres  # noqa: E402 - found from the line above
from tests.gangs.torch_environment import NoTorchError, torch_python  # noqa: E402 - likewise

NO_SKIPS = os.environ.get("GPULAYER_NO_SKIPS") == "1"
_NO_TESTS = 5  # pytest's exit code when it found none
_BARE = ("-p", "no:django", "-p", "no:xdist", "-p", "no:playwright", "-p", "no:schemathesis")
_LAWS = ("tests/core/test_laws.py",)
_RACES = ("tests/scheduler/test_races.py", "-p", "no:playwright", "-p", "no:schemathesis", "-p", "no:xdist")
_CONTENDED = ("tests/scheduler/test_contention.py", "-p", "no:playwright", "-p", "no:schemathesis", "-p", "no:xdist")
SOAK_ROUNDS = 20
# Each waits for clocks most of the time: two installations at once.
_FAULTS = ("tests/faults", "-n", "2", "--dist", "loadfile", "-p", "no:playwright", "-p", "no:schemathesis")
"""One at a time: each is a whole installation, with clocks that run sixty times as fast."""
_FAULTS_ON_POSTGRES = "f10_ or f43_"
_TWO_AT_ONCE = ("-n", "2", "--dist", "worksteal", "-p", "no:playwright")
_DATABASE_TESTS = (
    "tests/scheduler", "tests/workers", "tests/house/test_production.py", "tests/security/test_bodies.py",
    # Of the site what has words of its own for each database, or races; the rest, and the API, in make soak.
    *(f"tests/site/test_{name}.py" for name in ("audit_acts", "audit_page", "audit_seals", "backup", "people")),
)  # fmt: skip


@dataclass(slots=True)
class Count:
    """What the parts add up to."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    broken: list[str] = field(default_factory=list)

    def add(self, name: str, report: Path, code: int) -> None:
        """Count one part by its report; without one the part itself is what failed."""
        if not report.exists():
            self.failed += 1
            self.broken.append(f"{name} (exit code {code})")
            return
        for suite in ET.parse(report).getroot().iter("testsuite"):
            total, skipped = int(suite.get("tests", 0)), int(suite.get("skipped", 0))
            failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            self.skipped, self.failed = self.skipped + skipped, self.failed + failed
            self.passed += total - skipped - failed
        if code not in (0, _NO_TESTS):
            self.broken.append(f"{name} (exit code {code})")

    def leave_out(self, name: str, why: str) -> None:
        """A part that this machine cannot run."""
        print(f"\n!!! {name} left out: {why}\n", flush=True)
        self.skipped += 1
        if NO_SKIPS:
            self.broken.append(f"{name} left out: {why}")


@dataclass(frozen=True, slots=True)
class Part:
    """One pytest run: its name, pytest's arguments, and what its environment has beside this one's."""

    name: str
    words: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)


class Runner:
    """Runs parts of the suite, each as a pytest of its own, with reports in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = Count()

    def part(self, name: str, *words: str, **environment: str) -> None:
        """One pytest run; a part without any test of its kind is not an error."""
        self.together(Part(name, words, environment))

    def together(self, *parts: Part) -> None:
        """These at the same time, where each alone would leave a core idle. What they print is shown one by one."""
        alone = len(parts) == 1
        with ThreadPoolExecutor(len(parts) or 1) as pool:
            for each in [pool.submit(self._run, part, quiet=not alone) for part in parts]:
                print(each.result(), end="", flush=True)

    def _run(self, part: Part, *, quiet: bool) -> str:
        """Run it and count it; what is left to print."""
        title, report = f"\n=== {part.name}\n", self.folder / f"{part.name.replace(' ', '-')}.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-rfEs", "--junit-xml", str(report), *part.words]
        if not quiet:
            print(title, end="", flush=True)
        began = time.monotonic()
        done = subprocess.run(
            command, cwd=ROOT, env=_environment(part.environment), check=False, text=True,
            stdout=subprocess.PIPE if quiet else None, stderr=subprocess.STDOUT if quiet else None,
        )  # fmt: skip
        self.count.add(part.name, report, done.returncode)
        end = f"=== {part.name}: {time.monotonic() - began:.0f} s\n"
        return f"{title}{done.stdout}{end}" if quiet else end


def everyday(runner: Runner) -> None:
    """The six parts, without the soak counts."""
    runner.together(Part("core without Django", ("tests/core", "-m", "not soak", *_BARE)), *_gangs(runner))
    elsewhere = ("tests/core", "tests/browser", "tests/gangs", "tests/faults")
    rest = ("tests", *(word for folder in elsewhere for word in ("--ignore", folder)))
    runner.part("everything else on SQLite", *rest, "-m", "not soak and not postgres", *_TWO_AT_ONCE)
    runner.together(*_browser(runner, "not soak"))
    runner.part("faults", *_FAULTS, "-m", "not soak and not postgres")
    with ExitStack() as stack:
        url = os.environ.get("DATABASE_URL") or _own_postgres(runner, stack)
        if url:
            runner.part("on PostgreSQL", *_DATABASE_TESTS, "-m", "not soak", *_TWO_AT_ONCE, DATABASE_URL=url)
            runner.part("faults on PostgreSQL", *_FAULTS, "-k", _FAULTS_ON_POSTGRES, "-m", "not soak", DATABASE_URL=url)


def soak(runner: Runner) -> None:
    """The whole counts; and laws and races again and again, with other examples and other interleavings each time."""
    runner.part(
        "whole counts", "tests", "--ignore", "tests/faults", "-m", "soak and not postgres", "-p", "no:playwright"
    )
    runner.together(*_browser(runner, "not postgres", GPULAYER_LOOKS="all"))
    runner.part("all faults", *_FAULTS, "-m", "not postgres")
    for number in range(1, SOAK_ROUNDS + 1):
        runner.part(f"laws {number} of {SOAK_ROUNDS}", *_LAWS, *_BARE)
        runner.part(f"races {number} of {SOAK_ROUNDS}", *_RACES)
    with ExitStack() as stack:
        url = os.environ.get("DATABASE_URL") or _own_postgres(runner, stack)
        if url:
            runner.part("contended placements on PostgreSQL", *_CONTENDED, "-m", "soak", DATABASE_URL=url)
            runner.part("all faults on PostgreSQL", *_FAULTS, DATABASE_URL=url)
            both = ("tests/site", "tests/api", "-m", "not soak", *_TWO_AT_ONCE)
            runner.part("the site and the API on PostgreSQL", *both, DATABASE_URL=url)
        for number in range(1, SOAK_ROUNDS + 1) if url else ():
            runner.part(f"races on PostgreSQL {number} of {SOAK_ROUNDS}", *_RACES, DATABASE_URL=str(url))


def _own_postgres(runner: Runner, stack: ExitStack) -> str | None:
    why = postgres.why_not()
    if why:
        runner.count.leave_out("PostgreSQL", why)
        return None
    return stack.enter_context(postgres.cluster(runner.folder))


def _gangs(runner: Runner) -> tuple[Part, ...]:
    """Distributed jobs, where torch can be had."""
    try:
        torch_python()
    except NoTorchError as error:
        runner.count.leave_out("distributed jobs", str(error))
        return ()
    plain = ("-p", "no:xdist", "-p", "no:playwright", "-p", "no:schemathesis")
    return (Part("distributed jobs", ("tests/gangs", "-m", "not soak", *plain)),)


def _browser(runner: Runner, which: str, **environment: str) -> tuple[Part, ...]:
    """The pages, by whether they need a large fleet: each half has an installation of its own."""
    program = chromium.program()
    if program is None:
        runner.count.leave_out("Chromium", "not installed (apt install chromium), and $CHROMIUM names none")
        return ()
    given = environment | {"CHROMIUM": program}
    halves = {"in Chromium": "not large_fleet", "in Chromium with a large fleet": "large_fleet"}
    return tuple(
        Part(name, ("tests/browser", "-m", f"{which} and {half}", "-p", "no:xdist"), given)
        for name, half in halves.items()
    )


def _environment(more: dict[str, str]) -> dict[str, str]:
    """This environment, but SQLite unless a part names a database."""
    return {key: value for key, value in os.environ.items() if key != "DATABASE_URL"} | more


def main(arguments: list[str]) -> int:
    """Run, count, close."""
    with tempfile.TemporaryDirectory(prefix="gpulayer-run-") as folder:
        os.environ["GPULAYER_TEST_TEMPLATE"] = str(Path(folder) / "template")
        runner = Runner(Path(folder))
        (soak if "--soak" in arguments else everyday)(runner)
    count = runner.count
    print()
    for each in count.broken:
        print(f"failed: {each}")
    print(f"{count.passed} passed, {count.failed} failed, {count.skipped} skipped", flush=True)
    return 1 if count.failed or count.broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
