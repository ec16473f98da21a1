"""Names that would lead out of a folder lead nowhere, and no file that comes from here is opened as a page. (S12, S14)

tests/agent tries links, pipes and archives on hosts, tests/api/test_files.py and tests/api/test_logs.py the names and
files on the server, tests/pages the archives that people send.
"""

from __future__ import annotations

import pytest
from django.test import Client

from tests.security.world import World

pytestmark = pytest.mark.django_db

UP = (
    "../",
    "%2e%2e/",
    "..%2f",
    "%252e%252e/",
    "..\\",
    "....//",
    "%c0%ae%c0%ae/",
    "/",
    "\uff0e\uff0e/",
    "./.././",
    "%00/",
)


@pytest.mark.parametrize("up", UP)
def test_nothing_beside_the_static_files_is_given_out(world: World, up: str) -> None:
    for root in ("/static/", "/static/vendor/", "/"):
        for name in ("gpulayer_site/settings.py", "manage.py", "etc/passwd"):
            answer = Client().generic("GET", f"{root}{up * 3}{name}")
            assert answer.status_code in (302, 400, 404), answer.request["PATH_INFO"]
            assert b"root:" not in b"".join(answer)
            assert b"SECRET_KEY" not in answer.content


def test_what_is_downloaded_is_kept_and_never_shown_as_a_page(world: World) -> None:
    """Every address that answers with something else than a page, a piece of one or JSON."""
    client, wrong, found = world.client(), [], 0
    queries = ("", "?format=csv", "?kind=csv", "?as=csv", "?format=text")
    for route in world.routes:
        if route.is_admin:
            continue
        for query in queries if "audit" in route.path or "log" in route.path else queries[:1]:
            answer = client.get(route.path + query)
            kind = answer.headers.get("Content-Type", "")
            if answer.status_code != 200 or kind.startswith(("text/html", "application/json", "text/javascript")):
                continue
            found += 1
            if answer.headers.get("X-Content-Type-Options") != "nosniff" or "html" in kind or "svg" in kind:
                wrong.append(f"{route.path}{query}: {kind}")
            if not route.is_api and not answer.headers.get("Content-Disposition", "").startswith("attachment"):
                wrong.append(f"{route.path}{query}: {answer.headers.get('Content-Disposition')}")
    assert wrong == []
    assert found > 0
