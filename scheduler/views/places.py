"""Going somewhere: the front door, the search box, the list of keys."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from scheduler.services.visibility import seen_by
from workers.paging import asked_of
from workers.queries import live_workers


def search(request: HttpRequest) -> HttpResponse:
    """A job's or a worker's own page where the words are its name, else the jobs that match."""
    words = asked_of(request.GET, ("q",)).get("q", "")
    if seen_by(request.user).filter(job_id=words).exists():
        return redirect("job", words)
    if live_workers().filter(name=words).exists():
        return redirect("worker", words)
    return redirect(f"{reverse('jobs')}?{urlencode({'state': 'all', 'q': words})}")


def shortcuts(request: HttpRequest) -> HttpResponse:
    """Every key."""
    return render(request, "scheduler/shortcuts.html")
