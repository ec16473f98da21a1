"""`gpulayer up` speaks TLS; its own host, an agent elsewhere and the command line trust it for a reason."""

from __future__ import annotations

import json
import os
import re
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.serialization import PrivateFormat

from tests.certificates import Authority
from tests.house.installation import Installation, free_port

pytestmark = pytest.mark.slow
NAME = "localhost"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[Installation]:
    """One over TLS, with its own agent, and plain http beside it."""
    folder, signed, port, hint = tmp_path_factory.mktemp("tls"), authority.sign(NAME), free_port(), free_port()
    words = ["--listen", f"127.0.0.1:{port}", "--tls-cert", str(signed.cert), "--tls-key", str(signed.key)]
    with Installation(folder, *words, "--http-port", str(hint), port=port) as installation:
        installation.ready()
        installation.hint = f"http://127.0.0.1:{hint}"  # type: ignore[attr-defined]
        yield installation


def browser(up: Installation, authority: Authority) -> httpx.Client:
    context = ssl.create_default_context(cafile=str(authority.file))
    return httpx.Client(base_url=f"https://{NAME}:{up.port}", verify=context, trust_env=False, timeout=30)


def test_it_says_its_name_and_binds_browsers_and_cookies_to_tls(up: Installation, authority: Authority) -> None:
    assert f"gpulayer is ready: https://{NAME}:{up.port}" in up.text
    with browser(up, authority) as client:
        page = client.get("/signin")
    assert page.status_code == 200
    assert page.headers["strict-transport-security"] == "max-age=2592000"
    cookie = page.headers["set-cookie"]
    assert cookie.startswith("__Host-gpulayer_csrf=")
    assert "Secure" in cookie


def test_one_signs_in_over_it(up: Installation, authority: Authority) -> None:
    with browser(up, authority) as client:
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', client.get("/signin").text)
        assert found
        form = {"csrfmiddlewaretoken": found[1], "code": up.run("admin", "code").stdout.strip()}
        answer = client.post("/signin", data=form, headers={"Referer": f"https://{NAME}:{up.port}/signin"})
        assert answer.status_code == 302
        assert client.get("/jobs").status_code == 200


def test_commands_and_the_agent_on_its_host_believe_this_very_certificate(up: Installation) -> None:
    up.wait_for("registered as")
    verdicts = {each["subject"]: each["verdict"] for each in json.loads(up.run("doctor", "--json").stdout)}
    assert verdicts["server"] == "ok"


