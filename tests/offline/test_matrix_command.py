"""`gpulayer matrix`: the table of supported combinations, for people and for programs, without Django."""

from __future__ import annotations

import json
import subprocess
import sys

from click.testing import CliRunner, Result

from gpulayer_site.cli import main
from scheduler.core.support_matrix import ROWS


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["matrix", *arguments])


def test_every_row_is_listed_with_its_source() -> None:
    done = run()
    assert done.exit_code == 0
    for row in ROWS:
        assert f"\n{row.id} " in done.stdout
        assert f"{row.publisher}, {row.title}, {row.date}" in done.stdout
    assert done.stdout.endswith(f"{len(ROWS)} rows; frameworks known: torch\n")


def test_programs_get_every_column() -> None:
    rows = json.loads(run("--json").stdout)
    assert [row["id"] for row in rows] == [row.id for row in ROWS]
    build = next(row for row in rows if row["id"] == "torch-2.7-cu128")
    assert build["versions"] == ">=2.7,<2.8"
    assert build["os"] == ["linux", "windows"]
    assert build["code"] == ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"]
    assert build["status"] == "experimental"


def test_of_one_framework_only_its_own_rows() -> None:
    rows = json.loads(run("--framework", "torch", "--json").stdout)
    assert {row["framework"] for row in rows} == {"torch"}
    assert "driver-cuda-12-linux" not in run("--framework", "torch").stdout


def test_a_framework_that_the_table_does_not_know_is_refused() -> None:
    done = run("--framework", "jax")
    assert done.exit_code == 2
    assert "'jax'" in done.stderr
    assert "torch" in done.stderr


def test_it_needs_no_django() -> None:
    program = "import sys; from scheduler.cli_matrix import matrix; assert 'django' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
