"""Addresses of the job pages."""

from django.urls import path
from django.views.generic import RedirectView

from scheduler.views import acts, holds, job, jobs, leaving, log, outputs, places, submit, whatif, why

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="jobs"), name="home"),
    path("search", places.search, name="search"),
    path("shortcuts", places.shortcuts, name="shortcuts"),
    path("jobs", jobs.job_list, name="jobs"),
    path("jobs/new", submit.submit, name="submit"),
    path("jobs/new/check", submit.check, name="submit-check"),
    path("jobs/<slug:job_id>", job.job, name="job"),
    path("jobs/<slug:job_id>/live", job.live, name="job-live"),
    path("jobs/<slug:job_id>/placement", job.placement, name="job-placement"),
    path("jobs/<slug:job_id>/candidates", job.candidates, name="job-candidates"),
    path("jobs/<slug:job_id>/why", why.why, name="job-why"),
    path("jobs/<slug:job_id>/checks", why.checks, name="job-checks"),
    path("jobs/<slug:job_id>/changes", why.changes, name="job-changes"),
    path("jobs/<slug:job_id>/edited", why.edited, name="job-edited"),
    path("jobs/<slug:job_id>/why-not/<path:worker>", why.why_not, name="job-why-not"),
    path("why-not", why.ask, name="why-not"),
    path("jobs/<slug:job_id>/spec", job.spec, name="job-spec"),
    path("jobs/<slug:job_id>/cancel", acts.act, {"key": "cancel"}, name="job-cancel"),
    path("jobs/<slug:job_id>/devices", holds.devices, name="job-devices"),
    path("jobs/<slug:job_id>/outputs", outputs.outputs, name="job-outputs"),
    path("jobs/<slug:job_id>/outputs/<int:number>", outputs.download, name="job-output"),
    path("jobs/<slug:job_id>/act/extend", holds.extend, name="job-extend"),
    path("jobs/<slug:job_id>/act/<slug:key>", acts.act, name="job-act"),
    path("what-if", whatif.fragment, name="what-if"),
    path("workers/<str:name>/retire", leaving.retire, name="worker-retire"),
    path("jobs/<slug:job_id>/log", log.log, name="job-log"),
    path("jobs/<slug:job_id>/log.txt", log.log_text, name="job-log-text"),
]
