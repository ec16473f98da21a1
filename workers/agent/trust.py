"""Whom a connection over TLS is believed: the authorities that everybody knows, or the one in a file."""

from __future__ import annotations

import ipaddress
import ssl
from pathlib import Path
from urllib.parse import urlsplit


class TrustError(ValueError):
    """The file of an authority cannot be used."""


def trusting(ca_file: Path, url: str) -> ssl.SSLContext:
    """Believe only what the certificates in `ca_file` (PEM) stand for: authorities, or the server's own certificate.

    The name in the certificate does not matter where it is the very one that was given, nor at an address of this
    machine, which nobody calls by that name.
    Raises TrustError.
    """
    try:
        context = ssl.create_default_context(cafile=str(ca_file))
    except (OSError, ssl.SSLError) as error:
        reason = error.strerror if type(error) is not ssl.SSLError and error.strerror else "it holds no certificate"
        raise TrustError(f"the CA file {ca_file} cannot be used: {reason}") from error
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # the server's own certificate is an anchor too
    if is_loopback(url) or context.cert_store_stats()["x509_ca"] == 0:
        context.check_hostname = False
    return context


def is_loopback(url: str) -> bool:
    """Whether the address is this very machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
