"""The whole product, started as a person starts it, and a browser that notices every error."""

from __future__ import annotations

import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from tests import chromium
from tests.browser import fleet

START_SECONDS = 120
GPULAYER = str(Path(sys.executable).parent / "gpulayer")


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The system's Chromium. Its sandbox works neither as root nor in most containers, and the pages are our own."""
    program = chromium.program()
    if program is None:
        pytest.skip("no Chromium here: install it, or say in CHROMIUM where it is")
    arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
    return {**browser_type_launch_args, "executable_path": program, "args": arguments}


@dataclass
class Process:
    """A program of ours whose lines are read as they come."""

    process: subprocess.Popen[str]
    lines: queue.Queue[str] = field(default_factory=queue.Queue)
    seen: list[str] = field(default_factory=list)

    def wait_for(self, pattern: str, seconds: float = START_SECONDS) -> re.Match[str]:
        """The first line that matches, earlier ones included."""
        for line in self.seen:
            if found := re.search(pattern, line):
                return found
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            try:
                self.seen.append(self.lines.get(timeout=left))
            except queue.Empty:
                break
            if found := re.search(pattern, self.seen[-1]):
                return found
        raise AssertionError(f"no line matched {pattern!r}:\n" + "".join(self.seen))

    def stop(self) -> None:
        """As Ctrl-C does it."""
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start(*arguments: str, env: dict[str, str]) -> Process:
    """`gpulayer …` in a process group of its own."""
    process = subprocess.Popen(
        [GPULAYER, *arguments], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    started = Process(process)
    threading.Thread(target=_read, args=(process, started.lines), daemon=True).start()
    return started


def _read(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    assert process.stdout is not None
    with process.stdout as output:
        for line in output:
            lines.put(line)


@dataclass(frozen=True)
class Installation:
    """`gpulayer up`, running."""

    url: str
    env: dict[str, str]
    data: Path
    host: str
    """The name of this host's own worker."""

    def run(self, *arguments: str) -> str:
        """What a command of this installation prints."""
        done = subprocess.run(
            [GPULAYER, *arguments], env=self.env, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def code(self) -> str:
        """A new one-time code."""
        found = re.search(r"[A-Z0-9]{4}(-[A-Z0-9]{4}){2,}", self.run("admin", "code"))
        assert found
        return found[0]


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """One start for all browser tests: broker, web, passes and this host's agent."""
    data = tmp_path_factory.mktemp("gpulayer")
    data.chmod(0o700)
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    env = {**kept, "GPULAYER_DATA": str(data), "PORT": str(free_port())}
    up = start("up", env=env)
    try:
        ready = up.wait_for(r"ready: (http://\S+)")
        agent = up.wait_for(r"registered as (\S+)")
        yield Installation(ready[1], env, data, agent[1])
    finally:
        up.stop()


@pytest.fixture(scope="module", autouse=True)
def trusted_again(installation: Installation) -> Iterator[None]:
    """What failed on this host on purpose, in one file of tests, is no sign of anything in the next."""
    yield
    installation.run("worker", "trust", installation.host)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that need the large fleet are marked, and come last: it has local workers that would take others' jobs."""
    for item in items:
        if "simulated_fleet" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.large_fleet)
    items.sort(key=lambda item: item.get_closest_marker("large_fleet") is not None)


@pytest.fixture
def demo(installation: Installation) -> Iterator[int]:
    """Twenty made-up workers beside this host, as the README's second step makes them."""
    simulator = start("worker", "simulate", "--demo", "20", env=installation.env)
    try:
        simulator.wait_for("registered")
        yield 20
    finally:
        simulator.stop()


@pytest.fixture(scope="session")
def simulated_fleet(installation: Installation) -> Iterator[int]:
    """Twelve hundred simulated workers beside this host."""
    path = fleet.write(installation.data / "fleet.jsonl")
    simulator = start("worker", "simulate", str(path), env=installation.env)
    try:
        simulator.wait_for("registered")
        yield fleet.SIZE
    finally:
        simulator.stop()


@pytest.fixture(scope="session")
def signed_in(browser: Browser, installation: Installation) -> dict[str, Any]:
    """The cookies of a session that was begun with a one-time code."""
    context = browser.new_context(base_url=installation.url)
    page = context.new_page()
    page.goto("/")
    page.get_by_label("One-time code").fill(installation.code())
    page.get_by_role("button", name="Sign in").click()
    page.locator(".bar-top").wait_for()
    state = context.storage_state()
    context.close()
    return dict(state)


class Watch:
    """Everything that a page complains about."""

    def __init__(self, page: Page) -> None:
        self.complaints: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(f"{page.url}: {error}"))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.location.get('url', '')}: {message.text}")


@pytest.fixture
def open_page(browser: Browser, installation: Installation, signed_in: dict[str, Any]) -> Iterator[Any]:
    """Make signed-in pages; at the end none of them may have complained about anything, the policy included."""
    contexts: list[BrowserContext] = []
    watches: list[Watch] = []

    def make(*, quiet: bool = True, **options: Any) -> Page:
        context = browser.new_context(base_url=installation.url, storage_state=signed_in, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        if quiet:
            watches.append(Watch(page))
        return page

    yield make
    for context in contexts:
        context.close()
    complaints = [text for watch in watches for text in watch.complaints]
    assert complaints == []


@pytest.fixture
def pages(open_page: Any) -> Page:
    """One signed-in page of the usual size."""
    page = open_page(viewport={"width": 1440, "height": 900})
    assert isinstance(page, Page)
    return page
