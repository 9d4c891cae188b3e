"""A cluster in ZooKeeper mode born with TLS between all of its nodes goes to KRaft, with TLS all the way: a user that
signs in by a password writes and reads all along, and has its rights, its quotas and its password in the end, though
some of them were changed while both were written. No door is open to who has no certificate, then as before."""

from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from controlplane.api.schemas import specs as spec_api
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.workload import Workload
from controlplane.storage.certificates.cluster_authority import founded
from controlplane.storage.certificates.principals import principals_of
from events.ids import ClusterUid
from planner.rights.seen import RightsSeen
from planner.rights.wanted import client_entity, user_entity
from tests.e2e.cluster_spec import CONTROLLERS, POOLS, ClusterSpec
from tests.e2e.doors import Admits, Door, Scan, doors_of, stranger, told
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.signed_in import is_held_back, refusal, signed_in, writer_of
from tests.e2e.tls_way import server_properties
from tests.e2e.traffic import traffic
from tests.kafka_topics import create_topic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(1800)]

SCRAM = {
    "name": "SCRAM",
    "port": 9096,
    "security": "tls",
    "authentication": {"type": "scram-sha-512", "reauthenticate": "30s"},
}
SPEC = ClusterSpec(
    name="departing",
    version="3.9.1",
    quorum="zookeeper",
    quorum_pool="zookeepers",
    controllers=1,
    tls=True,
    listeners=({"name": "PLAINTEXT", "port": 9092}, SCRAM),
    authorization={"anonymous": "full"},
    quotas={"clientIds": [{"clientId": "slow", "producerByteRate": 65536}]},
    join_deadline_s=240,
)
IN_KRAFT = replace(SPEC, quorum="controller", quorum_pool=CONTROLLERS, controllers=3)
WITHIN_S = 900.0
USERS = writer_of(
    "departing", "{producerByteRate: 10485760, byClientId: [{clientId: backfill, producerByteRate: 65536}]}"
)
MEANWHILE = USERS.replace("operations: [Read, Write, Describe]", "operations: [Read, Write, Describe, DescribeConfigs]")
OWN, BACKFILL, SLOW = user_entity("writer"), client_entity("backfill", user_entity("writer")), client_entity("slow")


@pytest.fixture(scope="module")
def given() -> dict[str, str]:
    """The password of the writer, once it was collected."""
    return {}


def _writer(cluster: LivingCluster, given: dict[str, str]) -> dict[str, str]:
    return signed_in(cluster, "writer", given["writer"])


def _traffic(cluster: LivingCluster, given: dict[str, str]) -> AbstractContextManager[Workload]:
    return traffic(cluster.bootstrap, client=_writer(cluster, given), client_port=9096, records_per_s=100)


def _rights(cluster: LivingCluster) -> RightsSeen:
    def look() -> RightsSeen | None:
        try:
            return cluster.kafka().user_rights()
        except KafkaUnavailable:
            return None

    return cluster.until(look, "Kafka to tell of users", timeout_s=60)


def _operations(seen: RightsSeen) -> list[str]:
    return sorted(a.operation for a in seen.acls_of("writer") if (a.resource, a.name) == ("topic", "traffic-"))


def _declared(cluster: LivingCluster, text: str) -> None:
    cluster.client.apply(spec_api.ApplyIn(text=text, file="users.yaml"))

    def is_there() -> bool | None:
        return cluster.client.kafka_user(cluster.spec.name, "writer").state == "InSync" or None

    cluster.until(is_there, "the writer as declared", timeout_s=300)


def _brokers(cluster: LivingCluster) -> set[str]:
    return {i.key for i in cluster.detail().instances if i.service == "broker"}


def _has_what_it_was_given(cluster: LivingCluster, given: dict[str, str], operations: list[str]) -> None:
    """ACLs, quotas and the password, as Kafka tells them and as a client meets them."""
    seen, writer = _rights(cluster), _writer(cluster, given)
    assert _operations(seen) == operations
    assert seen.quotas_of("writer") == {
        OWN: {"producer_byte_rate": 10485760.0},
        BACKFILL: {"producer_byte_rate": 65536.0},
    }
    assert cluster.kafka().client_quotas() == {SLOW: {"producer_byte_rate": 65536.0}}
    assert set(seen.credentials["writer"]) == {"SCRAM-SHA-512"}
    assert refusal(cluster, writer, 9096, "ledger") == "TOPIC_AUTHORIZATION_FAILED"
    assert refusal(cluster, {**writer, "sasl.password": "another"}, 9096, "ledger") == "_AUTHENTICATION"


