"""A value that no column of the database holds is the caller's mistake, on every database: 400, never 500.

Forms and calls bound their values themselves; this is for what is built of models, such as the admin's choices.
"""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import SuspiciousOperation
from django.core.handlers.exception import response_for_exception
from django.db import DataError
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class ValueMiddleware:
    """Answers for what the database refused to read: SQLite's driver overflows, PostgreSQL calls it a data error."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Let everything through."""
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exc: Exception) -> HttpResponseBase | None:
        """A 400 for a value beyond the database's bounds; nothing for other errors."""
        # Of an unknown choice that is no number, the admin's own widgets make an error when they show it again.
        no_number = request.path_info.startswith("/admin/") and "expected a number but got" in str(exc)
        if not (isinstance(exc, DataError | OverflowError) or (isinstance(exc, ValueError) and no_number)):
            return None
        return response_for_exception(
            request, SuspiciousOperation(f"a value beyond the database's bounds: {str(exc)[:200]}")
        )
