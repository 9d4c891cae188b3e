"""A living cluster whose nodes an operator's own CA signs: an intermediate, whose files the server reads."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from cryptography import x509

from controlplane.kafka.workload import Workload
from tests.e2e.authorities import Client, ca_of, nodes_show_what_they_were_given
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic
from tests.kafka_topics import create_topic
from tests.own_ca import BEGUN, Pki

TLS, MTLS = 9094, 9097
LEDGER = "ledger"
SPEC = ClusterSpec(
    name="corporate",
    tls=True,
    security={"clusterCa": {"own": "corporate"}},
    listeners=(
        {"name": "PLAINTEXT", "port": 9092},
        {"name": "TLS", "port": TLS, "security": "tls"},
        {"name": "MTLS", "port": MTLS, "security": "tls", "authentication": {"type": "tls"}},
    ),
    authorization={"anonymous": "full"},
    controllers=3,
    join_deadline_s=180,
    heal_after_s=3,
)


@dataclass(frozen=True)
class Operator:
    """Who has the files: two intermediates of two roots. The second one's files come by `brings_the_second`."""

    folder: Path
    first: Pki
    second: Pki

    @classmethod
    def at(cls, folder: Path) -> "Operator":
        later = BEGUN + timedelta(days=30)
        second = Pki.root("second corporate root", since=later).below("second kafka intermediate", since=later)
        first = Pki.root().below()
        return cls(first.put(folder, "first"), first, second)

    def brings_the_second(self) -> None:
        self.second.put(self.folder, "second")

    @property
    def believed(self) -> str:
        """What the operator's clients believe all along: both roots."""
        return root_of(self.first) + root_of(self.second)


@contextmanager
def living(home: Path, operator: Operator) -> Iterator[LivingCluster]:
    """Born with the first one, with some data on it."""
    settings = {"KEDGE_KAFKA__OWN_CAS": json.dumps({"corporate": str(operator.folder)})}
    cluster = LivingCluster(home, spec=SPEC, settings=settings)
    try:
        cluster.open(within_s=300)
        create_topic(cluster.bootstrap(), LEDGER, partitions=12, rf=3, min_isr=2, bytes_per_partition=2 * 1024 * 1024)
        yield cluster
    finally:
        assert cluster.close() == [], "something outlived its cluster"


def root_of(pki: Pki) -> str:
    return Pki(pki.key, pki.chain[-1:]).pem


def traffic_of(cluster: LivingCluster, client: Client, port: int) -> AbstractContextManager[Workload]:
    """An idempotent producer and a group of that client."""
    return traffic(cluster.bootstrap, client=client, client_port=port, records_per_s=100)


def nodes_are_of(cluster: LivingCluster, pki: Pki) -> None:
    """Each shows a certificate that this CA signed, believes its root alone, and has the chain up to it."""
    nodes_show_what_they_were_given(cluster)
    assert ca_of(cluster).strip() == root_of(pki).strip()
    assert cluster.client.certificates(cluster.spec.name).replacement is None
    for instance in cluster.detail().instances:
        (files,) = cluster.vm(instance.key).glob("agent/services/*/tls")
        leaf, *above = x509.load_pem_x509_certificates((files / "node.pem").read_bytes())
        leaf.verify_directly_issued_by(pki.chain[0])
        assert above == list(pki.chain), "what signs is shown behind it"
        assert x509.load_pem_x509_certificates((files / "cluster-ca.pem").read_bytes()) == [pki.chain[-1]]
