"""Secrets in the submit form: typed once, never shown again, and there when the job runs."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from scheduler.forms.masking import masked_text
from scheduler.models import Job
from scheduler.services.jobs import submit_job
from scheduler.services.sealing import secrets_of
from tests.factories import a_user, job_document

pytestmark = pytest.mark.django_db

CANARY = "canary-Zk3vQ9"
GOOD = {"name": "train", "command": "python train.py", "target": "local"}
YAML = f"name: train\ncommand: [a]\ntarget: local\nsecrets:\n  TOKEN: {CANARY}\n  OTHER: |\n    {CANARY}\n    two\n"


def sent(page: Client, **fields: Any) -> tuple[int, str]:
    answer = page.post("/jobs/new", fields)
    shown = answer.content.decode()
    assert CANARY not in shown
    return answer.status_code, shown


def field(shown: str, name: str) -> str:
    """The value of a hidden field."""
    found = re.search(rf'name="{name}" value="([^"]*)"', shown)
    return html.unescape(found[1]) if found else ""


def text(shown: str) -> str:
    """What stands in the YAML view."""
    found = re.search(r'<textarea[^>]*name="yaml"[^>]*>\n(.*?)</textarea>', shown, re.DOTALL)
    assert found
    return html.unescape(found[1])


def secrets(**values: str) -> dict[str, Any]:
    """The rows of secrets as a browser sends them."""
    return {"secrets_name": list(values), "secrets_value": list(values.values())}


def carried(shown: str) -> dict[str, Any]:
    """What the browser sends of them with the next form."""
    ticked = re.findall(r'name="keep_secret" value="([^"]*)" checked', shown)
    return {"sealed": field(shown, "sealed"), "cloned_from": field(shown, "cloned_from"), "keep_secret": ticked}


def test_a_job_gets_what_was_typed(page: Client) -> None:
    assert sent(page, **GOOD, **secrets(TOKEN=CANARY, B="x=y"))[0] == 302
    assert secrets_of(Job.objects.get()) == {"TOKEN": CANARY, "B": "x=y"}


def test_after_a_mistake_elsewhere_it_need_not_be_typed_again(page: Client) -> None:
    status, shown = sent(page, **{**GOOD, "name": ""}, **secrets(TOKEN=CANARY))
    assert (status, carried(shown)["keep_secret"]) == (200, ["TOKEN"])
    assert sent(page, **GOOD, **carried(shown))[0] == 302
    assert secrets_of(Job.objects.get()) == {"TOKEN": CANARY}


def test_what_is_unticked_or_typed_anew_counts(page: Client) -> None:
    _, shown = sent(page, **{**GOOD, "name": ""}, **secrets(TOKEN=CANARY, B="1", C="2"))
    kept = {**carried(shown), "keep_secret": ["TOKEN", "B"]}
    assert sent(page, **GOOD, **kept, **secrets(B="new"))[0] == 302
    assert secrets_of(Job.objects.get()) == {"TOKEN": CANARY, "B": "new"}


def test_changing_over_and_back_keeps_it(page: Client) -> None:
    _, as_yaml = sent(page, **GOOD, **secrets(TOKEN=CANARY), act="yaml")
    assert "TOKEN: (not shown)" in text(as_yaml)
    _, as_form = sent(page, yaml=text(as_yaml), act="form", **carried(as_yaml))
    assert sent(page, **GOOD, **carried(as_form))[0] == 302
    assert secrets_of(Job.objects.get()) == {"TOKEN": CANARY}


def test_a_text_with_a_mistake_comes_back_without_the_values_and_works_again(page: Client) -> None:
    status, shown = sent(page, yaml=YAML.replace("[a]", "a"))
    assert (status, text(shown)) == (200, YAML.replace("[a]", "a").replace(CANARY, '"(not shown)"', 1).replace(
        f"|\n    {CANARY}\n    two\n", '"(not shown)"\n'))  # fmt: skip
    assert sent(page, yaml=text(shown).replace(": a\n", ": [a]\n", 1), **carried(shown))[0] == 302
    assert secrets_of(Job.objects.get()) == {"TOKEN": CANARY, "OTHER": f"{CANARY}\ntwo\n"}


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(YAML + "name: again\nx: [", id="a block"),
        pytest.param(f"secrets: {{A: {CANARY}\nname: [", id="in braces"),
        pytest.param(f'{{"name": "a", "secrets": {{\n"A":\n"{CANARY}"\n}}, oops', id="JSON"),
        pytest.param(f'{{\n"secrets":\n{{"A": "{CANARY}"}}, [', id="JSON, the value on a line of its own"),
        pytest.param(f"secrets:\n- {CANARY}\nb: [", id="a list at the same depth"),
        pytest.param(f"secrets: 'a\n{CANARY}", id="an open quote"),
        pytest.param(f"name: a\nname: b\nsecrets: {{A: {CANARY}}}\n", id="a key twice"),
        pytest.param(f"- secrets: {CANARY}\n", id="no mapping"),
        pytest.param(f"secrets: {CANARY}\n", id="no names"),
        pytest.param(f"secrets: [{CANARY}]\n", id="a list"),
        pytest.param(f"secrets:\n  A: {{b: {CANARY}}}\n", id="a mapping too many"),
        pytest.param("x: " + "y" * 300_000 + f"\nsecrets:\n  A: {CANARY}\n", id="far too long"),
        pytest.param(f"a: *nothing\nsecrets:\n  A: {CANARY}\n", id="an unknown alias"),
    ],
)
def test_a_text_that_is_no_document_does_not_show_them_either(page: Client, broken: str) -> None:
    assert sent(page, yaml=broken)[0] == 200
    assert sent(page, yaml=broken, act="form")[0] == 200
    assert CANARY not in page.post("/jobs/new/check", {"yaml": broken}).content.decode()


def test_a_text_without_secrets_stays_as_it_is() -> None:
    broken = "name: [\r\n# words\n"
    assert masked_text(broken, "?") == broken


def test_the_panel_beside_the_form_shows_names_only(page: Client) -> None:
    shown = page.post("/jobs/new/check", {**GOOD, **secrets(TOKEN=CANARY)}).content.decode()
    assert CANARY not in shown
    assert "TOKEN: (not shown)" in shown


def test_a_row_without_a_name_is_told_by_its_number(page: Client) -> None:
    status, shown = sent(page, **GOOD, secrets_name=["A", ""], secrets_value=["1", CANARY])
    assert (status, CANARY in shown) == (200, False)
    assert "a name for the value in row 2" in html.unescape(shown)


class TestCloning:
    def test_ones_own_job_keeps_its_secrets_and_is_linked(self, page: Client, mira: User) -> None:
        job = submit_job(document=job_document(secrets={"TOKEN": CANARY}), owner=mira, now=timezone.now())
        shown = page.get(f"/jobs/new?like={job.job_id}").content.decode()
        assert CANARY not in shown
        assert f'a clone of <a class="mono" href="/jobs/{job.job_id}">' in shown
        assert sent(page, **GOOD, **carried(shown))[0] == 302
        made = Job.objects.latest("pk")
        assert (made.cloned_from, secrets_of(made)) == (job, {"TOKEN": CANARY})

    def test_another_persons_asks_for_the_values(self, page: Client) -> None:
        owner = a_user("jonas")
        job = submit_job(document=job_document(secrets={"TOKEN": CANARY}, env={"A": "1"}), owner=owner,
                         now=timezone.now())  # fmt: skip
        shown = page.get(f"/jobs/new?like={job.job_id}").content.decode()
        assert "has no value here" in shown
        assert "Left out: <code>env</code>. It belongs to jonas." in shown
        assert sent(page, **GOOD, **carried(shown))[0] == 302
        assert secrets_of(Job.objects.latest("pk")) == {}
        status, refused = sent(page, **GOOD, **carried(shown) | {"keep_secret": ["TOKEN"]})
        assert (status, "expected the value itself" in html.unescape(refused)) == (200, True)

    def test_what_one_person_typed_is_worth_nothing_to_another(self, page: Client, operator: Client) -> None:
        _, shown = sent(page, **{**GOOD, "name": ""}, **secrets(TOKEN=CANARY))
        status, refused = sent(operator, **GOOD, **carried(shown))
        assert (status, "expected the value itself" in html.unescape(refused)) == (200, True)

    @pytest.mark.parametrize("sealed", ["", "x", "gAAAA\0", "é" * 50])
    def test_nonsense_in_hidden_fields_counts_as_nothing(self, page: Client, sealed: str) -> None:
        assert sent(page, **GOOD, sealed=sealed, cloned_from="j-\0")[0] == 302
        assert Job.objects.get().cloned_from is None
