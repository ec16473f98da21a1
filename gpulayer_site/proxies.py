"""Whom a request comes through: what a proxy says of it is believed only from those that the operator trusts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from django.core.exceptions import ImproperlyConfigured

Network = IPv4Network | IPv6Network
Application = Callable[[dict[str, Any], Any], Iterable[bytes]]

LOOPBACK: tuple[Network, ...] = (ip_network("127.0.0.0/8"), ip_network("::1/128"))


def read_proxies(texts: Iterable[str]) -> tuple[Network, ...]:
    """Addresses and networks. Raises ImproperlyConfigured for what is neither, and for everybody."""
    found: list[Network] = []
    for text in filter(None, map(str.strip, texts)):
        try:
            network = ip_network(text)
        except ValueError as error:
            raise ImproperlyConfigured(
                f"GPULAYER_TRUSTED_PROXIES: `{text}` is no address or network; right would be 10.0.0.5 or 10.0.0.0/24"
            ) from error
        if network.prefixlen == 0:
            raise ImproperlyConfigured(
                f"GPULAYER_TRUSTED_PROXIES: `{text}` is everybody; name the proxy, such as 10.0.0.5"
            )
        found.append(network)
    return tuple(found)


def address_in(text: str) -> IPv4Address | IPv6Address | None:
    """The address, an IPv4 one as such where it came over IPv6; None for what is none."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def is_among(text: str, networks: Iterable[Network]) -> bool:
    """Whether the address is in one of these."""
    address = address_in(text)
    return address is not None and any(address in network for network in networks)


def behind(application: Application, trusted: tuple[Network, ...], *, https: bool) -> Application:
    """The application, told whether a request came over TLS.

    A trusted proxy says it (`X-Forwarded-Proto`); from others the header is dropped. With `https`, where this host
    calls itself without a proxy, nothing leaves the machine: that is as good.
    """

    def told(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        peer = str(environ.get("REMOTE_ADDR", ""))
        said = str(environ.pop("HTTP_X_FORWARDED_PROTO", "")).rpartition(",")[2].strip().lower()
        is_secure = said == "https" and is_among(peer, trusted)
        if is_secure or (https and not said and is_among(peer, LOOPBACK)):
            environ["wsgi.url_scheme"] = "https"
        return application(environ, start_response)

    return told
