"""Who is believed about where a request comes from."""

import pytest
from django.test import RequestFactory

from gpulayer_site.accounts.address import client_address

PROXY, STRANGER, VISITOR = "127.0.0.1", "192.0.2.7", "198.51.100.9"


@pytest.mark.parametrize(
    ("behind_proxy", "peer", "forwarded", "expected"),
    [
        pytest.param(True, PROXY, VISITOR, VISITOR, id="the proxy on this host says who it was"),
        pytest.param(True, PROXY, f"{STRANGER}, {VISITOR}", VISITOR, id="only the last entry is the proxy's own"),
        pytest.param(True, PROXY, "nonsense", PROXY, id="nonsense is not believed"),
        pytest.param(True, PROXY, None, PROXY, id="a proxy that says nothing"),
        pytest.param(True, STRANGER, VISITOR, STRANGER, id="nobody else is believed"),
        pytest.param(False, PROXY, VISITOR, PROXY, id="without a proxy nobody is"),
        pytest.param(True, "::1", "2001:db8::1", "2001:db8::1", id="the same with IPv6"),
    ],
)
def test_the_address_is(settings, behind_proxy, peer, forwarded, expected):
    settings.GPULAYER_BEHIND_PROXY = behind_proxy
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    assert client_address(RequestFactory().get("/", REMOTE_ADDR=peer, headers=headers)) == expected
