"""Where a request comes from."""

from django.conf import settings
from django.http import HttpRequest

from gpulayer_site.proxies import address_in, is_among


def client_address(request: HttpRequest) -> str:
    """The caller's address; behind a trusted proxy (`GPULAYER_TRUSTED_PROXIES`), the one that the proxy saw.

    Only the last entry of `X-Forwarded-For` is the proxy's own word: what stands before it may be anybody's invention.
    """
    address = str(request.META.get("REMOTE_ADDR", ""))
    if not is_among(address, settings.GPULAYER_TRUSTED_PROXIES):
        return address
    seen = str(request.headers.get("X-Forwarded-For", "")).rpartition(",")[2].strip()
    return seen if address_in(seen) else address
