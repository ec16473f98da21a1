"""What the submit page says before anything is submitted: the same as the pass decides after it."""

from __future__ import annotations

import html
import re
from random import Random

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from scheduler.core.codec import job_to_document
from scheduler.core.errors import DocumentError
from scheduler.core.parsing import parse_job
from scheduler.core.spec import JobSpec
from scheduler.core.words import in_utc
from scheduler.memory import forget
from scheduler.models import Job, SchedulingPass
from scheduler.services.jobs import submit_job
from scheduler.services.preview import latest_view, preview
from tests.core.strategies import a_random_spec
from tests.factories import a_job, a_pass, a_reservation, a_user, a_worker, latest, placed
from tests.pages.conftest import many_workers
from workers.models import Worker

pytestmark = pytest.mark.django_db

GOOD = {"name": "train", "command": "python train.py", "target": "local", "gpus": "2", "gpu_memory_gb": "40"}
FRAGMENT = {"HX-Request": "true"}


def asked(client: Client, **fields: object) -> str:
    """The pieces that come while somebody types, as text with its marks."""
    answer = client.post("/jobs/new/check", {**GOOD, **fields}, headers=FRAGMENT)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def words(page: str) -> str:
    """What is to be read on it."""
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


@pytest.fixture
def fleet(db: None) -> None:
    """Two local workers, of which one has large devices, and a larger remote one."""
    a_worker("w1", gpus="2xT4")
    a_worker("w2", gpus="4xA100", labels={"zone": "a"})
    a_worker("r1", gpus="8xH100", origin="remote")
    Worker.objects.update(heartbeat_seconds=3600)  # however slowly this test comes to its question
    a_pass()


@pytest.mark.usefixtures("fleet")
class TestAnswer:
    def test_says_where_it_would_run_and_as_what_pass_saw_the_fleet(self, page: Client) -> None:
        shown = words(asked(page))
        assert "Would run now on w2 , devices 0 and 1." in shown
        assert "Another job may take its place before you submit." in shown
        assert re.search(r"fleet · \d\d:\d\d:\d\d · \d+ ms", shown)
        assert "3 workers known 2 in the target: local 1 can run it (capability) 1 free now" in shown

    def test_says_for_what_it_would_wait(self, page: Client) -> None:
        a_job(gpus=4, resources={"gpu_memory_gb": 40})
        a_pass()
        a_job(gpus=16)
        a_pass()
        shown = words(asked(page))
        assert f"pass {SchedulingPass.objects.latest('number').number} ·" in shown
        assert "Would wait: only w2 can run this job, and it is not free now." in shown
        assert ">Submit<" in asked(page)

    def test_never_fits_can_be_submitted_all_the_same(self, page: Client) -> None:
        shown = asked(page, gpu_memory_gb="96")
        assert "Never fits: no local worker has 2 GPUs with ≥ 96 GB each" in words(shown)
        assert "Submit anyway, and wait" in shown
        assert page.post("/jobs/new", {**GOOD, "gpu_memory_gb": "96"}).status_code == 302

    def test_a_hold_says_until_when(self, page: Client) -> None:
        shown = asked(page, mode="hold", hold_s="4 h")
        assert re.search(r"Would hold w2 , devices 0 and 1 now, until [0-9-]* ?\d\d:\d\d", words(shown))
        assert "Hold 2 devices" in shown

    def test_fields_say_how_many_workers_meet_them(self, page: Client) -> None:
        shown = asked(page, worker_labels="zone=a")
        said = {name: words(text) for name, text in re.findall(r'id="said-(\w+)"[^>]*>(.*?)</div></div>', shown)}
        assert said["gpus"] == "2 of 2 local workers have 2 GPUs"
        assert said["gpu_memory_gb"] == "1 of 2 local workers has 2 GPUs with ≥ 40 GB each"
        assert said["worker_labels"] == "1 of 2 local workers has zone=a"

    def test_it_does_not_wait_for_a_name_and_a_command(self, page: Client) -> None:
        shown = words(asked(page, name="", command=""))
        assert "Would run now on w2" in shown
        assert "Still needed: name, command." in shown
        assert "expected" not in shown

    def test_with_an_error_in_what_it_asks_for_there_is_no_answer(self, page: Client) -> None:
        shown = asked(page, gpus="two")
        assert "Not checked: 1 error" in words(shown)
        assert "a whole number" in words(re.findall(r'id="said-gpus".*?</div></div></div>', shown)[0])

    def test_of_text_the_lines_are_named(self, page: Client) -> None:
        answer = page.post("/jobs/new/check", {"yaml": "name: a\ncommand: [x]\ntarget: x\nfoo: 1\n"}, headers=FRAGMENT)
        assert "Not checked: 2 errors, in lines 3, 4." in words(answer.content.decode())


