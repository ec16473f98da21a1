"""What a terminal would show of a line, as pieces of plain text with a style each; everything else is dropped.

Only colours and weights are taken over. Links, titles, clipboards and moves of the cursor have no effect here, and
characters that nobody sees are shown by their number.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from scheduler.views.log_style import PLAIN, Style, styled

LONGEST_LINE = 4_000
"""Characters of one line on the page; the download has them all."""
LONGEST_RAW = 16 * LONGEST_LINE
"""Characters looked at for them: a line may be nothing but changes of colour."""
MOST_PIECES = 200
"""Changes of style in one line; what follows has the last one."""
STATES_LOOKED_AT = 50

_ESCAPE = re.compile(
    r"\x1b\[([0-?]{0,64}+)[ -/]{0,8}+([@-~])"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b]{0,8192}+(?:\x07|\x1b\\)"  # OSC and other strings that end: titles, links
    r"|\x1b[ -/]{0,8}+[0-~]?"
)


def _numbered(*ranges: range) -> dict[int, str]:
    return {code: f"\u27e8{code:04X}\u27e9" for each in ranges for code in each}


_NEUTRAL: dict[int, str] = {
    **{code: chr(0x2400 + code) for code in range(0x20) if code != 0x09},
    0x7F: "\u2421",
    **_numbered(
        range(0x80, 0xA0), range(0x61C, 0x61D), range(0x180E, 0x180F), range(0x200B, 0x200C), range(0x200E, 0x2010),
        range(0x2028, 0x202F), range(0x2060, 0x2070), range(0xFEFF, 0xFF00), range(0xFFF9, 0xFFFC),
        range(0xE0000, 0xE0080),
    ),
}  # fmt: skip
"""Pictures for control characters but the tab; numbers for what turns the direction of text or shows nothing."""


class Piece(NamedTuple):
    """Text in one style; `css` are the names of its classes."""

    css: str
    text: str


class Shown(NamedTuple):
    """A line as it is shown, and the style in which the next one begins."""

    pieces: tuple[Piece, ...]
    style: Style

    @property
    def text(self) -> str:
        """Without styles."""
        return "".join(piece.text for piece in self.pieces)


def shown(raw: str, style: Style = PLAIN) -> Shown:
    """One line as a terminal would leave it: of a progress bar that goes back to the beginning its last state."""
    state = _last_state(raw)
    pieces: list[Piece] = []
    room, at = LONGEST_LINE, 0
    for escape in _ESCAPE.finditer(state, 0, LONGEST_RAW):
        text = state[at : escape.start()]
        if len(text) > room:
            break
        _put(pieces, text, style)
        room, at = room - len(text), escape.end()
        if escape[2] == "m" and len(pieces) < MOST_PIECES:
            style = styled(style, escape[1])
    text = state[at : min(at + room, LONGEST_RAW)]
    _put(pieces, text, style)
    at += len(text)
    if at < len(state):
        pieces.append(Piece("cut", f" … {len(state) - at:,} more characters in the download"))
    return Shown(tuple(pieces), style)


def plain(raw: str) -> str:
    """The whole text of a line as it is shown, without styles and however long: to be searched."""
    return _ESCAPE.sub("", _last_state(raw))


def _put(pieces: list[Piece], text: str, style: Style) -> None:
    """Add the text, to the last piece where that looks the same."""
    if not text:
        return
    css, text = style.css, text.translate(_NEUTRAL)
    if pieces and pieces[-1].css == css:
        text = pieces.pop().text + text
    pieces.append(Piece(css, text))


def _last_state(raw: str) -> str:
    """What follows the last return to the beginning of the line and can be seen."""
    end = len(raw)
    for _ in range(STATES_LOOKED_AT):
        start = raw.rfind("\r", 0, end) + 1
        state = raw[start:end]
        if not start or _ESCAPE.sub("", state[:LONGEST_LINE]).strip():
            return state
        end = start - 1
    return raw[:end].rpartition("\r")[2]
