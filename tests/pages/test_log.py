"""Logs: whatever a program writes, the page shows lines of text and nothing else."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone

from scheduler.models import Task
from scheduler.services import logs
from scheduler.services.log_frames import Frame, Record, encode
from scheduler.services.logs import append_log
from scheduler.views.log_lines import lines_of, readable
from scheduler.views.log_window import MOST_LINES, window
from tests.factories import a_job, a_pass, a_worker
from tests.pages.test_lists import HTMX, text


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        pytest.param("\x1b[31mred\x1b[0m", "red", id="colours are gone"),
        pytest.param("\x1b]0;title\x07x", "x", id="so are titles"),
        pytest.param("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link", id="and links"),
        pytest.param("\x1b[2J\x1b[Hhello", "hello", id="and clearing the screen"),
        pytest.param("10 %\r50 %\r100 %", "100 %", id="a progress bar shows its last state"),
        pytest.param("done\r", "done", id="also when its line ends with a return"),
        pytest.param("a\tb", "a\tb", id="a tab is a tab"),
        pytest.param("a\x07b\x00c", "a␇b␀c", id="other controls are pictures"),
        pytest.param("\u202egpj.exe", "\ufffdgpj.exe", id="no turning of the direction"),
        pytest.param("\x9b31mx", "\ufffd31mx", id="eight-bit controls are neutral"),
        pytest.param("<script>", "<script>", id="markup is text; the template escapes it"),
    ],
)
def test_a_line(written, shown):
    assert readable(written) == shown


def test_a_very_long_line_is_cut_and_says_so():
    assert readable("x" * 10_000).endswith("6,000 more characters in the download")


def test_pieces_of_each_stream_are_put_together_in_the_order_of_their_beginnings():
    records = [
        Record("stdout", 0, "one "), Record("stderr", 1, "bad\n"), Record("stdout", 2, "line\ntwo"),
    ]  # fmt: skip
    lines = lines_of(records, first=7)
    assert [(line.number, line.stream, line.text, line.whole) for line in lines] == [
        (7, "stdout", "one line", True), (8, "stderr", "bad", True), (9, "stdout", "two", False),
    ]  # fmt: skip


@pytest.fixture
def task(db, mira):
    a_worker("w1")
    a_job(owner=mira)
    a_pass(at=timezone.now())
    return Task.objects.get()


def write(task: Task, data: str, *, stream: str = "stdout") -> Task:
    for start in range(0, len(data), 60_000):
        frame = encode(Frame(stream, 0, data[start : start + 60_000].encode()))
        append_log(task_id=task.pk, offset=task.log_size, body=frame, now=timezone.now())
        task.refresh_from_db()
    return task


class TestTheWindow:
    def test_of_nothing_is_empty(self, task):
        assert (window(task).lines, window(task).before) == ([], None)

    def test_has_the_newest_thousand_lines_numbered_from_the_beginning(self, task):
        write(task, "".join(f"line {n}\n" for n in range(1, 5_001)))
        shown = window(task)
        assert [shown.lines[0].text, shown.lines[-1].text] == ["line 4001", "line 5000"]
        assert (shown.lines[0].number, shown.before) == (4_001, 4_001)

    def test_leads_back_to_the_beginning(self, task):
        write(task, "".join(f"line {n}\n" for n in range(1, 2_501)))
        seen: list[int] = []
        before = None
        while True:
            shown = window(task, before=before)
            seen = [line.number for line in shown.lines] + seen
            before = shown.before
            if before is None:
                break
        assert seen == list(range(1, 2_501))

    def test_of_a_long_log_reads_only_its_end(self, task, monkeypatch):
        monkeypatch.setattr("scheduler.views.log_window.PAGE_BYTES", 70_000)
        monkeypatch.setattr("scheduler.views.log_window.MOST_BYTES", 200_000)
        write(task, "".join(f"line {n:06d} {'x' * 80}\n" for n in range(1, 20_001)))
        window(task)
        asked: list[int] = []
        read = logs.read_log

        def noted(task, *, offset, page_bytes):
            asked.append(offset)
            return read(task, offset=offset, page_bytes=page_bytes)

        monkeypatch.setattr("scheduler.views.log_window.read_log", noted)
        shown = window(task)
        assert shown.lines[-1].text.startswith("line 020000")
        assert shown.lines[-1].number == 20_000
        assert min(asked) > task.log_size - 300_000

    def test_of_one_endless_line_is_bounded(self, task):
        write(task, "\r".join(f"{n} %" for n in range(200_000)))
        assert [line.text for line in window(task).lines] == ["199999 %"]
        assert len(window(task).lines) <= MOST_LINES


class TestThePage:
    def test_escapes_and_marks_stderr(self, page, task):
        write(task, "<img src=x onerror=alert(1)>\n", stream="stderr")
        html = text(page, f"/jobs/{task.attempt.job.job_id}/log")
        assert "<img" not in html
        assert "&lt;img src=x onerror=alert(1)&gt;" in html
        assert 'class="err"' in html

    def test_follows_by_htmx_and_is_304_while_nothing_was_written(self, page, task):
        url = f"/jobs/{task.attempt.job.job_id}/log"
        write(task, "one\n")
        first = page.get(url, headers=HTMX)
        same = {**HTMX, "HX-PTag": first.headers["HX-PTag"]}
        assert page.get(url, headers=same).status_code == 304
        write(task, "two\n")
        assert "two" in page.get(url, headers=same).content.decode()

    def test_of_one_stream(self, page, task):
        write(write(task, "to out\n"), "to err\n", stream="stderr")
        html = text(page, f"/jobs/{task.attempt.job.job_id}/log?stream=stderr", **HTMX)
        assert "to err" in html
        assert "to out" not in html

    def test_downloads_what_was_written_byte_for_byte(self, page, task):
        write(task, "\x1b[31mred\x1b[0m\r\n")
        answer = page.get(f"/jobs/{task.attempt.job.job_id}/log.txt")
        assert b"".join(answer.streaming_content) == b"\x1b[31mred\x1b[0m\r\n"
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"

    @pytest.mark.parametrize("query", ["before=x", "before=-1", "before=" + "9" * 30, "before=0", "stream=x"])
    def test_nonsense_in_the_address_is_no_error(self, page, task, query):
        write(task, "one\n")
        assert page.get(f"/jobs/{task.attempt.job.job_id}/log?{query}").status_code == 200

    def test_the_end_of_the_log_stands_on_the_first_page(self, page, task):
        write(task, "".join(f"line {n}\n" for n in range(1, 30)))
        html = text(page, f"/jobs/{task.attempt.job.job_id}")
        assert re.findall(r"<span>line (\d+)</span>", html) == [str(n) for n in range(22, 30)]
