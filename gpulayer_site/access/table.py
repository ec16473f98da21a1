"""Who may use which address with which method: one row for each. What has no row is refused.

Whoever adds an address adds its row here. Roles include those below them. What somebody may do with one job in
particular is said in `scheduler.services.visibility` and `scheduler.services.jobs`.
"""

from __future__ import annotations

from gpulayer_site.access.rows import Row, Rows, Who
from workers.roles import Scope

ANYONE, SIGNED_IN, SUBMITTER = Who.ANYONE, Who.SIGNED_IN, Who.SUBMITTER
OPERATOR, ADMINISTRATOR = Who.OPERATOR, Who.ADMINISTRATOR
ENROLMENT, WORKER = Who.ENROLMENT, Who.WORKER
READ, JOBS, FLEET, PEOPLE = Scope.READ, Scope.JOBS, Scope.FLEET, Scope.PEOPLE

ANY_METHOD = "GET POST PUT PATCH DELETE OPTIONS"

_PAGES = (
    # Coming and going, and oneself.
    Row("signin", "GET POST", ANYONE),
    Row("signout", "POST", ANYONE),
    Row("profile", "GET", SIGNED_IN),
    Row("profile/tokens", "POST", SIGNED_IN),
    Row("profile/tokens/<int:pk>/revoke", "POST", SIGNED_IN),
    Row("profile/theme", "POST", SIGNED_IN),
    Row("profile/zone", "POST", SIGNED_IN),
    Row("profile/sessions/end", "POST", SIGNED_IN),
    Row("profile/password", "GET POST", SIGNED_IN),
    # People and teams.
    Row("people", "GET", ADMINISTRATOR),
    Row("people/new", "GET POST", ADMINISTRATOR),
    Row("people/<int:pk>", "GET", ADMINISTRATOR),
    Row("people/<int:pk>/role", "POST", ADMINISTRATOR),
    Row("people/<int:pk>/teams", "POST", ADMINISTRATOR),
    Row("people/<int:pk>/active", "POST", ADMINISTRATOR),
    Row("people/<int:pk>/password", "POST", ADMINISTRATOR),
    Row("people/<int:pk>/unix", "POST", ADMINISTRATOR),
    Row("people/<int:pk>/unlock", "POST", ADMINISTRATOR),
    Row("people/<int:pk>/sessions/end", "POST", ADMINISTRATOR),
    Row("people/<int:pk>/tokens/<int:token_pk>/revoke", "POST", ADMINISTRATOR),
    Row("teams", "GET POST", ADMINISTRATOR),
    Row("teams/<int:pk>", "GET", ADMINISTRATOR),
    Row("teams/<int:pk>/name", "POST", ADMINISTRATOR),
    Row("teams/<int:pk>/join", "POST", ADMINISTRATOR),
    Row("teams/<int:pk>/leave/<int:user_pk>", "POST", ADMINISTRATOR),
    Row("teams/<int:pk>/delete", "POST", ADMINISTRATOR),
    # Finding things.
    Row("", "GET", SIGNED_IN),
    Row("search", "GET", SIGNED_IN),
    Row("shortcuts", "GET", SIGNED_IN),
    Row("why-not", "GET", SIGNED_IN),
    # Jobs.
    Row("jobs", "GET", SIGNED_IN),
    Row("jobs/new", "GET POST", SUBMITTER),
    Row("jobs/new/check", "POST", SUBMITTER),
    Row("jobs/<slug:job_id>", "GET", SIGNED_IN),
    Row("jobs/<slug:job_id>/live", "GET", SIGNED_IN),
    Row("jobs/<slug:job_id>/placement", "GET", SIGNED_IN),
    Row("jobs/<slug:job_id>/candidates", "GET", SIGNED_IN),
    Row("jobs/<slug:job_id>/why", "GET", SIGNED_IN),
    Row("jobs/<slug:job_id>/checks", "GET", SIGNED_IN),
    Row("jobs/<slug:job_id>/changes", "GET", SIGNED_IN),
    Row("jobs/<slug:job_id>/edited", "GET", SUBMITTER),
    Row("jobs/<slug:job_id>/why-not/<path:worker>", "GET", SIGNED_IN),
    Row("jobs/<slug:job_id>/spec", "GET", SIGNED_IN),
    Row("jobs/<slug:job_id>/devices", "GET", SIGNED_IN),
    Row("jobs/<slug:job_id>/outputs", "GET", SIGNED_IN),
    Row("jobs/<slug:job_id>/outputs/<int:number>", "GET", SIGNED_IN),
    Row("jobs/<slug:job_id>/log", "GET", SIGNED_IN),
    Row("jobs/<slug:job_id>/log.txt", "GET", SIGNED_IN),
    Row("jobs/<slug:job_id>/cancel", "GET POST", SUBMITTER),
    Row("jobs/<slug:job_id>/act/extend", "GET POST", SUBMITTER),
    Row("jobs/<slug:job_id>/act/<slug:key>", "GET POST", SUBMITTER),
    # Workers.
    Row("workers", "GET", SIGNED_IN),
    Row(r"^workers/(?P<name>[^\x00-\x1f\x7f]+)$", "GET", SIGNED_IN),
    Row("workers/<str:name>/accept", "GET POST", OPERATOR),
    Row("workers/<str:name>/act/<slug:key>", "GET POST", OPERATOR),
    Row("workers/<str:name>/retire", "GET POST", OPERATOR),
    Row("workers/<str:name>/labels", "GET POST", OPERATOR),
    Row("workers/<str:name>/limits", "GET POST", OPERATOR),
    Row("workers/<str:name>/drain", "GET POST", OPERATOR),
    Row("workers/<str:name>/undrain", "GET POST", OPERATOR),
    Row("fleet/labels", "GET POST", OPERATOR),
    Row("fleet/drain", "GET POST", OPERATOR),
    Row("fleet/undrain", "GET POST", OPERATOR),
    Row("what-if", "POST", OPERATOR),
    Row("enrolment", "GET POST", OPERATOR),
    Row("enrolment/<int:pk>/revoke", "POST", OPERATOR),
    # About the APIs.
    Row("api/docs", "GET", SIGNED_IN),
    Row("api/v1/", ANY_METHOD, ANYONE),  # nothing is there
    Row("api/agent/v1/", ANY_METHOD, ANYONE),
    Row("^api/", ANY_METHOD, ANYONE),
    # The admin: a row for each model, and for what is around them.
    Row("admin/login/", "GET", ANYONE),
    Row("admin/logout/", "POST", OPERATOR),
    Row("admin/", "GET", OPERATOR),
    Row("admin/(?P<app_label>*", "GET", OPERATOR),
    Row("admin/(?P<url>*", "GET", OPERATOR),
    Row("admin/password_change/*", "GET POST", OPERATOR),
    Row("admin/autocomplete/", "GET", OPERATOR),
    Row("admin/jsi18n/", "GET", OPERATOR),
    Row("admin/r/*", "GET", OPERATOR),
    Row("admin/auth/group/*", "GET POST", ADMINISTRATOR),
    Row("admin/auth/user/*", "GET POST", ADMINISTRATOR),
    Row("admin/accounts/apitoken/*", "GET POST", ADMINISTRATOR),
    Row("admin/accounts/unixaccount/*", "GET POST", ADMINISTRATOR),
    Row("admin/workers/label/*", "GET POST", OPERATOR),
    Row("admin/workers/worker/*", "GET POST", OPERATOR),
    Row("admin/workers/workerfacts/*", "GET POST", OPERATOR),
    Row("admin/workers/event/*", "GET POST", OPERATOR),
    Row("admin/workers/enrolmenttoken/*", "GET POST", OPERATOR),
    Row("admin/workers/credential/*", "GET POST", OPERATOR),
    Row("admin/scheduler/reservation/*", "GET POST", OPERATOR),
    Row("admin/scheduler/job/*", "GET POST", OPERATOR),
    Row("admin/scheduler/attempt/*", "GET POST", OPERATOR),
    Row("admin/scheduler/task/*", "GET POST", OPERATOR),
    Row("admin/scheduler/decision/*", "GET POST", OPERATOR),
    Row("admin/scheduler/schedulingpass/*", "GET POST", OPERATOR),
    Row("admin/scheduler/passlease/*", "GET POST", OPERATOR),
)

