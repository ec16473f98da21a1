"""Where a request comes from."""

from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """The caller's address; behind a TLS proxy on this host, the one that the proxy saw.

    Only the last entry of `X-Forwarded-For` is the proxy's own word: what stands before it may be anybody's invention.
    """
    address = str(request.META.get("REMOTE_ADDR", ""))
    if not (settings.GPULAYER_BEHIND_PROXY and _valid(address) and ip_address(address).is_loopback):
        return address
    seen = str(request.headers.get("X-Forwarded-For", "")).rpartition(",")[2].strip()
    return seen if _valid(seen) else address


def _valid(address: str) -> bool:
    try:
        ip_address(address)
    except ValueError:
        return False
    return True
