"""What a CA of the user's own has to be so that nodes and clients believe what it signs: judged before it signs."""

from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from controlplane.storage.certificates.building import SMALLEST_RSA, AuthorityKey

MOST_CERTIFICATES = 5
_CURVES = (ec.SECP256R1, ec.SECP384R1)
_WEAK = ("md5", "sha1")
_USES = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)


class ChainUnusable(ValueError):
    """Why a CA cannot be used, and what a person does."""


def check_chain(text: str, key: AuthorityKey, *, now: datetime) -> tuple[x509.Certificate, ...]:
    """The certificates of a file: the CA with that key first, each signed by the one after it, a root last. Raises
    ChainUnusable with the first thing that is wrong."""
    try:
        chain = tuple(x509.load_pem_x509_certificates(text.encode()))
        found = next(_wrong(chain, key, now), "")
    except ValueError:
        raise ChainUnusable("it holds no certificates (PEM): put that of the CA there, then those above it") from None
    if found:
        raise ChainUnusable(found)
    return chain


def usable_key(key: object) -> AuthorityKey:
    """EC P-256 or P-384, RSA of 2048 bits or more: what Kafka's Java, OpenSSL and librdkafka all verify. Raises
    ChainUnusable."""
    if isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, _CURVES):
        return key
    if isinstance(key, rsa.RSAPrivateKey) and key.key_size >= SMALLEST_RSA:
        return key
    raise ChainUnusable(f"its key is neither EC P-256 or P-384 nor RSA of {SMALLEST_RSA} bits or more: use such a CA")


def named(certificate: x509.Certificate) -> str:
    """Its subject, for people."""
    return f"`{certificate.subject.rfc4514_string()[:100]}`"


def _wrong(chain: tuple[x509.Certificate, ...], key: AuthorityKey, now: datetime) -> Iterator[str]:
    if len(chain) > MOST_CERTIFICATES:
        yield f"it has {len(chain)} certificates, {MOST_CERTIFICATES} at most: leave out those not of the chain"
    if chain[0].public_key() != key.public_key():
        yield f"its first certificate, {named(chain[0])}, is not that of the key beside it: put the two of one CA there"
    for below, one in enumerate(chain):
        yield from _as_authority(one, below, now)
    for one, issuer in pairwise(chain):
        if not _is_signed_by(one, issuer):
            yield (
                f"{named(one)} is not signed by the certificate after it, {named(issuer)}: put the chain in order, "
                "from the CA that signs up to its root"
            )
    root = chain[-1]
    if root.subject != root.issuer or not _is_signed_by(root, root):
        issuer_name = root.issuer.rfc4514_string()[:100]
        yield f"its last certificate, {named(root)}, is no root: add that of `{issuer_name}` behind it, up to the root"


def _as_authority(one: x509.Certificate, below: int, now: datetime) -> Iterator[str]:
    """`below`: CAs between it and a leaf."""
    what = named(one)
    basic, usage, uses = (
        _extension(one, kind) for kind in (x509.BasicConstraints, x509.KeyUsage, x509.ExtendedKeyUsage)
    )
    if not isinstance(basic, x509.BasicConstraints) or not basic.ca:
        yield f"{what} is no CA (basicConstraints CA:TRUE): have one issued that is"
    elif basic.path_length is not None and basic.path_length < below:
        yield f"{what} allows {basic.path_length} CAs below it (pathlen), and has {below}: have another issued"
    if not isinstance(usage, x509.KeyUsage) or not usage.key_cert_sign:
        yield f"{what} may not sign certificates (keyUsage keyCertSign): have one issued that may"
    if isinstance(uses, x509.ExtendedKeyUsage) and not _allows_nodes(uses):
        yield f"{what} is not for both ends of TLS (extendedKeyUsage): have one issued with serverAuth and clientAuth"
    if one.not_valid_after_utc <= now:
        yield f"{what} ended on {one.not_valid_after_utc.date()}: put a renewed one there"
    if one.not_valid_before_utc > now:
        yield f"{what} begins on {one.not_valid_before_utc.date()}: put it there then, or mend this machine's clock"
    public = one.public_key()
    is_ec = isinstance(public, ec.EllipticCurvePublicKey) and isinstance(public.curve, (*_CURVES, ec.SECP521R1))
    if not is_ec and not (isinstance(public, rsa.RSAPublicKey) and public.key_size >= SMALLEST_RSA):
        yield f"the key of {what} is neither EC nor RSA of {SMALLEST_RSA} bits or more: use another CA"
    algorithm = one.signature_hash_algorithm
    if one.subject != one.issuer and algorithm is not None and algorithm.name in _WEAK:
        yield f"{what} is signed with {algorithm.name}, which nobody believes any more: have it issued with SHA-256"


def _allows_nodes(uses: x509.ExtendedKeyUsage) -> bool:
    return ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE in uses or all(use in uses for use in _USES)


def _extension(certificate: x509.Certificate, kind: type[x509.ExtensionType]) -> x509.ExtensionType | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _is_signed_by(one: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        one.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True
