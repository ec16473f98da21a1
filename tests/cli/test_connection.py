"""How a command finds its server, and what it says where it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpulayer_site.client import Config, Failure, People, config_files, find_config
from tests.cli.conftest import Commands
from tests.live import Server

live = pytest.mark.django_db(transaction=True)


def configured(folder: Path, url: str, token: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "cli.json"
    path.write_text(json.dumps({"url": url, "token": token, "data": str(folder)}))
    return path


def test_the_environment_comes_first_then_the_data_folder_then_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    environ = {"GPULAYER_DATA": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "home")}
    home = configured(tmp_path / "home" / "gpulayer", "https://home", "glu_home")
    assert find_config(environ) == Config("https://home", "glu_home", home.parent, str(home))
    here = configured(tmp_path / ".data", "https://here", "glu_here")
    assert find_config(environ).source == str(here)
    data = configured(tmp_path / "data", "https://data", "glu_data")
    assert find_config(environ).source == str(data)
    both = environ | {"GPULAYER_URL": "https://named", "GPULAYER_TOKEN": "glu_named"}
    assert find_config(both) == Config("https://named", "glu_named", None, "GPULAYER_URL")
    assert config_files(environ) == (data, here, home)


def test_a_token_alone_is_for_the_server_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    environ = {"GPULAYER_DATA": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "GPULAYER_TOKEN": "glu_named"}
    with pytest.raises(Failure, match="GPULAYER_URL is not set"):
        find_config(environ)
    file = configured(tmp_path, "https://here", "glu_here")
    assert find_config(environ) == Config("https://here", "glu_named", tmp_path, f"GPULAYER_TOKEN and {file}")


def test_an_address_alone_takes_no_token_from_the_file(tmp_path: Path) -> None:
    configured(tmp_path, "https://here", "glu_here")
    with pytest.raises(Failure, match="GPULAYER_TOKEN is not set") as refused:
        find_config({"GPULAYER_DATA": str(tmp_path), "GPULAYER_URL": "https://named"})
    assert refused.value.exit_code == 3


def test_without_a_server_it_says_what_to_do(without_server: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(without_server.folder)
    result = without_server("job", "list")
    assert result.exit_code == 3
    assert "no server is known" in result.stderr
    assert "GPULAYER_URL and GPULAYER_TOKEN" in result.stderr
    assert "GPULAYER_TOKEN is not set" in without_server("job", "list", GPULAYER_URL="https://x").stderr


def test_a_damaged_configuration_is_named(without_server: Commands) -> None:
    (without_server.folder / "cli.json").write_text("{")
    result = without_server("job", "list", GPULAYER_DATA=str(without_server.folder))
    assert result.exit_code == 3
    assert "cli.json is damaged" in result.stderr


def test_a_server_that_is_away_is_said_without_a_traceback(
    without_server: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpulayer_site.client.sleep", lambda seconds: None)
    result = without_server("job", "list", GPULAYER_URL="http://127.0.0.1:9", GPULAYER_TOKEN="glu_x")
    assert result.exit_code == 3
    assert "http://127.0.0.1:9 cannot be reached" in result.stderr
    assert "GPULAYER_URL" in result.stderr


def test_a_token_does_not_travel_unencrypted(without_server: Commands) -> None:
    result = without_server("job", "list", GPULAYER_URL="http://gpu.example", GPULAYER_TOKEN="glu_x")
    assert result.exit_code == 3
    assert "unencrypted" in result.stderr


def test_it_may_go_to_this_host_by_another_of_its_addresses(tmp_path: Path, without_server: Commands) -> None:
    configured(tmp_path / "data", "http://192.0.2.1:9", "glu_x")
    said = [without_server("job", "list", GPULAYER_DATA=str(tmp_path / "data")).stderr]
    (tmp_path / "data" / "up.lock").touch()
    People(find_config({"GPULAYER_DATA": str(tmp_path / "data")})).close()
    assert "unencrypted" in said[0]


@live
def test_a_token_that_the_server_does_not_know_is_said(cli: Commands) -> None:
    result = cli("job", "list", GPULAYER_TOKEN="glu_wrong")
    assert result.exit_code == 3
    assert "the server does not accept the token from GPULAYER_URL" in result.stderr


@live
def test_a_page_of_something_else_is_no_server(server: Server, cli: Commands) -> None:
    result = cli("job", "list", GPULAYER_URL=f"{server.url}/elsewhere")
    assert result.exit_code in (1, 3)
    assert "Traceback" not in result.output
