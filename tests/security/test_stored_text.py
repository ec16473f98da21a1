"""What people, jobs and hosts wrote is shown as what it is, on every page and in every piece. (S9, S10, S13, S42)

Here all pages are read as a browser reads them; tests/browser/test_hostile.py opens them in one. What a log holds is
tried in tests/pages/test_log_text.py and tests/browser/test_log.py (S11).
"""

from __future__ import annotations

import json
import logging

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from gpulayer_site.accounts.tokens import create_token
from gpulayer_site.redaction import RedactingFormatter
from scheduler.models import Job
from tests import factories
from tests.factories import a_job, a_pass, a_reservation, a_user, a_worker, changed
from tests.security.forms import Reading
from tests.security.payloads import ALL, MARK, PAYLOADS, some
from tests.security.routes import routes
from workers.auth import create_enrolment_token
from workers.models import Event, Notice

pytestmark = pytest.mark.django_db

SHOWING = {"value", "title", "aria-label", "placeholder", "alt", "content", "datetime", "id", "for", "aria-describedby",
           "data-say", "data-copy", "data-label", "data-sort", "data-group", "headers", "label"}  # fmt: skip
"""Attributes that show their value or name something; none of them loads or runs anything."""
LEADING = {"href", "action", "formaction", "hx-get", "hx-post", "hx-put", "hx-delete", "hx-patch"}
DATA = {"hx-vals", "hx-headers", "hx-headers:inherited", "hx-vals:inherited"}
OUR_SCRIPTS = ("/static/", "/admin/jsi18n/")
LOADING = {"src", "srcset", "data", "srcdoc", "poster"}
ALIVE = {"iframe", "object", "embed", "base", "math", "animate"}
OURS = {"script", "link", "meta"}


def wrong_with(html: str) -> list[str]:
    """What of a page came alive."""
    found = []
    for tag, attributes in Reading(html).elements:
        if tag in ALIVE or MARK in tag or (tag == "script" and not attributes.get("src", "").startswith(OUR_SCRIPTS)):
            found.append(f"<{tag}>")
        found += [f"<{tag} {name}={value[:60]!r}>" for name, value in attributes.items() if is_alive(tag, name, value)]
    return found


def is_alive(tag: str, name: str, value: str) -> bool:
    """Whether the attribute is one of a payload's, or does something with a payload."""
    if name.startswith(("on", "hx-on", "data-hx-")) or MARK in name or name == "style":
        return True
    if name in LOADING:
        return not value.startswith(OUR_SCRIPTS)
    if name in LEADING:
        return not (value == "" or value.startswith(("/", "?", "#"))) or value.startswith("//")
    if name in DATA:
        return not is_object(value)
    return MARK in value and (tag in OURS or name not in SHOWING)


def is_object(text: str) -> bool:
    """Whether it is JSON of names and values, and no script."""
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


