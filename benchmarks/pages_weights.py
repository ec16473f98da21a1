"""What goes over the wire, compressed, beside the budget of the design."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from django.conf import settings
from django.test import Client
from django.urls import reverse

from scheduler.models import Job, JobState
from workers.models import Worker

STYLES, SCRIPTS, FONTS = 45, 30, 80
"""Thousands of bytes."""
FIRST_LOAD = 160
JOB, OVERVIEW, OTHERS = 15, 25, 8
_LINKED = re.compile(r'(?:href|src)="(/static/[^"]+\.(css|js))"')
_FONT = re.compile(r'url\(["\']?([^"\')]+\.woff2)')


def report(client: Client) -> int:
    """Print them; returns how many are over their budget."""
    print("\nbytes over the wire, compressed, in thousands", flush=True)
    over = 0
    for name, size, budget in _weights(client):
        heavy = size > 1000 * budget
        over += heavy
        print(f"  {name:<44}{size / 1000:>8.1f} of {budget}{'  OVER ITS BUDGET' if heavy else ''}", flush=True)
    return over


def _weights(client: Client) -> Iterator[tuple[str, int, int]]:
    pages = {path: client.get(path).content for path in _paths()}
    job = next(path for path in pages if path.startswith("/jobs/j-"))
    linked = {found for html in pages.values() for found in _LINKED.findall(html.decode())}
    styles = [_file(path) for path, kind in sorted(linked) if kind == "css"]
    scripts = [_file(path) for path, kind in sorted(linked) if kind == "js"]
    fonts = {(style.parent / url).resolve() for style in styles for url in _FONT.findall(style.read_text())}
    sizes = [sum(map(_compressed, styles)), sum(map(_compressed, scripts)), sum(font.stat().st_size for font in fonts)]
    yield "styles, all", sizes[0], STYLES
    yield "scripts, all that any page loads", sizes[1], SCRIPTS
    yield "fonts", sizes[2], FONTS
    yield "first load: the overview and all of these", sum(sizes) + len(gzip.compress(pages["/"])), FIRST_LOAD
    for path, html in pages.items():
        budget = JOB if path == job else OVERVIEW if path == "/" else OTHERS
        yield f"page {path}"[:44], len(gzip.compress(html)), budget


def _paths() -> Iterable[str]:
    waiting = Job.objects.filter(state=JobState.QUEUED).exclude(decision=None).order_by("pk").first()
    worker = Worker.objects.filter(devices__index=7).order_by("name").first()
    yield from ("/", f"/jobs/{waiting.job_id if waiting else ''}", "/jobs", "/workers", "/reservations", "/jobs/new")
    yield from (reverse("worker", args=[worker.name]),) if worker else ()
    yield from ("/profile", "/people", "/audit", "/enrolment", "/notices")


def _file(url: str) -> Path:
    return Path(settings.STATIC_ROOT) / url.removeprefix(settings.STATIC_URL)


def _compressed(file: Path) -> int:
    """As the server sends it."""
    beside = file.with_name(f"{file.name}.gz")
    return beside.stat().st_size if beside.exists() else file.stat().st_size
