"""The search box: to the one job, worker or label that is meant, else to all that could be."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest

from tests.factories import a_job, a_user, a_worker

pytestmark = pytest.mark.django_db


def leads(page, words):
    """Where the search box leads; None where it shows a list."""
    answer = page.get("/search", {"q": words})
    return unquote(answer.headers["Location"]) if answer.status_code == 302 else None


def shown(page, words):
    answer = page.get("/search", {"q": words})
    assert answer.status_code == 200
    return re.sub(r"<[^>]+>|\s+", " ", answer.content.decode())


@pytest.fixture
def things(mira):
    a_worker("gpu-07", labels={"zone": "a", "rack": "r12"})
    a_worker("gpu-08", labels={"zone": "b"})
    return a_job(owner=mira, name="sweep-lr")


def test_an_id_a_number_a_name_and_a_label_lead_there_at_once(page, things):
    number = things.job_id.removeprefix("j-")
    assert leads(page, things.job_id) == leads(page, f"J-{number}") == leads(page, number) == f"/jobs/{things.job_id}"
    assert leads(page, "gpu-07") == "/workers/gpu-07"
    assert leads(page, "zone=a") == "/workers?q=zone=a"


def test_part_of_the_name_of_one_thing_leads_there_too(page, things):
    assert leads(page, "sweep") == f"/jobs/{things.job_id}"
    assert leads(page, "-08") == "/workers/gpu-08"
    assert leads(page, "r12") == "/workers?q=rack=r12"


def test_part_of_several_names_shows_them_all(page, mira, things):
    a_job(owner=mira, name="gpu-burn")
    text = shown(page, "gpu")
    assert re.search(r"Jobs.*gpu-burn.*Workers.*gpu-07.*gpu-08", text, re.DOTALL)
    assert re.search(r"zone=a\s+1 worker.*zone=b", shown(page, "zone"), re.DOTALL)


def test_of_many_the_first_are_shown_and_the_list_of_all_is_one_click_away(page):
    for place in range(9):
        a_worker(f"node-{place}")
    text = shown(page, "node")
    assert "node-7" in text
    assert "node-8" not in text
    assert "All workers with “node”" in text


@pytest.mark.parametrize(
    "words", ["nothing-is-called-this", "=", "j-", "\N{PILE OF POO}", "%", "j-99999999999999999999"]
)
def test_where_nothing_is_found_it_says_so_and_where_else_to_look(page, things, words):
    assert "Nothing has this name" in shown(page, words)


@pytest.mark.parametrize("words", ["", " ", "\0"])
def test_without_words_there_is_a_box_to_type_them_into(page, words):
    assert "Go to a job, worker or label" in shown(page, words)


def test_a_hidden_job_is_found_by_nobody_else(page, settings):
    settings.GPULAYER_OTHERS_JOBS = "hidden"
    job = a_job(owner=a_user("jonas"), name="secret-run")
    assert "Nothing has this name" in shown(page, "secret-run")
    assert leads(page, job.job_id) is None


def test_it_costs_the_same_however_much_there_is(page, mira, django_assert_max_num_queries):
    for place in range(30):
        a_worker(f"node-{place}", labels={"name": f"node-{place}"})
        a_job(owner=mira, name=f"node-{place}")
    with django_assert_max_num_queries(13):
        page.get("/search", {"q": "node"})
