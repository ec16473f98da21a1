"""Secrets leave no trace where they do not belong. (S19-S21)

tests/api/test_secrets.py follows a job's secret through database, pages and logs; tests/agent/test_shim_output.py tries
the redaction. Here: a token in an address, a job's whole output, and everything that an installation writes.
"""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from django.test import Client

from tests.api.test_secrets import dump
from tests.security.world import World

TOKEN = "glu_" + "Ab3-_" * 8 + "xyz"

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", [
    f"/api/v1/jobs?token={TOKEN}", f"/api/v1/whoami?access_token={TOKEN}", f"/jobs?q={TOKEN}", f"/workers/{TOKEN}",
    f"/signin?next=%2Fjobs%3Ftoken%3D{TOKEN}", f"/api/agent/v1/assignments?credential={TOKEN.replace('glu', 'glw')}",
    "/api/v1/jobs?api_key=x", "/jobs?Authorization=Bearer+x", f"/search?q=%67lu_{TOKEN[4:]}", f"/nothing/{TOKEN}",
])  # fmt: skip
def test_a_token_in_an_address_is_refused_and_repeated_nowhere(
    world: World, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    for client in (world.client(), Client()):
        with caplog.at_level(logging.DEBUG):
            answer = client.get(path)
        assert answer.status_code == 400
        assert TOKEN[4:].encode() not in answer.content
        assert "Location" not in answer.headers
    assert TOKEN[4:] not in caplog.text
    assert TOKEN[4:] not in dump()


def test_a_right_token_in_an_address_lets_nobody_in(world: World) -> None:
    secret = world.token()
    for name in ("token", "access_token", "key", "auth"):
        assert Client().get(f"/api/v1/whoami?{name}={secret}").status_code == 400


def test_a_call_about_tokens_is_not_taken_for_one(world: World) -> None:
    assert world.client().get("/jobs?q=glue_code&token=").status_code == 200
    assert world.client().get("/profile").status_code == 200


def test_no_file_of_the_project_s_data_is_open_to_others(world: World, tmp_path: Path) -> None:
    from gpulayer_site.data_folder import make_private, secret_key, secrets_key

    folder = make_private(tmp_path / "data")
    secret_key(folder), secrets_key(folder)
    assert folder.stat().st_mode & 0o077 == 0
    assert [path.name for path in folder.rglob("*") if path.is_file() and path.stat().st_mode & 0o077] == []
