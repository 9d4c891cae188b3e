"""The cluster CA of a living cluster is replaced under traffic: both believed, certificates of the new one, the new one
alone. Nothing that was acknowledged is lost, and the server is killed in between."""

import sqlite3
from collections.abc import Mapping

import pytest
from confluent_kafka import Producer
from cryptography import x509

from controlplane.api.schemas.certificates import ReplaceAuthorityIn
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic
from tests.kafka_topics import create_topic
from tests.waiting import until

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(1800)]

SPEC = ClusterSpec(name="sealed", tls=True, controllers=3, join_deadline_s=180)


def _ca(cluster: LivingCluster) -> str:
    return cluster.client.endpoints(cluster.spec.name).ca


def _is_let_in(cluster: LivingCluster, ca: str) -> bool:
    """Whether a client that believes this writes a record over TLS, at any broker."""
    told = cluster.client.endpoints(cluster.spec.name)
    port = next(one.port for one in told.listeners if one.security == "tls")
    hosts = [address.rpartition(":")[0] for address in told.bootstrap]
    client: Mapping[str, str | bool | int] = {
        "bootstrap.servers": ",".join(f"{host}:{port}" for host in hosts),
        "security.protocol": "ssl",
        "ssl.ca.pem": ca,
        "log_level": "0",
        "message.timeout.ms": 15_000,
    }
    producer, failures = Producer(dict(client)), list[object]()
    producer.produce("over-tls", b"x", on_delivery=lambda error, _: failures.append(error) if error else None)
    producer.flush(20)
    return not failures and len(producer) == 0


def _ask(cluster: LivingCluster, step: str) -> None:
    order = ReplaceAuthorityIn.model_validate({"step": step, "reason": "test"})
    assert cluster.client.replace_ca(cluster.spec.name, order).changed


def _reaches(cluster: LivingCluster, phase: str) -> None:
    def there() -> bool:
        return any(e.type == "ca.phase_reached" and e.data["phase"] == phase for e in cluster.events())

    until(there, f"every node to be at {phase}", timeout_s=600, every_s=2.0)


def test_another_ca_takes_its_place_under_traffic(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    create_topic(cluster.bootstrap(), "over-tls", partitions=3, rf=3, min_isr=2)
    old = _ca(cluster)
    assert _is_let_in(cluster, old)
    with traffic(cluster.bootstrap):
        _ask(cluster, "begin")
        until(lambda: any(e.type == "ca.made" for e in cluster.events()), "a new CA", timeout_s=120)
        cluster.restart_server()
        _reaches(cluster, "trust-both")
        both = _ca(cluster)
        assert len(x509.load_pem_x509_certificates(both.encode())) == 2
        assert _is_let_in(cluster, old), "whoever has the old one alone is let in until certificates are new"
        _ask(cluster, "continue")
        _reaches(cluster, "reissue")
        assert not _is_let_in(cluster, old)
        assert _is_let_in(cluster, both)
        _reaches(cluster, "new-alone")
        settled(cluster, within_s=300)
    new = _ca(cluster)
    assert new.strip() in both
    assert new.strip() != old.strip()
    assert _is_let_in(cluster, new)
    certificates = cluster.client.certificates(cluster.spec.name)
    assert certificates.replacement is None
    for node in certificates.nodes:
        shown = {one.serial for one in node.served}
        assert shown == {node.serial} == {node.started_with}, node
        assert len(node.believes) == 1
    with sqlite3.connect(cluster.home / "kedge.db") as database:
        kept = database.execute("SELECT certificate, kind FROM cluster_authority WHERE sealed_key != x''").fetchall()
    assert old.strip() not in {pem.strip() for pem, _ in kept}, "the old key is deleted"
    assert len(kept) == 2
