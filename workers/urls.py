"""Addresses of the worker pages. Who includes them passes `views_of` and `tasks_on` (see `workers.views`)."""

from django.urls import path

from workers import views

urlpatterns = [
    path("workers", views.worker_list, name="workers"),
    path("workers/<path:name>", views.worker, name="worker"),
]
