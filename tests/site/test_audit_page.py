"""The page of the trail, its files, its API and its command: who did what, found at a bounded cost."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.factories import a_user, a_worker
from workers.models import Event
from workers.roles import Role
from workers.services import trail_search
from workers.services.seals import seal_events
from workers.services.trail import KINDS
from workers.services.trail_search import ROWS, Asked, find
from workers.spreadsheets import cell

pytestmark = pytest.mark.django_db
START = timezone.now() - timedelta(days=10)


def an_event(subject: str = "gpu-7", *, day: float = 0, **fields: str) -> Event:
    given = {"actor": "user:mira", "subject_kind": "worker", "verb": "intent", **fields}
    return Event.objects.create(at=START + timedelta(days=day), subject=subject, **given)


@pytest.fixture
def events() -> list[Event]:
    return [
        an_event("gpu-7", before="active", after="draining", cause="new fans"),
        an_event("j-12", subject_kind="job", verb="state", actor="worker:gpu-7", after="running", day=1),
        an_event("gpu-7", subject_kind="label", verb="label site", after="lund", day=2),
        an_event("noor", subject_kind="user", verb="role", actor="user:ada", after="operator", day=3),
        an_event("j-12", subject_kind="access", verb="refused", actor="user:noor", after="not_seen", day=4),
    ]


def signed_in(client: Client, name: str = "ada", role: Role = Role.ADMINISTRATOR) -> Client:
    user = a_user(name)
    user.is_staff, user.is_superuser = role.reaches(Role.OPERATOR), role is Role.ADMINISTRATOR
    user.save()
    user.person.role = role
    user.person.save()
    client.force_login(user)
    return client


def subjects(asked: Asked, *, everything: bool = True, **more: int) -> list[str]:
    found = find(asked, everything=everything, **more)
    return [f"{event.subject_kind}:{event.subject}" for event in found.events]


class TestFinding:
    @pytest.mark.parametrize(
        ("asked", "found"),
        [
            pytest.param({}, ["access:j-12", "user:noor", "label:gpu-7", "job:j-12", "worker:gpu-7"], id="anything"),
            pytest.param({"who": "mira"}, ["label:gpu-7", "worker:gpu-7"], id="by a person's name"),
            pytest.param({"who": "gpu-7"}, ["job:j-12"], id="by a worker's name"),
            pytest.param({"who": "user:noor"}, ["access:j-12"], id="by an actor"),
            pytest.param({"what": "gpu-7"}, ["label:gpu-7", "worker:gpu-7"], id="with a name of any kind"),
            pytest.param({"what": "job:j-12"}, ["job:j-12"], id="with one kind of a name"),
            pytest.param({"what": "label:"}, ["label:gpu-7"], id="with one kind"),
            pytest.param({"verb": "state"}, ["job:j-12"], id="an act"),
            pytest.param({"q": "FANS new"}, ["worker:gpu-7"], id="words in any order"),
            pytest.param({"q": "fans lund"}, [], id="words that are not together"),
            pytest.param({"refused": True}, ["access:j-12"], id="refused"),
            pytest.param({"since": 1.5, "until": 3}, ["user:noor", "label:gpu-7"], id="between two times"),
            pytest.param({"who": "mira", "q": "fans"}, ["worker:gpu-7"], id="several at once"),
            pytest.param({"who": "nobody"}, [], id="nobody"),
        ],
    )
    def test_by(self, events: list[Event], asked: dict, found: list[str]) -> None:
        times = {name: START + timedelta(days=asked.pop(name)) for name in ("since", "until") if name in asked}
        assert subjects(Asked(**asked, **times)) == found

    def test_operators_see_the_fleets_acts_alone(self, events: list[Event]) -> None:
        assert subjects(Asked(), everything=False) == ["label:gpu-7", "job:j-12", "worker:gpu-7"]
        assert subjects(Asked(who="noor"), everything=False) == []

    def test_pages_follow_each_other_both_ways(self) -> None:
        for number in range(2 * ROWS + 10):
            an_event(str(number))
        first = find(Asked(), everything=True)
        second = find(Asked(), everything=True, before=first.older)
        third = find(Asked(), everything=True, before=second.older)
        assert [len(page.events) for page in (first, second, third)] == [ROWS, ROWS, 10]
        assert (first.newer, third.older) == (None, None)
        assert find(Asked(), everything=True, after=third.newer).events == second.events
        assert find(Asked(), everything=True, after=second.newer).events == first.events

    def test_a_look_ends_with_its_window_and_says_where_to_go_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(trail_search, "WINDOW", 10)
        an_event("sought", cause="needle")
        for number in range(25):
            an_event(str(number), day=1)
        page, looks = find(Asked(q="needle"), everything=True), 1
        while not page.events:
            assert page.back_to is not None
            page, looks = find(Asked(q="needle"), everything=True, before=page.older), looks + 1
        assert (page.events[0].subject, looks) == ("sought", 3)

    def test_a_page_takes_the_same_few_queries_and_counts_nothing(self, events: list[Event]) -> None:
        for asked in (Asked(), Asked(who="mira"), Asked(what="gpu-7"), Asked(q="fans"), Asked(since=START)):
            with CaptureQueriesContext(
                connection,
            ) as queries:
                find(asked, everything=True)
            assert len(queries) <= 6
            assert not [each for each in queries.captured_queries if "COUNT(" in each["sql"].upper()]

    def test_every_kind_of_event_that_is_written_is_known(self) -> None:
        code = Path(__file__).parents[2]
        sources = [path for part in ("workers", "scheduler", "gpulayer_site") for path in (code / part).rglob("*.py")]
        written = {kind for path in sources for kind in re.findall(r'subject_kind="(\w+)"', path.read_text())}
        machines = r'\bkind="(\w+)",\n\s+(?:since|moves|field|subject)'
        written |= {kind for path in sources for kind in re.findall(machines, path.read_text())}
        assert written <= set(KINDS)


class TestThePage:
    def test_shows_who_did_what_from_where(self, client: Client) -> None:
        worker = a_worker("gpu-07")
        Event.objects.create(
            at=timezone.now(), actor="user:mira", subject_kind="worker", subject=worker.name, verb="intent",
            before="active", after="draining", cause="new fans", address="10.1.2.3", via="token glu_abcd",
        )  # fmt: skip
        page = signed_in(client).get("/audit").content.decode()
        for said in ("user:mira", "/workers/gpu-07", "draining", "new fans", "10.1.2.3", "token glu_abcd"):
            assert said in page

    @pytest.mark.parametrize(("role", "status"), [(Role.VIEWER, 403), (Role.SUBMITTER, 403), (Role.OPERATOR, 200)])
    def test_is_for_operators(self, client: Client, role: Role, status: int) -> None:
        assert signed_in(client, role.value, role).get("/audit").status_code == status
        assert ('href="/audit"' in client.get("/jobs").content.decode()) is (status == 200)

    def test_names_everything_that_is_wrong_with_a_question(self, client: Client) -> None:
        answer = signed_in(client).get("/audit", {"since": "yesterday", "before": "x", "q": "a" * 300})
        page = answer.content.decode()
        assert answer.status_code == 422
        assert page.count('<p class="note s-never') == 3

    @pytest.mark.parametrize("name", ["who", "what", "verb", "q", "since", "until", "before", "after"])
    def test_no_question_breaks_it(self, client: Client, name: str) -> None:
        signed_in(client)
        for value in ("9" * 30, "-1", "1e9", "\x00", "\ud800", "\u202e", "2026-13-01T00:00", "NaN", "9999-12-31T23:59"):
            raw = value.encode("utf-8", "surrogatepass").decode("latin-1")
            assert client.get("/audit", {name: raw}).status_code in (200, 422), value


class TestFiles:
    def test_csv_has_all_of_it_and_no_formulas(self, client: Client, events: list[Event]) -> None:
        an_event('=HYPERLINK("http://evil")', cause="+1", day=5)
        answer = signed_in(client).post("/audit/export", {"format": "csv", "what": "worker:"})
        rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
        assert [row["subject"] for row in rows] == ['\'=HYPERLINK("http://evil")', "gpu-7"]
        assert rows[0]["cause"] == "'+1"
        assert "attachment" in answer["Content-Disposition"]

    def test_json_lines_are_documents(self, client: Client, events: list[Event]) -> None:
        answer = signed_in(client).post("/audit/export", {"format": "jsonl"})
        documents = [json.loads(line) for line in b"".join(answer.streaming_content).splitlines()]
        assert [each["subject"] for each in documents][1:] == ["j-12", "noor", "gpu-7", "j-12", "gpu-7"]

    def test_that_it_was_taken_is_written_down(self, client: Client) -> None:
        signed_in(client).post("/audit/export", {"format": "csv", "who": "mira"}, REMOTE_ADDR="10.1.2.3")
        told = Event.objects.get(verb="exported")
        assert (told.actor, told.address, told.detail) == ("user:ada", "10.1.2.3", {"who": "mira"})

    def test_operators_get_what_they_may_see(self, client: Client, events: list[Event]) -> None:
        answer = signed_in(client, "olga", Role.OPERATOR).post("/audit/export", {"format": "jsonl"})
        assert b"noor" not in b"".join(answer.streaming_content)

    def test_is_read_in_pieces(self, events: list[Event]) -> None:
        assert [event.pk for event in trail_search.every(Asked(), everything=True, at_once=2)] == [
            event.pk for event in reversed(events)
        ]

    @pytest.mark.parametrize("bad", [{}, {"format": "exe"}, {"format": "csv", "since": "x"}])
    def test_another_kind_is_refused(self, client: Client, bad: dict) -> None:
        assert signed_in(client).post("/audit/export", bad).status_code == 422

    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            ("=1", "'=1"), ("  @x", "'  @x"), ("-1", "'-1"), ("a=1", "a=1"), ("", ""), (12, 12), ({}, ""),
            ({"a": 1}, '{"a": 1}'),
        ],
    )  # fmt: skip
    def test_a_cell(self, value: object, shown: object) -> None:
        assert cell(value) == shown


class TestTheApi:
    def test_gives_events_and_the_way_on(self, client: Client, events: list[Event]) -> None:
        answer = signed_in(client).get("/api/v1/audit", {"what": "gpu-7"}).json()
        assert [each["verb"] for each in answer["items"]] == ["label site", "intent"]
        assert answer["older"] is None

    def test_says_what_is_wrong(self, client: Client) -> None:
        answer = signed_in(client).get("/api/v1/audit", {"since": "yesterday"})
        assert answer.status_code == 422
        assert answer.json()["problems"][0]["path"] == "since"

    def test_checks_the_seals(self, client: Client, events: list[Event]) -> None:
        seal_events(now=timezone.now())
        checked = signed_in(client).get("/api/v1/audit/verify").json()
        assert (checked["events"], checked["findings"], checked["complete"]) == (5, [], True)
        wrong = client.get("/api/v1/audit/verify", {"anchor": f"{checked['upto']}:{'0' * 64}"}).json()
        assert [each["what"] for each in wrong["findings"]] == ["seal"]

    @pytest.mark.parametrize("path", ["/api/v1/audit", "/api/v1/audit/verify"])
    def test_is_for_operators(self, client: Client, path: str) -> None:
        assert signed_in(client, "sam", Role.SUBMITTER).get(path).status_code == 403
