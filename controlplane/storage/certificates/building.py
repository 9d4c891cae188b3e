"""What every certificate of ours is built of, whichever CA signs it."""

from datetime import datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.x509.oid import NameOID

BACKDATED = timedelta(days=1)
"""Certificates are valid from a day ago on: a VM whose clock is behind by less believes them all the same."""

LARGEST_REQUEST = 4096
"""Characters of a signing request; one for a key of the only kind that is taken has some 330."""


SMALLEST_RSA = 2048
"""Bits."""
_CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)
UserKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey
AuthorityKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


class RequestRefused(ValueError):
    """A signing request that is none, or for a key of another kind. What now: give up; no agent of ours sends such."""


def signed_by(issuer: x509.Name, key: UserKey, *, now: datetime, not_after: datetime) -> x509.CertificateBuilder:
    """The beginning of every certificate: whose it will be and what it is for is added by who issues it."""
    return (
        x509.CertificateBuilder()
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(not_after)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def requested_key(request_pem: str) -> ec.EllipticCurvePublicKey:
    """The key of an agent's request, which its holder signed. Raises RequestRefused."""
    key = _signed_key(request_pem)
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise RequestRefused("the signing request is for a key that is not of the curve P-256")
    return key


def requested_user_key(request_pem: str) -> UserKey:
    """The key of a person's request, which its holder signed: of a curve of NIST of 256 bits or more, or RSA of
    2048 or more. Raises RequestRefused."""
    key = _signed_key(request_pem)
    if isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, _CURVES):
        return key
    if isinstance(key, rsa.RSAPublicKey) and key.key_size >= SMALLEST_RSA:
        return key
    raise RequestRefused(
        f"the signing request is for a key that is neither of P-256, P-384 or P-521 nor RSA of {SMALLEST_RSA} bits"
    )


def _signed_key(request_pem: str) -> CertificatePublicKeyTypes:
    if len(request_pem) > LARGEST_REQUEST:
        raise RequestRefused(f"the signing request has more than {LARGEST_REQUEST} characters")
    try:
        request = x509.load_pem_x509_csr(request_pem.encode())
        is_signed, key = request.is_signature_valid, request.public_key()
    except (ValueError, UnsupportedAlgorithm) as error:
        raise RequestRefused("that is not a signing request (PKCS#10, PEM)") from error
    if not is_signed:
        raise RequestRefused("the signing request is not signed by the key it is for")
    return key


def key_usage(*, digital_signature: bool = False, key_cert_sign: bool = False) -> x509.KeyUsage:
    """Of a leaf (`digital_signature`) or of a CA (`key_cert_sign`)."""
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


def common_name(text: str) -> x509.Name:
    """A subject of one RDN."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def general_name(name: str) -> x509.GeneralName:
    """An address or a host name, as clients look for it in a certificate."""
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def authority_key_identifier(authority: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """As that CA calls its own key: verifiers look for it so, and not all CAs number theirs alike."""
    try:
        own = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)
    except x509.ExtensionNotFound:
        key = authority.public_key()
        assert isinstance(key, (ec.EllipticCurvePublicKey, rsa.RSAPublicKey))  # what a CA of a cluster has
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(key)


def key_pem(key: AuthorityKey) -> str:
    """PKCS#8, without a password."""
    return (
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        .decode()
        .strip()
    )
