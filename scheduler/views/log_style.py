"""The styles that a program may give its text: sixteen colours and five weights, each a class of ours.

Colours of larger palettes become the nearest of the sixteen, which can be read on light and on dark pages.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

_WEIGHTS = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 9: "strike"}
_ENDS = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 29: ("strike",)}
_CUBE = (0, 95, 135, 175, 215, 255)
_GREYS = ((64, 0), (136, 8), (208, 7))
"""Up to this lightness, this colour; beyond them white."""
_COLOURLESS = 40
_BRIGHT_FROM = 144
_HUES = (1, 3, 2, 6, 4, 5)
"""Red, yellow, green, cyan, blue, magenta: sixty degrees each."""


class Style(NamedTuple):
    """How text looks. Colours are 0 to 15; None is the page's own."""

    front: int | None = None
    back: int | None = None
    inverse: bool = False
    weights: frozenset[str] = frozenset()

    @property
    def css(self) -> str:
        """Its classes; empty for plain text. On a coloured ground the text has the colour that can be read there."""
        front, back = self.front, self.back
        if self.inverse:
            front, back = back, 7 if front is None else front
        names = [f"sb{back}"] if back is not None else [f"sf{front}"] if front is not None else []
        return " ".join(names + sorted(f"s-{weight}" for weight in self.weights))


PLAIN = Style()


@lru_cache(maxsize=4096)
def styled(style: Style, codes: str) -> Style:
    """The style after one sequence of codes, such as `1;31` or `38;5;208`; codes that mean nothing here change nothing.

    Text that hides itself stays visible, and nothing blinks.
    """
    rest = [_numbers(group) for group in codes.split(";")] if codes else [[0]]
    while rest:
        code, *more = rest.pop(0)
        if code in (38, 48):
            colour = _extended(more, rest)
            if colour is not None:
                style = style._replace(front=colour) if code == 38 else style._replace(back=colour)
        else:
            style = _simple(style, code, off=more[:1] == [0])
    return style


def _simple(style: Style, code: int, *, off: bool) -> Style:
    if code == 0:
        return PLAIN
    if code in _WEIGHTS:
        weight = {_WEIGHTS[code]}
        return style._replace(weights=style.weights - weight if off else style.weights | weight)
    if code in _ENDS:
        return style._replace(weights=style.weights - set(_ENDS[code]))
    if code in (7, 27):
        return style._replace(inverse=code == 7)
    if 30 <= code <= 37 or 90 <= code <= 97 or code == 39:
        return style._replace(front=None if code == 39 else code - 30 if code < 90 else code - 82)
    if 40 <= code <= 47 or 100 <= code <= 107 or code == 49:
        return style._replace(back=None if code == 49 else code - 40 if code < 100 else code - 92)
    return style


def _extended(own: list[int], rest: list[list[int]]) -> int | None:
    """The colour after 38 or 48: with colons in the code's own group, with semicolons in the next ones."""
    given = own or [group[0] for group in rest[:4]]
    kind = given[0] if given else None
    used = {5: 2, 2: 4}.get(kind if kind is not None else 0, 1)
    if not own:
        del rest[:used]
    if kind == 5 and len(given) >= 2:
        return _of_256(given[1])
    if kind == 2 and len(given) >= 4:
        red, green, blue = given[-3:] if own else given[1:4]
        return _nearest(red, green, blue)
    return None


def _numbers(group: str) -> list[int]:
    """The numbers of a group; an empty one is 0, one that is none is nothing that we know."""
    return [
        int(part) if part.isascii() and part.isdigit() and len(part) < 5 else -1 if part else 0
        for part in group.split(":")
    ]


def _of_256(number: int) -> int | None:
    if 0 <= number < 16:
        return number
    if 16 <= number < 232:
        cell = number - 16
        return _nearest(_CUBE[cell // 36], _CUBE[cell // 6 % 6], _CUBE[cell % 6])
    grey = 8 + 10 * (number - 232)
    return _nearest(grey, grey, grey) if 232 <= number < 256 else None


def _nearest(red: int, green: int, blue: int) -> int:
    """The colour of the sixteen with the same hue and about the same lightness."""
    red, green, blue = (max(0, min(255, value)) for value in (red, green, blue))
    most, least = max(red, green, blue), min(red, green, blue)
    lightness = (most + least) // 2
    if most - least < _COLOURLESS:
        return next((colour for limit, colour in _GREYS if lightness < limit), 15)
    spread = most - least
    if most == red:
        hue = (green - blue) / spread
    elif most == green:
        hue = 2 + (blue - red) / spread
    else:
        hue = 4 + (red - green) / spread
    return _HUES[round(hue) % 6] + (8 if lightness >= _BRIGHT_FROM else 0)
