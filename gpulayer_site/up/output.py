"""What the person who started it sees: every line marked with the part that printed it."""

import os
from contextlib import suppress
from typing import TextIO

from gpulayer_site.redaction import redact

_COLOURS = {"gpulayer": "1", "broker": "35", "web": "36", "worker": "33", "agent": "32", "hint": "36"}
_WIDTH = max(map(len, _COLOURS))


class Output:
    """Lines on a stream, coloured where a person looks; `NO_COLOR` is respected."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._colour = stream.isatty() and not os.environ.get("NO_COLOR")

    def say(self, text: str) -> None:
        """A line of the launcher itself, as it is."""
        self._write("gpulayer", text)

    def line(self, part: str, text: str) -> None:
        """A line that a part printed, without tokens."""
        if text.strip():
            self._write(part, redact(text))

    def _write(self, part: str, text: str) -> None:
        mark = f"{part:<{_WIDTH}} |"
        if self._colour:
            mark = f"\033[{_COLOURS.get(part, '0')}m{mark}\033[0m"
        with suppress(OSError):  # nobody is looking any more; the parts go on
            print(mark, text, file=self._stream, flush=True)
