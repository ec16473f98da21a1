"""What pages cost that are left open: a web server as `gpulayer up` runs it, and browsers that look again and again."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from random import Random

import psutil
from django.conf import settings
from django.db import connection
from django.test import Client
from django.utils import timezone

from benchmarks.pages_history import end_some
from benchmarks.pages_timing import part
from gpulayer_site.accounts.services import administrator
from gpulayer_site.up.options import read_options
from gpulayer_site.up.parts import answers_http, web
from scheduler.models import Job, JobState

THIRD = 1 / 3
"""Of a core: what open pages may cost while nothing changes."""
LIMIT_SECONDS = 60.0
WARM = 4
"""Times that every page is asked for before anything is measured."""
EVERY = re.compile(r"every (\d+)(m?s)")
_ELEMENT = re.compile(r"<[a-z]+ [^>]*hx-ptag=[^>]*>")
_PART = re.compile(r'(hx-get|hx-trigger|hx-ptag)="([^"]*)"')


def signed_in() -> Client:
    """A browser whose person is the administrator."""
    client = Client(raise_request_exception=False, SERVER_NAME="localhost")
    client.force_login(administrator()[0])
    return client


def report(folder: Path, pages: int, seconds: float) -> int:
    """Print the figures; returns whether open pages cost more than they may."""
    cookie = f"{settings.SESSION_COOKIE_NAME}={signed_in().cookies[settings.SESSION_COOKIE_NAME].value}"
    open_ = _open_pages(pages)
    connection.close()
    with _served(folder) as (port, process):
        print("\nthrough the web server, in ms", flush=True)
        for name, path in (("overview", "/"), ("jobs", "/jobs"), ("workers", "/workers"), ("job", open_[2])):
            _, times = asyncio.run(_again(port, cookie, path, 50))
            shown = ", ".join(f"{part(times, share):,.0f}" for share in (0.5, 0.95, 1.0))
            print(f"  {name:<20} p50, p95, max: {shown}", flush=True)
        asyncio.run(_leave_open(port, cookie, open_, 2 * WARM, process, changing=False))
        still = asyncio.run(_leave_open(port, cookie, open_, seconds, process, changing=False))
        print(f"\n{pages} pages left open\n  nothing changes: {still.words}", flush=True)
        moving = asyncio.run(_leave_open(port, cookie, open_, seconds, process, changing=True))
        print(f"  a job ends every two seconds: {moving.words}", flush=True)
    if still.cores > THIRD:
        print(f"  OVER ITS BUDGET of {THIRD:.2f} of a core", flush=True)
    return int(still.cores > THIRD)


@dataclass(slots=True)
class Load:
    """What came of it."""

    seconds: float = 0.0
    cpu: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)

    @property
    def cores(self) -> float:
        """The server's share of one core."""
        return self.cpu / self.seconds if self.seconds else 0.0

    @property
    def words(self) -> str:
        """As it is printed."""
        answered = sum(self.statuses.values())
        said = ", ".join(f"{count:,} × {status}" for status, count in sorted(self.statuses.items()))
        times = sorted(self.times) or [0.0]
        return (
            f"{self.cores:.2f} of a core for {answered / max(1e-9, self.seconds):,.0f} requests a second ({said}); "
            f"answered in {part(times, 0.5):,.0f} ms, p95 {part(times, 0.95):,.0f} ms"
        )


