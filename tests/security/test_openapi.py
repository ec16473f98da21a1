"""Generated calls, as each role: no answer that the documentation does not name, and never a 500. (S30, S44)

A few of each call, as a person and as an agent, and everything at the borders of what a call may be, are in
tests/api/test_schema.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import HealthCheck, Phase, given, seed, settings, strategies
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.generation import GenerationMode

from gpulayer_site import api
from gpulayer_site.wsgi import application
from tests.api.test_schema import CHECKS
from tests.security.routes import SAMPLES, routes
from tests.security.world import World
from workers.roles import Role

CASES = 2_000
"""For each role, spread over the calls."""
pytestmark = pytest.mark.django_db(transaction=True)

people = schemathesis.openapi.from_dict(api.people.get_openapi_schema())
agents = schemathesis.openapi.from_dict(api.agents.get_openapi_schema())
people.app = agents.app = application


class Walk:
    """Generated calls of all operations of one interface, right ones and wrong ones."""

    def __init__(self, schema: Any, secret: Callable[[], str], known: dict[str, str]) -> None:
        self.operations = [each.ok() for each in schema.get_all_operations()]
        self.secret = secret
        self.known = known
        """What is there to be asked for, by the name of the address's part: half of the calls ask for it."""
        self.answers: Counter[int] = Counter()
        self.wrong: dict[str, str] = {}
        """The first of each operation."""

    def go(self, cases: int) -> None:
        """So many at least, as many of each operation as it has."""
        for round_ in count(1):
            for operation in self.operations:
                self._ask(operation, cases // len(self.operations) + 1, round_)
            if self.answers.total() >= cases:
                return

    def _ask(self, operation: Any, examples: int, number: int) -> None:
        secret = self.secret()  # a new one: the last may have been revoked by a call
        cases = strategies.one_of(*(operation.as_strategy(generation_mode=mode) for mode in GenerationMode))

        @seed(number)
        @settings(max_examples=examples, deadline=None, database=None, phases=[Phase.generate],
                  suppress_health_check=list(HealthCheck))  # fmt: skip
        @given(case=cases)
        def each(case: Any) -> None:
            if self.answers.total() % 2:
                given_parts = case.path_parameters or {}
                given_parts.update({name: self.known[name] for name in given_parts if name in self.known})
            response = case.call(headers={"Authorization": f"Bearer {secret}", "Host": "localhost"})
            self.answers[response.status_code] += 1
            try:
                case.validate_response(response, checks=CHECKS)
            except (Failure, FailureGroup) as failure:
                self.wrong.setdefault(operation.label, f"{failure}: {getattr(failure, 'exceptions', '')}")

        each()


@pytest.mark.soak
@pytest.mark.parametrize("role", list(Role))
def test_people_of_every_role_get_only_documented_answers(world: World, role: Role) -> None:
    user = of_role(role)
    walk = Walk(people, lambda: world.token(user), SAMPLES | world.values)
    walk.go(CASES)
    assert walk.wrong == {}
    assert {200, 403, 422} - {403 if role == Role.ADMINISTRATOR else 0} <= set(walk.answers)
    assert walk.answers.total() >= CASES


@pytest.mark.soak
def test_agents_get_only_documented_answers(world: World, enrolled: str) -> None:
    walk = Walk(agents, lambda: enrolled, SAMPLES | world.values)
    walk.go(CASES)
    assert walk.wrong == {}
    assert walk.answers.total() >= CASES


def of_role(role: Role) -> User:
    """Somebody new with this role."""
    user = User.objects.create_user(f"a-{role.name.lower()}")
    user.person.role = role
    user.person.save()
    return User.objects.get(pk=user.pk)


def test_nothing_describes_the_interfaces_to_strangers() -> None:
    told = [route.path for route in routes() if "openapi" in route.path or "docs" in route.path]
    assert len(told) >= 3
    for path in [*told, "/api/v1/docs", "/api/agent/v1/docs", "/docs", "/redoc", "/swagger"]:
        answer = Client().get(path)
        assert answer.status_code in (302, 401, 404), path
        assert b"openapi" not in answer.content.lower()
