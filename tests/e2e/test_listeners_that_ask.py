"""From a listener that asks nobody to one that asks for a password, on a living cluster: born with TLS alone, SCRAM
added in place, clients moved, the open listener closed last. Idempotent producers write all the while."""

import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import KAFKA_DIR, LivingCluster
from tests.waiting import until

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(1200)]

TLS: Mapping[str, object] = {"name": "TLS", "port": 9094, "security": "tls"}
SCRAM: Mapping[str, object] = {
    "name": "SCRAM",
    "port": 9096,
    "security": "tls",
    "authentication": {"type": "scram-sha-512", "reauthenticate": "30s"},
}
SPEC = ClusterSpec(name="asked", tls=True, controllers=3, join_deadline_s=180, listeners=(TLS,))
TOPIC, PASSWORD = "kept", "a-password-of-the-test"
RECORDS_PER_S = 100


Client = dict[str, str | int | float | bool]


class Writer:
    """An idempotent producer of its own thread; what was acknowledged, and what failed."""

    def __init__(self, name: str, client: Client) -> None:
        self.name, self.acknowledged, self.failed = name, set[str](), list[str]()
        self.fatal = ""
        self._client, self._over = client, threading.Event()
        self._thread = threading.Thread(target=self._write, name=f"writer-{name}", daemon=True)

    def __enter__(self) -> "Writer":
        self._thread.start()
        until(lambda: self.acknowledged, f"the first record of {self.name}", timeout_s=60)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(120)
        assert not self._thread.is_alive()

    def _write(self) -> None:
        producer = Producer({**self._client, "enable.idempotence": True, "acks": "all", "error_cb": self._told})
        number = 0
        while not self._over.is_set():
            record = f"{self.name}-{number}"
            producer.produce(TOPIC, record.encode(), on_delivery=self._delivered)
            producer.poll(0)
            number += 1
            time.sleep(1 / RECORDS_PER_S)
        assert producer.flush(60) == 0

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        record = (message.value() or b"").decode()
        if error is None:
            self.acknowledged.add(record)
        else:
            self.failed.append(f"{record}: {error}")

    def _told(self, error: KafkaError) -> None:
        self.fatal = self.fatal or (str(error) if error.fatal() else "")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivingCluster]:
    living = LivingCluster(tmp_path_factory.mktemp("asked") / "home", spec=SPEC)
    try:
        living.open(within_s=300)
        yield living
    finally:
        assert living.close() == [], "something outlived its cluster"


@pytest.fixture(scope="module")
def everything() -> list[Writer]:
    """All who wrote, for the count in the end."""
    return []


def _client(cluster: LivingCluster, port: object) -> Client:
    told = cluster.client.endpoints(cluster.spec.name)
    hosts = [address.rpartition(":")[0] for address in told.bootstrap]
    servers = ",".join(f"{host}:{port}" for host in hosts)
    return {"bootstrap.servers": servers, "security.protocol": "ssl", "ssl.ca.pem": told.ca, "log_level": 0}


def _alice(cluster: LivingCluster, password: str = PASSWORD) -> Client:
    signed = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "alice", "sasl.password": password}
    return {**_client(cluster, SCRAM["port"]), "security.protocol": "sasl_ssl", **signed}


def _as_a_node(cluster: LivingCluster) -> AdminClient:
    """With a node's own certificate, at the listener of nodes: what lets a person in whom nothing else does."""
    one = min(i.key for i in cluster.detail().instances if i.node.startswith("one"))
    (files,) = cluster.vm(one).glob("agent/services/*/tls")
    node = str(files / "node.pem")
    return AdminClient({**_client(cluster, 9091), "ssl.certificate.location": node, "ssl.key.location": node})


def _rule(kind: ResourceType, name: str, operation: AclOperation) -> AclBinding:
    literal, allow = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
    return AclBinding(kind, name, literal, "User:alice", "*", operation, allow)


def _restarted(cluster: LivingCluster, after: int) -> list[str]:
    return [e.data["key"].partition("-")[0] for e in cluster.events(after) if e.type == "restart.requested"]


def _changed(cluster: LivingCluster, *, within_s: float = 400, **spec: object) -> list[str]:
    """Declares it, waits until it is so, and says whose services were started anew; no VM is another one."""
    before, vms = cluster.head(), {i.key for i in cluster.detail().instances}
    cluster.declare(replace(cluster.spec, **spec))  # type: ignore[arg-type]  # by name
    cluster.converged(within_s=within_s)
    assert {i.key for i in cluster.detail().instances} == vms
    return _restarted(cluster, before)


def test_it_is_born_with_a_listener_that_asks_nobody_and_users_are_made(cluster: LivingCluster) -> None:
    open_to_all = AdminClient(_client(cluster, TLS["port"]))
    open_to_all.create_topics([NewTopic(TOPIC, 6, 3, config={"min.insync.replicas": "2"})])[TOPIC].result(30)
    node = _as_a_node(cluster)
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    made = node.alter_user_scram_credentials([UserScramCredentialUpsertion("alice", info, PASSWORD.encode())])
    assert made["alice"].result(30) is None
    rules = [
        _rule(ResourceType.TOPIC, TOPIC, AclOperation.WRITE),
        _rule(ResourceType.TOPIC, TOPIC, AclOperation.READ),
        _rule(ResourceType.GROUP, "readers", AclOperation.READ),
    ]
    for future in node.create_acls(rules).values():
        future.result(30)


