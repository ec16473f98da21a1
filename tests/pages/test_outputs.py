"""What a job has left, on its page; and archives that come with the submit form."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from scheduler.models import Bundle, Job, OutputFile, Task
from scheduler.services import bundles
from scheduler.storage import Key, Kind, storage
from tests.archives import a_tar
from tests.factories import a_job, a_pass, a_user, a_worker, changed

pytestmark = pytest.mark.django_db

FORM = {"name": "train", "command": "python train.py", "target": "local"}


@pytest.fixture(autouse=True)
def own_data_folder(settings: Settings, tmp_path: Path) -> None:
    settings.GPULAYER_DATA = tmp_path


@pytest.fixture
def task(mira) -> Task:
    """A task of mira's that has left something."""
    a_worker("w1")
    a_job(owner=mira)
    a_pass(timezone.now())
    return changed(Task.objects.get(), outputs_path="/srv/agent/j-1/outputs", outputs_note="link: a link")


def left(task: Task, path: str, data: bytes) -> OutputFile:
    row = OutputFile.objects.create(
        task=task, path=path, size=len(data), stored=len(data), sha256=hashlib.sha256(data).hexdigest(),
        created_at=timezone.now(),
    )  # fmt: skip
    with storage().writing(Key(Kind.OUTPUTS, row.pk)) as blob:
        blob.write(0, data)
    return row


def here(task: Task) -> str:
    return f"/jobs/{task.attempt.job.job_id}/outputs"


def text_of(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def test_files_are_listed_with_where_they_lie_and_what_was_left_out(page, task):
    left(task, "model/w.bin", b"x" * 2_500_000)
    text = text_of(page, here(task))
    for words in ("model/w.bin", "2.5 MB", "/srv/agent/j-1/outputs", "link: a link", "not all of it yet", "1 file"):
        assert words in text
    changed(task, outputs_complete=True)
    assert "all but what stands below" in text_of(page, here(task))


@pytest.mark.parametrize("path", ["a/<script>alert(1)</script>", 'x";evil="', "{{7*7}}", "ü.txt"])
def test_odd_names_are_text_and_downloads_are_kept_not_opened(page, task, path):
    row = left(task, path, b"<script>alert(1)</script>")
    assert "<script>alert" not in text_of(page, here(task))
    answer = page.get(f"{here(task)}/{row.pk}")
    assert b"".join(answer.streaming_content) == b"<script>alert(1)</script>"
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Content-Disposition"].startswith("attachment; filename")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]


def test_outputs_are_for_the_owner_and_operators(task, operator):
    row = left(task, "a", b"x")
    other = Client()
    other.force_login(a_user("noor"))
    assert "shown to mira and to operators" in text_of(other, here(task))
    assert other.get(f"{here(task)}/{row.pk}").status_code == 403
    assert operator.get(f"{here(task)}/{row.pk}").status_code == 200
    assert operator.get(f"{here(task)}/{row.pk + 1}").status_code == 404


def a_zip(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return out.getvalue()


WORK = (("train.py", b"import pkg"), ("pkg/__init__.py", b""))
AROUND = tuple((f"work-main/{name}", data) for name, data in WORK)


def sent(page: Client, data: bytes, name: str = "work.zip", **fields: str) -> Any:
    return page.post("/jobs/new", {**FORM, **fields, "archive": SimpleUploadedFile(name, data)})


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(a_zip(*WORK), id="zip"), pytest.param(a_tar(*WORK), id="tar"),
        pytest.param(gzip.compress(a_tar(*WORK)), id="tar.gz"), pytest.param(bz2.compress(a_tar(*WORK)), id="tar.bz2"),
        pytest.param(a_zip(*AROUND), id="a folder around it"),
        pytest.param(a_tar(*reversed(AROUND)), id="in another order"),
    ],
)  # fmt: skip
def test_the_same_folder_in_any_archive_becomes_the_same_files(page, data):
    answer = sent(page, data)
    assert answer.status_code == 302, answer.content.decode()
    bundle = Job.objects.get().bundle
    with tarfile.open(fileobj=io.BytesIO(bundles.read(bundle, offset=0))) as tar:
        assert tar.getnames() == ["pkg/__init__.py", "train.py"]


def test_files_stay_with_the_form_while_something_else_is_put_right(page):
    answer = sent(page, a_zip(*WORK), command="")
    text = answer.content.decode()
    assert answer.status_code == 200
    assert f'name="files" value="{Bundle.objects.get().sha256}"' in text


def a_link(name: str, target: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, target
    return info


@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param(b"hello", "neither a zip nor a tar", id="no archive"),
        pytest.param(b"PK\x03\x04 broken", "no zip that can be read", id="a broken zip"),
        pytest.param(gzip.compress(a_tar(*WORK))[:60], "damaged", id="a cut archive"),
        pytest.param(a_zip(("../evil", b"x")), "none below its folder", id="a path up"),
        pytest.param(a_zip(("/etc/x", b"x")), "none below its folder", id="an absolute path"),
        pytest.param(a_zip(("C:\\x", b"x")), "none below its folder", id="a drive"),
        pytest.param(a_tar(a_link("a/l", "../../x")), "leads out of the folder", id="a link that leads out"),
        pytest.param(a_tar(), "no file in it", id="nothing"),
        pytest.param(a_zip(("zeros", b"\0" * 3_000_000)), "at most 2 MB", id="too much"),
        pytest.param(gzip.compress(b"\0" * 50_000_000), "more in it", id="a bomb"),
    ],
)
def test_what_cannot_be_unpacked_is_said_beside_the_field(page, settings, data, said):
    settings.GPULAYER_FILES_LIMIT_BYTES = 2_000_000
    answer = sent(page, data)
    assert answer.status_code == 200
    found = re.search(r'id="f-files-error">(.*?)</div></div>', answer.content.decode(), re.DOTALL)
    assert found
    assert said in found[1]
    assert not Bundle.objects.exists()
    assert not Job.objects.exists()


def test_a_body_beyond_the_limit_is_refused_before_it_is_read(page, settings):
    settings.GPULAYER_FILES_LIMIT_BYTES = 1000
    answer = sent(page, b"x" * 5_000_000)
    assert answer.status_code == 413
