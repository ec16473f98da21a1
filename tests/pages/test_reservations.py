"""The pages of reservations: over time and as a table, made, changed and ended by operators."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest
from django.utils import timezone

from scheduler.models import Event, Reservation
from tests import factories
from tests.factories import a_job, a_pass, a_reservation, a_user, a_worker, changed, latest

pytestmark = pytest.mark.django_db

NEW = "/reservations/new"


def text_of(answer):
    """What is read on the page."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def asked(**said):
    """The form as it is filled in."""
    return {"kind": "user", "holder": "noa", "worker": "a", "devices": "", "starts_at": "", "ends_at": "", **said}


def confirmed(client, url, form):
    """Sent, looked at and sent again, as a browser without scripts does it."""
    shown = client.post(url, form)
    seen = re.search(r'name="seen" value="(\w+)"', shown.content.decode())
    assert seen, text_of(shown)
    return client.post(url, {**form, "seen": seen[1]}, follow=True)


def over_reservation(worker):
    """One that was taken back."""
    return a_reservation(worker, "user:noa", cancelled_at=timezone.now())


def hour(hours, *, form="%Y-%m-%dT%H:%M"):
    """That many hours from now, as the form has it."""
    return (factories.NOW + timedelta(hours=hours)).strftime(form)


class TestMaking:
    def test_shows_what_it_means_before_anything_is_saved(self, operator):
        a_worker("a", gpus="2xA100")
        job = a_job()
        a_pass(timezone.now())
        changed(job, state="queued")
        shown = operator.post(NEW, asked(ends_at=hour(3)))
        assert shown.status_code == 200
        assert "Nothing is stopped." in text_of(shown)
        assert not Reservation.objects.exists()

    def test_is_saved_once_it_was_looked_at(self, operator):
        a_worker("a", gpus="4xA100")
        a_user("noa")
        after = confirmed(operator, NEW, asked(devices="0-1, 3", ends_at=hour(3), note="a demo"))
        made = Reservation.objects.get()
        assert (made.holder, made.devices, made.note) == ("user:noa", [0, 1, 3], "a demo")
        assert f"r-{made.pk} keeps a for person noa." in text_of(after)
        assert Event.objects.get(subject_kind="reservation", verb="created").actor == "user:ada"

    def test_what_was_changed_after_the_look_is_looked_at_again(self, operator):
        a_worker("a", gpus="2xA100")
        shown = operator.post(NEW, asked())
        seen = re.search(r'name="seen" value="(\w+)"', shown.content.decode())[1]
        again = operator.post(NEW, asked(devices="1", seen=seen))
        assert 'name="seen"' in again.content.decode()
        assert not Reservation.objects.exists()

    @pytest.mark.parametrize(
        ("said", "words"),
        [
            ({"worker": "nobody"}, "There is no worker nobody."),
            ({"holder": ""}, "This field is required."),
            ({"kind": "job", "holder": "j-99"}, "There is no job j-99."),
            ({"devices": "0, x"}, "Found “x”; expected indices such as 0, 2-3."),
            ({"devices": "7"}, "The worker has no device 7; it has 0, 1."),
            ({"starts_at": "tomorrow"}, "Found “tomorrow”; expected a date and time such as"),
            ({"starts_at": "2031-01-01T10:00", "ends_at": "2031-01-01T09:00"}, "The end must be after the start."),
            ({"ends_at": "2020-01-01T09:00"}, "The end must be after the start."),
            ({"note": "x" * 201}, "at most 200 characters"),
            ({"end_first": "x"}, "These are no numbers of reservations."),
        ],
    )
    def test_what_is_wrong_is_told_in_words(self, operator, said, words):
        a_worker("a", gpus="2xA100")
        answer = operator.post(NEW, asked(**said))
        assert answer.status_code == 422
        assert words in text_of(answer)
        assert not Reservation.objects.exists()

    def test_a_link_fills_the_form_in(self, operator):
        page = operator.get(f"{NEW}?worker=gpu-07&holder=job:j-12").content.decode()
        assert 'name="worker" value="gpu-07"' in page
        assert 'name="holder" value="j-12"' in page
        assert '<option value="job" selected>' in page

    def test_tasks_that_run_there_are_named_and_waited_for(self, operator):
        a_worker("a", gpus="2xA100")
        limited, unlimited = a_job(timeout_s=7200), a_job()
        a_pass(timezone.now())
        for job in (limited, unlimited):
            job.attempts.get().tasks.update(started_at=timezone.now())
        said = text_of(operator.post(NEW, asked()))
        assert f"It begins when {limited.job_id} (until " in said
        assert f"at the latest), {unlimited.job_id} (no time limit) have ended." in said


