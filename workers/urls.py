"""Addresses of the worker pages. Who includes them passes `views_of`, `tasks_on`, `told_to` (see `workers.views`)."""

from django.urls import path, re_path

from workers import views, views_accept, views_acts, views_enrol, views_fleet, views_notices

urlpatterns = [
    path("workers", views.worker_list, name="workers"),
    path("workers/<str:name>/accept", views_accept.accept, name="worker-accept"),
    path("workers/<str:name>/labels", views_fleet.one, {"kind": "labels"}, name="worker-labels"),
    path("workers/<str:name>/limits", views_fleet.one, {"kind": "limits"}, name="worker-limits"),
    path("workers/<str:name>/drain", views_fleet.one, {"kind": "drain"}, name="worker-drain"),
    path("workers/<str:name>/undrain", views_fleet.one, {"kind": "undrain"}, name="worker-undrain"),
    path("fleet/labels", views_fleet.many, {"kind": "labels"}, name="fleet-labels"),
    path("fleet/drain", views_fleet.many, {"kind": "drain"}, name="fleet-drain"),
    path("fleet/undrain", views_fleet.many, {"kind": "undrain"}, name="fleet-undrain"),
    path("workers/<str:name>/act/<slug:key>", views_acts.act, name="worker-act"),
    path("notices", views_notices.notices, name="notices"),
    path("notices/new", views_notices.post, name="notice-new"),
    path("notices/<int:pk>/end", views_notices.end, name="notice-end"),
    path("enrolment", views_enrol.enrolment, name="enrolment"),
    path("enrolment/<int:pk>/revoke", views_enrol.token_revoke, name="enrolment-revoke"),
    re_path(r"^workers/(?P<name>[^\x00-\x1f\x7f]+)$", views.worker, name="worker"),
]
