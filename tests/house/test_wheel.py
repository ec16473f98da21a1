"""The wheel: what it carries, and that it works where nothing else is."""

import subprocess
import sys
import zipfile
from pathlib import Path

import httpx
import pytest

from tests.house.installation import Installation

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
LOCK = ROOT / "requirements" / "server.txt"

pytestmark = pytest.mark.slow

WORKERS = """
id: gpu-01
origin: local
os: linux
arch: x86_64
driver: 550.54.15
devices: [{index: 0, model: NVIDIA L4, kind: cuda, memory: 24GiB, compute_capability: "8.9"}]
state: online
"""
JOB = "{name: hello, target: local, command: [echo, hi], resources: {gpus: 1}}"


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    run(BIN / "uv", "build", "--wheel", "--no-build-isolation", "--python", sys.executable, "-o", folder, ROOT)
    return next(folder.glob("*.whl"))


def empty_environment(folder, *install):
    run(BIN / "uv", "venv", "--python", sys.executable, folder)
    python = folder / "bin" / "python"
    for words in install:
        run(BIN / "uv", "pip", "install", "--python", python, *words)
    return python


@pytest.fixture(scope="module")
def base(wheel, tmp_path_factory):
    """`pip install gpulayer`: the command line and the agent."""
    return empty_environment(tmp_path_factory.mktemp("base") / "env", ("-c", LOCK, wheel))


@pytest.fixture(scope="module")
def server(wheel, tmp_path_factory):
    """`pip install gpulayer[server]`."""
    return empty_environment(tmp_path_factory.mktemp("server") / "env", ("-c", LOCK, f"{wheel}[server]"))


def test_it_carries_the_packages_templates_and_static_files_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for name in (
        "gpulayer_site/settings.py",
        "gpulayer_site/up/supervisor.py",
        "gpulayer_site/accounts/migrations/0001_initial.py",
        "gpulayer_site/templates/base.html",
        "gpulayer_site/static/gpulayer.css",
        "scheduler/core/schedule.py",
        "scheduler/core/support_matrix.csv",
        "scheduler/migrations/0001_initial.py",
        "workers/agent/probe.py",
        "workers/migrations/0001_initial.py",
    ):
        assert name in names
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"gpulayer_site", "scheduler", "workers"}
    assert not [name for name in names if name.endswith((".pyc", ".sqlite3"))]


class TestTheBaseInstallation:
    def test_it_has_no_django(self, base):
        done = subprocess.run([base, "-c", "import django"], capture_output=True, check=False)
        assert b"ModuleNotFoundError" in done.stderr

    @pytest.mark.parametrize("words", [["--help"], ["job", "--help"], ["worker", "start", "--help"], ["up", "--help"]])
    def test_its_help_works(self, base, tmp_path, words):
        assert "Usage: gpulayer" in run(base.parent / "gpulayer", *words, cwd=tmp_path)

    def test_it_decides_documents(self, base, tmp_path):
        (tmp_path / "workers.yaml").write_text(WORKERS)
        (tmp_path / "job.yaml").write_text(JOB)
        words = ("schedule", "--workers", "workers.yaml", "--jobs", "job.yaml", "--json")
        assert '"outcome": "placed"' in run(base.parent / "gpulayer", *words, cwd=tmp_path)

    @pytest.mark.parametrize("words", [["up"], ["admin", "code"]])
    def test_what_needs_the_server_says_how_to_get_it(self, base, tmp_path, words):
        command = [base.parent / "gpulayer", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 1
        assert "pip install 'gpulayer[server]'" in done.stderr
        assert "Traceback" not in done.stderr


class TestTheServerInstallation:
    def test_it_opens_a_page_with_its_style(self, server, tmp_path):
        with Installation(tmp_path, "--no-agent", python=str(server)) as up:
            page = httpx.get(f"{up.ready().url}/signin")
            assert page.status_code == 200
            style = next(word for word in page.text.split('"') if "gpulayer." in word and word.endswith(".css"))
            answer = httpx.get(up.url + style)
            assert answer.status_code == 200
            assert "immutable" in answer.headers["Cache-Control"]
