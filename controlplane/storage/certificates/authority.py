"""The certificate authority of an installation: it signs what its servers and the agents of its VMs show each other.

`ca.pem` in the home is its certificate, `ca-key.pem` (0600) its key. VMs are born with the SHA-256 of that certificate
and believe no other: a lost CA cannot be replaced while they live.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from controlplane.storage.certificates.building import (
    common_name,
    general_name,
    key_pem,
    key_usage,
    requested_key,
    signed_by,
)
from controlplane.storage.home import kept, minted

CA_LIFE = timedelta(days=3650)
CERTIFICATE_LIFE = timedelta(days=90)
AGENT_CERTIFICATE_LIFE = timedelta(days=7)


class AuthorityRefused(Exception):
    """The CA of this home cannot be used. What now: give up; a person puts its files back."""


@dataclass(frozen=True, slots=True)
class ServerCertificate:
    """What a server shows: the certificate with that of its CA, and the key, both PEM. `repr` shows no secret."""

    chain_pem: bytes
    key_pem: bytes
    not_after: datetime

    def __repr__(self) -> str:
        return f"ServerCertificate(not_after={self.not_after.isoformat()})"


class Authority:
    """A CA in force. Made by `load_or_make`."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self._certificate = certificate
        self._key = key

    @property
    def pem(self) -> str:
        """The certificate, as agents fetch it."""
        return self._certificate.public_bytes(serialization.Encoding.PEM).decode()

    @property
    def sha256(self) -> str:
        """Hash (hex) of the certificate's DER, as boot data carries it."""
        return hashlib.sha256(self._certificate.public_bytes(serialization.Encoding.DER)).hexdigest()

    @property
    def not_after(self) -> datetime:
        return self._certificate.not_valid_after_utc

    def issue(self, names: Iterable[str], *, now: datetime) -> ServerCertificate:
        """A certificate with a fresh key for a server that is called by these host names and addresses."""
        key = ec.generate_private_key(ec.SECP256R1())
        not_after = min(now + CERTIFICATE_LIFE, self.not_after)
        certificate = (
            signed_by(self._certificate.subject, key.public_key(), now=now, not_after=not_after)
            .subject_name(common_name("kedge server"))
            .add_extension(x509.SubjectAlternativeName([general_name(n) for n in dict.fromkeys(names)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(key_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(self._key_identifier, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        chain = b"".join(c.public_bytes(serialization.Encoding.PEM) for c in (certificate, self._certificate))
        return ServerCertificate(chain, f"{key_pem(key)}\n".encode(), not_after)

    def certify(self, request_pem: str, identity: str, *, now: datetime) -> str:
        """The certificate (PEM) of a client's key, as which `identity`, a URI, is proved. Raises RequestRefused.

        Of the request its key alone is taken: who asks is known by other means than its own word.
        """
        return (
            signed_by(
                self._certificate.subject,
                requested_key(request_pem),
                now=now,
                not_after=min(now + AGENT_CERTIFICATE_LIFE, self.not_after),
            )
            .subject_name(common_name("kedge agent"))
            .add_extension(x509.SubjectAlternativeName([x509.UniformResourceIdentifier(identity)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(key_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
            .add_extension(self._key_identifier, critical=False)
            .sign(self._key, hashes.SHA256())
            .public_bytes(serialization.Encoding.PEM)
            .decode()
        )

    @property
    def _key_identifier(self) -> x509.AuthorityKeyIdentifier:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())


def load_or_make(home: Path, installation_id: str, *, now: datetime) -> Authority:
    """The CA of a home, made when there is none. Safe for two servers that start together.

    Raises AuthorityRefused when one of its files is missing, damaged, over, or not of the other one; OSError.
    """
    if kept(home / "ca.pem") and not kept(home / "ca-key.pem"):
        raise AuthorityRefused(f"{home}/ca-key.pem is missing, and {home}/ca.pem is there: put the key back")
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    key = _loaded_key(home, minted(home / "ca-key.pem", lambda: key_pem(ec.generate_private_key(ec.SECP256R1()))))
    text = minted(home / "ca.pem", lambda: _self_signed(key, installation_id, now))
    try:
        certificate = x509.load_pem_x509_certificate(text.encode())
    except ValueError as error:
        raise AuthorityRefused(f"{home}/ca.pem is damaged: {error}. Put it back from a copy") from error
    if certificate.public_key() != key.public_key():
        raise AuthorityRefused(f"{home}/ca.pem is not the certificate of {home}/ca-key.pem: put back the two together")
    if certificate.not_valid_after_utc <= now:
        over = certificate.not_valid_after_utc.date()
        raise AuthorityRefused(f"{home}/ca.pem was valid until {over}: no agent believes it any more")
    return Authority(certificate, key)


def _loaded_key(home: Path, text: str) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(text.encode(), password=None)
    except ValueError:
        key = None  # told below, without a word of what stands there
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise AuthorityRefused(f"{home}/ca-key.pem holds no key of ours: put it back from a copy")
    return key


def _self_signed(key: ec.EllipticCurvePrivateKey, installation_id: str, now: datetime) -> str:
    name = common_name(f"Kedge CA {installation_id}")
    certificate = (
        signed_by(name, key.public_key(), now=now, not_after=now + CA_LIFE)
        .subject_name(name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(key_cert_sign=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode().strip()
