"""Candidates: every number leads to its rows; searched, ordered, paged and pinned; one by one, and all as a file."""

from __future__ import annotations

import csv
import html as markup
import io
import json
import re
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from scheduler.core.codec import decision_to_document
from scheduler.models import Job
from scheduler.services.recorded import recorded
from tests.factories import a_job, a_pass, a_reservation, a_user, a_worker, changed, later
from tests.pages.conftest import many_workers
from tests.pages.test_lists import HTMX, text
from workers.moments import minute
from workers.spreadsheets import cell

pytestmark = pytest.mark.django_db

QUERIES = 5
LONG = "training-node-with-a-name-as-long-as-host-names-become-0042"


def decided(job: Job) -> Job:
    a_pass(at=timezone.now())
    job.refresh_from_db()
    return job


def shown(html: str) -> list[str]:
    """The workers in the rows."""
    return re.findall(r'class="w"><a href="/workers/([^"]+)"', html)


def counted(html: str) -> int:
    """How many candidates match."""
    return int(re.findall(r'id="cand-rows" data-say="([\d,]+) candidate', html)[0].replace(",", ""))


def numbers(html: str, job: Job) -> Iterator[tuple[int, str]]:
    """(number, address) of every number that leads to candidates."""
    for address, inside in re.findall(rf'<a[^>]* href="(/jobs/{job.job_id}/candidates\?[^"]*)"[^>]*>(.*?)</a>', html):
        said = re.sub(r"\(\d+ \?\)", "", re.sub(r"<(?!/?span)[^>]+>|</?span[^>]*>", " ", inside)).replace(",", "")
        if found := re.findall(r"(?:^|[\s−])(\d+)\s*$", said.strip()):
            yield int(found[0]), markup.unescape(address)


@pytest.fixture
def mixed(mira) -> Job:
    """A job that waits, on a fleet in which something of everything stands in its way."""
    for place in range(6):
        a_worker(f"a100-{place}", gpus="2xA100", labels={"zone": "a"}, heartbeat_seconds=3600)
    for place in range(3):
        a_worker(f"t4-{place}", gpus="4xT4", labels={"zone": "b"}, heartbeat_seconds=3600)
    a_worker("one-gpu", gpus="1xA100", labels={"zone": "a"}, heartbeat_seconds=3600)
    a_worker("quiet", gpus="2x?", heartbeat_seconds=3600, facts={"memory": None})
    a_worker("old", gpus="2xA100", heartbeat_seconds=3600, facts={"frameworks": {"torch": "2.1.0+cu118"}})
    a_worker("drained", gpus="2xA100", intent="draining", heartbeat_seconds=3600)
    for place in range(2):
        a_worker(f"cloud-{place}", gpus="2xH100", origin="cloud", heartbeat_seconds=3600)
    kept = a_worker(LONG, gpus="8xA100+8xH100", heartbeat_seconds=3600)
    a_reservation(kept, "team:vision", starts_at=later(hours=-1), ends_at=later(hours=3))
    for _ in range(6):
        a_job(owner=mira, gpus=1, placement={"worker_labels": {"zone": "a"}})
    a_pass(at=timezone.now())
    wants = {"gpu_memory_gb": 40, "memory_gb": 32}
    return decided(a_job(owner=mira, gpus=2, resources=wants, runtime={"frameworks": {"torch": ">=2.4"}}))


class TestEveryNumber:
    def test_leads_to_just_its_rows(self, page, mixed):
        checked = set()
        for place in ("", "/checks?by=gpu", "/checks?by=label:zone", "/checks?by=torch", "/candidates?verdict=never"):
            for number, address in numbers(text(page, f"/jobs/{mixed.job_id}{place}"), mixed):
                if address not in checked:
                    checked.add(address)
                    assert counted(text(page, address.partition("#")[0], **HTMX)) == number, (place, address)
        asked = " ".join(checked)
        assert len(checked) > 60
        for part in (
            "as=first",
            "as=only",
            "group=",
            "subject=torch",
            "verdict=now",
            "verdict=fits",
            "code=gpu_in_use",
        ):
            assert part in asked, part

    def test_is_told_of_a_worker_reserved_with_an_end_as_of_nothing_that_never_fits(self, page, mixed):
        url = f"/jobs/{mixed.job_id}/candidates"
        assert shown(text(page, f"{url}?verdict=reserved")) == [LONG]
        assert LONG not in shown(text(page, f"{url}?verdict=never")) + shown(text(page, f"{url}?verdict=busy"))
        assert f"reserved for team vision until {minute(later(hours=3), now=timezone.now())}" in text(page, url)

    def test_of_the_table_says_what_it_counts(self, page, mixed):
        html = text(page, f"/jobs/{mixed.job_id}/checks?by=gpu", **HTMX)
        assert "cloud" not in html
        assert "4 × Tesla T4" in html
        assert "RAM ≥ 32 GB" in html
        assert ">torch &gt;=2.4</th>" in html, "names of packages keep their case"


