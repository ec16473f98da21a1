"""Addresses of the worker pages. Who includes them passes `views_of` and `tasks_on` (see `workers.views`)."""

from django.urls import path, re_path

from workers import views, views_accept, views_acts, views_enrol

urlpatterns = [
    path("workers", views.worker_list, name="workers"),
    path("workers/<str:name>/accept", views_accept.accept, name="worker-accept"),
    path("workers/<str:name>/act/<slug:key>", views_acts.act, name="worker-act"),
    path("enrolment", views_enrol.enrolment, name="enrolment"),
    path("enrolment/<int:pk>/revoke", views_enrol.token_revoke, name="enrolment-revoke"),
    re_path(r"^workers/(?P<name>[^\x00-\x1f\x7f]+)$", views.worker, name="worker"),
]
