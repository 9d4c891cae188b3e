"""The two certificate authorities of a cluster whose nodes speak TLS.

The *cluster CA* signs its nodes and Kedge's own connections to them, the *clients CA* users: at the listener between
nodes a certificate of the clients CA opens nothing, whatever it says of itself.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from controlplane.storage.certificates.building import (
    AuthorityKey,
    UserKey,
    authority_key_identifier,
    common_name,
    general_name,
    key_pem,
    key_usage,
    requested_key,
    requested_user_key,
    signed_by,
)
from controlplane.storage.certificates.principals import ClusterPrincipals, Member, principals_of
from events.ids import ClusterUid

AuthorityKind = Literal["cluster", "clients"]

AUTHORITY_LIFE = timedelta(days=3650)
NODE_LIFE = timedelta(days=365)
"""A node gets another one at each start. Shorter ones would have to reach the Raft channel, which Kafka's controllers
and brokers open with what they started with (KAFKA-20025)."""
MEMBER_LIFE = timedelta(days=7)
"""Of Kedge's own connections."""
ACT_LIFE = timedelta(minutes=10)
"""Of a certificate by which Kedge acts as a node, once."""
_NODE_USES = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)
"""Each node dials others. With the first alone Kafka renews one of its engines and refuses the next."""


class AuthorityDamaged(ValueError):
    """What is kept of a CA is no certificate with its key. What now: give up; a person restores a backup."""


@dataclass(frozen=True, slots=True)
class IssuedCertificate:
    """A certificate that was signed, and behind it the CAs between it and the root (PEM), which whoever shows it shows
    with it. `serial` is hex; it is believed from `since` (less a day) to `until`."""

    pem: str
    serial: str
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class ServerIdentity:
    """What Kedge shows to brokers: key (PKCS#8) and certificate, PEM, in memory alone. `repr` shows no key."""

    key_pem: str
    issued: IssuedCertificate

    def __repr__(self) -> str:
        return f"ServerIdentity(until={self.issued.until.isoformat()})"


