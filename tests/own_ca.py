"""CAs of a user's own: a root, an intermediate and their files, as a company's PKI would hand them out."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from controlplane.storage.certificates.building import AuthorityKey, common_name, key_usage
from controlplane.storage.certificates.cluster_authority import ClusterAuthority

BEGUN = datetime(2026, 1, 1, tzinfo=UTC)


def a_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@dataclass
class Pki:
    """`key` and `chain` of a CA, the one that signs first."""

    key: AuthorityKey = field(default_factory=a_key)
    chain: tuple[x509.Certificate, ...] = ()

    @classmethod
    def root(cls, name: str = "corporate root", **how: object) -> "Pki":
        made = cls()
        return cls(made.key, (certified(name, made.key, None, **how),))  # type: ignore[arg-type]

    def below(self, name: str = "kafka intermediate", key: AuthorityKey | None = None, **how: object) -> "Pki":
        """One that this one signs."""
        key = key or a_key()
        return Pki(key, (certified(name, key, self, **how), *self.chain))  # type: ignore[arg-type]

    @property
    def authority(self) -> ClusterAuthority:
        return ClusterAuthority(self.chain[0], self.key, self.chain[1:])

    @property
    def pem(self) -> str:
        return "".join(one.public_bytes(serialization.Encoding.PEM).decode() for one in self.chain)

    def key_text(self, password: bytes | None = None) -> str:
        how = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
        return self.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how).decode()

    def put(self, folder: Path, stem: str = "ca") -> Path:
        """Its two files, as an operator stores them."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{stem}.pem").write_text(self.pem)
        key = folder / f"{stem}-key.pem"
        key.write_text(self.key_text())
        key.chmod(0o600)
        return folder


def certified(
    name: str,
    key: AuthorityKey,
    issuer: Pki | None,
    *,
    ca: bool = True,
    signs: bool = True,
    below: int | None = None,
    since: datetime = BEGUN,
    days: int = 3650,
    uses: tuple[x509.ObjectIdentifier, ...] = (),
    ski: bytes = b"",
) -> x509.Certificate:
    """`below`: how many CAs it allows below it. `ski`: what the CA calls its key, where not by its hash."""
    subject = common_name(name)
    public = key.public_key()
    own = x509.SubjectKeyIdentifier(ski) if ski else x509.SubjectKeyIdentifier.from_public_key(public)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.chain[0].subject if issuer else subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(since)
        .not_valid_after(since + timedelta(days=days))
        .add_extension(own, critical=False)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=below if ca else None), critical=True)
        .add_extension(key_usage(key_cert_sign=signs, digital_signature=not signs), critical=True)
    )
    if uses:
        builder = builder.add_extension(x509.ExtendedKeyUsage(list(uses)), critical=False)
    return builder.sign(issuer.key if issuer else key, hashes.SHA256())
