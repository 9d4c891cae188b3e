"""CAs of a living cluster: their replacement step by step, and clients that believe some of them and show
certificates."""

from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import Producer
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from controlplane.api.schemas.certificates import ReplaceAuthorityIn
from controlplane.api.schemas.kafka_users import CertificateIn
from events.certificate_facts import ReplacedAuthority
from tests.e2e.living_cluster import LivingCluster

WITHIN_S = 600.0
Client = dict[str, str]


@dataclass(frozen=True)
class Replacement:
    """Of one CA of a cluster. Each verb returns the position before it."""

    cluster: LivingCluster
    kind: ReplacedAuthority = "cluster"

    def begin(self) -> int:
        return self._ask("begin")

    def go_on(self) -> int:
        return self._ask("continue")

    def go_back(self) -> int:
        return self._ask("back")

    def reaches(self, phase: str, after: int) -> None:
        """Waits until every node is at the phase."""

        def there() -> bool | None:
            found = (e for e in self.cluster.events(after) if e.type == "ca.phase_reached")
            return any(e.data["phase"] == phase for e in found) or None

        self.cluster.until(there, f"every node to be at {phase}", timeout_s=WITHIN_S, every_s=2.0)

    def _ask(self, step: str) -> int:
        before = self.cluster.head()
        asked = {"step": step, "reason": "test", "clients": self.kind == "clients"}
        assert self.cluster.client.replace_ca(self.cluster.spec.name, ReplaceAuthorityIn.model_validate(asked)).changed
        return before


def ca_of(cluster: LivingCluster) -> str:
    """What clients are to recognise brokers by."""
    return cluster.client.endpoints(cluster.spec.name).ca


def over_tls(ca: str) -> Client:
    """A client (properties of librdkafka) that believes this."""
    return {"security.protocol": "ssl", "ssl.ca.pem": ca, "log_level": "0"}


def certified(cluster: LivingCluster, user: str) -> Client:
    """What such a client shows in addition, to be `user`: a key made here, and its certificate as it is signed now."""
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, hashes.SHA256())
    order = CertificateIn(request=request.public_bytes(serialization.Encoding.PEM).decode())
    signed = cluster.client.sign_certificate(cluster.spec.name, user, order).certificate
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return {"ssl.certificate.pem": signed, "ssl.key.pem": private.decode()}


def is_let_in(cluster: LivingCluster, client: Mapping[str, str], topic: str, port: int) -> bool:
    """Whether that client writes a record at this port of any broker."""
    servers = ",".join(f"{address.rpartition(':')[0]}:{port}" for address in cluster.bootstrap())
    producer = Producer({**client, "bootstrap.servers": servers, "message.timeout.ms": 15_000})
    failures: list[object] = []
    producer.produce(topic, b"x", on_delivery=lambda error, _: failures.append(error) if error else None)
    producer.flush(20)
    return not failures and len(producer) == 0


def nodes_show_what_they_were_given(cluster: LivingCluster) -> None:
    """Each listener that was seen shows the certificate that was signed last, and its process was started with it."""
    for node in cluster.client.certificates(cluster.spec.name).nodes:
        assert node.served, node
        assert {one.serial for one in node.served} == {node.serial} == {node.started_with}, node