def test_a_listener_that_asks_is_added_in_place_while_clients_write(
    cluster: LivingCluster, everything: list[Writer]
) -> None:
    with Writer("before", _client(cluster, TLS["port"])) as writer:
        restarted = _changed(cluster, listeners=(TLS, SCRAM), authorization={"anonymous": "full"})
    everything.append(writer)
    assert sorted(restarted) == ["one", "three", "two"], "controllers have nothing new to know"
    assert (writer.failed, writer.fatal) == ([], "")


def test_a_wrong_password_and_a_topic_without_a_rule_are_refused(cluster: LivingCluster) -> None:
    refused: list[str] = []
    wrong = Producer({**_alice(cluster, "another"), "error_cb": lambda e: refused.append(e.name())})
    until(lambda: wrong.poll(0.2) or refused, "the wrong password to be refused", timeout_s=30)
    assert "_AUTHENTICATION" in refused
    failures: list[str] = []
    producer = Producer(_alice(cluster))
    producer.produce("ledger-of-others", b"x", on_delivery=lambda e, _: failures.append(e.name() if e else "OK"))
    producer.flush(30)
    assert failures == ["TOPIC_AUTHORIZATION_FAILED"]


def test_the_example_configurations_let_java_and_librdkafka_in(cluster: LivingCluster, tmp_path: Path) -> None:
    told = cluster.client.endpoints(cluster.spec.name)
    (scram,) = [one for one in told.listeners if one.name == "SCRAM"]
    assert (scram.protocol, len(scram.bootstrap), scram.missing) == ("SASL_SSL", 3, 0)
    (tmp_path / "asked-ca.pem").write_text(told.ca)
    (tmp_path / "alice.password").write_text(f"{PASSWORD}\n")
    (tmp_path / "alice.properties").write_text(f"password={PASSWORD}\n")

    def filled_in(kind: str) -> str:
        text = scram.examples[kind].replace("/PATH/USER", str(tmp_path / "alice")).replace("USER", "alice")
        return text.replace("PASSWORD", PASSWORD).replace("asked-ca.pem", str(tmp_path / "asked-ca.pem"))

    lines = [line for line in filled_in("librdkafka").splitlines() if not line.startswith("#")]
    client: Client = dict(line.split("=", 1) for line in lines)  # type: ignore[assignment]  # of text alone
    assert TOPIC in AdminClient(client).list_topics(timeout=20).topics
    made: dict[str, Producer] = {}
    exec(filled_in("python"), made)  # as a person runs it
    assert TOPIC in made["producer"].list_topics(timeout=20).topics
    (tmp_path / "client.properties").write_text(filled_in("java"))
    (tmp_path / "Topics.java").write_text(_JAVA_CLIENT)
    tool = ["java", "-cp", f"{KAFKA_DIR / SPEC.version / 'libs'}/*", str(tmp_path / "Topics.java")]
    asked = [*tool, str(tmp_path / "client.properties")]
    found = subprocess.run(asked, capture_output=True, text=True, timeout=90, check=False)
    assert TOPIC in found.stdout.split(), found.stdout + found.stderr


_JAVA_CLIENT = """
import java.io.FileInputStream;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;

public class Topics {
    public static void main(String[] args) throws Exception {
        Properties said = new Properties();
        said.load(new FileInputStream(args[0]));
        try (Admin admin = Admin.create(said)) {
            admin.listTopics().names().get().forEach(System.out::println);
        }
    }
}
"""


def test_the_open_listener_is_closed_last_and_no_record_is_lost(
    cluster: LivingCluster, everything: list[Writer]
) -> None:
    with Writer("after", _alice(cluster)) as writer:
        restarted = _changed(cluster, listeners=(SCRAM,), authorization={"anonymous": "refuse"})
    everything.append(writer)
    assert (sorted(restarted[:3]), restarted[3:]) == (["one", "three", "two"], ["controllers"] * 3)
    assert (writer.failed, writer.fatal) == ([], "")
    with pytest.raises(Exception, match=r"TRANSPORT|timed out"):
        AdminClient(_client(cluster, TLS["port"])).list_topics(timeout=5)
    wanted = {record for one in everything for record in one.acknowledged}
    assert len(everything) == 2
    read = _read(cluster, len(wanted))
    assert wanted - read.keys() == set(), "acknowledged and not there"
    assert {record: times for record, times in read.items() if times > 1} == {}


def test_what_nodes_run_with_says_so(cluster: LivingCluster) -> None:
    for instance in cluster.detail().instances:
        (folder,) = {p.parent for p in cluster.vm(instance.key).glob("agent/services/*/tls")}
        lines = (folder / "server.properties").read_text().splitlines()
        (users,) = [line for line in lines if line.startswith("super.users=")]
        assert "ANONYMOUS" not in users
        assert not [line for line in lines if "9094" in line]
    told = str([e.data for e in cluster.events()]) + cluster.server.log.read_text(errors="replace")
    logs = (p for p in Path(cluster.cloud).glob("*/instances/*/*/logs/*") if p.is_file())
    assert PASSWORD not in told + "".join(p.read_text(errors="replace") for p in logs)


def _read(cluster: LivingCluster, most: int) -> dict[str, int]:
    """How often each record of the topic is there, read by alice until nothing more comes."""
    consumer = Consumer({**_alice(cluster), "group.id": "readers", "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    read: dict[str, int] = {}

    def all_read() -> bool:
        message = consumer.poll(5.0)
        if message is not None and message.error() is None:
            record = (message.value() or b"").decode()
            read[record] = read.get(record, 0) + 1
        return message is None and len(read) >= most

    until(all_read, "every record to be read", timeout_s=120, every_s=0.0)
    consumer.close()
    return read