@contextmanager
def _served(folder: Path) -> Iterator[tuple[int, psutil.Process]]:
    """The web server of an installation over this folder and the database at hand."""
    port = _free_port()
    given = {**os.environ, "GPULAYER_DATA": str(folder), "PORT": str(port), "HOST": "127.0.0.1"}
    recipe = web(read_options(given), given)
    with (folder / "web.log").open("w") as printed:
        process = subprocess.Popen(recipe.argv, env=dict(recipe.environment), stdout=printed, stderr=printed)
    try:
        deadline = time.monotonic() + LIMIT_SECONDS
        while not answers_http(f"http://127.0.0.1:{port}"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((folder / "web.log").read_text())
            time.sleep(0.2)
        yield port, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _cpu(process: psutil.Process) -> float:
    """Seconds that the server has worked, all its processes together."""
    total = 0.0
    for each in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = each.cpu_times()
            total += times.user + times.system
    return total


def _job_pages() -> list[str]:
    going = Job.objects.filter(state__in=(JobState.QUEUED, JobState.RUNNING)).exclude(decision=None)
    return [f"/jobs/{job_id}" for job_id in going.order_by("-pk").values_list("job_id", flat=True)[:60]]


def _open_pages(count: int) -> list[str]:
    """What so many people look at."""
    jobs = _job_pages()
    shown = [["/"], ["/jobs"], jobs, ["/workers"], jobs]
    return [
        shown[number % len(shown)][number // len(shown) % len(shown[number % len(shown)])] for number in range(count)
    ]


@dataclass(slots=True)
class _Browser:
    """One connection that is kept, as a browser keeps it."""

    port: int
    cookie: str
    streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, path: str, tag: str = "", *, fragment: bool = False) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body; on a new connection where the server has closed the one that was idle."""
        try:
            return await self._get(path, tag, fragment=fragment)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.close()
            self.streams = None
            return await self._get(path, tag, fragment=fragment)

    async def _get(self, path: str, tag: str, *, fragment: bool) -> tuple[int, dict[str, str], bytes]:
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        more = f"HX-Request: true\r\nHX-PTag: {tag}\r\n" if fragment else ""
        writer.write(
            f"GET {path} HTTP/1.1\r\nHost: localhost:{self.port}\r\nCookie: {self.cookie}\r\n{more}\r\n".encode()
        )
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        status, *lines = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return int(status.split()[1]), headers, body

    def close(self) -> None:
        """Let it go."""
        if self.streams:
            self.streams[1].close()


async def _again(port: int, cookie: str, path: str, count: int) -> tuple[int, list[float]]:
    """One page so many times, one after the other; the last status, and the times in order."""
    browser, times, status = _Browser(port, cookie), [], 0
    for _ in range(count):
        began = time.perf_counter()
        status, _, _ = await browser.get(path)
        times.append(1000 * (time.perf_counter() - began))
    browser.close()
    return status, sorted(times)


async def _leave_open(
    port: int, cookie: str, shown: Sequence[str], seconds: float, process: psutil.Process, *, changing: bool
) -> Load:
    """So many pages open for so long."""
    load, ending, dice = Load(), asyncio.Event(), Random(1)
    ready = asyncio.Semaphore(8)
    opened = await asyncio.gather(*(_opened(port, cookie, path, ready) for path in shown))
    looking = [
        asyncio.create_task(_look(browser, element, load, ending, dice))
        for browser, elements in opened
        for element in elements
    ]
    await asyncio.sleep(2 * WARM)
    load.statuses.clear()
    load.times.clear()
    began, worked = time.monotonic(), _cpu(process)
    while time.monotonic() - began < seconds:
        if changing:
            await asyncio.to_thread(_change)
        await asyncio.sleep(2)
    load.seconds, load.cpu = time.monotonic() - began, _cpu(process) - worked
    statuses, times = load.statuses.copy(), list(load.times)
    ending.set()
    await asyncio.gather(*looking)
    for browser, _ in opened:
        browser.close()
    load.statuses, load.times = statuses, times
    return load


async def _opened(
    port: int, cookie: str, path: str, ready: asyncio.Semaphore
) -> tuple[_Browser, Sequence[dict[str, str]]]:
    browser = _Browser(port, cookie)
    async with ready:
        _, _, body = await browser.get(path)
    found = [dict(_PART.findall(element)) for element in _ELEMENT.findall(body.decode())]
    return browser, [each for each in found if EVERY.search(each.get("hx-trigger", ""))][:1]


async def _look(browser: _Browser, element: dict[str, str], load: Load, ending: asyncio.Event, dice: Random) -> None:
    """Ask for the fragment as often as it says, for what changed since the last time."""
    found = EVERY.search(element["hx-trigger"])
    assert found is not None, "only such are given"
    every = int(found[1]) / (1000 if found[2] == "ms" else 1)
    path, tag = unescape(element["hx-get"]), element["hx-ptag"]
    await asyncio.sleep(dice.random() * every)
    while not ending.is_set():
        began = time.perf_counter()
        status, headers, _ = await browser.get(path, tag, fragment=True)
        tag = headers.get("hx-ptag", tag)
        load.statuses[status] += 1
        load.times.append(1000 * (time.perf_counter() - began))
        with suppress(TimeoutError):
            await asyncio.wait_for(ending.wait(), max(0.0, every - (time.perf_counter() - began)))


def _change() -> None:
    """A job comes to its end."""
    end_some(1, Random(time.monotonic_ns()), timezone.now())
    connection.close()