class TestRows:
    def test_are_found_by_worker_model_label_job_and_reason(self, page, mixed):
        url = f"/jobs/{mixed.job_id}/candidates?verdict=all&q="
        holder = Job.objects.order_by("pk").first()
        assert shown(text(page, url + "T4-1")) == ["t4-1"]
        assert set(shown(text(page, url + "tesla"))) == {"t4-0", "t4-1", "t4-2"}
        assert set(shown(text(page, url + "zone=b"))) == {"t4-0", "t4-1", "t4-2"}
        assert shown(text(page, url + holder.job_id)) == ["a100-0"]
        assert shown(text(page, url + "draining")) == ["drained"]

    def test_stand_in_the_order_asked_for(self, page, mixed):
        url = f"/jobs/{mixed.job_id}/candidates?verdict=all&sort="
        names = shown(text(page, url + "worker"))
        assert names == sorted(names)
        by_reasons = re.findall(r'<td role="cell" class="wide">(.*?)</td>', text(page, url + "reasons", **HTMX))
        counts = [one.count('class="why ') for one in by_reasons]
        assert counts == sorted(counts)
        verdicts = re.findall(r'<span class="pill [^"]+">.*?</svg>([^<]+)</span>', text(page, url + "order", **HTMX))
        rows = [one for one in verdicts if one in ("Fits, not free", "Reserved", "Never fits", "Outside target")]
        assert rows == sorted(rows, key=("Fits, not free", "Reserved", "Never fits", "Outside target").index)

    def test_that_do_not_match_say_what_hides_most(self, page, mixed):
        html = text(page, f"/jobs/{mixed.job_id}/candidates?q=nobody&code=gpu_memory")
        assert "No candidate matches" in html
        assert "candidates match without “nobody”." in html

    def test_say_how_they_are_narrowed_and_let_it_be_taken_away(self, page, mixed):
        html = text(
            page, f"/jobs/{mixed.job_id}/candidates?code=gpu_in_use&as=only&by=label:zone&group=zone%3Da", **HTMX
        )
        assert "only blocker: devices free" in html
        assert "group: zone=a" in html

    def test_of_no_worker_at_all_lead_to_adding_one(self, page, mira):
        html = text(page, f"/jobs/{decided(a_job(owner=mira)).job_id}")
        assert "No workers registered" in html
        assert "candidates.csv" not in html

    @pytest.mark.parametrize(("number", "few"), [(3, True), (8, True), (9, False)])
    def test_of_few_need_no_choosing(self, page, mira, number, few):
        for place in range(number):
            a_worker(f"w{place}", gpus="1xT4", heartbeat_seconds=3600)
        html = text(page, f"/jobs/{decided(a_job(owner=mira, gpus=2)).job_id}")
        assert ("Filter by reason" not in html) is few
        assert ("Every check, worker by worker" in html) is few
        assert len(shown(html)) >= number


class TestWorkerByWorker:
    def test_shows_what_each_has_and_whether_it_will_do(self, page, mira):
        a_worker("w1", gpus="4xT4", heartbeat_seconds=3600)
        a_worker("w2", gpus="1xA100", heartbeat_seconds=3600, facts={"memory": None})
        job = decided(a_job(owner=mira, gpus=2, resources={"memory_gb": 32}))
        html = text(page, f"/jobs/{job.job_id}/checks", **HTMX)
        table = " ".join(re.sub(r"<[^>]+>", " ", html[html.index("<table") : html.index("</table>")]).split())
        assert "w1 4 × Tesla T4 w2 1 × A100-SXM4-80GB" in table
        assert "RAM ≥ 32 GB ✓ 64 GB ? unknown" in table
        assert "2 GPUs ✓ 4 ✗ 1" in table
        assert "Can run it yes no: 2 reasons" in table
        assert "Free now yes –" in table
        number = job.decision.pass_row.number
        assert f'href="/jobs/{job.job_id}/why-not/w2?pass={number}#gpu_count"' in html


class TestOneCandidate:
    def test_opens_with_what_was_required_and_what_there_is(self, page, mixed):
        url = f"/jobs/{mixed.job_id}/candidates/t4-1?pass={mixed.decision.pass_row.number}"
        html = text(page, url, **HTMX)
        assert html.lstrip().startswith("<tbody")
        row = " ".join(re.sub(r"<[^>]+>", " ", html).split())
        assert "GPU memory ≥ 40 GB on 2 devices 16.1 GB ✗ never fits" in row
        assert "RAM ≥ 32 GB 64 GB ✓ passed" in row
        assert f'href="/jobs/{mixed.job_id}/why-not/t4-1?pass=' in html

    def test_by_itself_is_the_page_of_the_pair(self, page, mixed):
        answer = page.get(f"/jobs/{mixed.job_id}/candidates/t4-1?pass=2")
        assert answer.headers["Location"] == f"/jobs/{mixed.job_id}/why-not/t4-1?pass=2"

    def test_that_nobody_knows_is_not_found(self, page, mixed):
        assert page.get(f"/jobs/{mixed.job_id}/candidates/nobody", headers=HTMX).status_code == 404


