"""The server's own host: its agent is let in by itself where it has no credential, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.utils import timezone

from gpulayer_site.up.options import Options
from gpulayer_site.up.parts import host_name
from gpulayer_site.up.prepare import _let_agent_in
from workers.agent.folder import AgentFolder
from workers.auth import create_credential, is_known_credential
from workers.models import Credential, EnrolmentToken

pytestmark = pytest.mark.django_db
URL = "http://127.0.0.1:8000"


@pytest.fixture
def options(tmp_path: Path) -> Options:
    (tmp_path / "agent").mkdir(mode=0o700)
    return Options(data=tmp_path, host="127.0.0.1", port=8000, agent=True, own_broker=False)


def has_token(options: Options) -> bool:
    _let_agent_in(options)
    return (options.data / "agent" / "enrolment-token").exists()


def test_a_new_agent_gets_a_token_for_one_use(options: Options) -> None:
    assert has_token(options)
    assert EnrolmentToken.objects.get().uses_left == 1


def test_one_with_a_credential_gets_none_and_an_old_token_is_gone(options: Options) -> None:
    assert has_token(options)
    secret, _ = create_credential(fleet=False, now=timezone.now())
    AgentFolder(options.data / "agent").keep_credential(URL, host_name(), secret)
    assert not has_token(options), "else it would come back by itself after it is revoked"


@pytest.mark.parametrize("known", [True, False], ids=["revoked before", "of a database that is gone"])
def test_one_whose_credential_is_worth_nothing_gets_one_at_the_next_start(options: Options, known: bool) -> None:
    secret, _ = create_credential(fleet=False, now=timezone.now())
    if known:
        Credential.objects.update(revoked_at=timezone.now())
    else:
        Credential.objects.all().delete()
    AgentFolder(options.data / "agent").keep_credential(URL, host_name(), secret)
    assert not is_known_credential(secret)
    assert has_token(options)
