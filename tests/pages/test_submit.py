"""The submit page: the same document as a form and as YAML, and every error beside what it is about."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from scheduler.models import Job
from tests.factories import a_job

pytestmark = pytest.mark.django_db

GOOD = {
    "name": "train",
    "command": "python train.py --lr '1 e-3'",
    "target": "local",
    "gpus": "2",
    "gpu_memory_gb": "40",
}


def sent(client: Client, **fields: object) -> tuple[int, str]:
    answer = client.post("/jobs/new", fields)
    return answer.status_code, answer.content.decode()


def value_of(page: str, name: str) -> str:
    """What stands in a field."""
    found = re.search(rf'<input[^>]*name="{name}"[^>]* value="([^"]*)"', page)
    area = re.search(rf'<textarea[^>]*name="{name}"[^>]*>\n([^<]*)</textarea>', page)
    match = found or area
    assert match, name
    return html.unescape(match[1])


def text_of(page: str) -> str:
    """What is to be read on it."""
    return html.unescape(re.sub(r"<[^>]+>", "", page))


def rows_of(page: str, name: str) -> list[tuple[str, str]]:
    """The rows of named values."""
    names = re.findall(rf'name="{name}_name"[^>]*? value="([^"]*)"', page)
    values = re.findall(rf'name="{name}_value"[^>]*? value="([^"]*)"', page)
    return [(html.unescape(one), html.unescape(other)) for one, other in zip(names, values, strict=True)]


def error_at(page: str, name: str) -> str:
    """The error beside a field."""
    found = re.search(rf'id="f-{name}-error">(.*?)</div></div>', page, re.DOTALL)
    assert found, f"no error beside {name}"
    assert f'id="said-{name}"><div class="invalid-feedback"' in page
    assert name in ("files", "target") or f'aria-describedby="said-{name}' in page
    return html.unescape(re.sub(r"<[^>]+>", "", found[1]))


def test_a_form_makes_a_job(page):
    answer = page.post("/jobs/new", GOOD)
    job = Job.objects.get()
    assert answer.headers["Location"] == f"/jobs/{job.job_id}"
    assert job.spec["command"] == ["python", "train.py", "--lr", "1 e-3"]
    assert job.spec["resources"] == {"gpus": 2, "gpu_memory_gb": 40}


def test_yaml_makes_the_same_job(page):
    text = "name: train\ncommand: [python, train.py]\ntarget: local\nresources: {gpus: 2}\n"
    assert page.post("/jobs/new", {"yaml": text}).status_code == 302
    assert Job.objects.get().spec["resources"] == {"gpus": 2}


@pytest.mark.parametrize(
    ("field", "typed", "said"),
    [
        pytest.param("name", "", "expected a name", id="no name"),
        pytest.param("command", "", "expected a list of arguments", id="no command"),
        pytest.param("command", "echo 'x", "no closing quotation", id="an open quote"),
        pytest.param("workdir", "here", "an absolute path", id="a relative directory"),
        pytest.param("gpus", "two", "a whole number", id="a count in words"),
        pytest.param("gpus", "-1", "a whole number", id="fewer than none"),
        pytest.param("gpu_memory_gb", "40 bananas", "a size", id="a unit that is none"),
        pytest.param("compute_capability", "best", "a compute capability", id="a capability that is none"),
        pytest.param("cpu_cores", "many", "a number of cores", id="cores in words"),
        pytest.param("memory_gb", "-4", "a size", id="negative RAM"),
        pytest.param("python", "three", "a version specifier", id="a version that is none"),
        pytest.param("frameworks", "torch >=two", "a version specifier", id="a rule that is none"),
        pytest.param("frameworks", "?? 1", "a name and a rule", id="a framework without a name"),
        pytest.param("worker_labels", "zone", "has no `=`", id="a label without a value"),
        pytest.param("num_workers", "some", "a whole number", id="workers in words"),
        pytest.param("timeout_s", "soon", "a whole number", id="a timeout in words"),
        pytest.param("retries_on", "always", "one of failed, lost", id="a cause that is none"),
    ],
)
def test_an_error_stands_beside_its_field_and_the_input_stays(page, field, typed, said):
    status, shown = sent(page, **{**GOOD, field: typed})
    assert status == 200
    assert said in error_at(shown, field)
    assert value_of(shown, field) == typed
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param([("", "3")], "a name for the value in row 1", id="a value without a name"),
        pytest.param([("A", "1"), ("A", "2")], "is there twice", id="a variable twice"),
        pytest.param([("CUDA_VISIBLE_DEVICES", "0")], "the agent sets it", id="a variable that is the agent's"),
    ],
)
def test_an_error_of_a_row_stands_below_the_rows_which_stay(page, rows, said):
    fields = {"env_name": [name for name, _ in rows], "env_value": [value for _, value in rows]}
    status, shown = sent(page, **GOOD, **fields)
    assert status == 200
    assert said in error_at(shown, "env")
    assert rows_of(shown, "env")[: len(rows)] == rows


def test_all_errors_are_told_at_once(page):
    _, shown = sent(page, **{**GOOD, "name": "", "gpus": "two", "python": "three"})
    assert [bool(error_at(shown, name)) for name in ("name", "gpus", "python")] == [True] * 3


def test_yaml_errors_say_line_path_what_was_found_and_what_is_right(page):
    text = (
        "name: train\ncommand: [a]\ntarget: local\nplacement:\n  worker_labels: {rack: 12}\n"
        "resources:\n  gpu_memory: 40\n"
    )
    status, shown = sent(page, yaml=text)
    assert status == 200
    told = html.unescape(re.sub(r"<[^>]+>", "", shown))
    assert "Line 5 placement.worker_labels.rack: found 12 (a number); expected text: quote it" in told
    assert "Line 7 resources.gpu_memory: found an unknown field" in told
    assert "gpu_memory_gb" in told
    assert "rack: 12" in shown


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("name: [", id="that does not end"),
        pytest.param("- a\n- b\n", id="that is a list"),
        pytest.param("42", id="that is a number"),
        pytest.param("", id="that is empty"),
        pytest.param("a: &x 1\nb: *x\n", id="with an alias"),
        pytest.param("name: a\nname: b\n", id="with a key twice"),
        pytest.param("x: " + "[" * 200, id="nested without end"),
        pytest.param("name: " + "x" * 300_000, id="of 300 kB"),
        pytest.param('name: "\\0"', id="with a NUL"),
    ],
)
def test_a_text_is_refused_in_words(page, text):
    status, shown = sent(page, yaml=text)
    assert status == 200
    assert "error" in shown
    status, _ = sent(page, yaml=text, act="form")
    assert status == 200


class TestChangingOver:
    def test_the_form_becomes_yaml_and_the_yaml_the_same_form(self, page):
        fields = {
            **GOOD,
            "env_name": ["A", "B"],
            "env_value": ["1", " two words "],
            "frameworks": "torch >=2.5,<3",
            "timeout_s": "6 h",
            "fallback_1": "remote",
        }
        _, as_yaml = sent(page, act="yaml", **fields)
        text = value_of(as_yaml, "yaml")
        assert "timeout_s: 21600" in text
        _, as_form = sent(page, act="form", yaml=text)
        assert {name: value_of(as_form, name) for name in ("name", "command", "frameworks", "timeout_s")} == {
            name: fields[name] for name in ("name", "command", "frameworks", "timeout_s")
        }
        assert rows_of(as_form, "env") == [("A", "1"), ("B", " two words "), ("", "")]

    def test_what_has_no_field_stays_in_the_document(self, page):
        text = "name: a\ncommand: [x]\ntarget: local\nretries: {later: 2}\nresources: {gpus: '2'}\n"
        _, as_form = sent(page, act="form", yaml=text)
        rest = value_of(as_form, "rest")
        assert "later" in rest
        _, again = sent(page, act="yaml", name="a", command="x", target="local", rest=rest)
        assert "later: 2" in value_of(again, "yaml")
        assert "gpus: '2'" in value_of(again, "yaml")

    def test_an_untouched_form_becomes_the_example(self, page):
        _, as_yaml = sent(page, act="yaml", target="local")
        assert "# fallback_targets: [remote]" in value_of(as_yaml, "yaml")
        assert "error" not in text_of(as_yaml)

    def test_what_is_wrong_is_told_beside_the_other_view(self, page):
        _, as_yaml = sent(page, **{**GOOD, "gpus": "two", "act": "yaml"})
        assert "1 error." in as_yaml

    def test_a_text_that_is_no_document_stays_text(self, page):
        status, shown = sent(page, act="form", yaml="name: [")
        assert status == 200
        assert value_of(shown, "yaml") == "name: ["

    def test_a_hidden_part_that_is_nonsense_counts_as_nothing(self, page):
        assert page.post("/jobs/new", {**GOOD, "rest": "{{{"}).status_code == 302


class TestCommands:
    def test_a_command_is_shown_as_its_arguments(self, page):
        shown = page.post("/jobs/new/check", GOOD).content.decode()
        assert "<li>1 e-3</li>" in shown

    @pytest.mark.parametrize(
        ("command", "signs"),
        [
            ("cd ~/x && python a.py > out", ["&&", ">", "~"]),
            ("echo '$HOME && x'", []),
            ("echo \\$HOME", []),
            ("python a.py | tee log", ["|"]),
        ],
    )
    def test_signs_of_a_shell_are_pointed_out(self, page, command, signs):
        shown = page.post("/jobs/new/check", {**GOOD, "command": command}).content.decode()
        assert ("Run in a shell" in shown) is bool(signs)
        assert all(f"<code>{html.escape(sign)}</code>" in shown for sign in signs)

    def test_run_in_a_shell_wraps_the_line(self, page):
        _, shown = sent(page, **{**GOOD, "command": "a && b", "act": "shell"})
        assert value_of(shown, "command") == "sh -c 'a && b'"


def test_cloning_begins_from_an_earlier_job(page, mira):
    job = a_job(name="earlier", owner=mira, gpus=3)
    shown = page.get(f"/jobs/new?like={job.job_id}").content.decode()
    assert (value_of(shown, "name"), value_of(shown, "gpus")) == ("earlier", "3")
    assert page.get("/jobs/new?like=j-99").status_code == 404


def test_the_panel_shows_the_document_as_it_grows(page):
    shown = page.post("/jobs/new/check", GOOD).content.decode()
    assert "error" not in text_of(shown)
    assert "gpu_memory_gb: 40" in shown
    assert "1 error" in page.post("/jobs/new/check", {**GOOD, "gpus": "x"}).content.decode()
