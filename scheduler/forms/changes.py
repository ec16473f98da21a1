"""What buttons of the submit form do to it where no script is there to do it: rows, the order of targets, a shell."""

from __future__ import annotations

from collections.abc import Callable

from scheduler.core.spec import Origin
from scheduler.forms.fields import BY_NAME, TARGETS
from scheduler.forms.form import SubmitForm
from scheduler.forms.shell import wrapped

BLANK = ("", "")
MOST_ROWS = 200


def change(form: SubmitForm, act: str) -> bool:
    """Do what a button says, such as `up-remote` or `more-env`; false where there is no such button."""
    verb, _, subject = act.partition("-")
    do = _ACTS.get(verb)
    if do is None:
        return False
    do(form, subject)
    return True


def targets(form: SubmitForm) -> list[str]:
    """Where it may run, in order."""
    return [form.fields[name].text for name in TARGETS if form.fields[name].text]


def set_targets(form: SubmitForm, chosen: list[str]) -> None:
    """Where it may run from now on."""
    for place, name in enumerate(TARGETS):
        form.fields[name].text = chosen[place] if place < len(chosen) else ""


def addable(form: SubmitForm) -> list[str]:
    """The targets that could be added."""
    return [origin for origin in Origin if origin not in targets(form)]


def _up(form: SubmitForm, target: str) -> None:
    _moved(form, target, -1)


def _down(form: SubmitForm, target: str) -> None:
    _moved(form, target, 1)


def _moved(form: SubmitForm, target: str, by: int) -> None:
    chosen = targets(form)
    if target in chosen and 0 <= (place := chosen.index(target)) + by < len(chosen):
        chosen[place], chosen[place + by] = chosen[place + by], chosen[place]
        set_targets(form, chosen)


def _remove(form: SubmitForm, target: str) -> None:
    set_targets(form, [other for other in targets(form) if other != target])


def _add(form: SubmitForm, target: str) -> None:
    if target in addable(form):
        set_targets(form, [*targets(form), target])


def _more(form: SubmitForm, name: str) -> None:
    if name in BY_NAME and len(form.fields[name].rows) < MOST_ROWS:
        form.fields[name].rows = (*form.fields[name].rows, BLANK)


def _drop(form: SubmitForm, subject: str) -> None:
    """`env-2`: without the second row."""
    name, _, number = subject.partition("-")
    if name in BY_NAME and number.isascii() and number.isdigit():
        rows = form.fields[name].rows
        form.fields[name].rows = tuple(row for place, row in enumerate(rows, 1) if str(place) != number)


def _shell(form: SubmitForm, subject: str) -> None:
    command = form.fields["command"]
    command.text = wrapped(command.text)


_ACTS: dict[str, Callable[[SubmitForm, str], None]] = {
    "up": _up, "down": _down, "remove": _remove, "add": _add, "more": _more, "drop": _drop, "shell": _shell,
}  # fmt: skip