_CALLS = (
    # The people's API.
    Row("api/v1/openapi.json", "GET", SIGNED_IN, READ),
    Row("api/v1/whoami", "GET", SIGNED_IN, READ),
    Row("api/v1/tokens", "POST", SIGNED_IN, PEOPLE),
    Row("api/v1/jobs", "GET", SIGNED_IN, READ),
    Row("api/v1/jobs", "POST", SUBMITTER, JOBS),
    Row("api/v1/jobs/<job_id>", "GET", SIGNED_IN, READ),
    Row("api/v1/jobs/<job_id>", "DELETE", SUBMITTER, JOBS),
    Row("api/v1/jobs/<job_id>/decision", "GET", SIGNED_IN, READ),
    Row("api/v1/jobs/<job_id>/pause", "POST", SUBMITTER, JOBS),
    Row("api/v1/jobs/<job_id>/resume", "POST", SUBMITTER, JOBS),
    Row("api/v1/jobs/<job_id>/cancel", "POST", SUBMITTER, JOBS),
    Row("api/v1/jobs/<job_id>/clone", "POST", SUBMITTER, JOBS),
    Row("api/v1/jobs/<job_id>/retry", "POST", SUBMITTER, JOBS),
    Row("api/v1/jobs/<job_id>/give-up", "POST", SUBMITTER, JOBS),
    Row("api/v1/jobs/<job_id>/hold/release", "POST", SUBMITTER, JOBS),
    Row("api/v1/jobs/<job_id>/hold/extend", "POST", SUBMITTER, JOBS),
    Row("api/v1/jobs/<job_id>/log", "GET", SIGNED_IN, READ),
    Row("api/v1/jobs/<job_id>/outputs", "GET", SIGNED_IN, READ),
    Row("api/v1/jobs/<job_id>/outputs/<number>", "GET", SIGNED_IN, READ),
    Row("api/v1/jobs/<job_id>/replay", "GET", SIGNED_IN, READ),
    Row("api/v1/jobs/<job_id>/why", "GET", SIGNED_IN, READ),
    Row("api/v1/jobs/<job_id>/why-not/<path:worker>", "GET", SIGNED_IN, READ),
    Row("api/v1/jobs/<job_id>/differences", "GET", SIGNED_IN, READ),
    Row("api/v1/rollup", "GET", SIGNED_IN, READ),
    Row("api/v1/bundles/<sha256>", "GET", SUBMITTER, JOBS),
    Row("api/v1/bundles/<sha256>", "PUT", SUBMITTER, JOBS),
    Row("api/v1/workers", "GET", SIGNED_IN, READ),
    Row("api/v1/workers/<name>", "GET", SIGNED_IN, READ),
    Row("api/v1/workers/<name>/drain", "POST", OPERATOR, FLEET),
    Row("api/v1/workers/<name>/undrain", "POST", OPERATOR, FLEET),
    Row("api/v1/workers/<name>/retire", "POST", OPERATOR, FLEET),
    Row("api/v1/workers/<name>/revoke", "POST", OPERATOR, FLEET),
    Row("api/v1/workers/<name>/rotate", "POST", OPERATOR, FLEET),
    Row("api/v1/workers/<name>/accept", "POST", OPERATOR, FLEET),
    Row("api/v1/workers/<name>/trust", "POST", OPERATOR, FLEET),
    Row("api/v1/worker-tokens", "GET POST", OPERATOR, FLEET),
    Row("api/v1/worker-tokens/<token_id>/revoke", "POST", OPERATOR, FLEET),
    # The agents' API.
    Row("api/agent/v1/openapi.json", "GET", SIGNED_IN, READ),
    Row("api/agent/v1/enroll", "POST", ENROLMENT),
    Row("api/agent/v1/register", "POST", WORKER),
    Row("api/agent/v1/heartbeat", "POST", WORKER),
    Row("api/agent/v1/assignments", "GET", WORKER),
    Row("api/agent/v1/tasks/<task_id>/claim", "POST", WORKER),
    Row("api/agent/v1/tasks/<task_id>/decline", "POST", WORKER),
    Row("api/agent/v1/tasks/<task_id>/started", "POST", WORKER),
    Row("api/agent/v1/tasks/<task_id>/log", "PUT", WORKER),
    Row("api/agent/v1/tasks/<task_id>/finish", "POST", WORKER),
    Row("api/agent/v1/tasks/<task_id>/release", "POST", WORKER),
    Row("api/agent/v1/tasks/<task_id>/files", "GET", WORKER),
    Row("api/agent/v1/tasks/<task_id>/outputs", "PUT", WORKER),
    Row("api/agent/v1/tasks/<task_id>/outputs/done", "POST", WORKER),
    Row("api/agent/v1/fleet/register", "POST", WORKER),
    Row("api/agent/v1/fleet/heartbeat", "POST", WORKER),
    Row("api/agent/v1/credential/rotate", "POST", WORKER),
)

PAGES = Rows(_PAGES, head=True)
"""What is asked of a signed-in browser, before the view is called."""
CALLS = Rows(_CALLS, head=False)
"""What is asked of callers of the two APIs, once it is known who calls."""
