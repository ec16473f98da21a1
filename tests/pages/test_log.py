"""Logs: whatever a program writes, the page shows lines of text and nothing else."""

from __future__ import annotations

import os
import re

import pytest
from django.utils import timezone

from scheduler.models import Attempt, Task
from scheduler.services import logs
from scheduler.services.log_frames import HEADER, MAX_CHUNK, Frame, Record, encode
from scheduler.services.logs import append_log, log_key
from scheduler.storage import storage
from scheduler.views.log_lines import as_shown, raw_lines
from scheduler.views.log_search import search
from scheduler.views.log_window import MOST_LINES, window
from tests.factories import a_job, a_pass, a_worker
from tests.pages.test_lists import HTMX, text


def test_pieces_of_each_stream_are_put_together_in_the_order_of_their_beginnings():
    records = [
        Record("stdout", 0, "one "), Record("stderr", 1, "bad\n"), Record("stdout", 2, "line\ntwo"),
    ]  # fmt: skip
    lines = as_shown(raw_lines(records, first=7))
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


def write_bytes(task: Task, data: bytes, *, stream: str = "stdout") -> Task:
    append_log(task_id=task.pk, offset=task.log_size, body=encode(Frame(stream, 0, data)), now=timezone.now())
    task.refresh_from_db()
    return task


