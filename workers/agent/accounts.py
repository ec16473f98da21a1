"""The account of this host that a job runs as, where the agent may choose (`--run-as-submitter`)."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOWEST_UID = 1000
"""Accounts below are the system's."""


class NoAccountError(Exception):
    """There is no account to run this as; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A user of this host."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str

    def plan(self) -> dict[str, Any]:
        """As a shim is told whom to become."""
        return {"uid": self.uid, "gid": self.gid, "groups": list(self.groups)}

    def own(self, folder: Path) -> None:
        """Make a folder, and all in it, the account's: nothing of it runs yet."""
        for each in (folder, *folder.rglob("*")):
            os.chown(each, self.uid, self.gid, follow_symlinks=False)


def account_of(
    name: str | None, submitter: str, *, entry: Callable[[str], pwd.struct_passwd] = pwd.getpwnam,
    groups: Callable[[str, int], Sequence[int]] = os.getgrouplist,
) -> Account:  # fmt: skip
    """The account with this name. Raises NoAccountError where an administrator has not set one, or it is none."""
    if not name:
        raise NoAccountError(f"{submitter or 'the submitter'} has no Unix account on the server; an operator sets it")
    try:
        found = entry(name)
    except KeyError:
        raise NoAccountError(f"there is no account {name!r} for {submitter}") from None
    if found.pw_uid < LOWEST_UID:
        raise NoAccountError(
            f"the account {name!r} (uid {found.pw_uid}) is the system's; jobs need {LOWEST_UID} or more"
        )
    member_of = tuple(groups(name, found.pw_gid))
    return Account(name=name, uid=found.pw_uid, gid=found.pw_gid, groups=member_of, home=found.pw_dir)
