"""Files that come with the submit form: an archive becomes the files of the job."""

from __future__ import annotations

import logging
from typing import cast

from django.contrib.auth.models import User
from django.http import HttpRequest

from scheduler.core.errors import Problem
from scheduler.forms import SubmitForm
from scheduler.packing import PackingError
from scheduler.services.archives import bundle_from
from workers.moments import now
from workers.refusals import Refused

log = logging.getLogger(__name__)

ARCHIVE = "archive"


def take_archive(request: HttpRequest, form: SubmitForm) -> tuple[Problem, ...]:
    """Keep the archive that came with the form, and put its hash into the form; what is wrong with it otherwise."""
    came = request.FILES.get(ARCHIVE)
    if came is None:
        return ()
    try:
        assert came.file is not None
        bundle = bundle_from(came.file, owner=cast("User", request.user), now=now())
    except (PackingError, Refused) as error:
        return (Problem("files", f"{came.name}: {error}", "a zip or a tar of a folder"),)
    except OSError as error:
        log.exception("an archive could not be kept")
        return (Problem("files", f"{came.name}, which this server could not keep: {error.strerror}", "room for it"),)
    form.fields["files"].text = bundle.sha256
    return ()
