"""The workers app: machines and their facts. It has never heard of a job."""

from django.apps import AppConfig


class WorkersConfig(AppConfig):
    """Registers the app under its plain name."""

    name = "workers"
    default_auto_field = "django.db.models.BigAutoField"
