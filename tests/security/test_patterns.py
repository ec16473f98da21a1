"""No text makes a pattern slow, and no question reaches a field that it was not made for. (S17, S18)"""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from gpulayer_site.redaction import redact, visible
from scheduler.core.errors import DocumentError
from scheduler.core.parsing import parse_job
from tests.security.world import World

ROOT = Path(__file__).resolve().parents[2]
ESCAPED = {"scheduler/core/matching.py"}
"""Makes patterns of names with stars: everything else in them is escaped, and no star is tried twice."""
SECONDS = 5.0
"""A pattern that goes back and forth takes hours for these; this one is patient with a busy machine."""
LONG = 100_000
EVIL = {
    "a's": "a" * LONG + "!", "dots": "1." * (LONG // 2), "spaces": " " * LONG + "x", "commas": "," * LONG,
    "operators": ">=" * (LONG // 2), "brackets": "(" * (LONG // 2) + ")" * (LONG // 2), "digits": "9" * LONG + "x",
    "stars": "*a" * (LONG // 2), "tokens": "glu_" * (LONG // 4), "addresses": "://a:" * (LONG // 5),
    "bearers": "bearer " * (LONG // 7),
}  # fmt: skip


@pytest.mark.parametrize("kind", EVIL)
def test_no_reader_is_slow_with(kind: str) -> None:
    text = EVIL[kind]
    began = time.monotonic()
    redact(text)
    visible(text)
    for document in (
        {"name": text}, {"frameworks": {"torch": text}}, {"resources": {"gpu_memory": text}}, {"env": {text: "x"}},
        {"placement": {"worker_labels": {text: text}}}, {"resources": {"gpus": text}}, {"timeout_s": text},
        {"resources": {"gpu_models": [text]}},
    ):  # fmt: skip
        with pytest.raises(DocumentError):
            parse_job({"name": "a job", "command": ["true"], "target": "local"} | document)
    assert time.monotonic() - began < SECONDS


@pytest.mark.parametrize("kind", ["a's", "operators", "brackets", "digits"])
@pytest.mark.django_db
def test_no_search_is_slow_with(world: World, kind: str) -> None:
    client, text = world.client(), EVIL[kind][:5_000]
    for path in ("/jobs", "/workers", "/search", "/audit", "/reservations", f"/jobs/{world.job.job_id}/log"):
        began = time.monotonic()
        assert client.get(path, {"q": text, "find": text, "label": text}).status_code < 500
        assert time.monotonic() - began < SECONDS, path


def test_no_pattern_is_made_of_what_somebody_typed() -> None:
    """Every `re.` call of ours has its pattern written down: a literal, or a name in capitals made of literals."""
    call = re.compile(r"\bre\.(?:compile|search|match|fullmatch|findall|finditer|sub|split)\(\s*([^,)]*)")
    written = re.compile(r"(?:rf?|f|b|rb)?[\"']|[A-Z_]+\b|$")
    loose = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for folder in ("gpulayer_site", "scheduler", "workers")
        for path in (ROOT / folder).rglob("*.py")
        for found in call.finditer(path.read_text())
        if not written.match(found[1].strip()) and path.relative_to(ROOT).as_posix() not in ESCAPED
    ]
    assert loose == []


LOOKUPS = (
    "owner__password__startswith=p", "user__password__contains=a", "spec__env__A=x", "owner__is_superuser=1",
    "id__in=1,2", "hash__startswith=a", "credential__hash__startswith=a", "order_by=owner__password", "order=hash",
    "sort=-owner__password", "o=owner__password", "ordering=spec", "state__in=queued", "name__regex=(a%2B)%2B",
    "fields=hash", "include=secrets", "expand=owner",
)  # fmt: skip
INJECTIONS = ("' OR 1=1 --", '" OR ""="', "1; DROP TABLE scheduler_job", "%' UNION SELECT password FROM auth_user --")


@pytest.mark.django_db
def test_no_question_reaches_another_field(world: World) -> None:
    """Lists answer the same as without it, or refuse it."""
    client = world.client()
    for path in ("/api/v1/jobs", "/api/v1/workers", "/api/v1/worker-tokens", "/api/v1/people", "/api/v1/tokens"):
        plain = client.get(path)
        assert plain.status_code == 200, path
        for lookup in LOOKUPS:
            answer = client.get(f"{path}?{lookup}")
            assert answer.status_code == 422 or answer.json() == plain.json(), (path, lookup)


@pytest.mark.django_db
def test_no_name_of_a_field_opens_the_administration_s_tables(world: World) -> None:
    client = world.client()
    for model in ("scheduler/job", "accounts/apitoken", "workers/credential", "auth/user", "workers/enrolmenttoken"):
        for lookup in (
            "hash__startswith=a",
            "owner__password__startswith=p",
            "password__startswith=p",
            "user__password=x",
        ):
            answer = client.get(f"/admin/{model}/?{lookup}")
            assert answer.status_code in (302, 400, 403, 404), (model, lookup)


@pytest.mark.django_db
@pytest.mark.parametrize("text", INJECTIONS)
def test_sql_in_a_search_is_text(world: World, text: str) -> None:
    client = world.client()
    for path in ("/api/v1/jobs", "/api/v1/workers"):
        answer = client.get(path, {"q": text, "owner": text})
        assert answer.status_code == 422 or answer.json()["items"] == [], path
    for path in ("/jobs", "/workers", "/search", "/audit"):
        assert client.get(path, {"q": text}).status_code < 500
