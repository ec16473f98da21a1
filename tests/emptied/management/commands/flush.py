"""Django's `flush`, allowed to remove events."""

from typing import Any

from django.core.management.commands import flush

from workers.services.trail_door import removing


class Command(flush.Command):
    def handle(self, **options: Any) -> None:
        with removing():
            super().handle(**options)