class TestPins:
    def test_a_link_shows_what_its_pass_saw_for_ever(self, page, mira):
        worker = a_worker("w1", gpus="1xA100", heartbeat_seconds=3600)
        a_job(owner=mira)
        job = decided(a_job(owner=mira))
        before = job.decision.pass_row.number
        changed(worker, intent="draining", version=5)
        a_worker("w2", gpus="1xT4", heartbeat_seconds=3600)
        a_pass(at=later(seconds=90))
        job.refresh_from_db()
        after = job.decision.pass_row.number
        assert after > before
        for tail in ("", "/candidates", "/checks", "/why"):
            url = f"/jobs/{job.job_id}{tail}"
            assert "w2" in text(page, f"{url}?pass={after}"), tail
            assert "w2" in text(page, url), tail
            earlier = text(page, f"{url}?pass={before}")
            assert "why-not/w2" not in earlier, tail
        pair = f"/jobs/{job.job_id}/why-not/w1"
        assert f"Otherwise at pass {after}:" in text(page, f"{pair}?pass={before}")
        assert "Otherwise at pass" not in text(page, pair)
        assert page.get(f"/jobs/{job.job_id}/why-not/w2?pass={before}").status_code == 404

    def test_a_pass_before_the_first_decision_is_not_found(self, page, mixed):
        assert page.get(f"/jobs/{mixed.job_id}/candidates?pass=1").status_code == 404

    def test_a_pass_that_wrote_nothing_shows_what_was_in_force(self, page, mixed):
        number = mixed.decision.pass_row.number
        assert counted(text(page, f"/jobs/{mixed.job_id}/candidates?pass={number + 100}", **HTMX)) == 14


class TestFiles:
    def test_json_is_the_stored_decision(self, page, mixed):
        answer = page.get(f"/jobs/{mixed.job_id}/candidates.json")
        assert answer.streaming
        assert answer.headers["Content-Disposition"].startswith(f'attachment; filename="{mixed.job_id}-pass-')
        found = json.loads(b"".join(answer))
        kept = recorded(mixed)
        assert found.pop("pass_number") == kept.row.pass_row.number
        found.pop("seen_at")
        assert found == json.loads(json.dumps(decision_to_document(kept.decision)))

    def test_csv_has_a_line_for_every_worker_with_its_reasons(self, page, mixed):
        answer = page.get(f"/jobs/{mixed.job_id}/candidates.csv?pass={mixed.decision.pass_row.number}")
        rows = list(csv.DictReader(io.StringIO(b"".join(answer).decode())))
        stored = recorded(mixed).decision.candidates
        assert [row["worker"] for row in rows] == [one.worker for one in stored]
        assert [row["verdict"] for row in rows] == [one.verdict.value for one in stored]
        assert [len(row["reasons"].split("; ")) >= len(one.reasons) for row, one in zip(rows, stored, strict=True)]
        assert {row["pass"] for row in rows} == {str(mixed.decision.pass_row.number)}

    def test_csv_of_a_placed_job_numbers_the_order_and_names_its_devices(self, page, mira):
        for name in ("w1", "w2"):
            a_worker(name, gpus="2xA100", heartbeat_seconds=3600)
        job = decided(a_job(owner=mira, gpus=2))
        rows = csv.DictReader(io.StringIO(b"".join(page.get(f"/jobs/{job.job_id}/candidates.csv")).decode()))
        told = [(row["worker"], row["verdict"], row["order"], row["devices"]) for row in rows]
        assert told == [("w1", "selected", "1", "0 1"), ("w2", "eligible", "2", "")]

    @pytest.mark.parametrize("value", ["=1+1", "+1", "-1", "@x", "\tx", " =1", "%x", "|x"])
    def test_no_cell_is_a_formula(self, value):
        assert cell(value) == f"'{value}"

    def test_a_workers_name_is_no_formula_either(self, page, mira):
        a_worker("=HYPERLINK(1)", gpus="1xA100", heartbeat_seconds=3600)
        job = decided(a_job(owner=mira))
        assert b"'=HYPERLINK(1)" in b"".join(page.get(f"/jobs/{job.job_id}/candidates.csv"))

    def test_are_nobody_elses_where_others_jobs_are_hidden(self, mixed, settings):
        settings.GPULAYER_OTHERS_JOBS = "hidden"
        stranger = Client()
        stranger.force_login(a_user("eve"))
        for tail in ("candidates.csv", "candidates.json", "candidates", "candidates/t4-1", "why-not/t4-1"):
            assert stranger.get(f"/jobs/{mixed.job_id}/{tail}", headers=HTMX).status_code == 404, tail

    def test_name_no_job_that_is_not_seen(self, mira, settings):
        settings.GPULAYER_OTHERS_JOBS = "hidden"
        a_worker("w1", gpus="1xA100", heartbeat_seconds=3600)
        hidden = decided(a_job(owner=mira))
        own = decided(a_job(owner=a_user("eve")))
        eve = Client()
        eve.force_login(a_user("eve"))
        for tail in ("candidates.csv", "candidates.json", "candidates", f"candidates?q={hidden.job_id}"):
            answer = eve.get(f"/jobs/{own.job_id}/{tail}", headers=HTMX)
            told = b"".join(answer) if answer.streaming else answer.content
            assert "q=" not in tail or counted(told.decode()) == 0
            assert not re.search(
                rb"\b" + hidden.job_id.encode() + rb"\b", told.partition(b"No candidate matches")[0]
            ), tail


