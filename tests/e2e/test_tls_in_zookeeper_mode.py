"""A cluster in ZooKeeper mode born with TLS between all of its nodes: three servers and three brokers of 3.8.1, a user
that signs in by a password and may do what its document says, quotas of the spec and of that user, and with its clients
on that listener what such a cluster lives through: a roll to 3.9.1, a killed broker, a lost server, a server whose disk
is gone, a restart. In the end no door of the ensemble is open to who has no certificate of the cluster."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from controlplane.api.schemas import chaos as chaos_api, nodes as node_api, specs as spec_api
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.workload import Workload
from controlplane.kafka.zookeeper.sessions import new_client
from controlplane.storage.certificates.cluster_authority import founded
from controlplane.storage.certificates.principals import principals_of
from events.ids import ClusterUid
from planner.rights.step import QuotaChange
from planner.rights.wanted import QuotaEntity, client_entity, user_entity
from tests.e2e.cluster_spec import CONTROLLERS, ClusterSpec
from tests.e2e.doors import Admits, Certificate, Door, Scan, as_client, doors_of, ensemble_answers, stranger, told
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.signed_in import is_held_back, refusal, signed_in, writer_of
from tests.e2e.traffic import traffic
from tests.kafka_topics import create_topic
from tests.waiting import until

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(1200)]

Quotas = Mapping[QuotaEntity, Mapping[str, float]]

PLAINTEXT = {"name": "PLAINTEXT", "port": 9092}
SCRAM = {
    "name": "SCRAM",
    "port": 9096,
    "security": "tls",
    "authentication": {"type": "scram-sha-512", "reauthenticate": "30s"},
}
SPEC = ClusterSpec(
    name="kept",
    version="3.8.1",
    quorum="zookeeper",
    controllers=3,
    tls=True,
    listeners=(PLAINTEXT, SCRAM),
    authorization={"anonymous": "full"},
    join_deadline_s=180,
    heal_after_s=3,
)
WITHIN_S = 600.0
USERS = writer_of("kept", "{producerByteRate: 10485760}")
_OWN_QUOTAS = "  quotas: {producerByteRate: 10485760}\n"
QUOTAS = {
    "defaultUser": {"requestPercentage": 400},
    "defaultClientId": {"controllerMutationRate": 100},
    "clientIds": [{"clientId": "slow", "producerByteRate": 65536}],
    "tiers": {"critical": {"consumerByteRate": 104857600}},
}
HELD_BACK = """\
  tier: critical
  quotas: {producerByteRate: 10485760, byClientId: [{clientId: backfill, producerByteRate: 65536}]}
