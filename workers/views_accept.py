"""The page on which an operator accepts that a worker has less than it had."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from workers.live import is_fragment
from workers.queries import live_workers
from workers.refusals import Refused
from workers.services import offers


def accept(request: HttpRequest, name: str, **_: Any) -> HttpResponse:
    """Say once more what is gone, then accept."""
    worker = get_object_or_404(live_workers().select_related("facts"), name=name)
    less = offers.offer_of(worker)
    if request.method == "POST":
        try:
            offers.accept(name=name, actor=f"user:{request.user.get_username()}", now=timezone.now())
            messages.info(request, f"{name} has from now on what it read last.")
        except Refused as refusal:
            messages.info(request, refusal.detail)
        return redirect("worker", name)
    if not less:
        return redirect("worker", name)
    template = "workers/_accept.html" if is_fragment(request) else "workers/accept.html"
    return render(request, template, {"nav": "workers", "worker": worker, "less": less})
