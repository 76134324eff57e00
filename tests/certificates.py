"""Certificates for tests, made at once: an authority, good and bad server certificates, and a client's."""

from __future__ import annotations

import datetime as dt
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NOW = dt.datetime.now(dt.UTC)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


class Authority:
    """Signs certificates; :attr:`file` is its own, for whoever trusts it."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder, self._name = folder, _name(name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        made = (
            self._builder(self._name, self._key.public_key(), NOW + dt.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(made.public_bytes(serialization.Encoding.PEM))

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, until: dt.datetime
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW - dt.timedelta(days=9))
            .not_valid_after(until)
        )

    def signed(self, common: str, host: str = "", expired: bool = False, password: str = "") -> Path:
        """A file with a certificate and its key, which a password may lock."""
        key = ec.generate_private_key(ec.SECP256R1())
        until = NOW - dt.timedelta(days=1) if expired else NOW + dt.timedelta(days=1)
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        made = self._builder(_name(common), key.public_key(), until).add_extension(authority, critical=False)
        if host:
            named = x509.IPAddress(ipaddress.ip_address(host)) if host[0].isdigit() else x509.DNSName(host)
            made = made.add_extension(x509.SubjectAlternativeName([named]), critical=False)
        certificate = made.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        locked = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        form = serialization.PrivateFormat.PKCS8
        file = self._folder / f"{common}-{host}-{expired}.pem"
        file.write_bytes(certificate + key.private_bytes(serialization.Encoding.PEM, form, locked))
        return file
