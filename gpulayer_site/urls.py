"""Every address of the site."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from scheduler.services import seen_fleet, visibility
from scheduler.views import whatif, worker_panels

_KNOWN = {
    "views_of": seen_fleet.views_of, "tasks_on": seen_fleet.tasks_on, "told_to": visibility.told_to,
    "sees_job": visibility.sees_job,
    "what_if": whatif.panel, "ahead": worker_panels.ahead, "not_here": worker_panels.not_here_panel,
}  # fmt: skip

urlpatterns: list[URLPattern | URLResolver] = [
    # One door: the admin's own sign-in form would know neither one-time codes nor the throttle.
    path("admin/login/", RedirectView.as_view(pattern_name="signin", query_string=True)),
    path("admin/", admin.site.urls),
    path("", include("gpulayer_site.accounts.urls")),
    path("", include("gpulayer_site.audit.urls")),
    path("", include("gpulayer_site.api")),
    path("", include("scheduler.urls")),
    # What only the scheduler knows of workers is handed to their pages; they could not ask for it.
    path("", include("workers.urls"), _KNOWN),
]

handler404 = "gpulayer_site.error_pages.not_found"
handler500 = "gpulayer_site.error_pages.failed"
