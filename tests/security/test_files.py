"""Names that would lead out of a folder lead nowhere. (S14; test_headers.py looks at what is downloaded, S12)

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
