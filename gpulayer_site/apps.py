"""The composition root as a Django app."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    """Starts what every Django process needs, whichever door it came in by."""

    name = "gpulayer_site"

    def ready(self) -> None:
        """Make ours the current Celery application, so that tasks sent by name find the broker; hear of sign-ins."""
        import gpulayer_site.celery
        import gpulayer_site.deploy_checks  # noqa: F401
        from gpulayer_site.audit.signins import listen

        listen()
