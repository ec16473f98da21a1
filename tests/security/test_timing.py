"""How long an answer takes tells nothing: statistics, in `make soak`. (S22)

That the same work is done, and that tokens are looked up by their hash alone, is in test_sign_in.py, every day.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from tests.security.world import World

pytestmark = [pytest.mark.soak, pytest.mark.django_db]

ROUNDS, LEAST_P = 3, 0.01
Act = Callable[[], object]


def tells_apart(one: Act, other: Act, samples: int) -> bool:
    """Whether the times of two acts do, by Mann and Whitney's test.

    In every one of three rounds, and always the same way: by chance alone a round in a hundred does.
    """
    for _ in range(min(samples, 20)):
        one(), other()
    ways = set()
    for _ in range(ROUNDS):
        score = standing(*times(one, other, samples))
        if 2 * (1 - NormalDist().cdf(abs(score))) > LEAST_P:
            return False
        ways.add(score > 0)
    return len(ways) == 1


def times(one: Act, other: Act, samples: int) -> tuple[list[float], list[float]]:
    """Seconds of each; asked in turns, and each as often first as second."""
    found: tuple[list[float], list[float]] = ([], [])
    for number in range(samples):
        for act, taken in ((one, found[0]), (other, found[1]))[:: 1 if number % 2 else -1]:
            began = time.perf_counter()
            act()
            taken.append(time.perf_counter() - began)
    return found


def standing(ones: list[float], others: list[float]) -> float:
    """How far the ranks of the first are from where chance would have them, in standard deviations."""
    ranked = sorted([(value, 0) for value in ones] + [(value, 1) for value in others])
    total = sum(rank for rank, (_, key) in enumerate(ranked, 1) if key == 0)
    n, m = len(ones), len(others)
    mean, deviation = n * (n + m + 1) / 2, (n * m * (n + m + 1) / 12) ** 0.5
    return (total - mean) / deviation


def asked(client: Client, path: str, token: str) -> Act:
    return lambda: client.get(path, headers={"Authorization": f"Bearer {token}"})


def test_a_difference_would_be_noticed() -> None:
    assert tells_apart(lambda: sum(range(2_000)), lambda: sum(range(2_600)), 500)


@pytest.mark.parametrize(("path", "prefix"), [("/api/v1/whoami", "glu_"), ("/api/agent/v1/assignments", "glw_")])
def test_how_much_of_a_token_was_right(world: World, enrolled: str, path: str, prefix: str) -> None:
    right = world.token() if prefix == "glu_" else enrolled
    near = right[:-1] + ("A" if right[-1] != "A" else "B")
    assert asked(Client(), path, near)().status_code == 401  # type: ignore[attr-defined]
    assert not tells_apart(asked(Client(), path, near), asked(Client(), path, prefix + "x" * 43), 1_000)


@pytest.mark.parametrize("kind", ["job", "worker"])
def test_which_job_or_worker_there_is_to_a_stranger(world: World, kind: str) -> None:
    there, absent = {"job": (world.job.job_id, "j-999999"), "worker": ("w1", "w999")}[kind]
    asks = [asked(Client(), f"/api/v1/{kind}s/{name}", "glu_" + "x" * 43) for name in (there, absent)]
    assert not tells_apart(*asks, 1_000)


def test_who_has_an_account(world: World, settings: Settings) -> None:
    """With the passwords' own slow hash, as an installation has it."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]
    for name in ("AXES_FAILURE_LIMIT", "GPULAYER_SIGN_IN_TRIES_BY_NAME", "GPULAYER_SIGN_IN_TRIES_BY_ADDRESS"):
        setattr(settings, name, 10**6)
    world.mira.set_password("another long password")
    world.mira.save()
    client = Client()

    def guess(name: str) -> Act:
        return lambda: client.post("/signin", {"username": name, "password": "a wrong password"})

    answer: Any = guess("mira")()
    assert answer.status_code == 422
    assert not tells_apart(guess("mira"), guess("nora"), 60)
