"""What the administration's pages share: who may see them, lists of bounded cost, and rows that nobody changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import DateField, Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from workers.refusals import Refused
from workers.roles import is_administrator, is_operator
from workers.wire import MAX_ID

MOST_COUNTED = 10_000
"""Rows that a list counts and can be leafed through; what lies beyond is searched for."""
_MOST_TOLD = 3


class BoundedPaginator(Paginator):
    """Counts no further than anybody leafs."""

    @cached_property
    def count(self) -> int:
        """How many rows there are, `MOST_COUNTED` at most."""
        rows: Any = self.object_list
        return int(min(rows.order_by()[: MOST_COUNTED + 1].count(), MOST_COUNTED))


_HASHES = {"hash", "next_hash", "password", "temporary_password"}


class ForOperators(admin.ModelAdmin):
    """Open to every operator, without permissions for each table."""

    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    """Each would count what its filter leaves, in all there is."""
    list_per_page = 50
    list_max_show_all = 50
    paginator = BoundedPaginator
    actions_selection_counter = False
    """Without the link that chooses rows nobody has looked at; our actions.html counts those of the page."""

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Lists are filtered by whatever they have, but for what would let hashes be guessed letter by letter."""
        return not _HASHES & set(lookup.split("__")) and super().lookup_allowed(lookup, value, request)

    def is_open(self, request: HttpRequest) -> bool:
        """Whether whoever asks may be here at all."""
        return is_operator(request.user)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """They see the app."""
        return self.is_open(request)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """They see the rows."""
        return self.is_open(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """They add rows."""
        return self.is_open(request)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """They change rows."""
        return self.is_open(request)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """They delete rows."""
        return self.is_open(request)

    def trail_of(self, row: Any) -> str:
        """What events call this row, kind before name; empty where there are none of it."""
        return ""

    def page_of(self, row: Any) -> str:
        """The address of its own page; empty where it has none."""
        return ""

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """With the ways to its events and to its page."""
        row = context.get("original")
        ways = {"trail": self.trail_of(row), "page": self.page_of(row)} if row else {}
        return super().render_change_form(request, {**context, **ways}, *args, **kwargs)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """What the address fills in; not what no row of a relation can have as its key, and no instants."""
        given = super().get_changeform_initial_data(request)
        return {name: value for name, value in given.items() if not self._is_no_key(name, value)}

    def _is_no_key(self, name: str, value: object) -> bool:
        relation = next((field for field in self.opts.fields if field.name == name), None)
        if relation is None or relation.related_model is None:
            return isinstance(relation, DateField)  # their widgets take no text
        key = relation.related_model._meta.pk  # noqa: SLF001 - the public way to a model's fields
        try:
            return not 0 < int(key.to_python(value)) <= MAX_ID
        except (ValidationError, TypeError, ValueError):
            return True

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any], *args: Any, **kwargs: Any
    ) -> HttpResponse | None:
        """An act on rows that were chosen one by one; never on all that match."""
        if request.POST.get("select_across") == "1":
            messages.error(request, "Nothing was done: choose the rows on the page that it is for.")
            return None
        return super().response_action(request, queryset, *args, **kwargs)


class Evidence(ForOperators):
    """Rows to look at: they come about by what happens, and stay."""

    sortable_by = ()

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody."""
        return False


class ForAdministrators(ForOperators):
    """What is about people and their keys."""

    def is_open(self, request: HttpRequest) -> bool:
        """Whether an administrator asks."""
        return is_administrator(request.user)


class PeoplesEvidence(ForAdministrators, Evidence):
    """Evidence about people and their keys."""


def each(request: HttpRequest, rows: QuerySet[Any], act: Callable[[Any], object], *, done: str) -> None:
    """Do this with every chosen row through its service, and tell how many it was done with and what was refused.

    `act` raises Refused or ValidationError where it is not to be done, and gives False where nothing had to be.
    """
    count, refused = 0, []
    for row in rows:
        try:
            count += act(row) is not False
        except Refused as refusal:
            refused.append(refusal.detail)
        except ValidationError as error:
            refused += error.messages
    if count:
        messages.success(request, f"{count} {done}.")
    elif not refused:
        messages.info(request, "Nothing had to be done.")
    for detail in refused[:_MOST_TOLD]:
        messages.error(request, detail)
    if len(refused) > _MOST_TOLD:
        messages.error(request, f"{len(refused) - _MOST_TOLD} more were refused.")


def actor_of(request: HttpRequest) -> str:
    """Who does it, for events."""
    return f"user:{request.user.get_username()}"


def as_json(value: Any) -> SafeString:
    """A value spelled out over several lines."""
    return format_html("<pre>{}</pre>", json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True))
