"""The certificate authority of an installation: it signs what its servers and the agents of its VMs show each other.

`ca.pem` in the home is its certificate, `ca-key.pem` (0600) its key. VMs are born with the SHA-256 of that certificate
and believe no other: a lost CA cannot be replaced while they live.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from controlplane.storage.home import kept, minted

CA_LIFE = timedelta(days=3650)
CERTIFICATE_LIFE = timedelta(days=90)
AGENT_CERTIFICATE_LIFE = timedelta(days=7)
BACKDATED = timedelta(days=1)
"""Certificates are valid from a day ago on: a VM whose clock is behind by less believes them all the same."""


LARGEST_REQUEST = 4096
"""Characters of a signing request; one for a key of the only kind that is taken has some 330."""


class RequestRefused(ValueError):
    """A signing request that is none, or for a key of another kind. What now: give up; no agent of ours sends such."""


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
            _signed_by(self._certificate.subject, key.public_key(), now=now, not_after=not_after)
            .subject_name(_named("kedge server"))
            .add_extension(
                x509.SubjectAlternativeName([_general_name(n) for n in dict.fromkeys(names)]), critical=False
            )
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(self._key_identifier, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        chain = b"".join(c.public_bytes(serialization.Encoding.PEM) for c in (certificate, self._certificate))
        return ServerCertificate(chain, f"{_key_pem(key)}\n".encode(), not_after)

    def certify(self, request_pem: str, identity: str, *, now: datetime) -> str:
        """The certificate (PEM) of a client's key, as which `identity`, a URI, is proved. Raises RequestRefused.

        Of the request its key alone is taken: who asks is known by other means than its own word.
        """
        return (
            _signed_by(
                self._certificate.subject,
                _requested_key(request_pem),
                now=now,
                not_after=min(now + AGENT_CERTIFICATE_LIFE, self.not_after),
            )
            .subject_name(_named("kedge agent"))
            .add_extension(x509.SubjectAlternativeName([x509.UniformResourceIdentifier(identity)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(digital_signature=True), critical=True)
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
    key = _loaded_key(home, minted(home / "ca-key.pem", lambda: _key_pem(ec.generate_private_key(ec.SECP256R1()))))
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
    name = _named(f"Kedge CA {installation_id}")
    certificate = (
        _signed_by(name, key.public_key(), now=now, not_after=now + CA_LIFE)
        .subject_name(name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(key_cert_sign=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode().strip()


def _signed_by(
    issuer: x509.Name, key: ec.EllipticCurvePublicKey, *, now: datetime, not_after: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(not_after)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _requested_key(request_pem: str) -> ec.EllipticCurvePublicKey:
    """The key of a request that its holder signed. Raises RequestRefused."""
    if len(request_pem) > LARGEST_REQUEST:
        raise RequestRefused(f"the signing request has more than {LARGEST_REQUEST} characters")
    try:
        request = x509.load_pem_x509_csr(request_pem.encode())
        is_signed, key = request.is_signature_valid, request.public_key()
    except (ValueError, UnsupportedAlgorithm) as error:
        raise RequestRefused("that is not a signing request (PKCS#10, PEM)") from error
    if not is_signed:
        raise RequestRefused("the signing request is not signed by the key it is for")
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise RequestRefused("the signing request is for a key that is not of the curve P-256")
    return key


def _usage(*, digital_signature: bool = False, key_cert_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        key_cert_sign=key_cert_sign,
        crl_sign=key_cert_sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _named(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return (
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        .decode()
        .strip()
    )
