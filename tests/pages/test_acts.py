"""What can be done with a job from its page and from the list, without any script."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from scheduler.models import Job, Task
from scheduler.services.pausing import pause_job
from tests.factories import a_job, a_pass, a_user, a_worker, changed, states

pytestmark = pytest.mark.django_db


def buttons(page: Client, url: str) -> list[str]:
    """The acts that a page offers, by their addresses' last part."""
    shown = page.get(url).content.decode()
    return re.findall(r'(?:formaction|href)="/jobs/j-\d+/act/([a-z-]+)"', shown)


def over(job: Job, state: str = "failed") -> Job:
    return changed(job, state=state, finished_at=timezone.now(), exit_code=1)


class TestWhatIsOffered:
    @pytest.mark.parametrize(
        ("state", "acts"),
        [
            ("queued", ["pause", "cancel"]),
            ("paused", ["resume", "cancel"]),
            ("running", ["cancel"]),
            ("cancelling", []),
            ("succeeded", ["retry", "delete"]),
            ("failed", ["retry", "delete"]),
        ],
    )
    def test_depends_on_the_state(self, page: Client, mira: User, state: str, acts: list[str]) -> None:
        job = a_job(owner=mira)
        if state in ("succeeded", "failed"):
            over(job, state)
        else:
            changed(job, state=state, cancel_requested_at=timezone.now() if state == "cancelling" else None)
        assert buttons(page, f"/jobs/{job.job_id}") == acts
        assert buttons(page, "/jobs?state=all") == [each for each in acts if each != "delete"]

    def test_is_for_the_owner_and_operators(self, page: Client, operator: Client) -> None:
        job = a_job(owner=a_user("jonas"))
        assert buttons(page, f"/jobs/{job.job_id}") == []
        assert buttons(page, "/jobs") == []
        assert buttons(operator, f"/jobs/{job.job_id}") == ["pause", "cancel"]

    @pytest.mark.parametrize("key", ["pause", "resume", "retry", "delete", "give-up"])
    def test_nobody_else_can_do_it_by_its_address(self, page: Client, key: str) -> None:
        job = a_job(owner=a_user("jonas"))
        assert page.post(f"/jobs/{job.job_id}/act/{key}").status_code == 403
        assert states(job) == ["queued"]


class TestPausing:
    def test_pause_and_resume(self, page: Client, mira: User) -> None:
        job = a_job(owner=mira)
        shown = page.post(f"/jobs/{job.job_id}/act/pause", follow=True).content.decode()
        assert states(job) == ["paused"]
        assert f"{job.job_id} is paused." in shown
        assert "Paused by mira." in shown
        assert "until it is resumed" in shown
        page.post(f"/jobs/{job.job_id}/act/resume")
        assert states(job) == ["queued"]

    def test_looking_at_the_address_does_nothing(self, page: Client, mira: User) -> None:
        job = a_job(owner=mira)
        assert page.get(f"/jobs/{job.job_id}/act/pause").headers["Location"] == f"/jobs/{job.job_id}"
        assert states(job) == ["queued"]

    def test_from_the_list_one_is_back_in_the_list(self, page: Client, mira: User) -> None:
        job = a_job(owner=mira)
        answer = page.post(f"/jobs/{job.job_id}/act/pause", {"back": "/jobs?state=queued"})
        assert answer.headers["Location"] == "/jobs?state=queued"
        for elsewhere in ("//evil.example/jobs", "https://evil.example/jobs", "/\\evil.example", "javascript:x"):
            answer = page.post(f"/jobs/{job.job_id}/act/pause", {"back": elsewhere})
            assert answer.headers["Location"] == f"/jobs/{job.job_id}"

    def test_the_list_says_by_whom(self, page: Client, mira: User) -> None:
        pause_job(job=a_job(owner=mira), actor="user:ada", now=timezone.now())
        assert "paused by ada" in page.get("/jobs").content.decode()

    def test_what_came_too_late_is_said(self, page: Client, mira: User) -> None:
        job = over(a_job(owner=mira))
        shown = page.post(f"/jobs/{job.job_id}/act/pause", follow=True).content.decode()
        assert f"Not done: {job.job_id} is over (failed); only a job that waits in the queue can be paused." in shown

    def test_why_the_server_paused_it_is_the_answer(self, page: Client, mira: User) -> None:
        why = "2 agents died while they ran it, on gpu-01 and gpu-02"
        job = changed(a_job(owner=mira), state="paused", paused_code="poison", paused_text=why)
        assert f"Paused: {why}." in page.get(f"/jobs/{job.job_id}").content.decode()
        assert "paused: agents died running it" in page.get("/jobs").content.decode()


