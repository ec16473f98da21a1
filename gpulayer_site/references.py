"""The reference of a request that failed: a person is shown it, and the log has it beside the cause."""

import logging

REFERENCE = "gpulayer_reference"
"""The attribute of such a request."""


class WithReference(logging.Filter):
    """Writes the reference that a person was shown beside what the log says of that request."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record through."""
        if reference := getattr(getattr(record, "request", None), REFERENCE, ""):
            record.msg = f"{record.msg} (reference {reference})"
        return True
