"""What would protect nothing is refused at the start; what a proxy says is believed from trusted ones alone."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from gpulayer_site.proxies import LOOPBACK, behind, read_proxies
from gpulayer_site.strict import checked_broker, checked_secret_key

HERE, PROXY, STRANGER = "127.0.0.1", "10.0.0.5", "192.0.2.7"


@pytest.mark.parametrize(
    ("key", "says"),
    [
        pytest.param("short", "at least 32 characters", id="short"),
        pytest.param("ab" * 40, "10 different characters, it has 2", id="few characters"),
        pytest.param("django-insecure-" + "0123456789abcdef" * 3, "everybody knows", id="an example"),
    ],
)
def test_a_weak_key_is_refused_and_not_shown(key: str, says: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=says) as caught:
        checked_secret_key(key)
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "fine"),
    [
        ("", True),
        ("redis://127.0.0.1:6379/0", True),
        ("redis://localhost/0", True),
        ("redis+socket:///run/valkey.sock", True),
        ("redis://:word@10.0.0.7/0", True),
        ("redis://10.0.0.7/0", False),
        ("redis://user@10.0.0.7/0", False),
        ("rediss://broker.example/0", False),
        ("redis://:@10.0.0.7/0", False),
        ("redis://:word@10.0.0.7/0;redis://:word@10.0.0.8/0", True),
        ("redis://:word@10.0.0.7/0;redis://10.0.0.8/0", False),
        ("redis://127.0.0.1.example/0", False),
    ],
)
def test_a_broker_that_is_open_to_the_network_is_refused(url: str, fine: bool) -> None:
    if fine:
        assert checked_broker(url) == url
        return
    with pytest.raises(ImproperlyConfigured, match="without a password"):
        checked_broker(url)


@pytest.mark.parametrize("url", ["sentinel://10.0.0.7:26379", "amqp://guest:guest@10.0.0.7//", "10.0.0.7:6379"])
def test_a_broker_of_another_kind_is_refused_and_its_password_not_shown(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="redis://…, rediss://… or redis") as caught:
        checked_broker(url)
    assert "guest" not in str(caught.value)


@pytest.mark.parametrize(
    ("peer", "said", "https", "scheme"),
    [
        pytest.param(PROXY, "https", True, "https", id="a trusted proxy says it"),
        pytest.param(PROXY, "http", True, "http", id="a trusted proxy says the opposite"),
        pytest.param(PROXY, "https, http", True, "http", id="its own word is the last"),
        pytest.param(STRANGER, "https", True, "http", id="a stranger is not believed"),
        pytest.param(HERE, "", True, "https", id="this host itself"),
        pytest.param(HERE, "http", True, "http", id="this host, for somebody else"),
        pytest.param(HERE, "", False, "http", id="without TLS"),
        pytest.param(STRANGER, "", True, "http", id="past the proxy"),
    ],
)
def test_a_request_came_over_tls(peer: str, said: str, https: bool, scheme: str) -> None:
    seen: dict[str, Any] = {}

    def application(environ: dict[str, Any], _start: Any) -> list[bytes]:
        seen.update(environ)
        return []

    environ = {"REMOTE_ADDR": peer, "wsgi.url_scheme": "http"} | ({"HTTP_X_FORWARDED_PROTO": said} if said else {})
    behind(application, (*LOOPBACK, *read_proxies([PROXY])), https=https)(environ, None)
    assert seen["wsgi.url_scheme"] == scheme
    assert "HTTP_X_FORWARDED_PROTO" not in seen


@pytest.mark.parametrize(("text", "says"), [("proxy.example", "no address"), ("0.0.0.0/0", "everybody")])
def test_a_proxy_is_named_by_its_address(text: str, says: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=says):
        read_proxies([text])