class TestRetrying:
    def test_leads_to_the_new_job_and_links_both(self, page: Client, mira: User) -> None:
        job = over(a_job(owner=mira))
        shown = page.post(f"/jobs/{job.job_id}/act/retry", follow=True).content.decode()
        made = Job.objects.latest("pk")
        assert f"{made.job_id} is a retry of {job.job_id}." in shown
        assert re.search(rf'Made from <a class="mono" href="/jobs/{job.job_id}"', shown)
        before = page.get(f"/jobs/{job.job_id}").content.decode()
        assert re.search(rf'Made again as <a class="mono" href="/jobs/{made.job_id}"', before)

    def test_of_secrets_that_are_gone_says_what_to_do(self, page: Client, mira: User) -> None:
        job = changed(over(a_job(owner=mira, secrets={"TOKEN": "x"})), secrets=None)
        shown = page.post(f"/jobs/{job.job_id}/act/retry", follow=True).content.decode()
        assert "Not done: secrets.TOKEN" in shown
        assert Job.objects.count() == 1


class TestDeleting:
    def test_asks_first(self, page: Client, mira: User) -> None:
        job = over(a_job(owner=mira))
        assert f"Delete {job.job_id} train?" in page.get(f"/jobs/{job.job_id}/act/delete").content.decode()
        assert Job.objects.exists()

    def test_and_then_it_is_gone(self, page: Client, mira: User) -> None:
        job = over(a_job(owner=mira))
        shown = page.post(f"/jobs/{job.job_id}/act/delete", follow=True).content.decode()
        assert f"{job.job_id} is deleted." in shown
        assert not Job.objects.exists()


class TestGivingUp:
    def test_is_offered_where_the_host_is_out_of_contact_and_says_what_it_means(self, page: Client, mira: User) -> None:
        worker, job = a_worker("a"), a_job(owner=mira)
        a_pass()
        Task.objects.update(state="unknown", claimed_at=timezone.now(), started_at=timezone.now())
        changed(job, state="running", started_at=timezone.now())
        changed(worker, liveness="lost")
        assert buttons(page, f"/jobs/{job.job_id}") == ["give-up", "cancel"]
        asked = page.get(f"/jobs/{job.job_id}/act/give-up").content.decode()
        assert "it may still be running there" in asked
        page.post(f"/jobs/{job.job_id}/act/give-up")
        assert states(job) == ["failed"]

    def test_is_refused_where_it_is_there(self, page: Client, mira: User) -> None:
        job = a_job(owner=mira)
        shown = page.post(f"/jobs/{job.job_id}/act/give-up", follow=True).content.decode()
        assert f"Not done: {job.job_id} is on no host that is out of contact." in shown


def test_an_act_that_is_none_is_not_found(page: Client, mira: User) -> None:
    assert page.post(f"/jobs/{a_job(owner=mira).job_id}/act/explode").status_code == 404


def test_every_act_needs_the_forms_mark(mira: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(mira)
    job = a_job(owner=mira)
    assert strict.post(f"/jobs/{job.job_id}/act/pause").status_code == 403
    assert states(job) == ["queued"]


class TestASecondClick:
    def retried(self, page: Client, job: Job, form: str) -> str:
        """Where a click on Retry leads that was made on this page."""
        once = re.search(r'name="once" value="([^"]+)"', form)
        assert once
        return str(page.post(f"/jobs/{job.job_id}/act/retry", {"once": once[1]}).headers["Location"])

    def test_on_retry_leads_to_the_job_that_the_first_one_made(self, page: Client, mira: User) -> None:
        job = over(a_job(owner=mira))
        form = page.get(f"/jobs/{job.job_id}").content.decode()
        first, second = self.retried(page, job, form), self.retried(page, job, form)
        assert first == second != f"/jobs/{job.job_id}"
        assert Job.objects.filter(cloned_from=job).count() == 1

    def test_by_an_operator_is_as_harmless(self, operator: Client, mira: User) -> None:
        job = over(a_job(owner=mira))
        form = operator.get("/jobs?state=all").content.decode()
        assert self.retried(operator, job, form) == self.retried(operator, job, form)

    def test_on_a_page_that_was_loaded_again_makes_another_one(self, page: Client, mira: User) -> None:
        job = over(a_job(owner=mira))
        made = {self.retried(page, job, page.get(f"/jobs/{job.job_id}").content.decode()) for _ in range(2)}
        assert len(made) == 2

    def test_on_one_list_retries_each_job_once(self, page: Client, mira: User) -> None:
        one, two = over(a_job(owner=mira)), over(a_job(owner=mira))
        form = page.get("/jobs?state=all").content.decode()
        assert self.retried(page, one, form) != self.retried(page, two, form)

    def test_with_what_another_document_came_with_is_no_error_of_the_server(self, page: Client, mira: User) -> None:
        job = over(a_job(owner=mira))
        a_job(owner=mira, name="another", key=f"retry {job.job_id} {'x' * 20}")
        answer = page.post(f"/jobs/{job.job_id}/act/retry", {"once": "x" * 20}, follow=True)
        assert b"Not done" in answer.content