def test_a_user_has_a_password_rights_and_quotas_in_zookeeper(
    living_cluster: LivingCluster, given: dict[str, str]
) -> None:
    cluster = living_cluster
    _declared(cluster, USERS)
    given["writer"] = cluster.client.collect_password(cluster.spec.name, "writer").password
    _has_what_it_was_given(cluster, given, ["Describe", "Read", "Write"])


def test_it_migrates_under_clients_that_sign_in_and_what_is_changed_meanwhile_is_kept(
    living_cluster: LivingCluster, given: dict[str, str]
) -> None:
    cluster, before = living_cluster, living_cluster.head()
    was, cluster_id = (
        {i.key for i in cluster.detail().instances if i.service == "broker"},
        cluster.snapshot().cluster_id,
    )
    with _traffic(cluster, given):
        cluster.declare(IN_KRAFT)
        cluster.event("migration.service_started", before, within_s=WITHIN_S, where='"knows": "the quorum"')
        _declared(cluster, MEANWHILE)
        cluster.restart_server()
        ended = cluster.event("migration.ended", before, within_s=WITHIN_S)
        settled(cluster, within_s=WITHIN_S)
    starts = [e.data for e in cluster.events(before) if e.type == "migration.service_started"]
    assert ended.data["mode"] == "kraft"
    assert [e["knows"] for e in starts if e["service"] == "broker"] == ["both"] * len(POOLS) + ["the quorum"] * len(
        POOLS
    )
    assert {i.service for i in cluster.detail().instances} == {"broker", "controller"}
    assert _brokers(cluster) == was, "no broker got another VM"
    assert not [e.type for e in cluster.events(before) if e.type == "restart.requested"]
    now = cluster.snapshot()
    assert (now.mode, now.cluster_id) == ("kraft", cluster_id)
    assert len([m for m in now.quorum.members if m.is_voter]) == IN_KRAFT.controllers


def test_the_user_has_all_of_it_in_kraft(living_cluster: LivingCluster, given: dict[str, str]) -> None:
    cluster, topic = living_cluster, "traffic-after"
    _has_what_it_was_given(cluster, given, ["Describe", "DescribeConfigs", "Read", "Write"])
    create_topic(cluster.bootstrap(), topic, partitions=3, rf=3, min_isr=2)
    writer = _writer(cluster, given)
    assert is_held_back(cluster, {**writer, "client.id": "backfill"}, 9096, topic)
    assert not is_held_back(cluster, {**writer, "client.id": "another"}, 9096, topic)
    assert is_held_back(cluster, {"client.id": "slow"}, 9092, topic)
    for one in cluster.detail().instances:
        told_of = server_properties(cluster, one.key)
        assert told_of["authorizer.class.name"].endswith(".StandardAuthorizer")
        assert not [key for key in told_of if key.startswith("zookeeper.")]


def test_no_door_is_open_but_those_that_were_declared(living_cluster: LivingCluster, tmp_path: Path) -> None:
    cluster, uid = living_cluster, ClusterUid(living_cluster.uid)
    foreign = founded(ClusterUid("other"), now=datetime.now(UTC))
    declared: dict[Door, Admits] = {}
    for one in cluster.detail().instances:
        if one.service == "controller":
            declared |= {Door(one.address, 9090): "nodes", Door(one.address, 8779): "readers of figures"}
        else:
            declared |= {Door(one.address, 9091): "nodes", Door(one.address, 8778): "readers of figures"}
            declared |= {Door(one.address, 9092): "anybody", Door(one.address, 9096): "anybody over TLS"}
    scan = Scan(
        declared,
        strangers={"a node's name by another CA": stranger(tmp_path, principals_of(uid).node, foreign.cluster)},
        clients=stranger(tmp_path, "alice", foreign.clients),
    )
    found = doors_of(pid for i in cluster.detail().instances for pid in cluster.pids(i.key))
    wanted = {door for door, admits in declared.items() if admits != "readers of figures"}
    assert wanted <= found, f"declared, and nobody listens: {wanted - found}"
    openings = scan.openings(found)
    assert openings == [], told(openings)
