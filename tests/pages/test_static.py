"""What is served as it lies there: taken over unchanged, and nothing that the content policy would have to forbid."""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
LISTED = [line.split(maxsplit=1) for line in (ROOT / "static" / "SHA256SUMS").read_text().splitlines()]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))

FORBIDDEN = {
    "a style attribute": re.compile(r"\sstyle="),
    "an inline style sheet": re.compile(r"<style"),
    "an inline script": re.compile(r"<script(?![^>]*\ssrc=)"),
    "an event handler": re.compile(r"\son\w+=|hx-on"),
    "a script address": re.compile(r"javascript:"),
    "a trigger filter": re.compile(r'hx-trigger="[^"]*\['),
    "a value from a script": re.compile(r'"js:'),
    "another host": re.compile(r'(src|href)="(https?:)?//'),
}


@pytest.mark.parametrize(("digest", "name"), LISTED, ids=[name for _, name in LISTED])
def test_a_file_from_elsewhere_is_the_one_that_was_taken_over(digest, name):
    assert hashlib.sha256((ROOT / name).read_bytes()).hexdigest() == digest


def test_every_file_from_elsewhere_is_listed():
    there = [*(ROOT / "static" / "vendor").iterdir(), *(ROOT / "static" / "fonts").iterdir()]
    there += (ROOT / "tests" / "browser" / "vendor").iterdir()
    assert {str(path.relative_to(ROOT)) for path in there} == {name for _, name in LISTED}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT / "templates")))
def test_a_template_needs_no_exception_from_the_content_policy(path):
    text = path.read_text()
    assert [what for what, pattern in FORBIDDEN.items() if pattern.search(text)] == []


def test_every_icon_that_is_used_is_in_the_sprite():
    drawn = set(re.findall(r'symbol id="([^"]+)"', (ROOT / "static/icons.svg").read_text()))
    used = {name for path in TEMPLATES for name in re.findall(r'{% icon "([^"]+)"', path.read_text())}
    assert used <= drawn


@pytest.mark.parametrize(
    ("names", "most"),
    [
        (("vendor/bootstrap.min.css", "gpulayer.css"), 45_000),
        (("vendor/htmx.min.js", "vendor/hx-ptag.min.js", "gpulayer.js"), 30_000),
    ],
    ids=["style sheets", "scripts"],
)
def test_compressed_they_stay_small(names, most):
    assert sum(len(gzip.compress((ROOT / "static" / name).read_bytes())) for name in names) <= most
