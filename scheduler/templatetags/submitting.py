"""What the templates of the submit form need beyond the common pieces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template

from scheduler.forms.bound import BoundField
from scheduler.forms.changes import BLANK
from scheduler.forms.kinds import Rows

register = template.Library()


@register.filter
def of(values: Mapping[str, Any], name: str) -> Any:
    """The value of that name, or nothing."""
    return values.get(name)


@register.filter
def with_blank(bound: BoundField) -> Rows:
    """The rows of a field, with an empty one where there is none to type into."""
    return bound.rows if BLANK in bound.rows else (*bound.rows, BLANK)
