"""Generated calls, as each role: no answer that the documentation does not name, and never a 500. (S30, S44)

A few of each call, as a person and as an agent, are in tests/api/test_schema.py.
"""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import HealthCheck, settings

from gpulayer_site import api
from gpulayer_site.wsgi import application
from tests.api.test_schema import CHECKS
from tests.security.routes import routes
from tests.security.world import World
from workers.roles import Role

CASES = 2_000
"""For each role, spread over the calls."""
pytestmark = pytest.mark.django_db(transaction=True)

people = schemathesis.openapi.from_dict(api.people.get_openapi_schema())
agents = schemathesis.openapi.from_dict(api.agents.get_openapi_schema())
people.app = agents.app = application


def many(schema: Any) -> settings:
    """The cases of one call."""
    calls = sum(1 for _ in schema.get_all_operations())
    return settings(
        max_examples=CASES // calls + 1, deadline=None, database=None, derandomize=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip


@pytest.mark.soak
@pytest.mark.parametrize("role", list(Role))
@people.parametrize()
@many(people)
def test_people_of_every_role_get_only_documented_answers(case: Any, world: World, role: Role) -> None:
    user = User.objects.filter(username=f"a-{role.name.lower()}").first() or of_role(role)
    answered(case, world.token(user))


@pytest.mark.soak
@agents.parametrize()
@many(agents)
def test_agents_get_only_documented_answers(case: Any, enrolled: str) -> None:
    answered(case, enrolled)


def of_role(role: Role) -> User:
    """Somebody new with this role."""
    user = User.objects.create_user(f"a-{role.name.lower()}")
    user.person.role = role
    user.person.save()
    return User.objects.get(pk=user.pk)


def answered(case: Any, secret: str) -> None:
    response = case.call(headers={"Authorization": f"Bearer {secret}", "Host": "localhost"})
    case.validate_response(response, checks=CHECKS)


def test_nothing_describes_the_interfaces_to_strangers() -> None:
    told = [route.path for route in routes() if "openapi" in route.path or "docs" in route.path]
    assert len(told) >= 3
    for path in [*told, "/api/v1/docs", "/api/agent/v1/docs", "/docs", "/redoc", "/swagger"]:
        answer = Client().get(path)
        assert answer.status_code in (302, 401, 404), path
        assert b"openapi" not in answer.content.lower()
