"""What the launcher makes of its environment."""

import socket

import pytest

from gpulayer_site.up import parts
from gpulayer_site.up.options import UpError, read_options, server_environment

HERE = socket.gethostname()


def options(tmp_path, **environment):
    return read_options({"GPULAYER_DATA": str(tmp_path), **environment})


@pytest.mark.parametrize(
    ("environment", "url", "public"),
    [
        pytest.param({}, "http://127.0.0.1:8000", "http://127.0.0.1:8000", id="nothing: loopback"),
        pytest.param({"PORT": "81"}, "http://127.0.0.1:81", "http://127.0.0.1:81", id="another port"),
        pytest.param({"HOST": "::1"}, "http://[::1]:8000", "http://[::1]:8000", id="IPv6"),
        pytest.param({"HOST": "0.0.0.0"}, "http://127.0.0.1:8000", f"http://{HERE}:8000", id="every address"),
        pytest.param({"HOST": "10.0.0.7"}, "http://10.0.0.7:8000", "http://10.0.0.7:8000", id="one address"),
        pytest.param({"HOST": "", "PORT": ""}, "http://127.0.0.1:8000", "http://127.0.0.1:8000", id="set but empty"),
    ],
)
def test_the_address_follows(tmp_path, environment, url, public):
    chosen = options(tmp_path, **environment)
    assert (chosen.url, chosen.public_url) == (url, public)


@pytest.mark.parametrize("port", ["0", "65536", "-1", "http", "8000 ", "8_000", "٨٠"])
def test_what_is_no_port_is_refused(tmp_path, port):
    with pytest.raises(UpError, match="PORT must be a number from 1 to 65535"):
        options(tmp_path, PORT=port)


class TestTheServersNames:
    def test_by_default_it_is_called_as_it_listens(self, tmp_path):
        assert server_environment(options(tmp_path), {})["ALLOWED_HOSTS"] == "127.0.0.1"

    def test_on_every_address_by_its_names_and_addresses_but_never_by_any_name(self, tmp_path):
        names = server_environment(options(tmp_path, HOST="0.0.0.0"), {})["ALLOWED_HOSTS"].split(",")
        assert {HERE, "127.0.0.1"} <= set(names)
        assert "*" not in names

    def test_what_the_operator_says_counts(self, tmp_path):
        given = {"ALLOWED_HOSTS": "gpu.example.org", "GPULAYER_URL": "https://gpu.example.org"}
        assert given.items() <= server_environment(options(tmp_path), given).items()


class TestTheAgent:
    def test_it_is_given_none_of_the_servers_secrets(self, tmp_path):
        secrets = dict.fromkeys(("SECRET_KEY", "DATABASE_URL", "GPULAYER_BROKER_URL", "GPULAYER_TOKEN"), "secret")
        chosen = options(tmp_path)
        recipe = parts.agent(chosen, server_environment(chosen, secrets))
        assert "secret" not in recipe.environment.values()

    def test_no_token_stands_in_its_command_line(self, tmp_path):
        chosen = options(tmp_path)
        assert not [word for word in parts.agent(chosen, {}).argv if word.startswith(("gle_", "glw_"))]


def test_a_broker_of_ones_own_replaces_the_embedded_one(tmp_path):
    assert options(tmp_path).own_broker
    assert not options(tmp_path, GPULAYER_BROKER_URL="redis://127.0.0.1:6379/0").own_broker