"""


@pytest.fixture(scope="module")
def given() -> dict[str, str]:
    """The password of the writer, once it was collected."""
    return {}


def _writer(cluster: LivingCluster, given: dict[str, str]) -> dict[str, str]:
    return signed_in(cluster, "writer", given["writer"])


def _traffic(
    cluster: LivingCluster, given: dict[str, str], *, may_fall_below_min_isr: bool = False
) -> AbstractContextManager[Workload]:
    """An idempotent producer and a group that sign in as the writer."""
    return traffic(
        cluster.bootstrap,
        client=_writer(cluster, given),
        client_port=9096,
        records_per_s=100,
        may_fall_below_min_isr=may_fall_below_min_isr,
    )


def _servers(cluster: LivingCluster) -> dict[str, tuple[int, str]]:
    return {i.node: (i.service_id, i.address) for i in cluster.detail().instances if i.service == "zookeeper"}


def _node(cluster: LivingCluster, service: str = "zookeeper") -> Certificate:
    """The certificate of one of the nodes."""
    one = next(i for i in cluster.detail().instances if i.service == service)
    return Certificate(cluster.vm(one.key) / "agent" / "services" / service / "tls" / "node.pem")


def _ensemble(cluster: LivingCluster) -> KazooClient:
    """A session as a broker has one."""
    endpoints = [f"{address}:2182" for _, address in _servers(cluster).values()]
    context = as_client(_node(cluster, "broker"))
    client = new_client(endpoints, "", tls=lambda: context)
    client.start(timeout=10)
    return client


def test_a_declared_user_may_do_what_its_document_says(living_cluster: LivingCluster, given: dict[str, str]) -> None:
    cluster, name = living_cluster, living_cluster.spec.name
    answer = cluster.client.apply(spec_api.ApplyIn(text=USERS, file="users.yaml"))
    assert [one.sentence for one in answer.users] == ["1 user of kept declared: writer"]

    def is_there() -> bool | None:
        return cluster.client.kafka_user(name, "writer").state == "InSync" or None

    cluster.until(is_there, "the writer as declared", timeout_s=180)
    given["writer"] = cluster.client.collect_password(name, "writer").password
    with _traffic(cluster, given) as workload:
        until(lambda: workload.acknowledged > 200, "records of the writer", timeout_s=60)
    assert refusal(cluster, _writer(cluster, given), 9096, "ledger") == "TOPIC_AUTHORIZATION_FAILED"
    wrong = {**_writer(cluster, given), "sasl.password": "another"}
    assert refusal(cluster, wrong, 9096, "ledger") == "_AUTHENTICATION"


def test_quotas_hold_producers_back_are_put_right_and_go_with_their_declaration(
    living_cluster: LivingCluster, given: dict[str, str]
) -> None:
    cluster, before, topic = living_cluster, living_cluster.head(), "traffic-quotas"
    create_topic(cluster.bootstrap(), topic, partitions=3, rf=3, min_isr=2)
    own, slow = user_entity("writer"), client_entity("slow")
    declared = {
        user_entity(None): {"request_percentage": 400.0},
        client_entity(None): {"controller_mutation_rate": 100.0},
        slow: {"producer_byte_rate": 65536.0},
    }
    backfill = client_entity("backfill", own)
    of_writer = {
        own: {"producer_byte_rate": 10485760.0, "consumer_byte_rate": 104857600.0},
        backfill: {"producer_byte_rate": 65536.0},
    }
    cluster.declare(replace(cluster.spec, quotas=QUOTAS))
    cluster.client.apply(spec_api.ApplyIn(text=USERS.replace(_OWN_QUOTAS, HELD_BACK), file="users.yaml"))
    _quotas_are(cluster, declared, of_writer)
    writer = {**_writer(cluster, given), "client.id": "backfill"}
    assert is_held_back(cluster, writer, 9096, topic)
    assert not is_held_back(cluster, {**writer, "client.id": "another"}, 9096, topic)
    assert is_held_back(cluster, {"client.id": "slow"}, 9092, topic)
    assert not is_held_back(cluster, {"client.id": "another"}, 9092, topic)
    by_hand: dict[QuotaEntity, QuotaChange] = {
        slow: {"producer_byte_rate": 1.0},
        backfill: {"producer_byte_rate": None},
    }
    assert cluster.kafka().change_client_quotas(by_hand) == {}
    _quotas_are(cluster, declared, of_writer)
    cluster.declare(replace(cluster.spec, quotas={}))
    cluster.client.apply(spec_api.ApplyIn(text=USERS, file="users.yaml"))
    _quotas_are(cluster, {}, {own: {"producer_byte_rate": 10485760.0}})
    assert not is_held_back(cluster, {"client.id": "slow"}, 9092, topic)
    settled(cluster, within_s=180)
    assert not [e.type for e in cluster.events(before) if e.type in ("restart.requested", "surge.requested")]


def _quotas_are(cluster: LivingCluster, declared: Quotas, of_writer: Quotas) -> None:
    """In Kafka, and nothing else, once Kedge has seen to it: it looks once a minute."""

    def look() -> bool | None:
        try:
            kafka = cluster.kafka()
            return (kafka.client_quotas(), kafka.user_rights().quotas_of("writer")) == (declared, of_writer) or None
        except KafkaUnavailable:
            return None

    cluster.until(look, f"{declared} and {of_writer}", timeout_s=240, every_s=1.0)


def test_what_brokers_keep_of_users_nodes_alone_read_and_change(living_cluster: LivingCluster) -> None:
    node = f"CN={principals_of(ClusterUid(living_cluster.uid)).node}"
    client = _ensemble(living_cluster)
    try:
        users, rights = client.get_acls("/config/users/writer")[0], client.get_acls("/kafka-acl/Topic")[0]
        assert [(a.id.scheme, a.id.id, a.acl_list) for a in users] == [("x509", node, ["ALL"])]
        assert ("x509", node, ["ALL"]) in [(a.id.scheme, a.id.id, a.acl_list) for a in rights]
        assert [a.acl_list for a in rights if a.id.scheme == "world"] == [["READ"]]
    finally:
        client.stop()
        client.close()


def test_it_rolls_to_the_next_kafka_and_raises_its_protocol_last(
    living_cluster: LivingCluster, given: dict[str, str]
) -> None:
    cluster, before, was = living_cluster, living_cluster.head(), _servers(living_cluster)
    with _traffic(cluster, given):
        cluster.declare(replace(cluster.spec, version="3.9.1"))
        settled(cluster, within_s=WITHIN_S)
    assert _servers(cluster) == was
    rolled = [e.type for e in cluster.events(before)]
    assert rolled.count("replacement.completed") == 6
    assert rolled.count("restart.completed") == 3
    assert rolled.index("protocol.raised") < rolled.index("restart.requested")
    assert {i.kafka_version for i in cluster.detail().instances} == {"3.9.1"}


def test_a_killed_broker_a_lost_server_and_an_asked_for_restart(
    living_cluster: LivingCluster, given: dict[str, str]
) -> None:
    cluster, was = living_cluster, _servers(living_cluster)
    with _traffic(cluster, given, may_fall_below_min_isr=True):
        at, broker = cluster.head(), cluster.instance("one-a-0")
        # Longer than its session lasts in ZooKeeper: before, it is registered though nobody is there.
        order = chaos_api.ChaosIn(fault="kill-broker", vms=[broker.key], for_s=40, reason="e2e")
        cluster.client.inject_chaos(cluster.spec.name, order)
        cluster.event("chaos.ended", at, within_s=120)
        cluster.until(lambda: _is_whole(cluster) or None, "three brokers with replicas in sync", timeout_s=120)
        settled(cluster, within_s=300)
        at, victim = cluster.head(), next(i for i in cluster.detail().instances if i.node.startswith(CONTROLLERS))
        cluster.power_cut(victim.key)
        cluster.event("replacement.completed", at, where=victim.node, within_s=300)
        settled(cluster, within_s=300)
        at = cluster.head()
        cluster.client.restart(cluster.spec.name, node_api.RestartIn(reason="e2e"))
        cluster.event("restart.completed", at, within_s=300)
        settled(cluster, within_s=WITHIN_S)
    restarted = [e.data["key"].partition("-")[0] for e in cluster.events(at) if e.type == "restart.requested"]
    assert (sorted(restarted[:3]), restarted[3:]) == (["one", "three", "two"], [CONTROLLERS] * 3)
    assert _servers(cluster) == was


def _is_whole(cluster: LivingCluster) -> bool:
    seen = cluster.snapshot()
    return len(seen.live_brokers()) == 3 and not seen.under_replicated()


def test_a_server_whose_disk_is_gone_leaves_the_ensemble_and_joins_it_anew(
    living_cluster: LivingCluster, given: dict[str, str]
) -> None:
    """Both are changes of the ensemble, whose members have no port in plaintext that ZooKeeper asks for otherwise."""
    cluster, before, was = living_cluster, living_cluster.head(), _servers(living_cluster)
    victim = next(i for i in cluster.detail().instances if i.node.startswith(CONTROLLERS))
    with _traffic(cluster, given):
        cluster.lose_directory(victim.key, of="zookeeper")
        order = chaos_api.ChaosIn(fault="kill-zookeeper", vms=[victim.key], for_s=10, reason="e2e")
        cluster.client.inject_chaos(cluster.spec.name, order)
        cluster.event("voter.removed", before, within_s=300)
        cluster.event("voter.added", before, within_s=300)
        settled(cluster, within_s=WITHIN_S)
    assert _servers(cluster) == was


def test_no_door_is_open_but_those_that_were_declared(living_cluster: LivingCluster, tmp_path: Path) -> None:
    cluster, uid = living_cluster, ClusterUid(living_cluster.uid)
    foreign = founded(ClusterUid("other"), now=datetime.now(UTC))
    scan = Scan(
        _declared(cluster),
        strangers={"a node's name by another CA": stranger(tmp_path, principals_of(uid).node, foreign.cluster)},
        clients=stranger(tmp_path, "alice", foreign.clients),
    )
    found = doors_of(pid for i in cluster.detail().instances for pid in cluster.pids(i.key))
    wanted = {door for door, admits in scan.declared.items() if admits != "readers of figures" and door.port != 2888}
    assert wanted <= found, f"declared, and nobody listens: {wanted - found}"
    own = as_client(_node(cluster))
    open_to_nodes = {
        door.port for door in found if scan.declared.get(door) == "members" and ensemble_answers(door, own)
    }
    assert open_to_nodes == {2182, 2888, 3888}, "a scan that sees no door open to a node sees nothing"
    openings = scan.openings(found)
    assert openings == [], told(openings)


def _declared(cluster: LivingCluster) -> dict[Door, Admits]:
    declared: dict[Door, Admits] = {}
    for one in cluster.detail().instances:
        if one.service == "zookeeper":
            declared |= {Door(one.address, port): "members" for port in (2182, 2888, 3888)}
            declared[Door(one.address, 8780)] = "readers of figures"
        else:
            users: dict[Door, Admits] = {
                Door(one.address, 9092): "anybody",
                Door(one.address, 9096): "anybody over TLS",
            }
            declared |= {Door(one.address, 9091): "nodes", Door(one.address, 8778): "readers of figures", **users}
    return declared
