"""Whose rights a job has on a host, and what it may use there."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpulayer_site.client import Failure
from tests.agent.conftest import HERE, Claims
from tests.agent.shimmed import Shimmed, python, sh
from workers.agent.accounts import NoAccountError, account_of
from workers.agent.cgroups import Cgroups
from workers.agent.command import StartFailedError
from workers.agent.folder import AgentFolder
from workers.agent.preparing import Host, prepared
from workers.agent.rules import Rules
from workers.agent.shim.sweep import processes
from workers.cli_start import check_accelerators

Run = Callable[..., Shimmed]
ACCOUNTS = {
    "lena": pwd.struct_passwd(("lena", "x", 1001, 1001, "", "/home/lena", "/bin/sh")),
    "daemon": pwd.struct_passwd(("daemon", "x", 1, 1, "", "/", "/bin/false")),
    "root": pwd.struct_passwd(("root", "x", 0, 0, "", "/root", "/bin/sh")),
}
ROOT = os.geteuid() == 0
NOBODY = {"uid": 65534, "gid": 65534, "groups": [65534]}


def account(name: str | None) -> Any:
    return account_of(name, "lena@example.org", entry=ACCOUNTS.__getitem__, groups=lambda _, gid: [gid, 27])


def test_a_job_gets_its_submitters_account_with_its_groups() -> None:
    found = account("lena")
    assert (found.uid, found.gid, found.groups, found.home) == (1001, 1001, (1001, 27), "/home/lena")


@pytest.mark.parametrize(("name", "says"), [
    (None, "lena@example.org has no Unix account on the server"),
    ("", "has no Unix account"),
    ("maria", "there is no account 'maria' for lena@example.org"),
    ("daemon", r"the account 'daemon' \(uid 1\) is the system's; jobs need 1000 or more"),
    ("root", r"uid 0"),
])  # fmt: skip
def test_no_job_runs_as(name: str | None, says: str) -> None:
    with pytest.raises(NoAccountError, match=says):
        account(name)


def test_without_an_account_it_is_a_start_error_before_anything_is_made(host: Host, a_claim: Claims) -> None:
    host.rules = Rules(run_as_submitter=True)
    claim = a_claim("true", run_as=None, submitter="mira")
    record = host.folder.new_task(claim)
    with pytest.raises(StartFailedError) as failed:
        prepared(host, claim, record, None)
    assert failed.value.error.code == "no_unix_account"
    assert not Path(record.private).exists()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can reach."""
    made = Path(tempfile.mkdtemp(prefix="gpulayer-test-", dir="/tmp"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


LOOKS = (
    "import os, pathlib",
    "print(os.getresuid(), os.getresgid(), os.getgroups(), oct(os.stat('.').st_mode & 0o777))",
    "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('NoNewPrivs')])",
    "pathlib.Path(os.environ['GPULAYER_OUTPUT_DIR'], 'result').write_text('x')",
    "def tried(what):",
    "    try: what()",
    "    except OSError as error: return error.strerror",
    "print({tried(lambda: os.listdir(each)) for each in STATE}, tried(lambda: os.kill(os.getppid(), 9)))",
)


def test_as_its_submitter_a_job_has_that_users_rights_and_no_more(
    host: Host, a_claim: Claims, open_folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.folder = AgentFolder(open_folder / "agent")
    host.folder.keep_credential("https://a", "w1", "glw_x")
    (host.folder.root / "files").mkdir(mode=0o755)
    host.rules = Rules(run_as_submitter=True)
    state = [str(host.folder.root / "tasks"), str(host.folder.root)]
    words = "\n".join(LOOKS).replace("STATE", repr(state))
    # The tests' own Python may lie where no other user can go.
    claim = a_claim("python3", "-c", words, run_as="nobody", submitter="lena")
    monkeypatch.setattr("workers.agent.accounts.LOWEST_UID", 1000)
    if not ROOT:
        monkeypatch.setattr("workers.agent.accounts.os.chown", lambda *_, **__: None)
    record = host.folder.new_task(claim)
    host.environments = {"default": HERE.__class__(name="default", python=Path("/usr/bin/python3"), path="/usr/bin")}
    plan = prepared(host, claim, record, None)
    for closed in ("tasks", "files"):
        assert stat.S_IMODE((host.folder.root / closed).stat().st_mode) == 0o700
    assert stat.S_IMODE((host.folder.root / "credential.json").stat().st_mode) == 0o600
    record.shim.start(plan)
    result = finished(record)
    if not ROOT:  # without root's rights nobody else can be taken on, and nothing runs as the wrong one
        assert result["start_error"]["code"] == "no_unix_account"
        return
    output = b"".join(record.spool().chunk(0).splitlines(keepends=True)).decode(errors="replace")
    assert result["exit_code"] == 0, output
    assert "(65534, 65534, 65534)" in output
    assert "0o700" in output
    assert "['1']" in output
    assert "{'Permission denied'} Operation not permitted" in output
    assert (Path(record.outputs or "") / "result").stat().st_uid == 65534


def finished(record: Any) -> dict[str, Any]:
    from tests.agent.shimmed import eventually

    eventually(lambda: not record.shim.is_alive())
    return dict(record.shim.result() or {"errors": record.shim.errors()})


def test_a_fork_bomb_ends_at_its_limit_and_the_host_lives_on(run: Run, open_folder: Path) -> None:
    # The kernel counts a user's processes; root it lets have as many as it wants.
    own = sum(1 for each in processes() if _user_of(each.pid) == (65534 if ROOT else os.geteuid()))
    bomb = python(
        "import os, time",
        "number = 0",
        "try:",
        "    while number < 500:",
        "        if os.fork() == 0: time.sleep(600)",
        "        number += 1",
        "except BlockingIOError:",
        "    print('stopped after', number, flush=True)",
        "    os._exit(9)",
    )
    argv = ("/usr/bin/python3", *bomb[1:]) if ROOT else bomb
    task = run(*argv, limits={"nproc": own + 300 if not ROOT else 40}, folder=str(open_folder),
               user=NOBODY if ROOT else None)  # fmt: skip
    assert task.over()["exit_code"] == 9, task.output
    assert b"stopped after" in task.output


def _user_of(pid: int) -> int:
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return -1


def test_a_memory_hog_ends_at_its_limit(run: Run) -> None:
    task = run(*python("held = [bytearray(50_000_000) for _ in range(20)]"), limits={"data": 200_000_000})
    assert task.over()["exit_code"] == 1
    assert b"MemoryError" in task.output


def test_a_jobs_processes_are_the_first_to_go_when_the_host_has_no_memory(run: Run) -> None:
    task = run(*sh("cat /proc/self/oom_score_adj"))
    task.over()
    assert task.output == b"500\n"


class Delegated:
    """A cgroup subtree as systemd delegates one."""

    def __init__(self, mount: Path, controllers: str = "cpu memory pids") -> None:
        self.mount = mount
        self.root = mount / "system.slice" / "gpulayer-agent.service"
        (self.root / "agent").mkdir(parents=True)
        (self.root / "cgroup.controllers").write_text(controllers)
        (self.root / "cgroup.subtree_control").write_text("")

    def cgroups(self, own: str = "agent") -> Cgroups:
        return Cgroups(f"/system.slice/gpulayer-agent.service/{own}", self.mount)


def test_with_a_delegated_subtree_each_task_has_a_cgroup_with_its_limits(tmp_path: Path) -> None:
    delegated = Delegated(tmp_path)
    rules = Rules(processes=100, memory=10**9, cgroups=delegated.cgroups())
    assert (delegated.root / "cgroup.subtree_control").read_text() == "+memory +pids"
    folder = Path(rules.cgroup("tag") or "")
    assert folder == delegated.root / "task-tag"
    assert {each.name: each.read_text() for each in folder.iterdir()} == {
        "pids.max": "100", "memory.max": "1000000000", "memory.oom.group": "1",
    }  # fmt: skip
    assert rules.limits() == {"core": 0, "nofile": 65_536}
    assert rules.in_words() == "each task may use 100 processes and 1,000,000,000 bytes of memory (its own cgroup)"


@pytest.mark.parametrize(("controllers", "own"), [("cpu", "agent"), ("cpu memory pids", "session"), ("", "")])
def test_without_one_the_users_limits_are_set_and_that_is_said(tmp_path: Path, controllers: str, own: str) -> None:
    rules = Rules(processes=100, memory=10**9, cgroups=Delegated(tmp_path, controllers).cgroups(own))
    assert rules.cgroup("tag") is None
    assert rules.limits() == {"core": 0, "nofile": 65_536, "nproc": 100, "data": 10**9}
    assert "no cgroup is delegated" in rules.in_words()


def test_a_command_is_put_into_its_cgroup_and_one_that_the_kernel_ended_there_says_so(run: Run, tmp_path: Path) -> None:
    (tmp_path / "memory.events").write_text("low 0\noom 1\noom_kill 1\n")
    (tmp_path / "memory.max").write_text("1000\n")
    task = run(*sh("kill -9 $$"), cgroup=str(tmp_path))
    result = task.over()
    assert int((tmp_path / "cgroup.procs").read_text()) > 0
    assert (result["signal"], result["ended_by"]["code"]) == (9, "out_of_memory")
    assert "more than its 1000 bytes of memory" in result["ended_by"]["detail"]


def test_the_units_are_well_formed() -> None:
    analyze = shutil.which("systemd-analyze")
    for unit in Path("deploy").glob("*.service"):
        assert "ExecStart=" in unit.read_text()
        if analyze:
            done = subprocess.run(
                [analyze, "verify", "--man=no", unit], capture_output=True, text=True, check=False, timeout=60
            )
            lines = [
                line
                for line in done.stderr.splitlines()
                if unit.name in line and not any(word in line for word in ("not executable", "DelegateSubgroup"))
            ]
            assert lines == [], sys.platform


@pytest.mark.parametrize(("facts", "says"), [
    ({"torch_build": {"hip": "6.2.4"}}, "environment default: its torch is built for ROCm"),
    ({"frameworks": {"torch": "2.7.0+rocm6.3"}}, "environment default: its torch is built for ROCm"),
    ({"environments": {"train": {"frameworks": {"torch": "2.7.0+xpu"}}}}, "environment train: .* built for XPU"),
])  # fmt: skip
def test_an_environment_for_another_accelerator_is_refused(facts: dict[str, Any], says: str) -> None:
    with pytest.raises(Failure, match=says):
        check_accelerators(facts)


@pytest.mark.parametrize("facts", [
    {}, {"torch_build": {"cuda": "12.4"}, "frameworks": {"torch": "2.6.0+cu124"}}, {"torch_build": None},
    {"frameworks": {"torch": "2.6.0+cpu"}, "environments": {"train": {"torch_build": {}, "frameworks": None}}},
])  # fmt: skip
def test_cpu_and_cuda_are_taken(facts: dict[str, Any]) -> None:
    check_accelerators(facts)
