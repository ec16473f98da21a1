"""Generated requests, after the documentation: no answer that it doesn't name, and never a 500."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, settings
from schemathesis.checks import load_all_checks
from schemathesis.specs.openapi import checks

from gpulayer_site import api
from gpulayer_site.accounts.tokens import create_token
from gpulayer_site.wsgi import application
from tests.api.callers import Caller, Placed

pytestmark = [pytest.mark.schema, pytest.mark.django_db(transaction=True)]

load_all_checks()
CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
few = settings(
    max_examples=3,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
        HealthCheck.large_base_example,
    ],
)
people = schemathesis.openapi.from_dict(api.people.get_openapi_schema())
agents = schemathesis.openapi.from_dict(api.agents.get_openapi_schema())
people.app = agents.app = application


@people.parametrize()
@few
def test_people_get_only_documented_answers(case: Any, placed: Placed, mira: User) -> None:
    _, secret = create_token(user=mira, note="a test", now=timezone.now())
    check(case, secret)


@agents.parametrize()
@few
def test_agents_get_only_documented_answers(case: Any, agent: Caller, placed: Placed) -> None:
    check(case, agent.secret)


def check(case: Any, secret: str) -> None:
    response = case.call(headers={"Authorization": f"Bearer {secret}", "Host": "localhost"})
    case.validate_response(response, checks=CHECKS)


@pytest.mark.parametrize("described", [api.people, api.agents], ids=["people", "agents"])
def test_every_documented_operation_is_answered(described: api.ProblemAPI) -> None:
    """Of two routers with one address, only the first is asked: the other's operations are 405."""
    paths = described.get_openapi_schema()["paths"]
    calls = [(method.upper(), path.replace("{number}", "1")) for path in paths for method in paths[path]]
    assert [call for call in calls if Client().generic(*call).status_code == 405] == []


@pytest.mark.parametrize("path", ["/api/v1/openapi.json", "/api/agent/v1/openapi.json", "/api/docs"])
def test_the_documentation_is_for_those_who_are_signed_in(mira: User, path: str) -> None:
    assert Client().get(path).status_code in (302, 401)
    client = Client()
    client.force_login(mira)
    assert client.get(path).status_code == 200
