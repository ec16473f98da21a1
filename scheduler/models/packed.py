"""A column for JSON that is large, alike from row to row, and never searched."""

from __future__ import annotations

from typing import Any

from django.db import models

from scheduler.packing import SAID_OFTEN, packed, unpacked


class PackedField(models.BinaryField):
    """Plain JSON, kept as compressed bytes; a sixth of what a JSON column takes for summaries of decisions."""

    _pyi_private_set_type: Any
    _pyi_private_get_type: Any

    def from_db_value(self, value: bytes | memoryview | None, *_: object) -> Any:
        """The value again."""
        return None if value is None else unpacked(value, known=SAID_OFTEN)

    def get_prep_value(self, value: Any) -> bytes | None:
        """As it is kept."""
        return None if value is None else packed(value, known=SAID_OFTEN)

    def value_to_string(self, obj: models.Model) -> Any:
        """For serialisers: the value itself is plain JSON."""
        return self.value_from_object(obj)

    def to_python(self, value: Any) -> Any:
        """Values are plain JSON already."""
        return value
