"""Clients of a living cluster that sign in by a password, what they are refused, and whether quotas hold them back."""

from collections.abc import Mapping

from confluent_kafka import Producer

from tests.e2e.living_cluster import LivingCluster
from tests.waiting import until


def writer_of(cluster: str, quotas: str) -> str:
    """A `KafkaUser` that may write and read all topics of `traffic`, with these quotas, a flow mapping of YAML."""
    return f"""\
apiVersion: kedge/v1alpha1
kind: KafkaUser
metadata: {{name: writer}}
spec:
  cluster: {cluster}
  authentication: {{type: scram-sha-512}}
  authorization:
    acls:
      - {{resource: {{type: topic, name: traffic-, patternType: prefix}}, operations: [Read, Write, Describe]}}
      - {{resource: {{type: group, name: traffic-, patternType: prefix}}, operations: [Read, Describe]}}
  quotas: {quotas}
"""


def signed_in(cluster: LivingCluster, user: str, password: str) -> dict[str, str]:
    """A client's properties, but for whom it asks first."""
    signed = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": user, "sasl.password": password}
    ca = cluster.client.endpoints(cluster.spec.name).ca
    return {"security.protocol": "sasl_ssl", "ssl.ca.pem": ca, **signed}


def refusal(cluster: LivingCluster, client: Mapping[str, str], port: int, topic: str) -> str:
    """Why a record for that topic is not taken, by the name of the error; "OK" where it is."""
    outcomes: list[str] = []
    refused: list[str] = []
    told = {"bootstrap.servers": _servers(cluster, port), "log_level": "0"}
    producer = Producer({**client, **told, "error_cb": lambda e: refused.append(e.name())})
    producer.produce(topic, b"x", on_delivery=lambda error, _: outcomes.append(error.name() if error else "OK"))
    until(lambda: producer.poll(0.2) or outcomes or "_AUTHENTICATION" in refused, "an outcome", timeout_s=60)
    return outcomes[0] if outcomes else "_AUTHENTICATION"


def is_held_back(cluster: LivingCluster, client: Mapping[str, str], port: int, topic: str) -> bool:
    """Whether a broker has that client wait when it sends 1.6 MiB at once, as it tells with its answers: rates are
    those of the last ten seconds."""
    waits: list[float] = []
    told = {"bootstrap.servers": _servers(cluster, port), "log_level": "0"}
    producer = Producer({**client, **told, "throttle_cb": lambda e: waits.append(e.throttle_time)})
    for _ in range(100):
        producer.produce(topic, bytes(16 * 1024), partition=0)
    assert producer.flush(120) == 0
    return any(waits)


def _servers(cluster: LivingCluster, port: int) -> str:
    return ",".join(f"{address.rpartition(':')[0]}:{port}" for address in cluster.bootstrap())
