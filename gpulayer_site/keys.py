"""Keys that encrypt jobs' secrets, as an operator gives them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable

from django.core.exceptions import ImproperlyConfigured

KEY_BYTES = 32


def checked_keys(texts: Iterable[str]) -> tuple[str, ...]:
    """The keys, each 32 bytes in url-safe base64. Raises ImproperlyConfigured, which shows none of them."""
    keys = tuple(text.strip() for text in texts)
    for place, key in enumerate(keys, 1):
        if _bytes_in(key) != KEY_BYTES:
            raise ImproperlyConfigured(
                f"GPULAYER_SECRETS_KEY: key {place} of {len(keys)} is not {KEY_BYTES} bytes in url-safe base64; this "
                'makes one: python3 -c "import base64, os; print(base64.urlsafe_b64encode(os.urandom(32)).decode())"'
            )
    return keys


def _bytes_in(key: str) -> int:
    try:
        return len(base64.b64decode(key.encode("ascii"), altchars=b"-_", validate=True))
    except (UnicodeEncodeError, binascii.Error):
        return -1
