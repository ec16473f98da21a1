"""Addresses of the trail."""

from django.urls import path

from gpulayer_site.audit import views

urlpatterns = [
    path("audit", views.audit, name="audit"),
    path("audit/export", views.export, name="audit-export"),
]
