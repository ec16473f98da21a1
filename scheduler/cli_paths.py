"""Where the server has a job, for the commands about one."""

import re
from urllib.parse import quote

from gpulayer_site.client import Failure


def job_path(job_id: str, *more: str) -> str:
    """The job's path below the API; whatever was typed stays one part of it. Raises Failure for what is no job id."""
    if not re.fullmatch(r"j-[0-9]+", job_id):
        raise Failure(f"no job {job_id!r}; ids look like j-7")
    return "/".join(["jobs", quote(job_id, safe=""), *more])