class TestConflicts:
    @pytest.fixture
    def taken(self):
        """Devices 0 to 3 of a, for six hours."""
        worker = a_worker("a", gpus="8xA100")
        end = timezone.now().replace(second=0, microsecond=0) + timedelta(hours=6)
        return a_reservation(worker, "team:vision", devices=(0, 1, 2, 3), ends_at=end)

    def test_names_both_sides_and_offers_the_two_nearest_fixes(self, operator, taken):
        answer = operator.post(NEW, asked(devices="0-3", ends_at=hour(9)))
        assert answer.status_code == 422
        said = text_of(answer)
        assert "Not saved: a devices 0–3 are reserved already." in said
        assert f"r-{taken.pk} keeps devices 0–3 for team vision" in said
        assert "You asked for" in said
        assert self.fixes(answer).keys() == {
            "Take devices 4–7 only", f"Start at {said_at(taken.ends_at)}, when r-{taken.pk} ends"
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("form", "button", "after"),
        [
            ({"devices": "0-3", "ends_at": 9}, "Take devices", lambda made, taken: made.devices == [4, 5, 6, 7]),
            ({"devices": "0-3", "ends_at": 9}, "Start at", lambda made, taken: made.starts_at == taken.ends_at),
            ({"devices": "", "ends_at": 9}, "Take devices 4–7", lambda made, taken: made.devices == [4, 5, 6, 7]),
        ],
    )
    def test_a_pressed_button_leads_to_a_saved_reservation(self, operator, taken, form, button, after):
        form = asked(**{**form, "ends_at": hour(form["ends_at"])})
        fixes = self.fixes(operator.post(NEW, form))
        value = next(value for text, value in fixes.items() if text.startswith(button))
        fixed = operator.post(NEW, {**form, "fix": value})
        assert fixed.status_code == 200, text_of(fixed)
        fields = dict(re.findall(r'name="(\w+)"[^>]*? value="([^"]*)"', fixed.content.decode()))
        fields |= {"kind": form["kind"]}
        operator.post(NEW, fields)
        made = Reservation.objects.exclude(pk=taken.pk).get()
        assert after(made, taken)

    def test_the_other_one_can_be_ended_for_it(self, operator):
        worker = a_worker("a")
        other = a_reservation(worker, "team:vision")
        form = asked(ends_at=hour(2))
        fixes = self.fixes(operator.post(NEW, form))
        assert f"End r-{other.pk} now" in fixes
        form |= {"end_first": str(other.pk)}
        shown = text_of(operator.post(NEW, form))
        assert f"r-{other.pk} will be ended for it, now." in shown
        confirmed(operator, NEW, form)
        other.refresh_from_db()
        assert other.ended_cause == "ended for user:noa"
        assert Reservation.objects.get(holder="user:noa").cancelled_at is None

    @staticmethod
    def fixes(answer):
        """The buttons, each with its value."""
        found = re.findall(r'name="fix" value="([^"]*)">([^<]+)<', answer.content.decode())
        return {unescape(text): unescape(value) for value, text in found}


def said_at(at):
    """An instant as the page says it."""
    return at.strftime("%H:%M" if at.date() == timezone.now().date() else "%Y-%m-%d %H:%M")


class TestClockChanges:
    """In Berlin, where clocks go forward on 2031-03-30 and back on 2031-10-26."""

    def test_a_time_that_does_not_exist_is_refused_with_both_neighbours(self, operator):
        a_worker("a")
        answer = operator.post(NEW, asked(zone="Europe/Berlin", starts_at="2031-03-30T02:30"))
        assert answer.status_code == 422
        assert "after 01:59 comes 03:00. Choose 01:59 or 03:00." in text_of(answer)

    def test_a_time_that_comes_twice_is_asked_with_both_instants(self, operator):
        a_worker("a")
        form = asked(zone="Europe/Berlin", starts_at="2031-10-26T02:30")
        answer = operator.post(NEW, form)
        assert answer.status_code == 422
        said = text_of(answer)
        assert "at UTC+2 and again at UTC+1. Say which of the two." in said
        assert "the first time, UTC+2 the second time, UTC+1" in said
        confirmed(operator, NEW, {**form, "starts_which": "1"})
        assert Reservation.objects.get().starts_at == datetime(2031, 10, 26, 1, 30, tzinfo=UTC)


