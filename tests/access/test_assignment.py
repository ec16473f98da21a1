"""Nobody assigns what is not theirs to say: a field that a body does not have is refused, whatever else it says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pydantic import BaseModel

from gpulayer_site.access.table import CALLS
from scheduler.models import Job
from tests.access.callers import bearer, token
from tests.access.routes import ROOTS, operations, route_of
from tests.factories import a_job, a_user
from tests.security.routes import routes
from workers.auth import create_credential, create_enrolment_token

pytestmark = pytest.mark.django_db

FIELDS = (
    "id", "pk", "owner", "owner_id", "team", "role", "is_staff", "is_superuser", "state", "fence", "worker", "priority",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Written:
    """An operation that reads a JSON body of ours."""

    method: str
    route: str
    schema: type[BaseModel]


def written() -> Iterator[Written]:
    for operation in operations():
        for model in operation.models:
            if model.__ninja_param_source__ == "body":
                (schema,) = [field.annotation for field in model.model_fields.values()]
                yield Written(operation.methods[0], route_of(operation), schema)


EVERY = list(written())


@pytest.fixture
def secrets() -> dict[str, str]:
    now = timezone.now()
    return {
        "person": token(a_user("root", staff=True)),
        "worker credential": create_credential(fleet=False, now=now)[0],
        "enrolment token": create_enrolment_token(
            uses=1, origin="", simulated=False, note="", created_by=None, now=now
        )[0],
    }  # fmt: skip


@pytest.mark.parametrize("one", EVERY, ids=lambda one: f"{one.method} {one.route}")
def test_no_body_takes_what_it_does_not_have(secrets: dict[str, str], one: Written) -> None:
    rows = CALLS.of(one.route)
    assert rows is not None
    client = bearer(secrets.get(rows[one.method].who, secrets["person"]))
    path = next(each.path for each in routes() if each.pattern == one.route)
    foreign = [name for name in FIELDS if name not in one.schema.model_fields]
    answer = client.generic(one.method, path, _json(dict.fromkeys(foreign, 1)), "application/json")
    assert answer.status_code == 422
    refused = {problem["path"] for problem in answer.json()["problems"] if "not permitted" in problem["expected"]}
    assert refused == set(foreign)


@pytest.mark.parametrize("one", EVERY, ids=lambda one: f"{one.method} {one.route}")
def test_no_part_of_a_body_takes_it_either(one: Written) -> None:
    open_ones = [schema.__name__ for schema in _parts(one.schema) if schema.model_config.get("extra") != "forbid"]
    assert not open_ones


def test_every_root_is_known() -> None:
    assert set(ROOTS) == {"people", "agents"}


@pytest.mark.parametrize("field", FIELDS)
def test_a_job_document_takes_none_of_it(field: str) -> None:
    client = bearer(token(a_user("mira")))
    document = {"name": "a job", "command": ["true"], "target": "local", field: 1}
    answer = client.post("/api/v1/jobs", document, content_type="application/json")
    assert (answer.status_code, [problem["path"] for problem in answer.json()["problems"]]) == (422, [field])


def test_a_form_takes_none_of_it_either() -> None:
    mira, ada = a_user("mira"), a_user("ada", staff=True)
    client = Client()
    client.force_login(mira)
    form = {
        "name": "mine",
        "command": "true",
        "target": "local",
        "owner": ada.pk,
        "state": "succeeded",
        "job_id": "j-1",
    }
    assert client.post("/jobs/new", form).status_code == 302
    job = Job.objects.get(name="mine")
    assert (job.owner, job.state, job.job_id) == (mira, "queued", f"j-{job.pk}")
    client.post("/profile/theme", {"theme": "dark", "is_staff": "on", "role": "administrator"})
    mira.refresh_from_db()
    assert (mira.is_staff, mira.person.role) == (False, "submitter")


def test_a_job_is_owned_by_who_submits_it_whoever_asks() -> None:
    job = a_job(owner=a_user("mira"))
    answer = bearer(token(a_user("ada", staff=True))).post(f"/api/v1/jobs/{job.job_id}/clone")
    assert answer.json()["owner"] == "ada"


def _parts(schema: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """The schema with all those that it is made of."""
    seen, waiting = set(), [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, type) and issubclass(one, BaseModel) and one not in seen:
            seen.add(one)
            yield one
            waiting += [part for field in one.model_fields.values() for part in _types(field.annotation)]


def _types(annotation: Any) -> Iterator[Any]:
    inner = getattr(annotation, "__args__", ())
    yield from (annotation,) if not inner else (part for one in inner for part in _types(one))


def _json(document: Any) -> bytes:
    import json

    return json.dumps(document).encode()
