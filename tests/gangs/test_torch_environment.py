"""Where the environment cannot be made, that is said, and nothing is taken for it that is not whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import run
from tests.gangs.torch_environment import NoTorchError, torch_python


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Python that makes an empty environment in which nothing works."""
    script = tmp_path / "python"
    script.write_text(
        '#!/bin/sh\nmkdir -p "$3/bin"; printf "#!/bin/sh\\necho no index here >&2; exit 5\\n" > "$3/bin/python"\n'
        'chmod +x "$3/bin/python"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PYTHON", str(script))
    monkeypatch.setenv("TORCH_ENVIRONMENT", str(tmp_path / "environment"))
    return script


def test_what_pip_said_is_told_at_every_try(python: Path) -> None:
    for _ in range(2):
        with pytest.raises(NoTorchError, match=r"(?s)pip install .*torch==2.13.0 ended with 5:.*no index here"):
            torch_python()


@pytest.mark.parametrize("no_skips", [False, True])
def test_the_part_is_left_out_aloud_and_never_where_nothing_may_be_skipped(
    python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], no_skips: bool
) -> None:
    monkeypatch.setattr(run, "NO_SKIPS", no_skips)
    runner = run.Runner(tmp_path)
    run._gangs(runner)
    assert "!!! distributed jobs left out" in capsys.readouterr().out
    assert (runner.count.skipped, bool(runner.count.broken)) == (1, no_skips)
