"""The certificate and key with which `gpulayer up` speaks TLS: looked at before anything is started."""

import ssl
import stat
from datetime import UTC, datetime
from pathlib import Path

from gpulayer_site.data_folder import write_private
from gpulayer_site.up.options import Options, UpError

PINNED = "certificate.pem"
"""What the parts on this host believe: the very certificate that the server shows."""
_OTHERS = stat.S_IRWXO


def check_certificate(options: Options) -> None:
    """Raise UpError for what would not work; the server's own certificate is kept in the data folder for its parts."""
    if options.tls_cert is None or options.tls_key is None:
        return
    text, key = _read(options.tls_cert, "TLS certificate"), _read(options.tls_key, "TLS key")
    if options.tls_key.stat().st_mode & _OTHERS:
        raise UpError(f"the TLS key {options.tls_key} can be read by everybody; chmod 600 {options.tls_key}")
    if "-----BEGIN PRIVATE KEY-----" not in key:
        raise UpError(
            f"the TLS key {options.tls_key} is no unencrypted PKCS#8 key; this makes one: "
            f"openssl pkcs8 -topk8 -nocrypt -in {options.tls_key} -out key.pem"
        )
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(options.tls_cert, options.tls_key)
    except ssl.SSLError as error:
        raise UpError(
            f"the TLS certificate {options.tls_cert} and the key {options.tls_key} do not belong together "
            f"({error.reason or error})"
        ) from None
    _check_dates(options.tls_cert, text)
    write_private(options.data / PINNED, _first(text))


def names_in(file: Path) -> list[str]:
    """The names of hosts that the certificate is for, without those with a star; empty where it cannot be read."""
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificate(file.read_bytes())
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, x509.ExtensionNotFound):
        return []
    return [name for name in names.get_values_for_type(x509.DNSName) if not name.startswith("*")]


def _read(file: Path, what: str) -> str:
    try:
        return file.read_text(encoding="ascii")
    except OSError as error:
        raise UpError(f"the {what} {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UpError(f"the {what} {file} is not in PEM (text that begins with -----BEGIN)") from None


def _check_dates(file: Path, text: str) -> None:
    from cryptography import x509

    found = x509.load_pem_x509_certificate(text.encode())
    now = datetime.now(UTC)
    if now > found.not_valid_after_utc:
        raise UpError(f"the TLS certificate {file} ended on {found.not_valid_after_utc:%Y-%m-%d}; renew it")
    if now < found.not_valid_before_utc:
        raise UpError(f"the TLS certificate {file} begins on {found.not_valid_before_utc:%Y-%m-%d %H:%M} UTC only")


def _first(text: str) -> str:
    """The server's own certificate; those after it lead to its authority."""
    end = "-----END CERTIFICATE-----"
    return text[: text.index(end)] + end + "\n"