class ClusterAuthority:
    """One of the two. Made by `founded`, or of what was kept by `kept`; `repr` shows no key."""

    def __init__(
        self, certificate: x509.Certificate, key: AuthorityKey, above: tuple[x509.Certificate, ...] = ()
    ) -> None:
        """`above`: the CAs that its own certificate is signed by, up to the root; none of one that signed itself."""
        self._certificate, self._above = certificate, above
        self._key = key

    @classmethod
    def founded(cls, uid: ClusterUid, kind: AuthorityKind, *, now: datetime, successor: str = "") -> "ClusterAuthority":
        """A new one (EC P-256, ten years). `successor` names one that takes another's place: the two never share a
        subject, by which those who verify look for a CA."""
        subject = " ".join(word for word in ("Kedge", kind, "CA", uid, successor) if word)
        key, name = ec.generate_private_key(ec.SECP256R1()), common_name(subject)
        certificate = (
            signed_by(name, key.public_key(), now=now, not_after=now + AUTHORITY_LIFE)
            .subject_name(name)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(key_usage(key_cert_sign=True), critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(certificate, key)

    @classmethod
    def kept(cls, certificate_pem: str, private_key_pem: bytes) -> "ClusterAuthority":
        """Raises AuthorityDamaged, without a word of what stands in the key."""
        try:
            certificate = x509.load_pem_x509_certificate(certificate_pem.encode())
            key = serialization.load_pem_private_key(private_key_pem, password=None)
        except ValueError:
            raise AuthorityDamaged("its certificate or its key cannot be read") from None
        if not isinstance(key, (ec.EllipticCurvePrivateKey, rsa.RSAPrivateKey)) or (
            key.public_key() != certificate.public_key()
        ):
            raise AuthorityDamaged("its certificate is not that of its key")
        return cls(certificate, key)

    @property
    def pem(self) -> str:
        """What it is known by: its certificate, then those above it. Nodes and clients believe the last of them."""
        return _pem(self._certificate, *self._above)

    @property
    def since(self) -> datetime:
        return self._certificate.not_valid_before_utc

    @property
    def until(self) -> datetime:
        """The first end in its chain: past it nobody believes what it signed."""
        return min(one.not_valid_after_utc for one in (self._certificate, *self._above))

    def private_key_pem(self) -> bytes:
        """To be sealed and kept, and for nothing else."""
        return key_pem(self._key).encode()

    def sign(
        self,
        key: UserKey,
        name: str,
        *,
        addresses: Iterable[str] = (),
        uses: Iterable[x509.ObjectIdentifier],
        life: timedelta,
        now: datetime,
    ) -> IssuedCertificate:
        """A leaf called `name`, with its addresses and host names (IP addresses as such: clients look for them so)."""
        until = min(now + life, self.until)
        names = [general_name(one) for one in dict.fromkeys(addresses)]
        builder = signed_by(self._certificate.subject, key, now=now, not_after=until).subject_name(common_name(name))
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        signed = (
            builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(key_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage(list(uses)), critical=False)
            .add_extension(authority_key_identifier(self._certificate), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        between = (self._certificate, *self._above)[:-1]
        return IssuedCertificate(_pem(signed, *between), f"{signed.serial_number:x}", now, until)


def _pem(*certificates: x509.Certificate) -> str:
    return "".join(one.public_bytes(serialization.Encoding.PEM).decode() for one in certificates)


@dataclass(frozen=True, slots=True)
class ClusterAuthorities:
    """Both, of one cluster."""

    uid: ClusterUid
    cluster: ClusterAuthority
    clients: ClusterAuthority

    @property
    def principals(self) -> ClusterPrincipals:
        return principals_of(self.uid)

    def certify_node(self, request_pem: str, addresses: Iterable[str], *, now: datetime) -> IssuedCertificate:
        """The certificate of a node's key. Of the request the key alone is taken: names are what Kedge knows of the
        node. Raises RequestRefused."""
        key = requested_key(request_pem)
        return self.cluster.sign(
            key, self.principals.node, addresses=addresses, uses=_NODE_USES, life=NODE_LIFE, now=now
        )

    def certify_user(self, request_pem: str, user: str, *, life: timedelta, now: datetime) -> IssuedCertificate:
        """The certificate of a user's key, by the clients CA: it opens nothing between nodes. Of the request the key
        alone is taken. Raises RequestRefused."""
        key = requested_user_key(request_pem)
        return self.clients.sign(key, user, uses=(ExtendedKeyUsageOID.CLIENT_AUTH,), life=life, now=now)

    def identity(self, member: Member, *, now: datetime) -> ServerIdentity:
        """A fresh key and its certificate for Kedge's own connections. One of a node is for what a super user alone may
        do: it counts for minutes, and nobody is dialled at it."""
        key = ec.generate_private_key(ec.SECP256R1())
        return ServerIdentity(key_pem(key) + "\n", self._certified(member, key.public_key(), now))

    def certify_member(
        self, member: Literal["server", "portal"], request_pem: str, *, now: datetime
    ) -> IssuedCertificate:
        """The certificate of a key that another process of Kedge made, a portal's. Of the request the key alone is
        taken. Raises RequestRefused."""
        return self._certified(member, requested_key(request_pem), now)

    def _certified(self, member: Member, key: ec.EllipticCurvePublicKey, now: datetime) -> IssuedCertificate:
        life = ACT_LIFE if member == "node" else MEMBER_LIFE
        uses = (ExtendedKeyUsageOID.CLIENT_AUTH,)
        return self.cluster.sign(key, self.principals.common_name(member), uses=uses, life=life, now=now)


def founded(uid: ClusterUid, *, now: datetime) -> ClusterAuthorities:
    """Both CAs of a cluster that is being founded."""
    return ClusterAuthorities(
        uid, ClusterAuthority.founded(uid, "cluster", now=now), ClusterAuthority.founded(uid, "clients", now=now)
    )
