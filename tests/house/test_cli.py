"""The root of the command line."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from gpulayer_site.cli import main

GROUPS = ["job", "worker", "token", "admin"]
COMMANDS = [["up"], ["schedule"], ["compat"], ["doctor"], *([group] for group in GROUPS)]


def invoke(*words, **environment):
    return CliRunner(env=environment).invoke(main, list(words))


def modules_after(*words):
    """What is imported when `gpulayer words…` has run, and what it printed."""
    call = f"main({list(words)}, standalone_mode=False)"
    code = f"import sys; from gpulayer_site.cli import main; {call}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *printed, modules = done.stdout.splitlines()
    return modules.split(), " ".join(printed)


def test_help_lists_every_command_without_importing_one():
    modules, printed = modules_after("--help")
    assert not [name for name in modules if name.startswith(("scheduler", "workers", "httpx", "django"))]
    assert {words[0] for words in COMMANDS} <= set(printed.split())


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_help_needs_django(words):
    assert "django" not in modules_after(*words, "--help")[0]


def test_an_unknown_command_is_named():
    result = invoke("jobs")
    assert result.exit_code == 2
    assert "No such command 'jobs'" in result.output


def test_it_knows_its_version():
    assert invoke("--version").output.startswith("gpulayer, version ")


class TestDoctor:
    @pytest.fixture
    def nowhere(self, tmp_path, monkeypatch):
        """A folder and a home without any installation."""
        monkeypatch.chdir(tmp_path)
        return {"HOME": str(tmp_path), "GPULAYER_DATA": str(tmp_path / "none"), "XDG_CONFIG_HOME": str(tmp_path)}

    def test_it_says_that_no_server_is_known_and_what_to_do(self, nowhere):
        result = invoke("doctor", **nowhere)
        assert result.exit_code == 1
        assert "NO    configuration: no server is known" in result.output
        assert "set GPULAYER_URL and GPULAYER_TOKEN" in result.output

    def test_a_folder_that_others_can_read_is_wrong(self, nowhere, tmp_path):
        folder = tmp_path / "none"
        folder.mkdir(mode=0o755)
        result = invoke("doctor", **nowhere)
        assert f"chmod 700 {folder}" in result.output

    def test_a_server_that_is_away_is_named(self, nowhere, taken_port):
        given = {"GPULAYER_URL": "http://127.0.0.1:1", "GPULAYER_TOKEN": "glu_x"}
        result = invoke("doctor", **nowhere, **given)
        assert result.exit_code == 1
        assert "NO    server: http://127.0.0.1:1 cannot be reached" in result.output


class TestTheAdministratorsWayIn:
    def test_without_an_installation_it_says_where_to_run_it(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        result = invoke("admin", "code", HOME=str(tmp_path), GPULAYER_DATA=str(tmp_path))
        assert result.exit_code == 3
        assert f"there is no database in {tmp_path}" in result.output
