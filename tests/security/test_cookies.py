"""Sessions: out of reach of scripts and other sites, new at every sign-in, over when they are said to be over. (S29)"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from tests.security.world import PASSWORD, World

ASKED = (
    "SESSION_COOKIE_NAME", "SESSION_COOKIE_SECURE", "SESSION_COOKIE_HTTPONLY", "SESSION_COOKIE_SAMESITE",
    "CSRF_COOKIE_NAME", "CSRF_COOKIE_SECURE", "CSRF_COOKIE_HTTPONLY", "CSRF_COOKIE_SAMESITE", "SESSION_COOKIE_DOMAIN",
    "SESSION_COOKIE_PATH", "CSRF_COOKIE_PATH", "CSRF_COOKIE_DOMAIN", "CSRF_TRUSTED_ORIGINS",
)  # fmt: skip
SHOW = f"import json; from gpulayer_site import settings as s; from django.conf import global_settings as g; \
print(json.dumps({{n: getattr(s, n, getattr(g, n)) for n in {ASKED!r}}}))"


def settings_at(url: str, folder: Path) -> dict[str, object]:
    """What an installation at this address sets."""
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "TMPDIR") if key in os.environ}
    env = kept | {"GPULAYER_DATA": str(folder), "GPULAYER_URL": url}
    done = subprocess.run([sys.executable, "-c", SHOW], env=env, capture_output=True, text=True, check=True, timeout=60)
    return dict(json.loads(done.stdout))


def test_over_tls_cookies_are_bound_to_this_host(tmp_path: Path) -> None:
    found = settings_at("https://gpu.example", tmp_path)
    for kind in ("SESSION", "CSRF"):
        assert str(found[f"{kind}_COOKIE_NAME"]).startswith("__Host-")
        assert found[f"{kind}_COOKIE_SECURE"] is True
        assert found[f"{kind}_COOKIE_HTTPONLY"] is True
        assert found[f"{kind}_COOKIE_SAMESITE"] == "Lax"
        assert (found[f"{kind}_COOKIE_PATH"], found[f"{kind}_COOKIE_DOMAIN"]) == ("/", None)
    assert found["CSRF_TRUSTED_ORIGINS"] == ["https://gpu.example"]


def sign_in(client: Client) -> str:
    """Sign mira in; gives the session's key."""
    assert client.post("/signin", {"username": "mira", "password": PASSWORD}).status_code == 302
    return str(client.cookies[settings.SESSION_COOKIE_NAME].value)


def signed_in(key: str) -> bool:
    """Whether a browser with this key is somebody."""
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = key
    return client.get("/profile").status_code == 200


@pytest.mark.django_db
class TestASession:
    def test_has_a_new_key_after_every_sign_in(self, world: World) -> None:
        client = Client()
        client.cookies[settings.SESSION_COOKIE_NAME] = "a-key-that-somebody-planted-12345"
        first = sign_in(client)
        second = sign_in(client)
        assert len({first, second, "a-key-that-somebody-planted-12345"}) == 3
        assert signed_in(second)
        assert not signed_in(first)

    def test_is_over_for_every_copy_of_its_key_after_signing_out(self, world: World) -> None:
        client = Client()
        key = sign_in(client)
        assert signed_in(key)
        client.post("/signout")
        assert not signed_in(key)

    @pytest.mark.parametrize("limit", ["GPULAYER_SESSION_IDLE_SECONDS", "SESSION_COOKIE_AGE"])
    def test_is_over_after(self, world: World, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
        key, now = sign_in(Client()), timezone.now()
        monkeypatch.setattr(timezone, "now", lambda: now + timedelta(seconds=getattr(settings, limit) + 1))
        assert not signed_in(key)

    def test_is_over_after_its_whole_time_though_somebody_is_there_all_along(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(settings, "GPULAYER_SESSION_IDLE_SECONDS", settings.SESSION_COOKIE_AGE / 3)
        client, now = Client(), timezone.now()
        key = sign_in(client)
        step = timedelta(seconds=settings.GPULAYER_SESSION_IDLE_SECONDS * 0.9)
        passed, whole = step, timedelta(seconds=settings.SESSION_COOKIE_AGE)
        while passed < whole:
            monkeypatch.setattr(timezone, "now", lambda at=now + passed: at)
            assert client.get("/profile").status_code == 200, passed
            passed += step
        monkeypatch.setattr(timezone, "now", lambda: now + whole + timedelta(seconds=1))
        assert not signed_in(key)

    def test_is_not_made_for_strangers_who_only_look(self, db: None) -> None:
        client = Client()
        client.get("/signin")
        assert settings.SESSION_COOKIE_NAME not in client.cookies

    def test_keeps_no_secret_that_its_row_could_give_away(self, world: World) -> None:
        client = Client()
        sign_in(client)
        assert PASSWORD not in str(dict(client.session))