@pytest.mark.usefixtures("fleet")
class TestApply:
    def key(self, shown: str, what: str) -> str:
        found = re.search(rf'value="(apply-\w+)"[^>]*>Apply<span[^>]*> {what}', shown)
        assert found, words(shown)
        return found[1]

    def test_puts_a_line_into_the_form(self, page: Client) -> None:
        act = self.key(asked(page, gpu_memory_gb="96"), "GPU memory")
        shown = page.post("/jobs/new", {**GOOD, "gpu_memory_gb": "96", "act": act}).content.decode()
        assert re.search(r'name="gpu_memory_gb" value="85"', shown)
        assert "Would run now on" in shown
        assert not Job.objects.exists()

    def test_adds_a_target(self, page: Client) -> None:
        act = self.key(asked(page, gpus="8"), "fallback targets")
        shown = page.post("/jobs/new", {**GOOD, "gpus": "8", "act": act}).content.decode()
        assert '<input type="hidden" name="fallback_1" value="remote">' in shown

    def test_changes_a_text_too(self, page: Client) -> None:
        text = "name: a\ncommand: [x]\ntarget: local\nresources: {gpus: 2, gpu_memory_gb: 96}\n"
        shown = page.post("/jobs/new/check", {"yaml": text}, headers=FRAGMENT).content.decode()
        act = self.key(html.unescape(shown), "GPU memory")
        assert "gpu_memory_gb: 85" in page.post("/jobs/new", {"yaml": text, "act": act}).content.decode()

    def test_a_line_that_is_no_more_changes_nothing(self, page: Client) -> None:
        shown = page.post("/jobs/new", {**GOOD, "act": "apply-gone"}).content.decode()
        assert 'name="gpu_memory_gb" value="40"' in shown


@pytest.mark.usefixtures("fleet")
class TestWithoutAScript:
    @pytest.mark.parametrize(
        ("sent", "act", "order"),
        [
            ({"fallback_1": "remote"}, "up-remote", ["remote", "local"]),
            ({"fallback_1": "remote"}, "down-local", ["remote", "local"]),
            ({"fallback_1": "remote"}, "remove-local", ["remote"]),
            ({}, "add-cloud", ["local", "cloud"]),
            ({}, "up-local", ["local"]),
            ({}, "add-moon", ["local"]),
        ],
    )
    def test_buttons_order_the_targets(self, page: Client, sent: dict[str, str], act: str, order: list[str]) -> None:
        shown = page.post("/jobs/new", {**GOOD, **sent, "act": act}).content.decode()
        assert re.findall(r'<input type="hidden" name="(?:target|fallback_\d)" value="(\w+)">', shown) == order
        assert not Job.objects.exists()

    def test_buttons_add_and_remove_rows(self, page: Client) -> None:
        rows = {"env_name": ["A", "B"], "env_value": ["1", "2"]}
        more = page.post("/jobs/new", {**GOOD, **rows, "act": "more-env"}).content.decode()
        assert more.count('name="env_name"') == 3
        fewer = page.post("/jobs/new", {**GOOD, **rows, "act": "drop-env-1"}).content.decode()
        assert ('name="env_name" id="env-name-1" value="B"' in fewer, 'value="A"' in fewer) == (True, False)

    def test_check_answers_without_submitting(self, page: Client) -> None:
        shown = page.post("/jobs/new", {**GOOD, "act": "check"}).content.decode()
        assert "Would run now on" in shown
        assert "<noscript>" in shown
        assert not Job.objects.exists()

    def test_the_piece_is_a_page_for_who_asks_for_one(self, page: Client) -> None:
        assert "<h1>Submit job</h1>" in page.post("/jobs/new/check", GOOD).content.decode()
        assert page.get("/jobs/new/check").headers["Location"] == "/jobs/new"


@pytest.mark.usefixtures("fleet")
def test_a_page_is_told_when_something_has_happened_since(page: Client) -> None:
    mark = re.findall(r'data-seen="([0-9-]+)"', asked(page))[0]
    with CaptureQueriesContext(connection) as found:
        assert page.get(f"/jobs/new/check?seen={mark}").status_code == 204
    assert len(found) <= 5
    a_job()
    assert page.get(f"/jobs/new/check?seen={mark}").status_code == 205


def test_without_any_worker_it_says_so(page: Client) -> None:
    assert "Never fits: there are no workers yet." in words(asked(page))
    assert page.get("/jobs/new").status_code == 200


@pytest.mark.usefixtures("fleet")
def test_nothing_is_written(page: Client) -> None:
    with CaptureQueriesContext(connection) as found:
        asked(page, env_name="A", env_value="1", secrets_name="B", secrets_value="2")
    wrote = [query["sql"] for query in found if query["sql"].split()[0] in ("INSERT", "UPDATE", "DELETE")]
    assert wrote == []


