"""Every page of the site by its address in the table of access: what to open to see it, or why it is no page.

A page that is new has no entry, and `test_every_page.py` fails until it has one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpulayer_site.access.table import PAGES
from tests.access.routes import addresses

OPENED: Mapping[str, tuple[str, ...]] = {
    "": ("/",),
    "api/docs": ("/api/docs",),
    "audit": ("/audit", "/audit?q=nothing-has-this-text", "/audit?refused=1"),
    "enrolment": ("/enrolment",),
    "fleet/drain": ("/fleet/drain?worker={worker}&worker={other_worker}",),
    "fleet/labels": ("/fleet/labels?worker={worker}&worker={other_worker}&label=rack%3Dr1",),
    "fleet/retire": ("/fleet/retire?worker={worker}&worker={other_worker}",),
    "fleet/undrain": ("/fleet/undrain?worker={worker}",),
    "jobs": ("/jobs", "/jobs?state=all", "/jobs?q=nothing-is-called-this", "/jobs?reason=never", "/jobs?state=contact"),
    "jobs/<slug:job_id>": ("/jobs/{running}", "/jobs/{done}", "/jobs/{never}", "/jobs/{gang}", "/jobs/{held}"),
    "jobs/<slug:job_id>/act/<slug:key>": ("/jobs/{done}/act/delete", "/jobs/{held}/act/release"),
    "jobs/<slug:job_id>/act/extend": ("/jobs/{held}/act/extend",),
    "jobs/<slug:job_id>/cancel": ("/jobs/{running}/cancel",),
    "jobs/<slug:job_id>/candidates": ("/jobs/{never}/candidates",),
    "jobs/<slug:job_id>/candidates/<path:worker>": ("/jobs/{never}/candidates/{worker}",),
    "jobs/<slug:job_id>/changes": ("/jobs/{running}/changes",),
    "jobs/<slug:job_id>/checks": ("/jobs/{never}/checks",),
    "jobs/<slug:job_id>/devices": ("/jobs/{held}/devices",),
    "jobs/<slug:job_id>/live": ("/jobs/{running}/live",),
    "jobs/<slug:job_id>/log": ("/jobs/{done}/log",),
    "jobs/<slug:job_id>/outputs": ("/jobs/{done}/outputs",),
    "jobs/<slug:job_id>/placement": ("/jobs/{running}/placement",),
    "jobs/<slug:job_id>/spec": ("/jobs/{done}/spec",),
    "jobs/<slug:job_id>/tasks": ("/jobs/{gang}/tasks",),
    "jobs/<slug:job_id>/timeline": ("/jobs/{never}/timeline",),
    "jobs/<slug:job_id>/use": ("/jobs/{running}/use",),
    "jobs/<slug:job_id>/why": ("/jobs/{never}/why",),
    "jobs/<slug:job_id>/why-not/<path:worker>": ("/jobs/{never}/why-not/{worker}",),
    "jobs/new/check": ("/jobs/new/check",),
    "jobs/new": ("/jobs/new", "/jobs/new?as=yaml", "/jobs/new?as=hold", "/jobs/new?like={running}"),
    "notices": ("/notices",),
    "people": ("/people", "/people?q=nobody-is-called-this"),
    "people/<int:pk>": ("/people/{person}",),
    "people/new": ("/people/new",),
    "profile": ("/profile",),
    "profile/password": ("/profile/password",),
    "reservations": ("/reservations",),
    "reservations/<int:pk>/change": ("/reservations/{reservation}/change",),
    "reservations/<int:pk>/end": ("/reservations/{reservation}/end",),
    "reservations/new": ("/reservations/new", "/reservations/new?worker={worker}"),
    "search": ("/search", "/search?q=lab", "/search?q=nothing-is-called-this"),
    "shortcuts": ("/shortcuts",),
    "signin": ("/signin",),
    "teams": ("/teams",),
    "teams/<int:pk>": ("/teams/{team}",),
    "why-not": ("/why-not",),
    "workers": ("/workers", "/workers?q=nothing-is-called-this"),
    "workers/<str:name>/act/<slug:key>": ("/workers/{worker}/act/revoke",),
    "workers/<str:name>/drain": ("/workers/{worker}/drain",),
    "workers/<str:name>/labels": ("/workers/{worker}/labels",),
    "workers/<str:name>/limits": ("/workers/{worker}/limits",),
    "workers/<str:name>/not-here": ("/workers/{worker}/not-here",),
    "workers/<str:name>/retire": ("/workers/{worker}/retire",),
    "workers/<str:name>/undrain": ("/workers/{worker}/undrain",),
    r"^workers/(?P<name>[^\x00-\x1f\x7f]+)$": ("/workers/{worker}", "/workers/{host}"),
}
"""By the address as the table has it: what to open; in braces what `tests.browser.stage` makes."""

WRONG: Mapping[str, int] = {"/nothing": 404, "/jobs/j-999999999": 404, "/workers/nobody": 404}
"""Pages of their own that no address stands for, and their status."""

NO_PAGE: Mapping[str, str] = {
    "jobs/<slug:job_id>/candidates.csv": "a file",
    "jobs/<slug:job_id>/candidates.json": "a file",
    "jobs/<slug:job_id>/edited": "the form, filled by a line of a decision that the address names: test_why.py",
    "jobs/<slug:job_id>/log.txt": "a file",
    "jobs/<slug:job_id>/outputs/<int:number>": "a file",
    "workers/<str:name>/accept": "asks only about a worker that presented another machine: tests/browser/test_acts.py",
}
"""Addresses that answer a GET with something else, or only in a state that its own test makes."""

ADMINISTRATION = "admin/"
"""Its pages are found by its own links."""


def pages_of_the_site() -> Iterator[str]:
    """Every address that answers a GET of a browser, but for the administration and the APIs."""
    for address in addresses():
        row = (PAGES.of(address.route) or {}).get("GET")
        if row and "PUT" not in row.each_method and not address.route.startswith(ADMINISTRATION):
            yield address.route