class TestTheList:
    def test_without_a_reservation_it_says_what_they_are(self, page, operator):
        assert "No reservation yet" in text_of(page.get("/reservations"))
        assert "Operators make them." in text_of(page.get("/reservations"))
        assert NEW in operator.get("/reservations").content.decode()

    def test_says_in_which_phase_each_is(self, page):
        worker, now, hours = a_worker("a", gpus="4xA100"), timezone.now(), timedelta(hours=1)
        a_reservation(worker, "user:noa", devices=(0,), starts_at=now - hours)
        a_reservation(worker, "user:lin", devices=(1,), starts_at=now + hours)
        a_reservation(worker, "user:old", starts_at=now - 3 * hours, ends_at=now - 2 * hours)
        gone = a_job()
        a_reservation(worker, f"job:{gone.job_id}", devices=(2,), starts_at=now - hours)
        changed(gone, state="cancelled", finished_at=now)
        said = text_of(page.get("/reservations?state=all"))
        for words in ("Active", "Planned", "Over", f"{gone.job_id} is over: this ends by itself"):
            assert words in said

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("", {"noa", "vision"}),
            ("?state=active", {"noa"}),
            ("?state=planned", {"vision"}),
            ("?state=over", {"old"}),
            ("?state=all&kind=team", {"vision"}),
            ("?q=b-worker", {"vision"}),
            ("?q=demo", {"noa"}),
            ("?q=nothing", set()),
        ],
    )
    def test_is_filtered(self, page, query, found):
        now, hours = timezone.now(), timedelta(hours=1)
        a_reservation(a_worker("a-worker"), "user:noa", starts_at=now - hours, note="demo")
        a_reservation(a_worker("b-worker"), "team:vision", starts_at=now + hours)
        a_reservation(a_worker("c-worker"), "user:old", starts_at=now - 3 * hours, ends_at=now - hours)
        said = text_of(page.get(f"/reservations{query}"))
        assert {name for name in ("noa", "vision", "old") if f"{name} " in said} == found

    @pytest.mark.parametrize("number", [1, 60])
    def test_costs_the_same_for_many_rows_and_has_pages(self, page, number, django_assert_max_num_queries):
        for at in range(number):
            a_reservation(a_worker(f"w-{at:03}"), "user:noa", starts_at=timezone.now() - timedelta(hours=1))
        with django_assert_max_num_queries(24):
            first = page.get("/reservations")
        said = text_of(first)
        assert f"1–{min(25, number)} of {number}" in said
        if number > 25:
            after = re.search(r'rel="next" href="([^"]+)"', first.content.decode())[1]
            assert "26–50 of 60" in text_of(page.get(unescape(after)))

    def test_is_a_fragment_for_htmx_that_stays_the_same(self, page):
        a_reservation(a_worker("a"), "user:noa", starts_at=timezone.now() - timedelta(hours=1))
        first = page.get("/reservations", headers={"HX-Request": "true"})
        assert first.content.decode().lstrip().startswith('<div id="rows"')
        tag = first.headers["HX-PTag"]
        assert page.get("/reservations", headers={"HX-Request": "true", "HX-PTag": tag}).status_code in (200, 304)


