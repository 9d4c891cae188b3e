"""A living cluster in ZooKeeper mode goes from plaintext between its nodes to TLS: three servers and three brokers,
restarted in place step by step, under clients of both kinds, with the server killed half-way; after a first try that
somebody takes back once what is in ZooKeeper was the nodes' own."""

import socket
from dataclasses import replace

import pytest
from kazoo.client import KazooClient

from controlplane.kafka.zookeeper.sessions import new_client
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.doors import Certificate, as_client
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.tls_traffic import tls_traffic
from tests.e2e.tls_way import server_properties, steps_made
from tests.e2e.traffic import traffic
from tests.kafka_topics import create_topic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(3600)]

SPEC = ClusterSpec(name="securing", version="3.9.1", quorum="zookeeper", controllers=3, join_deadline_s=180)
SECURED = replace(SPEC, tls=True)
STEPS = ["Z1", "B1", "Z2", "B2", "B3", "Z3"]
STEP_WITHIN_S = 600.0


def _completed(cluster: LivingCluster, after: int, step: str, position: int) -> None:
    where = f'"position": {position}'
    cluster.event("security.step_completed", after, within_s=STEP_WITHIN_S, where=where)
    assert (step, position) in steps_made(cluster, after)


def _takes_calls(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=10).close()
    except ConnectionRefusedError:
        return False
    return True


def _owners(client: KazooClient, path: str) -> set[tuple[str, tuple[str, ...]]]:
    return {(acl.id.scheme, tuple(acl.acl_list)) for acl in client.get_acls(path)[0]}


def _servers(cluster: LivingCluster, port: int) -> str:
    return ",".join(f"{i.address}:{port}" for i in cluster.detail().instances if i.service == "zookeeper")


def test_it_goes_there_and_back_as_long_as_there_is_a_way_back(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    vms = {i.key for i in cluster.detail().instances}
    with traffic(cluster.bootstrap):
        cluster.declare(SECURED)
        _completed(cluster, before, "B2", 4)
        client = KazooClient(_servers(cluster, 2181))
        client.start(timeout=30)
        assert _owners(client, "/brokers/topics") == {("x509", ("ALL",)), ("world", ("READ",))}
        cluster.declare(SPEC)
        _completed(cluster, before, "Z1", 0)
        assert _owners(client, "/brokers/topics") == {("world", ("ALL",))}
        client.stop()
        client.close()
        settled(cluster, within_s=300)
    assert {i.key for i in cluster.detail().instances} == vms, "no VM was made"
    assert not [e for e in cluster.events(before) if e.type == "restart.revert_requested"]


def test_a_living_cluster_becomes_tls_between_its_nodes(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    vms = {i.key for i in cluster.detail().instances}
    create_topic(cluster.bootstrap(), "secured", partitions=6, rf=3, min_isr=2)
    with traffic(cluster.bootstrap):
        cluster.declare(SECURED)
        _completed(cluster, before, "B1", 2)
        with tls_traffic(cluster, "secured"):
            cluster.event("security.step_requested", before, within_s=STEP_WITHIN_S, where='"step": "Z2"')
            cluster.restart_server()
            for position, step in enumerate(STEPS[2:], start=3):
                _completed(cluster, before, step, position)
            settled(cluster, within_s=300)
    assert steps_made(cluster, before) == [(step, n) for n, step in enumerate(STEPS, start=1)]
    assert {i.key for i in cluster.detail().instances} == vms, "no VM was made"
    assert not [e for e in cluster.events(before) if e.type == "restart.revert_requested"]
    for instance in cluster.detail().instances:
        if instance.service == "zookeeper":
            assert instance.address is not None
            assert (_takes_calls(instance.address, 2182), _takes_calls(instance.address, 2181)) == (True, False)
        else:
            told = server_properties(cluster, instance.key)
            assert told["zookeeper.set.acl"] == "true"
            assert ":2181" not in told["zookeeper.connect"]
            assert told["listener.security.protocol.map"].startswith("REPLICATION:SSL")


def test_what_is_in_zookeeper_is_the_nodes_own_in_the_end(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    broker = next(i for i in cluster.detail().instances if i.service == "broker")
    node = Certificate(cluster.vm(broker.key) / "agent" / "services" / "broker" / "tls" / "node.pem")
    context = as_client(node)
    client = new_client(_servers(cluster, 2182).split(","), "", tls=lambda: context)
    client.start(timeout=30)
    assert ";" not in client.get("/zookeeper/config")[0].decode()
    for path in ("/brokers/topics/secured/partitions/0/state", "/controller", "/config/topics/secured"):
        assert _owners(client, path) == {("x509", ("ALL",)), ("world", ("READ",))}
    client.stop()
    client.close()