class TestOfMany:
    @pytest.mark.parametrize("number", [300, pytest.param(10_000, marks=pytest.mark.soak)])
    def test_come_at_a_fixed_cost(self, page, mira, number):
        many_workers(number)
        job = decided(a_job(owner=mira))
        for query in ("", "?verdict=now&sort=worker", "?q=a100", "?by=gpu&group=4 × NVIDIA A100-SXM4-80GB"):
            url = f"/jobs/{job.job_id}/candidates{query}"
            text(page, url, **HTMX)
            with CaptureQueriesContext(connection) as asked:
                html = text(page, url, **HTMX)
            assert (counted(html), len(asked)) == (number, QUERIES)

    def test_next_and_previous_lose_none_and_come_back(self, page, mira):
        many_workers(60)
        job = decided(a_job(owner=mira))
        html = text(page, f"/jobs/{job.job_id}/candidates", **HTMX)
        first, seen = shown(html), []
        while True:
            seen += shown(html)
            onward = re.search(r'rel="next" href="([^"]+)"', html)
            if not onward:
                break
            html = text(page, markup.unescape(onward[1]), **HTMX)
        assert seen == sorted(seen)
        assert len(seen) == 60
        while back := re.search(r'rel="prev" href="([^"]+)"', html):
            html = text(page, markup.unescape(back[1]), **HTMX)
        assert shown(html) == first


class TestANewerPass:
    def head_of(self, page: Client, job: Job) -> str:
        """The address that an open page asks."""
        html = text(page, f"/jobs/{job.job_id}")
        return markup.unescape(re.findall(rf'hx-get="(/jobs/{job.job_id}/live\?[^"]+)"', html)[0])

    def test_is_told_with_what_it_changed_and_rows_stay(self, page, mira):
        worker = a_worker("w1", gpus="1xA100", heartbeat_seconds=3600)
        a_worker("w2", gpus="1xT4", heartbeat_seconds=3600)
        a_job(owner=mira)
        job = decided(a_job(owner=mira, resources={"gpu_memory_gb": 40}))
        asked = self.head_of(page, job)
        assert "is newer" not in text(page, asked, **HTMX)
        changed(worker, intent="draining", version=5)
        a_pass(at=later(seconds=90))
        before = job.decision.pass_row.number
        job.refresh_from_db()
        html = text(page, asked, **HTMX)
        banner = html[html.index('<div id="cand-newer"') :]
        assert 'hx-swap-oob="outerMorph"' in banner
        assert f"Pass {job.decision.pass_row.number} is newer" in banner
        assert "1 candidate changed" in banner
        assert "cand-rows" not in html
        pinned = text(page, f"/jobs/{job.job_id}/candidates?pass={before}", **HTMX)
        assert "draining" not in pinned

    def test_is_not_told_of_figures_that_were_brought_up_to_date(self, page, mira):
        a_worker("w1", gpus="1xT4", heartbeat_seconds=3600)
        job = decided(a_job(owner=mira, gpus=2))
        asked = self.head_of(page, job)
        a_pass(at=later(seconds=90))
        assert "is newer" not in text(page, asked, **HTMX)

    @pytest.mark.parametrize("query", ["read=x&seen=y", "read=" + "9" * 40 + "&seen=", "read=&seen=zz", "seen=%00"])
    def test_asked_for_with_nonsense_is_no_error(self, page, mira, query):
        a_worker("w1", gpus="1xT4", heartbeat_seconds=3600)
        job = decided(a_job(owner=mira, gpus=2))
        assert page.get(f"/jobs/{job.job_id}/live?tab=placement&{query}", headers=HTMX).status_code == 200