def flood(task: Task, data: bytes, megabytes: int) -> None:
    """Store this output again and again, as an agent's chunks."""
    chunk = b"".join([encode(Frame("stdout", 0, data))] * (MAX_CHUNK // (len(data) + HEADER.size)))
    with storage().writing(log_key(task.pk)) as log:
        size = 0
        while size < megabytes * 1_000_000:
            log.write(size, chunk)
            size += len(chunk)
    Task.objects.filter(pk=task.pk).update(log_size=size)
    task.refresh_from_db()


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

    def test_leads_forward_again(self, task):
        write(task, "".join(f"line {n}\n" for n in range(1, 2_501)))
        shown = window(task, before=701)
        assert (shown.lines[0].number, shown.lines[-1].number, shown.after) == (1, 700, 1_701)
        assert [window(task, before=1_701).lines[0].number, window(task).after] == [701, None]

    def test_of_one_stream_keeps_the_numbers(self, task):
        for number in range(1, 7):
            write(task, f"line {number}\n", stream="stderr" if number % 3 == 0 else "stdout")
        assert [(line.number, line.text) for line in window(task, stream="stderr").lines] == [
            (3, "line 3"), (6, "line 6"),
        ]  # fmt: skip

    def test_of_a_long_log_reads_only_its_end(self, task, monkeypatch):
        for module in ("log_window", "log_index"):
            monkeypatch.setattr(f"scheduler.views.{module}.PAGE_BYTES", 70_000)
        monkeypatch.setattr("scheduler.views.log_window.MOST_BYTES", 200_000)
        write(task, "".join(f"line {n:06d} {'x' * 80}\n" for n in range(1, 20_001)))
        window(task)
        asked: list[int] = []
        read = logs.read_log

        def noted(task, *, offset, page_bytes):
            asked.append(offset)
            return read(task, offset=offset, page_bytes=page_bytes)

        for module in ("log_window", "log_index"):
            monkeypatch.setattr(f"scheduler.views.{module}.read_log", noted)
        shown = window(task)
        assert shown.lines[-1].text.startswith("line 020000")
        assert shown.lines[-1].number == 20_000
        assert min(asked) > task.log_size - 300_000

    def test_of_one_endless_line_is_bounded(self, task):
        write(task, "\r".join(f"{n} %" for n in range(200_000)))
        assert [line.text for line in window(task).lines] == ["199999 %"]
        assert len(window(task).lines) <= MOST_LINES

    def test_puts_a_character_together_that_pages_split(self, task, monkeypatch):
        for module in ("log_window", "log_index"):
            monkeypatch.setattr(f"scheduler.views.{module}.PAGE_BYTES", 20)
        for byte in "€€€\n".encode():
            write_bytes(task, bytes([byte]))
        assert window(task).lines[0].text == "€€€"


class TestASearch:
    def test_finds_a_text_in_capitals_or_not_with_the_numbers_of_its_lines(self, task):
        write(task, "one\nLoss is NaN\nthree\nloss 2\n")
        write(task, "no loss here\n", stream="stderr")
        assert [(line.number, line.text) for line in search(task, "LOSS").lines] == [
            (2, "Loss is NaN"), (4, "loss 2"), (5, "no loss here"),
        ]  # fmt: skip
        assert [line.number for line in search(task, "loss", stream="stderr").lines] == [5]
        assert search(task, ".*").lines == []

    def test_looks_at_what_is_shown(self, task):
        write(task, "\x1b[31mEr\x1b[0mror\nÄrger\n")
        assert [line.number for line in search(task, "ärger").lines] == [2]
        assert search(task, "31m").lines == []

    def test_finds_what_is_too_far_right_to_be_shown(self, task):
        write(task, "x" * 10_000 + "needle\n")
        assert [line.number for line in search(task, "needle").lines] == [1]

    def test_finds_what_frames_and_pages_split(self, task, monkeypatch):
        for module in ("log_search", "log_index"):
            monkeypatch.setattr(f"scheduler.views.{module}.PAGE_BYTES", 40)
        for part in ("first\nnee", "dle in", " hay", "\nsecond needle\n", "xx need", "le"):
            write_bytes(task, part.encode())
        assert [(line.number, line.text) for line in search(task, "needle").lines] == [
            (2, "needle in hay"), (3, "second needle"), (4, "xx needle"),
        ]  # fmt: skip

    def test_goes_on_where_it_stopped(self, task, monkeypatch):
        monkeypatch.setattr("scheduler.views.log_search.MOST_PAGES", 2)
        for module in ("log_search", "log_index"):
            monkeypatch.setattr(f"scheduler.views.{module}.PAGE_BYTES", 60)
        for number in range(1, 31):
            write_bytes(task, f"line {number}\n".encode())
        found: list[int] = []
        page: int | None = 0
        while page is not None:
            hits = search(task, "line", page=page)
            found += [line.number for line in hits.lines]
            page = hits.next
        assert found == list(range(1, 31))


@pytest.fixture
def read_bytes(monkeypatch):
    """How much is read from the disk while something is called."""
    pread, lengths = os.pread, []

    def counted(*words):
        chunk = pread(*words)
        lengths.append(len(chunk))
        return chunk

    def measure(act):
        lengths.clear()
        act()
        return sum(lengths)

    monkeypatch.setattr(os, "pread", counted)
    return measure


MEBIBYTE = 1024 * 1024


class TestAFlood:
    def test_of_a_hundred_megabytes_is_gone_through_once_and_shown_by_the_piece(self, task, read_bytes):
        flood(task, b"".join(b"step %07d loss 1.2345 lr 1e-5 %s\n" % (n, b"." * 40) for n in range(900)), 100)
        first, again = read_bytes(lambda: window(task)), read_bytes(lambda: window(task))
        assert window(task).lines[-1].number > 1_000_000
        assert first < 120 * MEBIBYTE
        assert again < 8 * MEBIBYTE

    def test_that_is_one_endless_line_is_shown_by_the_piece(self, task, read_bytes):
        flood(task, b"\x1b[32mx" * 10_000, 100)
        assert read_bytes(lambda: window(task)) < 120 * MEBIBYTE
        assert read_bytes(lambda: window(task, before=1)) < 8 * MEBIBYTE
        assert window(task).lines[0].number == 1

    def test_is_searched_a_piece_at_a_time(self, task, read_bytes):
        flood(task, b"nothing to see here, move along\n" * 2_000, 100)
        assert read_bytes(lambda: search(task, "needle")) < 190 * MEBIBYTE, "once to know where lines begin"
        assert read_bytes(lambda: search(task, "needle")) < 70 * MEBIBYTE
        assert search(task, "needle").next == 64


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

    @pytest.mark.parametrize(
        ("query", "written"),
        [
            ("", b"\x1b[31mred\x1b[0m\r\n\xff\0"),
            ("?stream=stdout", b"\x1b[31mred\x1b[0m\r\n"),
            ("?stream=stderr", b"\xff\0"),
        ],
    )
    def test_downloads_what_was_written_byte_for_byte(self, page, task, query, written):
        write_bytes(write_bytes(task, b"\x1b[31mred\x1b[0m\r\n"), b"\xff\0", stream="stderr")
        answer = page.get(f"/jobs/{task.attempt.job.job_id}/log.txt{query}")
        assert b"".join(answer.streaming_content) == written

    def test_of_a_download_is_a_file_that_a_browser_runs_nothing_of(self, page, task):
        write(task, "<script>alert(1)</script>")
        answer = page.get(f"/jobs/{task.attempt.job.job_id}/log.txt?stream=stdout")
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
        assert re.fullmatch(r'attachment; filename="j-\d+-stdout.log"', answer.headers["Content-Disposition"])

    def test_shows_colours_by_classes_and_never_by_styles(self, page, task):
        write(task, "\x1b[1;38;2;255;0;0mred\x1b[0m \x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07\n")
        html = text(page, f"/jobs/{task.attempt.job.job_id}/log", **HTMX)
        assert '<span><b class="sf1 s-bold">red</b> link</span>' in html
        assert "style=" not in html
        assert "javascript" not in html

    def test_finds_lines_and_leads_to_their_neighbours(self, page, task):
        write(task, "".join(f"line {n}\n" for n in range(1, 3_001)))
        url = f"/jobs/{task.attempt.job.job_id}/log"
        html = text(page, f"{url}?q=LINE+77")
        assert "11 lines with" in html
        (address,) = re.findall(r'href="(\?before=\d+#L77)"', html)
        assert 'id="L77"' in text(page, url + address.partition("#")[0])
        assert "No line has" in text(page, f"{url}?q=absent")

    def test_of_each_attempt_and_rank_has_its_own_address(self, page, task):
        job = task.attempt.job
        write(task, "of the first\n")
        Attempt.objects.filter(job=job).update(active=False, state="lost", ended_at=timezone.now())
        second = Attempt.objects.create(job=job, number=2, fence=999_999, created_at=timezone.now())
        for rank in range(2):
            worker = task.worker if not rank else a_worker("w2")
            fields = {"worker": worker, "state_since": timezone.now()}
            write(Task.objects.create(attempt=second, rank=rank, **fields), f"of rank {rank}\n")
        url = f"/jobs/{job.job_id}/log"
        html = text(page, url)
        assert "of rank 0" in html
        assert re.findall(r'<a href="(\?[^"]*)"[^>]*>(?:Attempt |)(\d w\d|\d)</a>', html) == [
            ("?attempt=1", "1"), ("?attempt=2", "2"), ("?", "0 w1"), ("?rank=1", "1 w2"),
        ]  # fmt: skip
        assert "of the first" in text(page, f"{url}?attempt=1")
        assert "of rank 1" in text(page, f"{url}?attempt=2&rank=1&stream=stdout")
        assert b"".join(page.get(f"{url}.txt?rank=1").streaming_content) == b"of rank 1\n"
        assert page.get(f"{url}?attempt=3").status_code == 404
        assert page.get(f"{url}.txt?rank=2").status_code == 404

    def test_says_that_the_log_was_cut(self, page, task):
        Task.objects.filter(pk=write(task, "one\n").pk).update(log_cut=True)
        html = text(page, f"/jobs/{task.attempt.job.job_id}/log")
        assert "reached its limit of 1.1 GB" in html

    def test_says_when_and_why_the_log_was_removed(self, page, task):
        Task.objects.filter(pk=write(task, "one\n").pk).update(log_deleted_at=timezone.now())
        url = f"/jobs/{task.attempt.job.job_id}/log"
        html = text(page, url)
        assert re.search(r"This log was removed at \d\d:\d\d:\d\d: logs are kept for 90 days", html)
        assert "log.txt" not in html
        assert page.get(f"{url}.txt").status_code == 404

    def test_says_that_the_rest_is_still_on_its_worker(self, page, task):
        write(task, "one\n")
        Task.objects.filter(pk=task.pk).update(report={"log_size": 17, "log_total": 5_000_017})
        assert "5 MB of this log are still on w1" in text(page, f"/jobs/{task.attempt.job.job_id}/log")

    @pytest.mark.parametrize(
        "query",
        [
            "before=x",
            "before=-1",
            "before=" + "9" * 30,
            "before=0",
            "stream=x",
            "q=%00",
            "page=99",
            "line=0",
            "rank=-1",
        ],
    )
    def test_nonsense_in_the_address_is_no_error(self, page, task, query):
        write(task, "one\n")
        assert page.get(f"/jobs/{task.attempt.job.job_id}/log?{query}").status_code == 200

    def test_the_end_of_the_log_stands_on_the_first_page(self, page, task):
        write(task, "".join(f"line {n}\n" for n in range(1, 30)))
        html = text(page, f"/jobs/{task.attempt.job.job_id}")
        assert re.findall(r"<span>line (\d+)</span>", html) == [str(n) for n in range(22, 30)]
