"""Commands as a person or a script calls them, against the real server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpulayer_site.cli import main
from tests.live import Server, server
from workers.models import Worker

__all__ = ["server"]


class Commands:
    """The `gpulayer` command, with the server's address and a token in its environment."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = {
            "HOME": str(folder),
            "XDG_CONFIG_HOME": "",
            "GPULAYER_DATA": str(folder / "none"),
            # Tests may run as root, and what they start are no strangers' jobs.
            "GPULAYER_ALLOW_ROOT": "1",
            **environment,
        }

    def __call__(self, *words: object, input: str | None = None, **environment: str) -> Result:
        runner = CliRunner()
        result = runner.invoke(
            main, [str(word) for word in words], input=input, env={**self.environment, **environment}
        )
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    def json(self, *words: object) -> Any:
        """What the command prints as JSON."""
        result = self(*words, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def file(self, name: str, text: str | dict[str, Any]) -> Path:
        path = self.folder / name
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        return path


@pytest.fixture
def without_server(tmp_path: Path) -> Commands:
    """No address, no token, no configuration."""
    return Commands(tmp_path, {"GPULAYER_URL": "", "GPULAYER_TOKEN": ""})


@pytest.fixture
def cli(server: Server, tmp_path: Path) -> Commands:
    """As the administrator."""
    return Commands(tmp_path, {"GPULAYER_URL": server.url, "GPULAYER_TOKEN": server.user_token()})


@pytest.fixture
def a_machine(server: Server) -> Callable[..., Worker]:
    """A registered worker that nobody keeps alive."""
    from django.utils import timezone

    from tests.factories import a_worker

    def make(name: str = "w1", **more: Any) -> Worker:
        return a_worker(name, seen=timezone.now(), **more)

    return make
