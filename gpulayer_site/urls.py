"""Every address of the site."""

from importlib.util import find_spec

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

urlpatterns: list[URLPattern | URLResolver] = [
    # One door: the admin's own sign-in form would know neither one-time codes nor the throttle.
    path("admin/login/", RedirectView.as_view(pattern_name="signin", query_string=True)),
    path("admin/", admin.site.urls),
    path("", include("gpulayer_site.accounts.urls")),
    *(
        path("", include(module))
        for module in ("gpulayer_site.api", "scheduler.urls", "workers.urls")
        if find_spec(module)
    ),
]
