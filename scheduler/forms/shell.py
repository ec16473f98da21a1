"""Commands are no shell lines: which signs of one a command has, and how it would be run by a shell."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

SIGNS = ("&&", "||", ">>", "2>", "|", ">", "<", ";", "&", "$", "`", "~", "*")


@dataclass(frozen=True, slots=True)
class Shell:
    """The arguments that a command text makes, and the shell signs in it that would stay plain text."""

    argv: tuple[str, ...]
    signs: tuple[str, ...]


def shell_of(text: str) -> Shell:
    """How the text is split, and which unquoted shell signs it has; nothing of a text that cannot be split."""
    try:
        argv = tuple(shlex.split(text))
    except ValueError:
        return Shell((), ())
    return Shell(argv, tuple(_signs(text)))


def wrapped(text: str) -> str:
    """The same line run by a shell: `sh -c '…'`."""
    return shlex.join(_in_a_shell(text))


def wrapped_words(text: str) -> tuple[str, ...]:
    """The arguments of the same line run by a shell."""
    return tuple(_in_a_shell(text))


def _in_a_shell(text: str) -> list[str]:
    return ["sh", "-c", text]


def _signs(text: str) -> list[str]:
    bare = _without_quotes(text)
    found: list[str] = []
    for sign in SIGNS:
        if sign in bare:
            found.append(sign)
            bare = bare.replace(sign, " ")
    return found


def _without_quotes(text: str) -> str:
    """What stands outside of quotes and after no backslash."""
    kept: list[str] = []
    quote = ""
    letters = iter(text)
    for letter in letters:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "\\":
            next(letters, "")
        else:
            kept.append(letter)
    return "".join(kept)
