"""Going somewhere: the search box and the list of keys."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from scheduler.models import Job
from scheduler.services.finding import Found, FoundLabel, exactly, find
from workers.paging import asked_of


def search(request: HttpRequest) -> HttpResponse:
    """The page of the one job, worker or label that the words name or are part of; of several, a list of them."""
    words = asked_of(request.GET, ("q",)).get("q", "")
    if not words:
        return render(request, "scheduler/search.html", {"found": None})
    named = exactly(request.user, words)
    found = Found() if named is not None else find(request.user, words)
    only = named if named is not None else found.only
    if only is not None:
        return redirect(_place_of(only))
    return render(request, "scheduler/search.html", {"q": words, "found": found})


def shortcuts(request: HttpRequest) -> HttpResponse:
    """Every key."""
    return render(request, "scheduler/shortcuts.html")


def _place_of(found: Job | str | FoundLabel) -> str:
    match found:
        case Job():
            return reverse("job", args=[found.job_id])
        case FoundLabel():
            return f"{reverse('workers')}?{urlencode({'q': found.text})}"
        case _:
            return reverse("worker", args=[found])
