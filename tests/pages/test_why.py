"""What a job's pages say beyond its candidates: what would help, what is in the way, every check, what changed."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from scheduler.core.parsing import parse_job
from scheduler.documents import read_text
from scheduler.models import Job, Task
from scheduler.services.holding import release
from tests.factories import a_job, a_pass, a_user, a_worker, changed
from tests.pages.conftest import many_workers
from tests.pages.test_lists import HTMX, text

pytestmark = pytest.mark.django_db


def decided(job: Job) -> Job:
    a_pass(at=timezone.now())
    job.refresh_from_db()
    return job


def panels(html: str) -> list[str]:
    """The headings of the page's panels."""
    return re.findall(r'<h2 id="[^"]+">([^<]+)</h2>', html)


def plain(html: str) -> str:
    """What stands there, without marks and with single spaces."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


@pytest.fixture
def taken(mira):
    """Two workers, both held; the jobs that hold them, and one that waits for two devices."""
    a_worker("w1", gpus="2xA100", heartbeat_seconds=3600)
    a_worker("w2", gpus="1xT4", heartbeat_seconds=3600)
    first = a_job(owner=mira, timeout_s=3600)
    a_pass(at=timezone.now())
    waiting = a_job(owner=mira, gpus=2)
    a_pass(at=timezone.now())
    later = a_job(owner=mira, resources={"gpu_memory_gb": 40})
    decided(later)
    for job in (first, later):
        changed(Task.objects.get(attempt__job=job), claimed_at=timezone.now(), started_at=timezone.now())
    waiting.refresh_from_db()
    return first, waiting, later


def end(job: Job) -> None:
    task = Task.objects.get(attempt__job=job)
    changed(task, claimed_at=timezone.now(), state="succeeded", finished_at=timezone.now())
    release([task], now=timezone.now())


class TestOfAJobThatWaits:
    def test_what_would_start_it_sooner_is_an_edited_copy_away(self, page, taken):
        _, waiting, _ = taken
        html = text(page, f"/jobs/{waiting.job_id}")
        assert "What would start it sooner" in panels(html)
        assert "GPUs 2 → 1 +1 worker, 1 of them free now; 1 that fits already is free for it; starts now" in plain(html)
        copy, yaml = re.findall(r'href="(/jobs/[^"]+/edited\?[^"]+)"', html)[:2]
        form = text(page, copy.replace("&amp;", "&"))
        assert re.search(r'name="gpus"[^>]* value="1"|value="1"[^>]* name="gpus"', form)
        answer = page.get(yaml.replace("&amp;", "&"))
        assert answer.headers["Content-Disposition"] == f'attachment; filename="{waiting.job_id}-edited.yaml"'
        assert parse_job(read_text(answer.content.decode(), format="yaml")).resources.gpus == 1

    def test_secrets_go_along_with_an_edited_copy_and_into_no_file(self, page, mira):
        a_worker("w1", gpus="1xT4")
        job = decided(a_job(owner=mira, gpus=2, secrets={"TOKEN": "hidden"}))
        copy, yaml = re.findall(r'href="(/jobs/[^"]+/edited\?[^"]+)"', text(page, f"/jobs/{job.job_id}"))[:2]
        form = text(page, copy.replace("&amp;", "&"))
        assert "TOKEN" in form
        assert "hidden" not in plain(form).replace("visually-hidden", "")
        assert "TOKEN" not in page.get(yaml.replace("&amp;", "&")).content.decode()

    def test_what_is_in_the_way_until_when_and_who_went_ahead(self, page, taken):
        first, waiting, later = taken
        html = text(page, f"/jobs/{waiting.job_id}")
        assert {"What is in the way", "Passed over: 1 later job started on workers that fit this one"} <= set(
            panels(html)
        )
        assert f"{later.job_id} train took device 1 on w1" in plain(html)
        assert "1 worker could run it, not now" in plain(html)
        assert f"on w1, when {first.job_id} reaches its time limit." in plain(html)

    def test_reserving_is_offered_to_operators_after_half_an_hour(self, page, operator, taken):
        _, waiting, _ = taken
        changed(waiting, submitted_at=timezone.now() - timedelta(minutes=40))
        link = f"/reservations/new?holder=job:{waiting.job_id}"
        for client, offered in ((operator, True), (page, False)):
            html = text(client, f"/jobs/{waiting.job_id}")
            assert "so reserving workers for it is the thing to do" in html
            assert (link in html) is offered

    def test_an_edit_that_is_no_more_says_so(self, page, taken):
        _, waiting, _ = taken
        gone = page.get(f"/jobs/{waiting.job_id}/edited?edit=nothing", follow=True)
        assert gone.redirect_chain == [(f"/jobs/{waiting.job_id}", 302)]
        assert "has changed since that page was made" in gone.content.decode()
        assert page.get(f"/jobs/{waiting.job_id}/edited").status_code == 302
        assert page.get(f"/jobs/{waiting.job_id}/edited?edit=x&worker=none").status_code == 404


class TestOfOthers:
    def test_a_placed_job_says_why_this_one(self, page, mira):
        for name in ("w1", "w2"):
            a_worker(name, gpus="1xA100")
        html = text(page, f"/jobs/{decided(a_job(owner=mira)).job_id}")
        assert "Policy order: first_fit" in panels(html)
        assert "its id comes after w1" in plain(html)
        assert "lowest worker id first, compared as text" in plain(html)
        assert "most_free_memory would have taken the same." in plain(html)
        assert 'aria-label="Devices: 0 selected"' in html
        assert not {"What would start it sooner", "What is in the way"} & set(panels(html))

    def test_a_job_that_never_fits_says_what_would_make_it_fit(self, page, mira):
        a_worker("w1", gpus="1xT4")
        html = text(page, f"/jobs/{decided(a_job(owner=mira, resources={'gpu_memory_gb': 40})).job_id}")
        assert "What would make it fit" in panels(html)
        assert "GPU memory 40 GB → 16 GB" in plain(html)

    def test_a_job_that_is_over_says_what_would_have_helped(self, page, taken):
        _, waiting, _ = taken
        changed(waiting, state="cancelled", finished_at=timezone.now())
        found = panels(text(page, f"/jobs/{waiting.job_id}"))
        assert "What would have started it sooner" in found
        assert "What would start it sooner" not in found

    def test_a_gang_says_what_each_torch_version_has(self, page, mira):
        a_worker("w1", gpus="1xT4")
        html = text(page, f"/jobs/{decided(a_job(owner=mira, distributed={'num_workers': 2})).job_id}")
        assert "Gang: 2 workers of one target with one torch version" in panels(html)
        assert 'aria-label="1 of 2 places filled"' in html
        assert "2.6.0+cu124 1 of 2 w1 0 never: only 1 worker of this version" in plain(html)

    def test_nothing_before_the_first_pass(self, page, mira):
        job = a_job(owner=mira)
        for tail in ("why", "checks", "changes", "why-not/w1", "edited"):
            assert page.get(f"/jobs/{job.job_id}/{tail}").status_code == 404, tail

    def test_values_of_env_stay_with_their_owner(self, page, taken):
        _, waiting, _ = taken
        changed(waiting, spec=waiting.spec | {"env": {"TOKEN": "hidden"}})
        stranger = Client()
        stranger.force_login(a_user("eve"))
        for client, seen in ((page, True), (stranger, False)):
            html = text(client, f"/jobs/{waiting.job_id}")
            (yaml, *_) = re.findall(r'href="(/jobs/[^"]+as=yaml)"', html)
            assert ("hidden" in client.get(yaml.replace("&amp;", "&")).content.decode()) is seen


class TestEveryCheck:
    def test_is_counted_by_groups_of_workers(self, page, taken):
        _, waiting, _ = taken
        html = text(page, f"/jobs/{waiting.job_id}/checks?by=gpu")
        table = plain(html[html.index('<table class="mx') : html.index("</table>", html.index('<table class="mx'))])
        assert "All 2 1 × Tesla T4 1 2 × NVIDIA A100-SXM4-80GB 1 Only blocker" in table
        assert "2 GPUs 1 all 1 ✓ 1" in table
        assert "Can run it 1 0 1" in table
        assert "Devices free 1 – all 1 1" in table
        assert "Free now 0 0 0" in table

    @pytest.mark.parametrize("by", ["tier", "torch", "label:zone"])
    def test_by_another_grouping_with_and_without_htmx(self, page, taken, by):
        _, waiting, _ = taken
        url = f"/jobs/{waiting.job_id}/checks?by={by}"
        piece, whole = text(page, url, **HTMX), text(page, url)
        assert piece.lstrip().startswith('<section id="checks"')
        assert f'<option value="{by}" selected>' in piece
        assert f'<option value="{by}" selected>' in whole
        assert "<html" in whole

    @pytest.mark.parametrize("by", ["colour", "label:", "label:a%00b", "label:" + "x" * 300, "worker"])
    def test_what_is_no_grouping_counts_as_not_asked(self, page, taken, by):
        _, waiting, _ = taken
        url = f"/jobs/{waiting.job_id}/checks?by={by}"
        assert '<option value="worker" selected>' in text(page, url, **HTMX), "of few workers"
        many_workers(9)
        a_pass(at=timezone.now() + timedelta(seconds=90))
        assert '<option value="gpu" selected>' in text(page, url, **HTMX), "of more"


class TestOneWorker:
    def test_is_a_page_of_its_own_that_candidates_lead_to(self, page, taken):
        _, waiting, _ = taken
        links = re.findall(rf'href="(/jobs/{waiting.job_id}/why-not/w2[^"#]*)"', text(page, f"/jobs/{waiting.job_id}"))
        link = links[0]
        found = plain(text(page, link))
        assert "w2 can never run it, as both stand: 1 of 5 checks that were asked failed." in found
        assert "Number of GPUs gpu_count resources.gpus 2 GPUs 1 ✗ never fits" in found
        assert "Label label placement.worker_labels – – – not stated" in found
        assert "Online offline – online – – not asked" in found
        assert "gpu_count Ask for fewer resources.gpus ." in found
        assert "What the job could ask instead" in found
        assert f"gpulayer job why-not {waiting.job_id} w2" in found

    def test_shows_only_what_failed_or_was_asked(self, page, taken):
        _, waiting, _ = taken
        url = f"/jobs/{waiting.job_id}/why-not/w2"
        rows = {
            which: text(page, f"{url}?show={which}").count('<tr role="row" id=') for which in ("all", "failed", "asked")
        }
        assert rows == {"all": 46, "failed": 1, "asked": 5}

    def test_of_the_chosen_one_says_so(self, page, taken):
        first, *_ = taken
        assert "w1 was chosen: it passed every check" in text(page, f"/jobs/{first.job_id}/why-not/w1")

    def test_that_nobody_knows_is_not_found(self, page, taken):
        _, waiting, _ = taken
        assert page.get(f"/jobs/{waiting.job_id}/why-not/nobody").status_code == 404

    def test_is_asked_for_from_the_workers_page(self, page, taken):
        _, waiting, _ = taken
        html = text(page, "/workers/w2")
        assert "Ask about one job" in html
        answer = page.get(f"/why-not?worker=w2&job={waiting.job_id}")
        assert answer.headers["Location"] == f"/jobs/{waiting.job_id}/why-not/w2"
        assert page.get(f"/why-not?worker=a%0Ab&job={waiting.job_id}").status_code == 302
        assert page.get("/why-not?worker=w2&job=train").headers["Location"] == "/jobs?state=all&q=train"


class TestChanges:
    def test_between_the_latest_two_decisions(self, page, taken):
        first, waiting, later = taken
        assert "Only one decision is kept" in text(page, f"/jobs/{waiting.job_id}/changes")
        end(first)
        end(later)
        a_pass(at=timezone.now() + timedelta(minutes=2))
        html = text(page, f"/jobs/{waiting.job_id}/changes")
        assert "Waiting → placed on w1; 1 candidate changed." in plain(html)
        assert f"Came free and was chosen: {first.job_id} released device 0" in plain(html)
        assert f'href="/jobs/{waiting.job_id}/changes?later=' in text(page, f"/jobs/{waiting.job_id}")

    @pytest.mark.parametrize("query", ["later=x", "earlier=99999999", "later=0", "later=" + "9" * 30])
    def test_what_is_not_kept_is_not_found(self, page, taken, query):
        _, waiting, _ = taken
        expected = 200 if query == "later=0" else 404
        assert page.get(f"/jobs/{waiting.job_id}/changes?{query}").status_code == expected


class TestOfManyWorkers:
    def test_the_panels_come_by_themselves(self, page, mira):
        many_workers(1_001)
        job = decided(a_job(owner=mira, gpus=8))
        html = text(page, f"/jobs/{job.job_id}")
        (place,) = re.findall(r'<div id="whys"[^>]*>', html)
        assert "How 1,001 workers became 0" in panels(html)
        assert 'hx-trigger="load"' in place
        url = re.findall(r'hx-get="([^"]+)"', place)[0]
        assert f'<a href="{url}">Show what would help' in html
        piece, whole = text(page, url, **HTMX), text(page, url)
        assert piece.lstrip().startswith('<div id="whys">')
        assert {"What would make it fit", "Every check, group by group"} <= set(panels(piece)) & set(panels(whole))
        assert len(piece) < 20_000

    def test_no_page_asks_more_of_the_database_for_more_workers(self, page, taken):
        _, waiting, _ = taken
        counts = {}
        for more in (0, 60):
            for number in range(more):
                a_worker(f"more-{number}", gpus="1xT4", heartbeat_seconds=3600)
            a_pass(at=timezone.now() + timedelta(minutes=more))
            for tail in ("why", "checks", "why-not/w1", "edited?edit=x"):
                page.get(f"/jobs/{waiting.job_id}/{tail}")
                with CaptureQueriesContext(connection) as asked:
                    page.get(f"/jobs/{waiting.job_id}/{tail}")
                counts.setdefault(tail, set()).add(len(asked))
        assert all(len(found) == 1 for found in counts.values()), counts
