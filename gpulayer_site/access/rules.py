"""Whether a caller may do what a row of the table allows; what is said to those who may not."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.http import HttpRequest

from gpulayer_site.access.rows import Row, Who
from gpulayer_site.access.table import CALLS
from workers.models import Credential, EnrolmentToken
from workers.refusals import Refused
from workers.roles import Role, role_of

NOT_LISTED = "nobody may use this address: it stands in no row of the table of access"
_REFUSED = {
    Who.SUBMITTER: ("submitters_only", "viewers may only look; this is for submitters"),
    Who.OPERATOR: ("operators_only", "only operators may do this"),
    Who.ADMINISTRATOR: ("administrators_only", "only administrators may do this"),
}


def admit(request: HttpRequest) -> None:
    """Hold a call to its row, once it is known who calls. Raises Refused (403)."""
    match = request.resolver_match
    row = (CALLS.of(match.route) or {}).get(request.method or "") if match else None
    if row is None:
        raise Refused("not_listed", NOT_LISTED, status=403)
    if row.who in (Who.WORKER, Who.ENROLMENT):
        _check_machine(row, getattr(request, "auth", None))
    elif row.who is not Who.ANYONE:
        check_person(row, request.user)


def methods_of(request: HttpRequest) -> Collection[str]:
    """The methods that a call's address answers."""
    match = request.resolver_match
    return (CALLS.of(match.route) or {}).keys() if match else ()


def check_person(row: Row, user: Any) -> None:
    """Raise Refused (403) where this person, with the token that they came with, may not do what the row allows."""
    needed = row.who.role
    if needed is None:
        raise Refused("machines_only", "this is for workers, not for people", status=403)
    own = role_of(user)
    if own is None or not own.reaches(needed):
        code, words = _REFUSED.get(row.who, ("forbidden", "this is for people who are signed in"))
        raise Refused(code, _with_the_token(words, user, needed), status=403)
    scopes = getattr(user, "token_scopes", None)
    if row.scope is not None and scopes is not None and row.scope not in scopes:
        raise Refused("scope_missing", f"this token is not for {row.scope}: make one with that scope", status=403)


def _with_the_token(words: str, user: Any, needed: Role) -> str:
    """The same, saying that it is the token that may less than its owner, where that is so."""
    cap = getattr(user, "token_role", None)
    if cap is None or Role(cap).reaches(needed):
        return words
    return f"{words}, and this token may do no more than a {Role(cap).label.lower()}"


def _check_machine(row: Row, auth: object) -> None:
    kind = Credential if row.who is Who.WORKER else EnrolmentToken
    if not isinstance(auth, kind):
        raise Refused("machines_only", f"this needs a {row.who}", status=403)
