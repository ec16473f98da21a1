"""The workers app: machines and their facts. It has never heard of a job."""

from django.apps import AppConfig
from django.db.backends.signals import connection_created


class WorkersConfig(AppConfig):
    """Registers the app under its plain name, and what guards its trail."""

    name = "workers"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Every connection to the database learns what its triggers ask."""
        from workers.services.trail_door import teach

        connection_created.connect(teach, dispatch_uid="workers.trail_door")
