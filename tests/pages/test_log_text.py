"""What a terminal would show of a line: colours and weights, and of everything else only what is harmless."""

from __future__ import annotations

import re
from pathlib import Path
from time import process_time

import pytest

from scheduler.views.log_style import PLAIN, styled
from scheduler.views.log_text import LONGEST_LINE, shown

CSS = (Path(__file__).parents[2] / "static" / "gpulayer.css").read_text()


def pieces(raw: str) -> list[tuple[str, str]]:
    return [tuple(piece) for piece in shown(raw).pieces]


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        pytest.param("\x1b]0;title\x07x", "x", id="titles are gone"),
        pytest.param("\x1b]8;;javascript:alert(1)\x1b\\link\x1b]8;;\x1b\\", "link", id="and links"),
        pytest.param("\x1b]8;;data:text/html,x\x07link\x1b]8;;\x07", "link", id="of any kind"),
        pytest.param("\x1b]52;c;ZXZpbA==\x07x", "x", id="and writes to the clipboard"),
        pytest.param("\x1bP1$r0m\x1b\\x", "x", id="and device strings"),
        pytest.param("\x1b[2J\x1b[Hhello", "hello", id="and clearing the screen"),
        pytest.param("a\x1b[3Ab\x1b[10;5Hc", "abc", id="and moves of the cursor"),
        pytest.param("\x1b]0;never ended: rm -rf", "0;never ended: rm -rf", id="what never ends hides nothing"),
        pytest.param("\x1b[8mhidden", "hidden", id="nor does text that hides itself"),
        pytest.param("10 %\r50 %\r100 %", "100 %", id="a progress bar shows its last state"),
        pytest.param("done\r", "done", id="also when its line ends with a return"),
        pytest.param("100 %\r\x1b[K", "100 %", id="also when the line was cleared behind it"),
        pytest.param("a\tb", "a\tb", id="a tab is a tab"),
        pytest.param("a\x07b\x00c\x08", "a␇b␀c␈", id="other controls are pictures"),
        pytest.param("\u202egpj.exe", "⟨202E⟩gpj.exe", id="no turning of the direction"),
        pytest.param("a\u2066b\u200fc\ufeff", "a⟨2066⟩b⟨200F⟩c⟨FEFF⟩", id="nor any other mark that nobody sees"),
        pytest.param("\x9b31mx", "⟨009B⟩31mx", id="eight-bit controls are neutral"),
        pytest.param("x\u2028y", "x⟨2028⟩y", id="a line separator separates nothing"),
        pytest.param("<script>", "<script>", id="markup is text; the template escapes it"),
        pytest.param("🧑‍🚀 ok", "🧑‍🚀 ok", id="joined emoji stay joined"),
    ],
)
def test_a_line(written: str, seen: str) -> None:
    assert shown(written).text == seen


@pytest.mark.parametrize(
    ("codes", "css"),
    [
        ("31", "sf1"), ("92", "sf10"), ("1;33", "sf3 s-bold"), ("41", "sb1"), ("31;42", "sb2"), ("7", "sb7"),
        ("31;7", "sb1"), ("3;4;9", "s-italic s-strike s-underline"), ("4:3", "s-underline"), ("4;24", ""),
        ("4;4:0", ""),
        ("1;2;22", ""), ("31;0", ""), ("31;39", ""), ("44;49", ""), ("", ""), ("38;5;9", "sf9"), ("38;5;196", "sf1"),
        ("38;5;46", "sf2"), ("38;5;208", "sf3"), ("38;5;238", "sf8"), ("38;5;231", "sf15"), ("48;5;21", "sb4"),
        ("38;2;255;0;0", "sf1"), ("38;2;200;200;255", "sf12"), ("38:2::0:200:0", "sf2"), ("38:5:13", "sf13"),
        ("38;2;255;0;0;1", "sf1 s-bold"), ("38;5", ""), ("38", ""), ("38;9;1", "s-bold"), ("38;2;1", ""),
        ("999;x;-1", ""),
        ("5;8", ""), ("38;5;999;31", "sf1"), ("38;2;999;0;0", "sf1"), (";;31", "sf1"),
    ],
)  # fmt: skip
def test_a_style(codes: str, css: str) -> None:
    assert styled(PLAIN, codes).css == css


def test_pieces_of_different_styles_stand_apart_and_equal_ones_together() -> None:
    assert pieces("\x1b[31mred\x1b[0m plain\x1b[0m too \x1b[1;34mblue") == [
        ("sf1", "red"), ("", " plain too "), ("sf4 s-bold", "blue"),
    ]  # fmt: skip


def test_a_style_that_does_not_end_goes_on() -> None:
    first = shown("\x1b[31mone")
    assert [tuple(piece) for piece in shown("two", first.style).pieces] == [("sf1", "two")]


def test_every_style_has_its_class() -> None:
    names = [f"sf{colour}" for colour in range(16)] + [f"sb{colour}" for colour in range(16)]
    names += ["s-bold", "s-dim", "s-italic", "s-underline", "s-strike", "cut"]
    assert [name for name in names if not re.search(rf"\.{name}[{{,. ]", CSS)] == []


def test_a_very_long_line_is_cut_and_says_so() -> None:
    line = shown("x" * 10_000)
    assert line.text == "x" * LONGEST_LINE + " … 6,000 more characters in the download"
    assert shown("\x1b[31m" + "x" * 3_999 + "\x1b[32m" + "y" * 10).text.endswith(
        "xy … 9 more characters in the download"
    )


@pytest.mark.parametrize(
    "unit",
    [
        "\x1b[", "\x1b]", "\x1b", "\x1b[0", "\x1b]8;;", "\r", "\x1b[m", "\x1b[31mx", "0", "\x1b[;", "\x1bP\x1b", "é",
        "\x1b[K\r", "\u202e", "a\r",
    ],
)  # fmt: skip
def test_a_megabyte_of_anything_is_shown_at_once(unit: str) -> None:
    raw = unit * (1024 * 1024 // len(unit))
    began = process_time()  # its own computing: others may share the cores
    shown(raw)
    shown("\x1b]" + raw)
    shown("\x1b[" + raw)
    assert process_time() - began < 2
