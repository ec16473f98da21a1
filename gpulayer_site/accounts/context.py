"""What every template knows of whoever looks at it."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from workers.roles import Role, role_of


@dataclass(frozen=True, slots=True)
class May:
    """What the viewer may do; nothing without a role."""

    role: Role | None

    @property
    def submit(self) -> bool:
        """Have jobs."""
        return self.role is not None and self.role.reaches(Role.SUBMITTER)

    @property
    def operate(self) -> bool:
        """Keep the fleet."""
        return self.role is not None and self.role.reaches(Role.OPERATOR)

    @property
    def administer(self) -> bool:
        """Keep people and their roles."""
        return self.role is Role.ADMINISTRATOR


def may(request: HttpRequest) -> dict[str, Any]:
    """`may` and `zone` in every template. Error pages are rendered for requests that never met a middleware."""
    user = getattr(request, "user", None)
    return {"may": May(role_of(user) if user is not None else None), "zone": timezone.get_current_timezone_name()}
