"""The scheduler app: jobs, passes, decisions, reservations."""

from django.apps import AppConfig


class SchedulerConfig(AppConfig):
    """Listens to changes of the fleet, so that a pass looks at them soon."""

    name = "scheduler"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Let every change of a worker ask for a pass."""
        from scheduler.nudge import request_pass
        from scheduler.services.renumbered import follow
        from workers.changes import devices_moved, fleet_changed

        devices_moved.connect(lambda moves, **_: follow(moves), weak=False, dispatch_uid="scheduler.follow")
        fleet_changed.connect(lambda **_: request_pass(), weak=False, dispatch_uid="scheduler.request_pass")
