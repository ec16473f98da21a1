"""Certificates of the tests' own: an authority, and what it signs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Signed:
    """Files in PEM."""

    cert: Path
    key: Path


class Authority:
    """Signs certificates; `file` is what those believe who believe it."""

    def __init__(self, folder: Path, name: str = "an authority of one's own") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        made = self._builder(self._name, self._key, days=30).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        made = made.add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
        made = made.add_extension(_USAGE, critical=True)
        self.file = folder / "ca.pem"
        self.file.write_bytes(made.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM))

    def sign(self, *names: str, days: int = 2, form: PrivateFormat = PrivateFormat.PKCS8) -> Signed:
        """A certificate for these names and addresses; one that ended long ago where `days` is negative."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        made = self._builder(subject, key, days=days).add_extension(
            x509.SubjectAlternativeName([_general(name) for name in names]), critical=False
        )
        made = made.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        own = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        made = made.add_extension(own, critical=False)
        signed = Signed(self.folder / f"{names[0]}.pem", self.folder / f"{names[0]}.key")
        signed.cert.write_bytes(made.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM))
        signed.key.write_bytes(key.private_bytes(Encoding.PEM, form, NoEncryption()))
        signed.key.chmod(0o600)
        return signed

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, days: int) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        begin = now - timedelta(days=1) if days > 0 else now + timedelta(days=days - 10)
        return (
            x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(begin)
            .not_valid_after(now + timedelta(days=days))
        )  # fmt: skip


_USAGE = x509.KeyUsage(
    digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False, key_encipherment=False,
    data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
)  # fmt: skip


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
