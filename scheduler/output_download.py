"""An output as a file: bytes to be kept, never anything that a browser opens here."""

from __future__ import annotations

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

from scheduler.log_download import HEADERS
from scheduler.models import OutputFile
from scheduler.services.outputs import parts


def as_attachment(row: OutputFile, *, offset: int = 0, length: int | None = None) -> StreamingHttpResponse:
    """Its bytes from `offset`, all or so many of them, under the last part of its path."""
    end = row.size if length is None else min(offset + length, row.size)
    name = row.path.rsplit("/", 1)[-1]
    headers = {
        **HEADERS,
        "Content-Type": "application/octet-stream",
        "Content-Disposition": content_disposition_header(True, name) or "attachment",
        "Content-Length": str(max(end - offset, 0)),
    }
    return StreamingHttpResponse(parts(row, offset=offset, end=end), headers=headers)
