"""Pools whose brokers share their VMs with ZooKeeper servers: what is taken, and what is refused."""

import pytest

from events.spec.digest import instance_digest
from events.spec.document import load_documents
from events.spec.model import KafkaClusterDocument
from events.spec.rules import check_change
from planner.rollout.desired import desired_nodes
from tests.builders import a_cohosted_document, a_document, a_spec, a_zookeeper_document

SHARED = {"version": "3.8.1", "quorum": "members", "config": ", mode: zookeeper"}


def _told(text: str) -> list[tuple[str, str]]:
    found = load_documents(text, file="orders.yaml").problems
    return [(p.code, p.message) for p in found if p.severity == "error"]


@pytest.mark.parametrize(("brokers", "zones"), [(1, "a"), (3, "a, b, c"), (5, "a, b, c")])
def test_a_cluster_may_have_both_on_each_of_its_vms(brokers: int, zones: str) -> None:
    assert _told(a_spec(**SHARED, brokers=brokers, zones=zones)) == []


def test_other_pools_have_brokers_alone() -> None:
    assert _told(a_spec(**SHARED, others=3)) == []
    nodes = desired_nodes(a_cohosted_document(others=3))
    assert {n.pool: n.member_heap_mib for n in nodes} == {"brokers": 128, "others": 0}
    assert {n.service for n in nodes} == {"broker"}


@pytest.mark.parametrize("services", ["[broker, zookeeper]", "[zookeeper]"])
def test_one_pool_alone_has_servers(services: str) -> None:
    before, _, after = a_spec(**SHARED, others=3).partition("    - name: others")
    text = f"{before}    - name: others{after.replace('[broker]', services)}"
    assert _told(text) == [("KEDGE-SPEC-030", "pool `others` has ZooKeeper servers, but pool `brokers` has them")]


def test_both_may_stand_in_either_order() -> None:
    text = a_spec(**SHARED).replace("[broker, zookeeper]", "[zookeeper, broker]")
    assert _told(text) == []
    assert {n.service for n in desired_nodes(load_documents(text, file="orders.yaml").documents[0])} == {"broker"}


def test_an_ensemble_of_four_brokers_is_refused_as_one_of_four_servers_is() -> None:
    [(code, message)] = _told(a_spec(**SHARED, brokers=4))
    assert code == "KEDGE-SPEC-031"
    assert "4 ZooKeeper servers; a quorum has 1, 3 or 5" in message


def test_a_kraft_cluster_has_no_such_pool() -> None:
    found = _told(a_spec(version="4.1.1", quorum="members"))
    assert "pool `brokers` has the service `zookeeper`, which a cluster of mode `kraft` does not have" in [
        message for _, message in found
    ]


def test_its_data_is_on_persistent_disks() -> None:
    [(code, message)] = _told(a_spec(**SHARED, disk="ephemeral"))
    assert code == "KEDGE-SPEC-034"
    assert "ZooKeeper servers on an ephemeral disk" in message


def test_its_vms_are_not_pre_emptible() -> None:
    text = a_spec(**SHARED).replace("      machine: small\n", "      machine: small\n      spot: true\n")
    assert [code for code, _ in _told(text)] == ["KEDGE-SPEC-085"]


def test_disks_are_not_handed_over() -> None:
    [(code, message)] = _told(a_spec(**SHARED, strategy="reattach", max_unavailable=1))
    assert code == "KEDGE-SPEC-029"
    assert "with `reattach` one would leave the ensemble before its next VM serves" in message


def test_a_heap_of_its_own_is_for_such_pools_only() -> None:
    text = a_spec().replace("      services: [broker]\n", "      services: [broker]\n      zookeeperHeapMib: 96\n")
    assert _told(text) == [("KEDGE-SPEC-029", "pool `brokers` has no VMs with both a broker and a ZooKeeper server")]


def test_servers_have_128_mib_unless_the_spec_says_otherwise_and_another_heap_makes_no_new_vms() -> None:
    text = a_spec(**SHARED)
    other = text.replace("zookeeper]\n", "zookeeper]\n      zookeeperHeapMib: 96\n")
    before, after = (load_documents(t, file="orders.yaml").documents[0] for t in (text, other))
    assert {n.member_heap_mib for n in desired_nodes(before)} == {128}
    assert {n.member_heap_mib for n in desired_nodes(after)} == {96}
    assert instance_digest(before, "brokers") == instance_digest(after, "brokers")


def test_brokers_beside_servers_get_the_settings_that_brokers_get_elsewhere() -> None:
    config = ", config: {num.partitions: 6}"
    there, elsewhere = a_cohosted_document(config=config), a_zookeeper_document(config=config)
    [made, *others] = [n.settings for n in desired_nodes(there)]
    [alone, *_] = [n.settings for n in desired_nodes(elsewhere) if n.service == "broker"]
    assert made == alone == others[0]
    assert (made["num.partitions"], made["min.insync.replicas"]) == ("6", "2")


def test_a_cluster_with_servers_of_their_own_has_none_beside_brokers() -> None:
    assert {n.member_heap_mib for n in desired_nodes(a_zookeeper_document())} == {0}


def test_a_pool_does_not_become_such_a_one() -> None:
    assert _change(a_zookeeper_document(), a_cohosted_document()) == ["KEDGE-SPEC-070", "KEDGE-SPEC-071"]


def test_other_pools_come_and_go_beside_it_and_it_stays() -> None:
    alone, both = a_cohosted_document(), a_cohosted_document(others=3)
    assert (_change(alone, both), _change(both, alone)) == ([], [])


def test_its_disks_may_become_smaller_as_those_of_brokers_do() -> None:
    assert _change(a_cohosted_document(broker_gib=100), a_cohosted_document(broker_gib=50)) == []


def test_its_servers_may_leave_for_a_pool_of_their_own_which_then_stays() -> None:
    shared = a_cohosted_document(quorum_heap=192, others=3)
    assert _change(shared, a_zookeeper_document(others=3)) == []
    assert _change(shared, a_zookeeper_document(others=3, controllers=5)) == []
    assert _change(a_zookeeper_document(others=3), shared) == ["KEDGE-SPEC-070", "KEDGE-SPEC-071"]


def test_such_a_cluster_is_told_how_it_comes_to_kraft() -> None:
    old, new = a_cohosted_document(version="3.9.1"), a_document(version="3.9.1")
    found = check_change(old, new, data_bytes_per_pool=None)
    [refused] = [p for p in found if p.code == "KEDGE-SPEC-076"]
    assert refused.message == (
        "the cluster's ZooKeeper servers share the VMs of its brokers; a cluster migrates to KRaft from an ensemble "
        "in a pool of its own"
    )
    assert refused.fix.startswith("Keep `mode: zookeeper`, write `services: [broker]` for them and add a pool with")


def _change(old: KafkaClusterDocument, new: KafkaClusterDocument) -> list[str]:
    return [p.code for p in check_change(old, new, data_bytes_per_pool=None)]
