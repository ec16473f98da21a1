"""The same document for a terminal: as a command of ours, and as a call of the API. No secret is in either."""

from __future__ import annotations

import json
from dataclasses import dataclass
from shlex import quote

from django.http import HttpRequest
from django.utils.http import urlencode

from scheduler.forms.documents import Document, yaml_of
from scheduler.services.sealing import masked

HERE = "EOF"


@dataclass(frozen=True, slots=True)
class Copies:
    """Ways to submit it from elsewhere."""

    cli: str
    curl: str
    secrets: tuple[str, ...]
    """What has to be typed anew there."""


def copies_of(document: Document, request: HttpRequest, team: str | None) -> Copies:
    """Of a document that is right; values of its secrets are left out. `team`: None where there is none to choose."""
    shown = masked(document)
    asked = f" --team {quote(team)}" if team is not None else ""
    query = f"?{urlencode({'team': team})}" if team is not None else ""
    address = request.build_absolute_uri("/api/v1/jobs")
    text, body = yaml_of(shown), json.dumps(shown, ensure_ascii=False)
    return Copies(
        cli=f"gpulayer job submit{asked} - {_as_input(text)}",
        curl=(
            f'curl -sS {quote(address + query)} -H "Authorization: Bearer $GPULAYER_TOKEN"'
            f" -H 'Content-Type: application/json' --data-binary @- {_as_input(body)}"
        ),
        secrets=tuple(shown.get("secrets") or ()),
    )


def _as_input(text: str) -> str:
    """The text as what a shell gives to a program, whatever stands in it."""
    end = HERE
    while end in text.splitlines():
        end += "_"
    return f"<<'{end}'\n{text.rstrip()}\n{end}"
