"""A cluster that others made: its spec as `kedge import` would write it, and the same in the in-memory Kafka."""

from functools import cache

from controlplane.kafka.features import KRAFT
from events.spec.document import load_documents
from events.spec.model import KafkaClusterDocument
from tests.fakes.kafka import FakeKafka

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
THEIRS = {1: "a", 2: "b", 3: "c"}
"""Broker id -> rack."""

_SPEC = """
apiVersion: kedge/v1alpha1
kind: KafkaCluster
metadata: {{name: orders}}
spec:
  kafka: {{version: {version}{kafka}}}
  external:
    clusterId: {cluster_id}
    listener: {listener}
    controllers: [{controllers}]
    brokers: [{brokers}]{quorum}
  pools: {pools}
  rollout: {{soak: 5s, linger: 5s, joinDeadline: 120s{rollout}}}
  deletionPolicy: {deletion}
"""

_POOL = """
    - name: brokers
      services: [broker]
      size: {size}
      machine: small
      disk: {{kind: persistent, sizeGib: 100}}
      place: {{cloud: local, region: local-1, zones: [a, b, c]}}"""


def an_external_spec(
    *,
    theirs: tuple[int, ...] = (1, 2, 3),
    voters: tuple[int, ...] = (9,),
    quorum: str = "",
    client_properties: str = "",
    ours: int = 0,
    version: str = "4.1.1",
    cluster_id: str = CLUSTER_ID,
    listener: str = "PLAINTEXT",
    kafka: str = "",
    rollout: str = ", throttleMibPerS: 100",
    deletion: str = "retain",
) -> str:
    """The YAML: `theirs` are the brokers still listed, `ours` the size of the pool, 0 for none."""
    listed = ", ".join(f"{{id: {b}, rack: {THEIRS.get(b, 'a')}, host: theirs-{b}.example, port: 9092}}" for b in theirs)
    voting = ", ".join(
        f"{{id: {v}, host: {'theirs' if v == 9 else f'theirs-{v}'}.example, port: 9093}}" for v in voters
    )
    pools = _POOL.format(size=ours) if ours else "[]"
    return _SPEC.format(
        version=version,
        kafka=kafka,
        cluster_id=cluster_id,
        listener=listener,
        controllers=voting,
        brokers=listed,
        quorum=(f"\n    quorum: {quorum}" if quorum else "")
        + (f"\n    clientProperties: {client_properties}" if client_properties else ""),
        pools=pools,
        rollout=rollout,
        deletion=deletion,
    )


@cache
def an_external_document(**overrides: object) -> KafkaClusterDocument:
    """The document of `an_external_spec`."""
    result = load_documents(an_external_spec(**overrides), file="orders.yaml")  # type: ignore[arg-type]
    assert result.ok, result.problems
    return result.documents[0]


def made_by_others(kafka: FakeKafka, *, voters: tuple[int, ...] = (9,), static: bool = False) -> None:
    """Their cluster, as it was before anybody heard of Kedge: its voters, three brokers, a topic with data. `static`:
    a quorum as before KIP-853."""
    kafka.cluster_id = CLUSTER_ID
    for voter in voters:
        kafka.add_controller(voter)
    if static:
        kafka.finalised[KRAFT] = 0
    for broker, rack in THEIRS.items():
        kafka.add_broker(broker, rack)
    kafka.advance(5)
    kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
