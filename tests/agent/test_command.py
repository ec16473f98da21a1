"""How a command is started: folder, environment, devices, and what is said where it cannot be."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agent.conftest import HERE
from tests.agent.shimmed import Shimmed
from workers.agent.accounts import Account
from workers.agent.client import Claim
from workers.agent.command import StartFailedError, variables_of

ENVIRONMENTS = {"default": HERE}
AGENTS_OWN = {
    "HOME": "/home/mira", "LANG": "C.UTF-8", "LC_TIME": "de_DE.UTF-8", "PATH": "/usr/bin",
    "GPULAYER_TOKEN": "glu_secret", "AWS_SECRET_ACCESS_KEY": "secret", "CUDA_VISIBLE_DEVICES": "0,1,2",
    "PYTHONPATH": "/agent", "SSH_AUTH_SOCK": "/s",
}  # fmt: skip


def variables(claim: Claim) -> dict[str, str]:
    return variables_of(claim, ENVIRONMENTS, "the-tag", AGENTS_OWN)


def test_nothing_of_the_agents_own_comes_along_but_a_few_harmless_things(a_claim: Callable[..., Claim]) -> None:
    assert variables(a_claim("true")) == {
        "HOME": "/home/mira", "LANG": "C.UTF-8", "LC_TIME": "de_DE.UTF-8", "PYTHONUNBUFFERED": "1",
        "PATH": f"{HERE.path}:/usr/bin", "CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "",
        "GPULAYER_JOB_ID": "j-1", "GPULAYER_TASK": "the-tag",
    }  # fmt: skip


def test_a_task_sees_exactly_its_devices_by_uuid(a_claim: Callable[..., Claim]) -> None:
    given = variables(a_claim("true", devices=((2, "GPU-cc"), (5, "GPU-ff")), env={"CUDA_VISIBLE_DEVICES": "0"}))
    assert given["CUDA_VISIBLE_DEVICES"] == "GPU-cc,GPU-ff"


def test_a_device_without_a_uuid_cannot_be_handed_over(a_claim: Callable[..., Claim]) -> None:
    with pytest.raises(StartFailedError) as failed:
        variables(a_claim("true", devices=((0, "GPU-aa"), (1, None))))
    assert failed.value.error.code == "device_unknown"


def test_the_jobs_own_variables_and_secrets_are_set(a_claim: Callable[..., Claim]) -> None:
    given = variables(a_claim("true", env={"A": "1", "PYTHONUNBUFFERED": "0"}, secrets={"KEY": "s"}))
    assert (given["A"], given["KEY"], given["PYTHONUNBUFFERED"]) == ("1", "s", "0")


def test_the_environments_folder_comes_before_the_jobs_own_path(a_claim: Callable[..., Claim]) -> None:
    assert variables(a_claim("true", env={"PATH": "/opt/bin"}))["PATH"] == f"{HERE.path}:/opt/bin"


def test_an_unknown_environment_is_named_beside_the_known_ones(a_claim: Callable[..., Claim]) -> None:
    with pytest.raises(StartFailedError, match="no environment 'train'; there is: default"):
        variables(a_claim("true", environment="train"))


def test_what_is_the_agents_to_say_is_not_the_jobs(a_claim: Callable[..., Claim], tmp_path: Path) -> None:
    claim = a_claim("true", env={"GPULAYER_TASK": "another", "GPULAYER_OUTPUT_DIR": "/", "GPULAYER_X": "1"})
    given = variables_of(claim, ENVIRONMENTS, "the-tag", AGENTS_OWN, outputs=tmp_path)
    names = {name: value for name, value in given.items() if name.startswith("GPULAYER_")}
    assert names == {"GPULAYER_TASK": "the-tag", "GPULAYER_OUTPUT_DIR": str(tmp_path), "GPULAYER_JOB_ID": "j-1"}


def test_another_user_has_a_home_and_a_name_of_its_own(a_claim: Callable[..., Claim]) -> None:
    account = Account(name="lena", uid=1001, gid=1001, groups=(1001,), home="/home/lena")
    given = variables_of(a_claim("true"), ENVIRONMENTS, "t", AGENTS_OWN | {"USER": "mira"}, account=account)
    assert (given["HOME"], given["USER"], given["LOGNAME"]) == ("/home/lena", "lena", "lena")


def test_a_command_has_no_input_a_session_of_its_own_and_no_core_dumps(run: Callable[..., Shimmed]) -> None:
    script = (
        "import os, resource, sys; print(sys.stdin.read() == '', os.getsid(0) == os.getpid(), "
        "resource.getrlimit(resource.RLIMIT_CORE), resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    task = run(sys.executable, "-c", script, limits={"core": 0, "nofile": 300})
    task.over()
    assert task.output == b"True True (0, 0) (300, 300)\n"


@pytest.mark.parametrize(("argv", "workdir", "code", "said"), [
    pytest.param(["true"], "missing", "workdir_missing", "there is no folder", id="the workdir is missing"),
    pytest.param(["true"], "a-file", "workdir_missing", "this is no folder", id="the workdir is a file"),
    pytest.param(["no-such-command"], "", "command_not_found", "'no-such-command' in PATH", id="no such command"),
    pytest.param(["./no-such"], "", "command_not_found", "'./no-such' in", id="no such file in the workdir"),
    pytest.param(["./a-file"], "", "command_not_executable", "may not be executed", id="not executable"),
    pytest.param(["./no-shebang"], "", "command_not_executable", "no program of this machine", id="no program"),
    pytest.param(["./bad-shebang"], "", "command_not_found", "the interpreter it names", id="no interpreter"),
    pytest.param(["a\0b"], "", "command_invalid", "cannot be passed on", id="a NUL in the command"),
    pytest.param(["x" * 3_000_000], "", "command_failed_to_start", "", id="a command that is too long"),
])  # fmt: skip
def test_what_is_said_where_a_command_cannot_start(
    run: Callable[..., Shimmed], tmp_path: Path, argv: list[str], workdir: str, code: str, said: str
) -> None:
    (tmp_path / "a-file").write_text("x")
    for name, text in {"no-shebang": "\x01\x02", "bad-shebang": "#!/no/such/interpreter\n"}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    task = run(*argv, folder=str(tmp_path / workdir))
    error = task.over()["start_error"]
    assert error["code"] == code
    assert error["detail"].startswith(f"{socket.gethostname()}: ")
    assert said in error["detail"]
    assert len(error["detail"]) <= 500
    assert error["detail"].encode() in task.output


def test_a_workdir_that_the_jobs_user_cannot_enter_is_as_good_as_missing(
    run: Callable[..., Shimmed], tmp_path: Path
) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o000)
    # Root may enter everything: with root's rights another user is taken on.
    user = {"uid": 65534, "gid": 65534, "groups": []} if os.geteuid() == 0 else None
    error = run("true", folder=str(locked), user=user).over()["start_error"]
    assert error["code"] == "workdir_missing"
    assert "Permission denied" in error["detail"]
