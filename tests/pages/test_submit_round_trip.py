"""Form and YAML are one document: whatever a text says comes back from the form as a browser sends it."""

from __future__ import annotations

from html.parser import HTMLParser
from random import Random
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client

from scheduler.core.errors import DocumentError
from scheduler.core.parsing import parse_job
from scheduler.documents import read_text
from scheduler.forms import yaml_of

pytestmark = pytest.mark.django_db

Document = dict[str, Any]
WORDS = ("train.py", "--lr", "1 e-3", "it's", 'say "x"', "$HOME", "a\nb", "ü→", "", "-", "a&b<c>", " x ", "\\", "'")
VALUES: dict[str, tuple[Any, ...]] = {
    "name": ("a", "a job <b>", "ünï", "42", ""),
    "target": ("local", "remote", "cloud", "moon"),
    "workdir": ("/data/x", "/da ta/ü", "here", 7),
    "files": ("f" * 64, "nonsense"),
    "fallback_targets": (["remote"], ["cloud", "remote"], [], "remote", ["local", "local", "local"]),
    "fallback_when": ("unavailable", "incompatible", "never"),
    "on_unschedulable": ("queue", "fail"),
    "policy": ("first_fit", "most_free_memory"),
    "timeout_s": (60, 3600, 86_400, 90_061, "6 h"),
    "placement": (
        {"worker_ids": ["w1", "w-2"], "provider": "aws", "region": "eu-west-1"},
        {"worker_labels": {"zone": "a", "rack": "12"}}, {"worker_labels": {"zone": 3}},
        {"worker_labels": {"a,b": "x=y"}, "reserved_only": True}, {"reserved_only": False}, {},
    ),
    "resources": (
        {"gpus": 2, "gpu_memory_gb": 40, "gpu_models": ["NVIDIA H100*", "A100"], "accelerator": "cuda"},
        {"gpus": 0, "memory_gb": "479GiB", "cpu_cores": 1.5, "disk_gb": 100}, {"gpus": "2"}, {"gpu_memory": 4},
        {"gpus": 1, "compute_capability": ">=8.0,<10", "gpu_memory_kind": "dedicated", "os": "linux", "arch": "x86_64"},
    ),
    "runtime": (
        {"environment": "train", "python": ">=3.10", "frameworks": {"torch": ">=2.5,<3", "numpy": ""}},
        {"environment": "default"}, {"frameworks": {"torch": 2.5}}, {},
    ),
    "distributed": (
        {"num_workers": 4}, {"num_workers": 2, "procs_per_worker": 8, "launcher": "torchrun", "comm_backend": "nccl"},
        {"num_workers": "four"}, {},
    ),
    "retries": ({"max": 3, "on": ["failed", "lost"]}, {"max": 0, "on": [], "lease_s": 300}, {"later": 1}),
    "hold_s": (3600, 90, "long"),
    "more": (1, {"of": ["it"]}),
}  # fmt: skip


class Controls(HTMLParser):
    """What a browser sends of a page's first form: the names and values of its successful controls."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.sent: list[tuple[str, str]] = []
        self._area = self._select = ""
        self._text = ""
        self.feed(page.split('<form id="submit-form"', 1)[1].split("</form>", 1)[0])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name, kind = given.get("name", ""), given.get("type", "")
        if tag == "option" and self._select and "selected" in given:
            self.sent = [pair for pair in self.sent if pair[0] != self._select]
            self.sent.append((self._select, given["value"]))
        elif tag == "option" and self._select and not any(name == self._select for name, _ in self.sent):
            self.sent.append((self._select, given["value"]))
        elif tag == "select":
            self._select = name
        elif tag == "textarea":
            self._area, self._text = name, ""
        elif tag == "input" and name and kind != "file" and "disabled" not in given and self._counts(kind, given):
            self.sent.append((name, given.get("value", "")))

    def _counts(self, kind: str, given: dict[str, str]) -> bool:
        return kind not in ("radio", "checkbox") or "checked" in given

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            text = self._text.removeprefix("\n").replace("\r\n", "\n").replace("\n", "\r\n")
            self.sent.append((self._area, text))
            self._area = ""
        elif tag == "select":
            self._select = ""

    def handle_data(self, data: str) -> None:
        self._text += data if self._area else ""


def sent_from(page: str, **more: str) -> QueryDict:
    """The body of a POST of this page."""
    data = QueryDict(mutable=True)
    for name, value in Controls(page).sent:
        data.appendlist(name, value)
    for name, value in more.items():
        data[name] = value
    return data


def of(**fields: str) -> QueryDict:
    """The body of a POST of these fields."""
    data = QueryDict(mutable=True)
    data.update(fields)
    return data


def post(client: Client, data: QueryDict) -> str:
    body = client.post("/jobs/new", data.urlencode(), content_type="application/x-www-form-urlencoded")
    assert body.status_code == 200
    return body.content.decode()


def text_of(page: str) -> str:
    """What stands in the YAML view."""
    return dict(Controls(page).sent)["yaml"].replace("\r\n", "\n")


def a_document(dice: Random) -> Document:
    """A job document of which much is right and some is not."""
    document: Document = {"name": "a", "command": [dice.choice(WORDS[:3]), *dice.choices(WORDS, k=3)]}
    document["target"] = dice.choice(("local", "local", "remote"))
    for field in dice.sample(sorted(VALUES), k=dice.randint(0, 8)):
        document[field] = dice.choice(VALUES[field])
    if dice.random() < 0.5:
        document["env"] = {f"V{n}": dice.choice(WORDS) for n in range(dice.randint(1, 3))}
    return document


def meaning(document: object) -> object:
    """What a document says, or where it is wrong."""
    try:
        return parse_job(document)
    except DocumentError as error:
        return sorted({problem.path for problem in error.problems})


@pytest.mark.parametrize("seed", range(6))
def test_what_a_text_says_comes_back_from_the_form(page: Client, seed: int) -> None:
    dice = Random(seed)
    for _ in range(12):
        document = a_document(dice)
        text = yaml_of(document)
        form = post(page, of(yaml=text, act="form"))
        again = post(page, sent_from(form, act="yaml"))
        if 'name="yaml"' not in again:
            assert isinstance(meaning(document), list), "only what is wrong stays in the form"
            continue
        assert meaning(read_text(text_of(again))) == meaning(read_text(text)), text


def test_comments_are_there_again_where_nothing_was_changed(page: Client) -> None:
    text = "# mine\nname: a\ncommand: [x]   # why not\ntarget: local\n"
    form = post(page, of(yaml=text, act="form"))
    assert text_of(post(page, sent_from(form, act="yaml"))) == text
    assert "mine" not in text_of(post(page, sent_from(form, act="yaml", name="b")))


def test_a_hold_and_back_keeps_the_command(page: Client) -> None:
    text = "name: a\ncommand: [x, y]\nworkdir: /d\nenv: {A: '1'}\ntarget: local\nresources: {gpus: 2}\n"
    form = post(page, of(yaml=text, act="form"))
    held = post(page, sent_from(form, act="hold"))
    assert "<h1>Hold devices</h1>" in held
    back = post(page, sent_from(held, act="form"))
    assert read_text(text_of(post(page, sent_from(back, act="yaml")))) == read_text(text)