@pytest.fixture
def hostile(db: None, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Every kind of row that has a text, full of payloads; and what addresses are filled with."""
    now = timezone.now()
    monkeypatch.setattr(factories, "NOW", now)
    admin = User.objects.create_superuser(some(1, 150), first_name=some(2, 150), email="x@example.org")
    team = Group.objects.create(name=some(3, 150))
    admin.groups.add(team)
    worker = a_worker(
        "w'\"<b>zq9{{7*7}}", labels={some(4, 200): some(5, 200), "zone": some(31, 250)}, gpus="2xA100",
        facts={"provider": some(6, 400), "region": some(7, 400), "python": "3.11.9",
               "frameworks": {"torch": some(8, 200)}, "advertise_address": some(9, 250)},
    )  # fmt: skip
    worker.devices.update(model=some(0, 990), health_note=some(10, 490))
    changed(worker, agent_version=some(12, 40)[:40], machine_id=some(13, 180), intent_note=some(32, 190))
    second = a_worker("w2", intent="draining", intent_note=some(14, 190), health_note=some(15, 190))
    second.devices.update(healthy=False, health_note=some(16, 490))
    reserved = a_reservation(a_worker("w3"), f"team:{team.name}"[:250], note=some(17, 190), starts_at=now)
    jobs = [
        a_job(owner=admin, name=name[:250], command=["echo", ALL], env={"A": ALL}, workdir="/" + some(at, 200))
        for at, name in enumerate(PAYLOADS)
    ]
    never = a_job(
        owner=a_user(some(18, 150)), name=some(19, 250), gpus=9, placement={"worker_labels": {"zone": ALL[:250]}}
    )
    a_pass(at=now)
    job = Job.objects.filter(pk__in=[each.pk for each in jobs]).order_by("pk")[0]
    Job.objects.filter(pk=jobs[1].pk).update(
        state="failed", failure_code="x", failure_text=some(20, 490), finished_at=now, started_at=now
    )
    token, _ = create_token(user=admin, note=some(21, 99), now=now)
    create_enrolment_token(uses=2, origin="", simulated=False, note=some(22, 190), created_by=admin, now=now)
    Notice.objects.create(text=some(23, 490), created_at=now, created_by=admin)
    for at in range(3):
        Event.objects.create(
            at=now, actor=some(24 + at, 290), subject_kind=("job", "worker", "access")[at], subject=some(25 + at, 240),
            verb="refused", before=some(26, 90), after=some(27, 90), cause=some(28, 190), detail={some(29, 200): ALL},
        )  # fmt: skip
    return {
        "job_id": job.job_id, "never": never.job_id, "failed": jobs[1].job_id, "name": worker.name,
        "worker": worker.name, "pk": str(admin.pk), "object_id": str(worker.pk), "reservation_id": str(reserved.pk),
        "number": "1", "token": str(token.pk),
    }  # fmt: skip


@pytest.fixture
def browser(hostile: dict[str, str]) -> Client:
    client = Client(raise_request_exception=False, headers={"User-Agent": some(30, 190)})
    client.force_login(User.objects.get(pk=hostile["pk"]))
    return client


def test_what_comes_alive_is_seen() -> None:
    """Unescaped, nearly all of it would: the others are templates, and addresses that nobody follows."""
    alive = [each for each in PAYLOADS if wrong_with(f"<p title=\"{each}\" lang='{each}'>{each}</p>")]
    assert len(alive) > len(PAYLOADS) * 0.8


def test_nothing_of_it_comes_alive_anywhere(browser: Client, hostile: dict[str, str]) -> None:
    wrong, texts = {}, ""
    pages = {
        route.path for job in ("job_id", "never", "failed") for route in routes(hostile | {"job_id": hostile[job]})
    }
    pages |= {"/jobs?limit=100", f"/jobs/new?like={hostile['job_id']}", f"/jobs/new?like={hostile['job_id']}&as=yaml"}
    for path in sorted(path for path in pages if not path.startswith("/api/")):
        answer = browser.get(path.replace("?", "%3F") if path.count("?") > 1 else path)
        assert answer.status_code < 500, path
        html = answer.content.decode() if not answer.streaming else ""
        if answer.headers.get("Content-Type", "").startswith("text/html"):
            texts += Reading(html).text
            if found := wrong_with(html):
                wrong[path] = found[:3]
    assert wrong == {}
    assert "zq949" not in texts, "no template reads it"
    assert [each for each in PAYLOADS if each not in texts] == [], "and all of it is shown"


def test_nor_what_was_typed_and_comes_back(browser: Client, hostile: dict[str, str]) -> None:
    """Forms shown again, searches, and pages that say what was not found."""
    wrong = {}
    names = (
        "q",
        "name",
        "note",
        "text",
        "yaml",
        "command",
        "label",
        "labels",
        "holder",
        "starts_at",
        "ends_at",
        "until",
    )
    for at, path in enumerate(sorted({each.path for each in routes(hostile) if not each.is_api and not each.is_admin})):
        if path == "/signout":
            continue
        fields = {name: PAYLOADS[(at + number) % len(PAYLOADS)] for number, name in enumerate(names)}
        answer = (browser.post if at % 3 else browser.get)(path, fields)
        html = answer.content.decode() if not answer.streaming else ""
        if answer.headers.get("Content-Type", "").startswith("text/html") and (found := wrong_with(html)):
            wrong[path] = found[:3]
    assert wrong == {}


@pytest.mark.parametrize(
    "text", ["a\r\nGET /forged 200", "a\nERROR forged", "\x1b[2J\x1b]0;x\x07", "\u2028x\u2029y\x85z"]
)
def test_no_line_of_the_servers_log_is_forged(text: str) -> None:
    """Whatever is logged, a line break in it begins no line of ours."""
    record = logging.LogRecord("x", logging.WARNING, "", 0, "refused %s", (text,), None)
    line = RedactingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s").format(record)
    assert line.splitlines() == [line]
    assert line.isprintable()


def test_a_traceback_keeps_its_lines_and_only_those() -> None:
    try:
        raise ValueError("a\nERROR forged\x1b[2J")
    except ValueError as error:
        record = logging.LogRecord(
            "x", logging.ERROR, "", 0, "it broke", None, (ValueError, error, error.__traceback__)
        )
    lines = RedactingFormatter("%(levelname)s %(name)s: %(message)s").format(record).split("\n")
    assert lines[0] == "ERROR x: it broke"
    assert all(line.startswith((" ", "\t")) for line in lines[1:])
    assert all("\x1b" not in line for line in lines)
