"""A cluster born with TLS between its nodes: three controllers, three brokers, clients at a TLS listener, and a drain
of one broker onto a fresh VM whose certificate nobody has seen before."""

import socket
import ssl
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from cryptography import x509

from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.storage.certificates.principals import principals_of
from events.ids import ClusterUid
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic
from tests.kafka_topics import create_topic
from tests.waiting import until

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(900)]

SPEC = ClusterSpec(name="sealed", tls=True, controllers=3, join_deadline_s=180, heartbeats=True)
RECORDS = 500


def _tls_client(cluster: LivingCluster) -> dict[str, str]:
    """What a person puts into their client: addresses of the TLS listener, and the CA that `endpoints` tells."""
    told = cluster.client.endpoints(cluster.spec.name)
    hosts = [address.rpartition(":")[0] for address in told.bootstrap]
    port = next(one.port for one in told.listeners if one.security == "tls")
    return {
        "bootstrap.servers": ",".join(f"{host}:{port}" for host in hosts),
        "security.protocol": "ssl",
        "ssl.ca.pem": told.ca,
        "log_level": "0",
    }


def _produced_and_read(cluster: LivingCluster, topic: str) -> int:
    """Records that were acknowledged over TLS and read back over TLS."""
    client, failures = _tls_client(cluster), []
    producer = Producer({**client, "acks": "all", "enable.idempotence": True})
    for number in range(RECORDS):
        producer.produce(topic, str(number).encode(), on_delivery=lambda e, _: failures.append(e) if e else None)
    assert producer.flush(60) == 0
    assert not failures
    consumer = Consumer({**client, "group.id": f"{topic}-tls", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    seen: set[bytes | None] = set()

    def all_read() -> bool:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            seen.add(message.value())
        return len(seen) == RECORDS

    until(all_read, "every record to be read over TLS", timeout_s=60, every_s=0.0)
    consumer.close()
    return len(seen)


def _brokers(cluster: LivingCluster) -> list[str]:
    return [address.rpartition(":")[0] for address in cluster.client.endpoints(cluster.spec.name).bootstrap]


def _first_byte(host: str, client: ssl.SSLContext) -> bytes:
    """TLS 1.3 tells who shows no certificate with the first read alone."""
    with (
        socket.create_connection((host, 9091), timeout=10) as plain,
        client.wrap_socket(plain, server_hostname=host) as secured,
    ):
        secured.sendall(bytes(4))
        return secured.recv(1)


def _key_of(cluster: LivingCluster, key: str) -> str:
    return (_node_files(cluster, key) / "node.pem").read_text().partition("-----END")[0]


def _node_files(cluster: LivingCluster, key: str) -> Path:
    (found,) = cluster.vm(key).glob("agent/services/*/tls")
    return found


def test_clients_write_and_read_over_tls(living_cluster: LivingCluster) -> None:
    create_topic(living_cluster.bootstrap(), "sealed", partitions=6, rf=3, min_isr=2)
    assert _produced_and_read(living_cluster, "sealed") == RECORDS


def test_who_speaks_plaintext_or_shows_no_certificate_is_not_let_in_between_nodes(
    living_cluster: LivingCluster,
) -> None:
    host = _brokers(living_cluster)[0]
    dialer = DirectDialer()
    with pytest.raises(KafkaUnavailable, match=f"{host}:9091 is a TLS port, and was dialled in plaintext"):
        AdminGateway(dialer, "in plaintext", [f"{host}:9091"]).snapshot()
    dialer.close()
    told = living_cluster.client.endpoints(living_cluster.spec.name)
    nobody = ssl.create_default_context(cadata=told.ca)
    with pytest.raises((ssl.SSLError, ConnectionError)):
        _first_byte(host, nobody)


def test_nodes_share_a_name_have_their_own_addresses_and_keep_their_keys(
    living_cluster: LivingCluster,
) -> None:
    name, addresses = principals_of(ClusterUid(living_cluster.uid)).node, list[str]()
    for instance in living_cluster.detail().instances:
        files = _node_files(living_cluster, instance.key)
        assert (files / "node.pem").stat().st_mode & 0o777 == 0o600
        leaf = x509.load_pem_x509_certificates((files / "node.pem").read_bytes())[0]
        assert leaf.subject.rfc4514_string() == f"CN={name}"
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        addresses += [str(one) for one in names.get_values_for_type(x509.IPAddress)]
        assert instance.address in addresses
    assert len(addresses) == len(set(addresses)), "no node may say that it is another"
    issued = [e for e in living_cluster.events() if e.type == "certificate.issued"]
    assert {e.data["key"] for e in issued} == {i.key for i in living_cluster.detail().instances}


def test_no_key_is_in_the_history_the_log_or_an_argument(living_cluster: LivingCluster) -> None:
    keys = [
        line
        for instance in living_cluster.detail().instances
        for line in _key_of(living_cluster, instance.key).split()
        if len(line) > 40
    ]
    assert len(keys) >= 12, "two lines of each key"
    told = str([e.data for e in living_cluster.events()]) + living_cluster.server.log.read_text(errors="replace")
    told += "".join(p.read_text(errors="replace") for p in living_cluster.cloud.glob("*/instances/*/*/logs/*"))
    told += "".join(p.read_text(errors="replace") for p in Path("/proc").glob("[0-9]*/cmdline") if p.exists())
    assert not [key for key in keys if key in told]
    database = (living_cluster.home / "kedge.db").read_bytes()
    assert not [key for key in keys if key.encode() in database]
    assert b"PRIVATE KEY" not in database, "the keys of the CAs are sealed"


def test_a_broker_is_drained_onto_a_fresh_vm_while_clients_write(living_cluster: LivingCluster) -> None:
    cluster, born = living_cluster, {i.key for i in living_cluster.detail().instances}
    with traffic(cluster.bootstrap):
        before = cluster.roll("one")
        cluster.event("replacement.completed", before, within_s=400)
        settled(cluster, within_s=300)
    (fresh,) = {i.key for i in cluster.detail().instances} - born
    assert [e.data["key"] for e in cluster.events(before) if e.type == "certificate.issued"] == [fresh]
    create_topic(cluster.bootstrap(), "after", partitions=6, rf=3, min_isr=2)
    assert _produced_and_read(cluster, "after") == RECORDS


def test_a_server_that_starts_anew_is_let_in_and_heartbeats_go_on(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    cluster.restart_server()
    settled(cluster, within_s=300)
    silent = [c for c in cluster.detail().conditions if c.type == "HeartbeatsSilent" and c.status]
    assert not silent, silent
