"""What of a job is for whom: values of its document, and what may be done with it."""

from __future__ import annotations

import pytest
from django.utils import timezone

from tests.access.callers import bearer, token
from tests.factories import a_job, a_user

pytestmark = pytest.mark.django_db


class TestValues:
    """`env` is for the owner and operators, secrets are for nobody; a team sees the rest."""

    @pytest.mark.parametrize(("who", "seen"), [("mira", True), ("ada", True), ("noa", False)])
    def test_of_env(self, hidden, who, seen):
        spec = bearer(token(getattr(hidden, who))).get(f"/api/v1/jobs/{hidden.job.job_id}").json()["spec"]
        assert (spec["env"]["EPOCHS"] == "3") is seen
        assert (
            "EPOCHS: &#x27;3&#x27;"
            in hidden.get(getattr(hidden, who), f"/jobs/{hidden.job.job_id}/spec").content.decode()
        ) is seen

    def test_of_secrets(self, hidden):
        job = a_job(owner=hidden.mira, at=timezone.now(), secrets={"TOKEN": "hush-hush"})
        for user in (hidden.mira, hidden.noa, hidden.ada):
            for path in (f"/api/v1/jobs/{job.job_id}", f"/jobs/{job.job_id}/spec", f"/jobs/new?like={job.job_id}"):
                assert b"hush-hush" not in hidden.get(user, path).content


class TestWhoMayChangeWhat:
    @pytest.mark.parametrize(
        ("who", "status"), [("mira", 200), ("noa", 200), ("ada", 200), ("jonas", 403), ("vera", 403)]
    )
    def test_its_owner_its_team_and_operators(self, hidden, settings, who, status):
        settings.GPULAYER_OTHERS_JOBS = "visible"
        user = a_user("vera", teams=("vision",)) if who == "vera" else getattr(hidden, who)
        cap = {"role": "viewer"} if who == "vera" else {}
        answer = bearer(token(user, **cap)).post(f"/api/v1/jobs/{hidden.later.job_id}/pause")
        assert answer.status_code == status, answer.content