def test_it_costs_as_many_queries_for_many_as_for_few(page: Client, mira: User) -> None:
    def queries() -> int:
        asked(page)
        with CaptureQueriesContext(connection) as found:
            asked(page)
            page.get("/jobs/new")
        return len(found)

    a_worker("first")
    a_job(owner=mira, gpus=16)
    a_pass()
    few = queries()
    forget()
    many_workers(300)
    for _ in range(40):
        a_job(owner=mira, gpus=16)
    a_pass()
    assert queries() == few


@pytest.mark.parametrize("seed", range(5))
def test_it_is_what_the_pass_then_decides(mira: User, seed: int) -> None:
    """For jobs of every kind, over a fleet on which more and more is taken."""
    dice = Random(seed)
    a_reservation(a_worker("w0", gpus="2xA100"), "user:mira")
    a_worker("w1", gpus="2xT4", labels={"zone": "a"})
    a_worker("w2", gpus="4xA100")
    a_worker("r1", gpus="8xH100", origin="remote")
    a_worker("c1", gpus="1xH100", origin="cloud")
    a_pass()
    for _ in range(8):
        spec, now = _a_spec(dice), timezone.now()
        forget()
        said = preview(spec, latest_view(now), user=mira, team="", clock=in_utc)
        job = submit_job(document=job_to_document(spec), owner=mira, now=now)
        a_pass(now)
        assert [(worker.id, list(devices)) for worker, devices in said.places] == placed(job)
        assert said.outcome == latest(job).outcome
        if not said.places:
            lead = str(latest(job).summary["answer"]["lead"])
            assert said.answer.lead.partition(": ")[2] == lead.partition(": ")[2]


def _a_spec(dice: Random) -> JobSpec:
    """A random one that a person could submit."""
    while True:
        try:
            return parse_job(job_to_document(a_random_spec(dice)))
        except DocumentError:
            continue


class TestOthers:
    def test_hidden_jobs_are_not_named(self, page: Client, settings: object) -> None:
        settings.GPULAYER_OTHERS_JOBS = "hidden"  # type: ignore[attr-defined]
        a_worker("w2", gpus="4xA100")
        theirs = a_job(owner=a_user("jonas"), gpus=4, name="their secret plan")
        a_pass()
        shown = asked(page)
        assert "another team's job" in shown
        assert not re.search(rf"\b{theirs.job_id}\b", shown)
        assert "their secret plan" not in shown

    def test_reservations_of_ones_team_count(self, page: Client, mira: User) -> None:
        a_user("mira", teams=("vision",))
        a_reservation(a_worker("w2", gpus="4xA100"), "team:vision")
        assert "Would run now on" in words(asked(page, team="vision"))
        assert "Never fits" in words(asked(a_client_of("eve")))


def a_client_of(name: str) -> Client:
    """A browser in which somebody else is signed in."""
    client = Client()
    client.force_login(a_user(name))
    return client


@pytest.mark.usefixtures("fleet")
class TestCopies:
    def test_say_the_same_without_a_secret(self, page: Client) -> None:
        shown = asked(page, secrets_name="TOKEN", secrets_value="canary-7")
        assert "gpulayer job submit - <<'EOF'\nname: train\ncommand: [python, train.py]" in shown
        assert "curl -sS http://testserver/api/v1/jobs" in shown
        assert "canary-7" not in shown
        assert "No secret is in either: put the value of TOKEN in its place" in words(shown)

    def test_end_where_the_text_does(self, page: Client) -> None:
        assert "<<'EOF'" in asked(page, command="echo 'a\nEOF\nb'")

    def test_are_not_there_while_something_is_wrong(self, page: Client) -> None:
        assert "curl" not in asked(page, name="")


HOSTILE = ("<script>alert(1)</script>{{7*7}}", '"><img src=x onerror=alert(1)>\u202e', "x" * 5_000)


@pytest.mark.usefixtures("fleet")
@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_values_are_text(page: Client, value: str) -> None:
    every = ("name", "command", "workdir", "environment", "frameworks", "worker_labels", "target", "fallback_1", "gpus",
             "gpu_models", "env_name", "env_value", "timeout_s", "rest", "before", "team", "wd", "mode", "counted",
             "launcher", "cloned_from", "sealed", "keep_secret", "files")  # fmt: skip
    for name in every:
        for act in ("check", "yaml", "hold", value):
            answer = page.post("/jobs/new", {**GOOD, name: value, "name": "" if name != "name" else value, "act": act})
            shown = answer.content.decode()
            assert answer.status_code in (200, 302)
            assert "<script>alert" not in shown
            assert "<img src=x" not in shown
        assert page.post("/jobs/new/check", {**GOOD, name: value}, headers=FRAGMENT).status_code == 200
