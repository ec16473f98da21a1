"""Who is believed about where a request comes from."""

import pytest
from django.test import RequestFactory

from gpulayer_site.accounts.address import client_address
from gpulayer_site.proxies import LOOPBACK, read_proxies

PROXY, STRANGER, VISITOR = "127.0.0.1", "192.0.2.7", "198.51.100.9"


@pytest.mark.parametrize(
    ("proxies", "peer", "forwarded", "expected"),
    [
        pytest.param(LOOPBACK, PROXY, VISITOR, VISITOR, id="the proxy on this host says who it was"),
        pytest.param(LOOPBACK, PROXY, f"{STRANGER}, {VISITOR}", VISITOR, id="only the last entry is the proxy's own"),
        pytest.param(LOOPBACK, PROXY, "nonsense", PROXY, id="nonsense is not believed"),
        pytest.param(LOOPBACK, PROXY, None, PROXY, id="a proxy that says nothing"),
        pytest.param(LOOPBACK, STRANGER, VISITOR, STRANGER, id="nobody else is believed"),
        pytest.param((), PROXY, VISITOR, PROXY, id="without a proxy nobody is"),
        pytest.param(LOOPBACK, "::1", "2001:db8::1", "2001:db8::1", id="the same with IPv6"),
        pytest.param(
            read_proxies(["192.0.2.0/24"]), STRANGER, VISITOR, VISITOR, id="a proxy elsewhere, by its network"
        ),
        pytest.param(LOOPBACK, "::ffff:127.0.0.1", VISITOR, VISITOR, id="IPv4 that came over IPv6"),
    ],
)
def test_the_address_is(settings, proxies, peer, forwarded, expected):
    settings.GPULAYER_TRUSTED_PROXIES = proxies
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    assert client_address(RequestFactory().get("/", REMOTE_ADDR=peer, headers=headers)) == expected