class TestChangingAndEnding:
    def test_the_end_is_changed(self, operator):
        made = a_reservation(a_worker("a"), "user:noa", ends_at=timezone.now() + timedelta(hours=1))
        url = f"/reservations/{made.pk}/change"
        assert f"Change r-{made.pk}" in text_of(operator.get(url))
        confirmed(operator, url, {"ends_at": "2033-01-01T10:00", "note": "longer"})
        made.refresh_from_db()
        assert (made.ends_at, made.note) == (datetime(2033, 1, 1, 10, tzinfo=UTC), "longer")
        told = Event.objects.get(subject_kind="reservation", verb="changed")
        assert told.after.endswith("until 2033-01-01 10:00")
        assert told.before != told.after

    def test_what_a_change_means_is_told_while_it_is_filled_in(self, operator):
        worker = a_worker("a", gpus="1xA100")
        kept = a_reservation(worker, "user:noa", ends_at=factories.NOW + timedelta(hours=1))
        a_job()
        a_pass(timezone.now())
        form = operator.get(f"/reservations/{kept.pk}/change").content.decode()
        assert f'hx-post="/reservations/{kept.pk}/check"' in form
        assert "for person noa" in form
        told = operator.post(f"/reservations/{kept.pk}/check", {"ends_at": "", "note": ""})
        assert "1 would never fit" in text_of(told)
        assert "is over" in text_of(operator.post(f"/reservations/{over_reservation(worker).pk}/check", {}))
        kept.refresh_from_db()
        assert kept.ends_at, "nothing is saved"

    def test_one_is_made_beside_the_list_by_operators(self, page, operator):
        assert "New reservation" in operator.get("/reservations").content.decode()
        assert "New reservation" not in page.get("/reservations").content.decode()

    def test_the_picture_has_all_tasks_of_its_workers_and_their_limits(self, page):
        worker = a_worker("a", gpus="2xA100")
        limited, other = a_job(timeout_s=3600, name="limited"), a_job(name="other")
        a_pass(timezone.now())
        for job in (limited, other):
            changed(job.attempts.get().tasks.get(), started_at=timezone.now())
        a_reservation(worker, "user:noa", starts_at=factories.NOW + timedelta(hours=2))
        shown = page.get("/reservations").content.decode()
        assert re.search(rf"{limited.job_id} limited, until \S+ \S+ UTC at the latest", shown)
        assert f"{other.job_id} other, without a time limit" in shown

    def test_an_end_past_the_next_one_is_a_conflict_with_fixes(self, operator):
        worker, now = a_worker("a"), timezone.now().replace(second=0, microsecond=0)
        made = a_reservation(worker, "user:noa", ends_at=now + timedelta(hours=1))
        after = a_reservation(worker, "user:lin", starts_at=now + timedelta(hours=2))
        answer = operator.post(f"/reservations/{made.pk}/change", {"ends_at": ""})
        assert answer.status_code == 422
        assert TestConflicts.fixes(answer).keys() == {
            f"End at {said_at(after.starts_at)}, when r-{after.pk} begins", f"End r-{after.pk} now"
        }  # fmt: skip

    @pytest.mark.parametrize(("hours", "verb", "cause"), [(-1, "End", "ended early"), (1, "Cancel", "cancelled")])
    def test_is_ended_or_taken_back_once_asked(self, operator, hours, verb, cause):
        made = a_reservation(a_worker("a"), "user:noa", starts_at=timezone.now() + timedelta(hours=hours))
        url = f"/reservations/{made.pk}/end"
        assert f"{verb} r-{made.pk}" in text_of(operator.get(url))
        made.refresh_from_db()
        assert made.cancelled_at is None
        assert f"r-{made.pk} has ended." in text_of(operator.post(url, follow=True))
        made.refresh_from_db()
        assert made.ended_cause == cause
        assert f"r-{made.pk} was over already." in text_of(operator.post(url, follow=True))

    def test_a_dialog_for_htmx(self, operator):
        made = a_reservation(a_worker("a"), "user:noa")
        answer = operator.get(f"/reservations/{made.pk}/end", headers={"HX-Request": "true"})
        assert answer.content.decode().startswith("<dialog")

    @pytest.mark.parametrize("url", ["/reservations/99/end", "/reservations/99/change", f"/reservations/{2**70}/end"])
    def test_what_is_not_there_is_404(self, operator, url):
        assert operator.get(url).status_code == 404


@pytest.mark.parametrize("url", [NEW, "/reservations/1/end", "/reservations/1/change"])
def test_only_operators_make_and_change_them(page, url):
    assert page.get(url).status_code == 403
    assert page.post(url).status_code == 403


def test_another_jobs_reason_changes_when_a_worker_is_reserved(operator):
    a_worker("a", seen=timezone.now() + timedelta(hours=1))
    mine, other = a_job(gpus=1), a_job(gpus=1)
    confirmed(operator, NEW, asked(kind="job", holder=mine.job_id, ends_at=hour(5)))
    a_pass(timezone.now())
    assert latest(mine).outcome == "placed"
    assert f"Reserved for {mine.job_id} until" in " ".join(latest(other).summary["answer"]["more"]) or (
        "reserved" in str(latest(other).summary)
    )
