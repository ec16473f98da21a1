"""A small browser without a window, and a port that is taken."""

import re
import shutil
import socket

import httpx
import pytest

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
# The example for a proxy is tried where nginx is: nothing else needs it.
collect_ignore = [] if NGINX else ["test_proxy.py"]


class Visitor:
    """Signs in over HTTP as a browser does: with cookies and the token of the form."""

    def __init__(self, url: str) -> None:
        self.client = httpx.Client(base_url=url, timeout=20)

    def sign_in(self, **fields: str) -> int:
        """Send the sign-in form; the status of the answer."""
        page = self.client.get("/signin").text
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert found, page
        return self.client.post("/signin", data={"csrfmiddlewaretoken": found[1], **fields}).status_code


@pytest.fixture
def browserless():
    visitors = []

    def make(url: str) -> Visitor:
        visitors.append(Visitor(url))
        return visitors[-1]

    yield make
    for each in visitors:
        each.client.close()


@pytest.fixture
def taken_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]
