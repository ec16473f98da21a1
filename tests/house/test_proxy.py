"""The example for nginx, with a real nginx: names, addresses and TLS arrive, and nobody can pretend them."""

from __future__ import annotations

import re
import sqlite3
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from gpulayer_site.data_folder import DATABASE
from tests.certificates import Authority
from tests.house.conftest import NGINX
from tests.house.installation import Installation, free_port

EXAMPLE = Path(__file__).resolve().parents[2] / "deploy" / "nginx.conf"
pytestmark = pytest.mark.slow  # without nginx the file is left out (conftest.py)
NAME = "localhost"


def configuration(folder: Path, authority: Authority, ports: dict[str, int]) -> Path:
    """The example with other ports, names and files, in a whole configuration for a user without rights."""
    signed = authority.sign(NAME)
    text = EXAMPLE.read_text()
    text = re.sub(r"\n *listen \[::\].*", "", text)
    for old, new in {
        "listen 80;": f"listen 127.0.0.1:{ports['http']};",
        "listen 443 ssl;": f"listen 127.0.0.1:{ports['https']} ssl;",
        "return 308 https://gpu.example.org": f"return 308 https://{NAME}:{ports['https']}",
        "server_name gpu.example.org": f"server_name {NAME}",
        "/etc/ssl/gpulayer/fullchain.pem": str(signed.cert), "/etc/ssl/gpulayer/privkey.pem": str(signed.key),
        "127.0.0.1:8000": f"127.0.0.1:{ports['server']}", "$host": f"{NAME}:{ports['https']}",
        "root /etc/gpulayer": f"root {EXAMPLE.parent}",
    }.items():  # fmt: skip
        assert old in text, old
        text = text.replace(old, new)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    whole = folder / "nginx.conf"
    main = f"daemon off; pid {folder}/pid; error_log {folder}/error.log;\nevents {{}}\n"
    whole.write_text(f"{main}http {{\naccess_log off;\n{paths}\n{text}\n}}")
    return whole


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def ports() -> dict[str, int]:
    return {name: free_port() for name in ("http", "https", "server")}


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory, authority: Authority, ports: dict[str, int]) -> Iterator[Installation]:
    """gpulayer on loopback, with nginx before it."""
    folder = tmp_path_factory.mktemp("proxy")
    url = f"https://{NAME}:{ports['https']}"
    with Installation(folder, "--no-agent", port=ports["server"], GPULAYER_URL=url) as installation:
        installation.ready()
        proxy = subprocess.Popen([str(NGINX), "-c", configuration(folder, authority, ports), "-p", folder])
        try:
            yield installation
        finally:
            proxy.terminate()
            proxy.wait(30)


@pytest.fixture
def client(up: Installation, authority: Authority, ports: dict[str, int]) -> Iterator[httpx.Client]:
    context = ssl.create_default_context(cafile=str(authority.file))
    # Connecting is tried again: nginx may only just start.
    transport = httpx.HTTPTransport(verify=context, retries=8, trust_env=False)
    with httpx.Client(base_url=f"https://{NAME}:{ports['https']}", transport=transport, timeout=30) as client:
        yield client


def test_one_signs_in_through_it_and_the_session_says_from_where(client: httpx.Client, up: Installation) -> None:
    pretended = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "http"}
    page = client.get("/signin", headers=pretended)
    assert page.status_code == 200
    assert "strict-transport-security" in page.headers
    assert page.headers["set-cookie"].startswith("__Host-")
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    assert found
    form = {"csrfmiddlewaretoken": found[1], "code": up.run("admin", "code").stdout.strip()}
    answer = client.post("/signin", data=form, headers=pretended | {"Referer": f"{client.base_url}/signin"})
    assert answer.status_code == 302, answer.text
    with closing(sqlite3.connect(up.data / DATABASE)) as database:
        (seen,) = database.execute("SELECT address, user_id FROM accounts_browsersession WHERE user_id NOTNULL")
    assert seen[0] == "127.0.0.1"


def test_plain_http_is_sent_to_https_and_takes_no_token(up: Installation, ports: dict[str, int]) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{ports['http']}", trust_env=False, timeout=30) as plain:
        assert plain.get("/jobs").headers["location"] == f"https://{NAME}:{ports['https']}/jobs"
        assert plain.get("/api/v1/jobs").status_code == 400


def test_who_gets_past_the_proxy_in_plain_is_sent_to_it(up: Installation) -> None:
    with httpx.Client(base_url=up.url, trust_env=False, timeout=30) as past:
        answer = past.get("/signin", headers={"X-Forwarded-Proto": "http"})
    assert answer.status_code == 301
    assert answer.headers["location"].startswith("https://")


def test_while_gpulayer_is_away_people_are_told_so(tmp_path: Path, authority: Authority) -> None:
    away = {name: free_port() for name in ("http", "https", "server")}
    proxy = subprocess.Popen([str(NGINX), "-c", configuration(tmp_path, authority, away), "-p", tmp_path])
    context = ssl.create_default_context(cafile=str(authority.file))
    try:
        with httpx.Client(transport=httpx.HTTPTransport(verify=context, retries=8, trust_env=False)) as client:
            answer = client.get(f"https://{NAME}:{away['https']}/jobs")
    finally:
        proxy.terminate()
        proxy.wait(30)
    assert answer.status_code == 503
    assert "Running jobs run on" in answer.text
