"""Signing in and out, and one's own profile."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
