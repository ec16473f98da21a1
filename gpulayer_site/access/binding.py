"""Holds the operations of an API to the table: right after its auth has said who calls, before anything is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from django.http import HttpRequest, HttpResponse
from ninja.operation import Operation
from ninja.router import BoundRouter

from gpulayer_site.access.rules import admit
from workers.refusals import Refused

Checks = Callable[[HttpRequest], HttpResponse | None]


def hold_to_the_table(routers: Iterable[BoundRouter]) -> None:
    """Let every operation of these routers ask the table, also those without any auth."""
    for router in routers:
        for view in router.path_operations.values():
            for operation in view.operations:
                _hold(operation)


def _hold(operation: Operation) -> None:
    # There is no public place between auth and the reading of parameters that every operation passes.
    checks: Checks = operation._run_checks  # noqa: SLF001

    def checked(request: HttpRequest) -> HttpResponse | None:
        error = checks(request)
        if error is not None:
            return error
        try:
            admit(request)
        except Refused as refusal:
            return operation.api.on_exception(request, refusal)
        return None

    setattr(operation, "_run_checks", checked)  # noqa: B010 - a method is put in another's place
