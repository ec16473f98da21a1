"""What an agent keeps on disk."""

from __future__ import annotations

import getpass
import os
import stat
from contextlib import closing
from pathlib import Path

import pytest

from tests.agent.conftest import Claims
from workers.agent.client import Cause, Result
from workers.agent.folder import AgentFolder, FolderInUseError
from workers.agent.private import write_private


def test_a_folder_has_one_agent(folder: AgentFolder) -> None:
    with closing(folder.lock()), pytest.raises(FolderInUseError, match=rf"another agent \(process {os.getpid()}\)"):
        folder.lock()
    folder.lock().close()


def test_a_credential_is_for_one_server_and_one_worker_and_for_its_owner_only(folder: AgentFolder) -> None:
    folder.keep_credential("https://a", "w1", "glw_x")
    assert folder.credential("https://a", "w1") == "glw_x"
    assert folder.credential("https://b", "w1") is None
    assert folder.credential("https://a", "w2") is None
    assert stat.S_IMODE((folder.root / "credential.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.root.stat().st_mode) == 0o700
    folder.forget_credential()
    assert folder.credential("https://a", "w1") is None


@pytest.mark.parametrize("result", [
    Result(exit_code=3, duration_ms=5), Result(signal=9, timed_out=True),
    Result(signal=15, ended_by=Cause(code="agent_stopped", detail="h: stopped")),
    Result(start_error=Cause(code="workdir_missing", detail="h: there is no folder /x")),
])  # fmt: skip
def test_a_result_comes_back_as_it_was(folder: AgentFolder, a_claim: Claims, result: Result) -> None:
    record = folder.new_task(a_claim("true", devices=((0, "GPU-a"),)))
    assert record.result() is None
    record.save_result(result)
    (found,) = folder.left_tasks()
    assert found == record
    assert found.result() == result


def test_a_task_that_was_not_even_written_down_whole_is_forgotten(folder: AgentFolder) -> None:
    (folder.root / "tasks" / "1-7").mkdir(parents=True)
    (folder.root / "tasks" / "1-7" / "task.json").write_text('{"task": 1')
    assert folder.left_tasks() == []
    assert not (folder.root / "tasks" / "1-7").exists()


def test_private_directories_stay_for_their_time_and_as_long_as_something_runs_there(folder: AgentFolder) -> None:
    folders = [folder.root / "work" / name for name in ("old", "old-but-running", "new")]
    for each in folders:
        each.mkdir(parents=True)
    for each in folders[:2]:
        os.utime(each, (0, 0))
    folder.prune({str(folders[1])})
    assert [each.exists() for each in folders] == [False, True, True]


def test_writing_leaves_the_old_text_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "alone" / "text"
    write_private(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_private(path, "\ud800")
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_a_credential_follows_its_server_to_another_address(tmp_path: Path) -> None:
    folder = AgentFolder(tmp_path)
    folder.follow("http://127.0.0.1:1")
    assert folder.credential("http://127.0.0.1:1", "w1") is None
    folder.keep_credential("http://127.0.0.1:1", "w1", "glw_x")
    folder.follow("http://127.0.0.1:2")
    assert folder.credential("http://127.0.0.1:2", "w1") == "glw_x"
    assert folder.credential("http://127.0.0.1:1", "w1") is None


@pytest.mark.parametrize(
    ("hold", "people"),
    [
        pytest.param({"hold_seconds": 60.0, "hold_user": "mira"}, ("mira",), id="a person with an account here"),
        pytest.param({"hold_seconds": 60.0, "hold_user": ""}, (getpass.getuser(),), id="one who logs in as the agent"),
        pytest.param({}, (), id="no hold"),
    ],
)
def test_whose_programs_belong_to_a_hold_is_kept(
    folder: AgentFolder, a_claim: Claims, hold: dict[str, object], people: tuple[str, ...]
) -> None:
    folder.new_task(a_claim("true", devices=((0, "GPU-a"),), **hold))
    (found,) = folder.left_tasks()
    assert found.people == people
