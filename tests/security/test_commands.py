"""A job's words and variables reach its program byte for byte, and nobody else. (S33, S34)

tests/agent/test_command.py has what a job is given, tests/agent/test_rights.py whose rights it has.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpulayer_site.client import Failure
from scheduler.core.codec import job_to_document
from scheduler.core.errors import DocumentError
from scheduler.core.parsing import parse_job
from tests.agent.conftest import HERE, run  # noqa: F401 - a fixture
from tests.agent.shimmed import Shimmed, python, sh
from workers.agent.command import variables_of
from workers.agent.messages import Claim
from workers.agent.rules import Rules

HOSTILE = (
    "; rm -rf /", "$(id)", "`id`", "${IFS}", "|cat", "&& true", "> /tmp/x", "*", "~", "a\nb", "\t", "'", '"', "\\", "",
    "--", "-rf", "{{7*7}}", "%s%n", "\x1b[31m", "名", "🧑‍🚀", "a=b", "#", "!!",
)  # fmt: skip
SHOW_ARGV = ("import os, sys", "print(repr([os.fsencode(each) for each in sys.argv[1:]]))")
JOB = {"name": "a job", "command": ["true"], "target": "local"}


def a_claim(**more: Any) -> Claim:
    known: dict[str, Any] = {
        "task": 1, "fence": 7, "job_id": "j-1", "attempt": 1, "rank": 0, "go": True, "workdir": None, "env": {},
        "secrets": {}, "environment": "default", "devices": (), "timeout_s": None, "argv": ("true",),
    }  # fmt: skip
    return Claim(**(known | more))


def test_every_word_of_a_command_arrives_as_it_was_written(run: Callable[..., Shimmed]) -> None:  # noqa: F811
    task = run(*python(*SHOW_ARGV), *HOSTILE)
    assert task.over()["exit_code"] == 0, task.output
    assert task.output.decode().strip() == repr([os.fsencode(each) for each in HOSTILE])


def test_so_does_the_document_on_its_way(db: None) -> None:
    words = [each for each in HOSTILE if each]
    spec = parse_job(JOB | {"command": ["true", *words], "env": {"A": "$(id); `id` \n x"}})
    document = json.loads(json.dumps(job_to_document(spec)))
    assert document["command"][1:] == words
    assert parse_job(document) == spec


@pytest.mark.parametrize("document", [
    {"env": {"A": "a\0b"}}, {"env": {"A=B": "x"}}, {"env": {"": "x"}}, {"env": {"A\n": "x"}},
    {"env": {"A\0": "x"}}, {"command": ["true", "a\0b"]}, {"command": []}, {"command": "true; id"}, {"workdir": "a\0b"},
    {"env": {"GPULAYER_TASK": "x"}}, {"secrets": {"GPULAYER_JOB_ID": "x"}}, {"env": {"CUDA_VISIBLE_DEVICES": "0"}},
    {"name": "a\0b"}, {"name": "a\nb"},
], ids=str)  # fmt: skip
def test_no_document_has(document: dict[str, Any]) -> None:
    with pytest.raises(DocumentError):
        parse_job(JOB | document)


def test_what_a_job_sets_reaches_neither_the_agent_nor_its_shim(run: Callable[..., Shimmed]) -> None:  # noqa: F811
    """Variables by which a program would be given other code are the program's own affair."""
    evil = {"LD_PRELOAD": "/tmp/evil.so", "LD_LIBRARY_PATH": "/tmp", "PYTHONPATH": "/tmp", "BASH_ENV": "/tmp/evil",
            "PYTHONSTARTUP": "/tmp/evil", "NODE_OPTIONS": "--require /tmp/evil"}  # fmt: skip
    task = run(*sh("echo here; exec sleep 600"), env=evil)
    task.after_it_says(b"here")
    shim = task.process().environ()
    assert {name: shim[name] for name in evil if shim.get(name) == evil[name]} == {}
    own = dict(os.environ)
    assert {name for name in evil if own.get(name) == evil[name]} == set()


def test_the_agents_words_win_over_the_jobs(tmp_path: Path) -> None:
    claimed = {"GPULAYER_TASK": "x", "GPULAYER_JOB_ID": "j-9", "CUDA_VISIBLE_DEVICES": "all", "GPULAYER_TOKEN": "x"}
    for kind in ("env", "secrets"):
        given = variables_of(
            a_claim(**{kind: claimed}), {"default": HERE}, "the-tag", {"PATH": "/bin"}, outputs=tmp_path
        )
        assert (given["GPULAYER_TASK"], given["GPULAYER_JOB_ID"]) == ("the-tag", "j-1")
        assert given["CUDA_VISIBLE_DEVICES"] == ""
        assert "GPULAYER_TOKEN" not in given


class TestTheAgentsUser:
    @pytest.fixture
    def as_user(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
        return lambda uid: monkeypatch.setattr(os, "geteuid", lambda: uid)

    def test_root_is_refused_unless_it_is_wanted(self, as_user: Callable[[int], None]) -> None:
        from workers.cli_start import _check_user

        as_user(0)
        with pytest.raises(Failure, match="as root, every job would have all rights"):
            _check_user(Wanted())
        _check_user(Wanted(allow_root=True))
        _check_user(Wanted(rules=Rules(run_as_submitter=True)))
        as_user(1000)
        _check_user(Wanted())
        with pytest.raises(Failure, match="--run-as-submitter needs root"):
            _check_user(Wanted(rules=Rules(run_as_submitter=True)))

    def test_without_users_of_their_own_jobs_are_warned_of(
        self, as_user: Callable[[int], None], capsys: pytest.CaptureFixture[str]
    ) -> None:
        from workers.cli_start import _warn

        _warn(Wanted())
        assert "let only people submit whom you trust with that" in capsys.readouterr().err


class Wanted:
    """What the command line was told, as far as it is looked at here."""

    def __init__(self, *, allow_root: bool = False, rules: Rules | None = None) -> None:
        self.allow_root = allow_root
        self.rules = rules or Rules()
