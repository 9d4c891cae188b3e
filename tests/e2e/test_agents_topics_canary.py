"""A canary in the topics of agents: a real server, real agents over TLS, real brokers; what was sent is read back raw.

Planted are the VMs' own secrets, those of the server's home and its environment, a setting that is refused, and lines
of a broker's log and of the agent's that hold secrets by their shape.
"""

import json
import secrets
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, TopicPartition

from agent.wire import BootData
from controlplane.api.schemas import specs as spec_api
from controlplane.background.log_reader.topic import LOGS_TOPIC
from controlplane.storage.home import Home
from spark.metrics.topic import TOPIC as METRICS_TOPIC
from tests.e2e.living_cluster import LivingCluster

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(570)]

OF_A_CLOUD = f"canary-{secrets.token_hex(20)}"
SERVER_SETTINGS = {
    "KEDGE_AGENT_HOST": "127.0.43.24",
    "KEDGE_AGENT_PORT": "0",
    "KEDGE_METRICS": "true",
    "KEDGE_TELEMETRY__LOGS": "true",
    "AWS_SECRET_ACCESS_KEY": OF_A_CLOUD,
}
MEASURED_WITHIN_S = 200.0
"""An interval is a minute, and the first one begins with one."""

SHAPES = {
    "a setting": "WARN ssl.keystore.password = {} (kafka.Test)",
    "a login": 'WARN sasl.jaas.config=o.a.k.PlainLoginModule required username="u" password="{}"; (kafka.Test)',
    "a header": "INFO sent Authorization: Bearer {} to it (kafka.Test)",
    "an address": "ERROR https://ada:{}@registry.example/subjects does not answer (kafka.Test)",
    "a trace": "ERROR it failed (kafka.Test)\njava.lang.IllegalStateException: secret={}\n\tat kafka.A.b(A.java:1)",
}
"""Lines of a log as brokers, their plugins and people's programs write them."""


def test_no_secret_is_in_what_agents_send(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    broker = next(i for i in cluster.detail().instances if i.service == "broker")
    vm = cluster.vm(broker.key)
    planted = {shape: f"canary-{secrets.token_hex(20)}" for shape in SHAPES}
    refused = f"canary-{secrets.token_hex(20)}"
    own = _of_the_vm(vm)
    with (vm / "logs" / "broker.log").open("a") as log:
        for shape, line in SHAPES.items():
            log.write(f"[{_now()}] {line.format(planted[shape])}\n")
        for what, secret in own.items():
            log.write(f"[{_now()}] WARN handshake with {secret} failed: {what} (kafka.Test)\n")
        log.write(f"[{_now()}] INFO the last of the lines (kafka.Test)\n")
    with (vm / "logs" / "agent.log").open("a") as log:
        log.write(f"{_now()} WARNING agent.test: {own['its credential']} is told, password={planted['a setting']}\n")
    text = replace(cluster.spec, config={"sasl.jaas.config": refused}).text()
    assert not cluster.client.apply(spec_api.ApplyIn(text=text, file="refused.yaml", message="")).ok

    keys = {i.service_id for i in cluster.detail().instances if i.service == "broker"}

    def measured() -> bool | None:
        found = {int(key.split(b"/")[2]) for key, _ in records(cluster, METRICS_TOPIC)}
        return found >= keys or None

    cluster.until(measured, "each broker in the topic of metrics", timeout_s=MEASURED_WITHIN_S, every_s=2.0)
    cluster.until(
        lambda: any(b"the last of the lines" in value for _, value in records(cluster, LOGS_TOPIC)) or None,
        "the planted lines in the topic of logs",
        timeout_s=60,
        every_s=1.0,
    )
    sent = [*records(cluster, METRICS_TOPIC), *records(cluster, LOGS_TOPIC)]
    logs = b"\n".join(value for _, value in records(cluster, LOGS_TOPIC)).decode()
    everything = b"\n".join(part for record in sent for part in record).decode("utf-8", "replace")
    everything += "\n".join(_read(value) for _, value in records(cluster, METRICS_TOPIC))
    home = Home(cluster.home)
    sought = {
        **planted,
        **own,
        "a setting that was refused": refused,
        "a cloud's, of the server's environment": OF_A_CLOUD,
        "the home's token": home.installation().token.get_secret_value(),
        "the home's key": home.installation().server_key.get_secret_value().decode("latin-1"),
    }
    assert [what for what, secret in sought.items() if any(form in everything for form in _forms(secret))] == []
    for what in own:
        assert f"failed: {what}" in logs, "the line itself is told, without its secret"
    for seen in ("ssl.keystore.password = [hidden]", "Authorization: Bearer [hidden]", "https://ada:[hidden]@registry"):
        assert seen in logs
    assert '"ledger"' in everything, "what is looked through would show it"


def records(cluster: LivingCluster, topic: str) -> list[tuple[bytes, bytes]]:
    """Key and value of every record of every partition, as it is in Kafka."""
    consumer = Consumer({"bootstrap.servers": ",".join(cluster.bootstrap()), "group.id": "canary", "log_level": 0})
    found: list[tuple[bytes, bytes]] = []
    try:
        about = consumer.list_topics(topic, 10).topics[topic]
        for partition in about.partitions:
            at = TopicPartition(topic, partition, 0)
            begin, end = consumer.get_watermark_offsets(at, 10)
            at.offset = begin
            consumer.assign([at])
            while begin < end:
                for message in consumer.consume(1000, 5):
                    assert message.error() is None, message.error()
                    found.append((message.key() or b"", message.value() or b""))
                    begin = (message.offset() or 0) + 1
    finally:
        consumer.close()
    return found


def _read(value: bytes) -> str:
    """A metrics message with all its names, those of its schema too."""
    with pa.ipc.open_stream(value) as stream:
        return f"{stream.schema} {stream.schema.metadata} " + json.dumps(stream.read_all().to_pylist())


def _of_the_vm(vm: Path) -> dict[str, str]:
    boot = BootData.model_validate_json((vm / "boot.json").read_bytes())
    pem = (vm / "agent" / "certificate.pem").read_text()
    key = pem.partition("-----BEGIN CERTIFICATE")[0].strip()
    return {
        "its credential": (vm / "agent" / "credential").read_text().strip(),
        "its token": boot.token.get_secret_value(),
        "its key": key,
        "a line of its key": key.splitlines()[1],
    }


def _forms(secret: str) -> set[str]:
    """As it is, and as JSON spells it."""
    return {secret, json.dumps(secret)[1:-1]}


def _now() -> str:
    return datetime.now(UTC).isoformat(sep=" ", timespec="milliseconds").split("+")[0].replace(".", ",")