def test_an_agent_elsewhere_believes_the_authority_that_it_is_given(
    up: Installation, authority: Authority, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text(up.json("worker", "token", "--note", "elsewhere")["token"])
    agent = subprocess.Popen(
        [sys.executable, "-m", "gpulayer_site.cli", "worker", "start", "--url", f"https://{NAME}:{up.port}",
         "--name", "elsewhere", "--origin", "local", "--data", str(tmp_path / "agent"), "--token-file", str(token),
         "--ca-file", str(authority.file), *(["--allow-root"] if os.geteuid() == 0 else [])],
        env=up.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        job = up.json("job", "submit", str(_job(tmp_path)))["job_id"]
        assert up.run("job", "wait", job).returncode == 0
    finally:
        agent.terminate()
        agent.wait(30)


def _job(folder: Path) -> Path:
    path = folder / "job.json"
    document = {
        "name": "over tls", "command": ["true"], "target": "local", "placement": {"worker_ids": ["elsewhere"]},
    }  # fmt: skip
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(
    ("trusted", "says"),
    [
        pytest.param("nobody", "--ca-file", id="an authority that nobody knows"),
        pytest.param("another", "CERTIFICATE_VERIFY_FAILED", id="another authority"),
        pytest.param("no certificate", "it holds no certificate", id="a file without one"),
    ],
)
def test_who_has_no_reason_to_believe_it_sends_no_token(
    up: Installation, tmp_path: Path, trusted: str, says: str
) -> None:
    (tmp_path / "text.pem").write_text("no certificate")
    files = {"nobody": "", "another": str(Authority(tmp_path / "a").file), "no certificate": str(tmp_path / "text.pem")}
    given = {"GPULAYER_URL": f"https://{NAME}:{up.port}", "GPULAYER_TOKEN": "glu_secret", "HOME": str(tmp_path)}
    env = {"PATH": os.environ["PATH"], **given, "GPULAYER_CA_FILE": files[trusted]}
    done = subprocess.run(
        [sys.executable, "-m", "gpulayer_site.cli", "job", "list"],
        env=env, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 3, done.stdout
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_plain_http_is_told_the_way(up: Installation) -> None:
    with httpx.Client(base_url=up.hint, trust_env=False, timeout=30) as client:  # type: ignore[attr-defined]
        page = client.get("/jobs?q=a")
        assert (page.status_code, page.headers["location"]) == (308, f"https://{NAME}:{up.port}/jobs?q=a")
        assert client.get("//elsewhere.example/").headers["location"] == f"https://{NAME}:{up.port}/"
        for refused in (client.get("/api/v1/whoami"), client.post("/signin", data={"a": "b"})):
            assert refused.status_code == 400
            assert refused.json()["code"] == "https_only"


def test_plain_http_at_its_own_port_is_no_answer_but_a_hint_for_commands(up: Installation, tmp_path: Path) -> None:
    given = {"GPULAYER_URL": f"http://{NAME}:{up.port}", "GPULAYER_TOKEN": "glu_secret", "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "gpulayer_site.cli", "job", "list"],
        env={"PATH": os.environ["PATH"], **given}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 3
    assert "write https://" in done.stderr


def test_the_oldest_version_that_is_spoken_is_1_2(up: Installation) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with socket.create_connection(("127.0.0.1", up.port)) as plain, context.wrap_socket(plain) as spoken:
        assert spoken.version() == "TLSv1.2"


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        pytest.param("no key", "TLS needs both", id="without a key"),
        pytest.param("open key", "can be read by everybody; chmod 600", id="a key that everybody reads"),
        pytest.param("another key", "do not belong together", id="the key of another"),
        pytest.param("old form", "openssl pkcs8 -topk8", id="a key in another form"),
        pytest.param("over", "ended on .*; renew it", id="one that is over"),
        pytest.param("no file", "cannot be read: No such file", id="a file that is not there"),
    ],
)
def test_a_certificate_that_cannot_serve_is_one_line(
    tmp_path: Path, authority: Authority, broken: str, says: str
) -> None:
    form = PrivateFormat.TraditionalOpenSSL if broken == "old form" else PrivateFormat.PKCS8
    signed = authority.sign(f"{broken.replace(' ', '-')}.example", days=-1 if broken == "over" else 2, form=form)
    cert, key = signed.cert, signed.key
    if broken == "open key":
        key.chmod(0o644)
    if broken == "another key":
        key = authority.sign("other.example").key
    if broken == "no file":
        cert = tmp_path / "none.pem"
    given = {"GPULAYER_TLS_CERT": str(cert)} | ({} if broken == "no key" else {"GPULAYER_TLS_KEY": str(key)})
    with Installation(tmp_path, "--no-agent", **given) as up:
        up.wait_for(says)
        assert up.process.wait(30) == 1
        assert "Traceback" not in up.text


def test_check_deploy_is_clean_over_tls(up: Installation) -> None:
    given = {"DJANGO_SETTINGS_MODULE": "gpulayer_site.settings", "GPULAYER_URL": f"https://{NAME}:{up.port}"}
    words = [sys.executable, "-W", "error", "-m", "django", "check", "--deploy", "--fail-level", "INFO"]
    done = subprocess.run(
        words, env=up.environment() | given, capture_output=True, text=True, check=False, timeout=120
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    up.data.chmod(0o755)
    try:
        done = subprocess.run(
            words, env=up.environment() | given, capture_output=True, text=True, check=False, timeout=120
        )  # fmt: skip
    finally:
        up.data.chmod(0o700)
    assert "gpulayer.E001" in done.stderr
