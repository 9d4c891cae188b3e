"""A cluster whose nodes speak TLS lives through what one in plaintext does, with its clients on a TLS listener: a
version roll in which the server and a drained VM die, controllers on new machines, a disk that passes to the next VM, a
restart, faults on purpose. In the end no door is open but those that were declared."""

from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from controlplane.api.schemas import chaos as chaos_api, nodes as node_api
from controlplane.kafka.workload import Workload
from controlplane.storage.certificates.cluster_authorities import SqlClusterAuthorities
from controlplane.storage.certificates.cluster_authority import founded
from controlplane.storage.certificates.principals import principals_of
from controlplane.storage.home import Home
from controlplane.storage.terraform_states.encryption import KeySeal
from events.engine import build_engine
from events.ids import ClusterUid
from tests.e2e.cluster_spec import CONTROLLERS, ClusterSpec
from tests.e2e.doors import Admits, Door, Scan, doors_of, stranger, told
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(1500)]

SPEC = ClusterSpec(name="sealed", tls=True, controllers=3, join_deadline_s=180, heal_after_s=3)
WITHIN_S = 600.0
TLS_PORT = 9094


def tls_traffic(cluster: LivingCluster, *, may_fall_below_min_isr: bool = False) -> AbstractContextManager[Workload]:
    """An idempotent producer and a group on the TLS listener, by the CA that `kedge endpoints --ca` tells."""
    ca = cluster.client.endpoints(cluster.spec.name).ca
    assert "BEGIN CERTIFICATE" in ca
    client = {"security.protocol": "ssl", "ssl.ca.pem": ca}
    return traffic(
        cluster.bootstrap,
        client=client,
        client_port=TLS_PORT,
        records_per_s=100,
        may_fall_below_min_isr=may_fall_below_min_isr,
    )


def _nodes(cluster: LivingCluster, service: str) -> dict[str, tuple[int, str]]:
    return {i.node: (i.service_id, i.address) for i in cluster.detail().instances if i.service == service}


def test_a_version_roll_ends_well_though_the_server_and_a_drained_vm_are_killed_in_it(
    living_cluster: LivingCluster,
) -> None:
    cluster, before, voters = living_cluster, living_cluster.head(), living_cluster.voters()
    controllers = _nodes(cluster, "controller")
    with tls_traffic(cluster, may_fall_below_min_isr=True) as workload:
        cluster.declare(replace(cluster.spec, version="4.2.0", throttle_mib_per_s=4))
        cluster.event("drain.batch_started", before, within_s=WITHIN_S)
        cluster.restart_server()
        first = cluster.event("replacement.completed", before, within_s=WITHIN_S)
        cluster.event("drain.batch_started", first.position, within_s=WITHIN_S)
        (victim,) = cluster.event("drain.requested", first.position).data["keys"]
        assert cluster.moving().moving()
        cluster.power_cut(victim)
        cluster.event("instance.lost", first.position, where=victim)
        settled(cluster, within_s=WITHIN_S)
        assert workload.error == ""
    told_events = [e.type for e in cluster.events(before)]
    assert told_events.count("replacement.completed") == 6
    assert told_events.count("surge.requested") == 6, "no VM was asked for twice"
    finalised = {e.data["feature"] for e in cluster.events(before) if e.type == "feature.finalised"}
    assert "metadata.version" in finalised
    assert {i.kafka_version for i in cluster.detail().instances} == {"4.2.0"}
    assert _nodes(cluster, "controller") == controllers, "controllers keep id and address"
    assert cluster.voters() == voters, "and the disk they vote from"
    _each_start_had_its_certificate(cluster)


def test_controllers_and_a_broker_with_its_disk_pass_to_new_machines(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    controllers, voters, old = _nodes(cluster, "controller"), cluster.voters(), cluster.instance("two-b-0")
    with tls_traffic(cluster):
        cluster.declare(replace(cluster.spec.rolled(CONTROLLERS, "two"), strategy="reattach", throttle_mib_per_s=64))
        settled(cluster, within_s=WITHIN_S)
    assert (_nodes(cluster, "controller"), cluster.voters()) == (controllers, voters)
    new = cluster.instance("two-b-0")
    assert (new.service_id, new.key != old.key) == (old.service_id, True)
    assert "drain.requested" not in [e.type for e in cluster.events(before)]
    _each_start_had_its_certificate(cluster)


def test_a_killed_broker_comes_back_and_a_frozen_one_is_brought_back_by_a_restart(
    living_cluster: LivingCluster,
) -> None:
    cluster, before = living_cluster, living_cluster.head()
    with tls_traffic(cluster, may_fall_below_min_isr=True):
        one, three = cluster.instance("one-a-0"), cluster.instance("three-c-0")
        for fault, vm in (("kill-broker", one.key), ("pause", three.key)):
            order = chaos_api.ChaosIn(fault=fault, vms=[vm], for_s=20, reason="e2e")
            at = cluster.head()
            cluster.client.inject_chaos(cluster.spec.name, order)
            cluster.event("chaos.ended", at, within_s=120)
            cluster.until(lambda: not cluster.snapshot().under_replicated(), "replicas to be in sync", timeout_s=120)
            settled(cluster, within_s=300)
        cluster.client.restart(cluster.spec.name, node_api.RestartIn(brokers=[three.service_id], reason="e2e"))
        cluster.event("restart.requested", before, where=three.key)
        settled(cluster, within_s=300)
    _each_start_had_its_certificate(cluster)


def test_no_door_is_open_but_those_that_were_declared(living_cluster: LivingCluster, tmp_path: Path) -> None:
    cluster, uid = living_cluster, ClusterUid(living_cluster.uid)
    home = Home(cluster.home)
    engine = build_engine(f"sqlite:///{cluster.home / 'kedge.db'}")
    authorities = SqlClusterAuthorities(engine, KeySeal(home.installation().server_key.get_secret_value())).of(uid)
    assert authorities is not None
    engine.dispose()
    foreign, node = founded(ClusterUid("other"), now=datetime.now(UTC)), principals_of(uid).node
    scan = Scan(
        _declared(cluster),
        strangers={
            "a node's name by another CA": stranger(tmp_path, node, foreign.cluster),
            "a node's name by the CA of clients": stranger(tmp_path, node, authorities.clients),
        },
        clients=stranger(tmp_path, "alice", authorities.clients),
    )
    found = doors_of(pid for i in cluster.detail().instances for pid in cluster.pids(i.key))
    kafka = {door for door, admits in scan.declared.items() if admits != "readers of figures"}
    assert kafka <= found, f"declared, and nobody listens: {kafka - found}"
    openings = scan.openings(found)
    assert openings == [], told(openings)


def _declared(cluster: LivingCluster) -> dict[Door, Admits]:
    declared: dict[Door, Admits] = {}
    listeners = cluster.client.endpoints(cluster.spec.name).listeners
    for one in cluster.detail().instances:
        if one.service == "controller":
            declared |= {Door(one.address, 9090): "nodes", Door(one.address, 8779): "readers of figures"}
            continue
        declared |= {Door(one.address, 9091): "nodes", Door(one.address, 8778): "readers of figures"}
        for listener in listeners:
            open_to: Admits = "anybody" if listener.security == "plaintext" else "anybody over TLS"
            declared[Door(one.address, listener.port)] = open_to
    return declared


def _each_start_had_its_certificate(cluster: LivingCluster) -> None:
    """One of each VM that is there, none of a VM that nobody asked for."""
    issued = {e.data["key"] for e in cluster.events() if e.type == "certificate.issued"}
    assert {i.key for i in cluster.detail().instances} <= issued
