"""The stories of clusters whose ZooKeeper servers share the VMs of their brokers, told and compared as those of rolls
are (`test_golden_rolls`)."""

from collections.abc import Callable

import pytest

from controlplane.cluster.cohosted_zookeeper import votes
from events import facts
from tests.builders import a_cohosted_document
from tests.sequences.recorded import told_as_recorded_by
from tests.sim.asking import ask_for_restart
from tests.sim.world import World


def _born(world: World, size: int = 3) -> None:
    world.declare(a_cohosted_document(brokers=size))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _kinds(world: World) -> list[str]:
    return [r.type for r in world.history()]


def _wait(world: World, seconds: float) -> None:
    until = world.seconds + seconds
    while world.seconds < until:
        world.tick()


def _votes_are_where_brokers_are(world: World) -> None:
    """Each broker's server votes, and nobody else does."""
    view = world.view()
    servers = {i.service_id: i.planned.volumes[0].directory_id for i in view.controllers()}
    assert world.kafka.voters() == servers
    assert len(servers) == len(view.brokers())
    assert all(votes(view, server) for server in view.controllers())
    assert world.kafka.under_min_isr_s == 0


def cohosted_cluster_is_founded(world: World) -> None:
    """Servers start first; no broker starts before the ensemble holds the cluster's id."""
    _born(world)
    kinds = _kinds(world)
    assert kinds.index("ensemble.founded") < kinds.index("ensemble.cluster_id_fixed") < kinds.index("instance.joined")
    assert len(world.machines.created) == 3
    _votes_are_where_brokers_are(world)


def cohosted_cluster_becomes_3_9(world: World) -> None:
    """One VM after the other: its server gets a vote, its broker is filled, then the old server leaves, then both of
    the old VM stop. One broker, whose list of servers was made first, is told anew; then the protocol is raised."""
    _born(world)
    world.declare(a_cohosted_document(version="3.9.1"))
    world.converge(ticks=900)
    kinds = _kinds(world)
    changes = [k for k in kinds if k in ("voter.added", "drain.requested", "voter.removed", "instance.fenced")]
    assert changes == ["voter.added", "drain.requested", "voter.removed", "instance.fenced"] * 3
    assert kinds.count("protocol.raised") == 1
    there = world.view().alive()
    assert {i.planned.kafka_version for i in there} == {"3.9.1"}
    assert {world.machines.protocols[i.service_id] for i in there} == {"3.9"}
    assert all(
        i.start.listed is not None and len(i.start.listed & world.view().quorum.voters.keys()) >= 2 for i in there
    )
    _votes_are_where_brokers_are(world)


def cohosted_vm_is_lost(world: World) -> None:
    """The dead server leaves first, since its vote counts in every majority; then the new one comes in."""
    _born(world)
    world.machines.power_cut("brokers-b-0.g1")
    _wait(world, 10)
    world.converge()
    assert [k for k in _kinds(world) if k in ("voter.added", "voter.removed")] == ["voter.removed", "voter.added"]
    _votes_are_where_brokers_are(world)


def cohosted_cluster_of_3_becomes_5_and_3_again(world: World) -> None:
    """Brokers that leave are emptied before their servers lose their votes."""
    _born(world)
    world.declare(a_cohosted_document(brokers=5))
    world.converge()
    _votes_are_where_brokers_are(world)
    world.declare(a_cohosted_document(brokers=3))
    world.converge()
    _votes_are_where_brokers_are(world)


def broker_beside_a_server_is_restarted_alone(world: World) -> None:
    """A setting that Kafka reads when it starts: servers keep their processes."""
    _born(world)
    before = {k: vm.member for k, vm in world.machines.vms.items()}
    world.declare(a_cohosted_document(config=", config: {queued.max.requests: 600}"))
    world.converge()
    assert _kinds(world).count("restart.completed") == 3
    assert {k: vm.member for k, vm in world.machines.vms.items()} == before
    _votes_are_where_brokers_are(world)


def server_beside_a_broker_dies_and_comes_back(world: World) -> None:
    """Its agent starts it again: nothing is decided for it."""
    _born(world)
    events = len(world.history())
    world.machines.stop_process("brokers-b-0.g1", beside=True)
    _wait(world, 20)
    assert len(world.history()) == events
    _votes_are_where_brokers_are(world)


def broker_beside_a_server_loses_their_disk(world: World) -> None:
    """Neither starts again: a new VM is made, the dead server's vote goes, and the others fill the new broker."""
    _born(world)
    world.machines.lose_volume("brokers-b-0.g1")
    world.machines.stop_process("brokers-b-0.g1", beside=True)
    world.run(until=lambda w: not w.is_converged(), ticks=120)
    world.converge(ticks=600)
    assert [k for k in _kinds(world) if k in ("voter.added", "voter.removed")] == ["voter.removed", "voter.added"]
    assert world.view().of_node("brokers-b-0")[-1].planned.generation == 2
    assert set(world.kafka.voters()) == {100, 102, 103}


def server_beside_a_broker_becomes_unhealthy(world: World) -> None:
    """It gets a fresh process, behind the gate of the ensemble; its broker runs on. Unhealthy again, its VM is
    replaced."""
    _born(world)
    brokers = {k: vm.process for k, vm in world.machines.vms.items()}
    world.machines.become_unhealthy("brokers-b-0.g1/zookeeper", "deadlock", lasts=True)
    world.run(until=lambda w: "restart.completed" in _kinds(w), ticks=120)
    assert {k: vm.process for k, vm in world.machines.vms.items()} == brokers
    assert (world.view().instances["brokers-b-0.g1"].member.starts, world.kafka.under_min_isr_s) == (2, 0)
    world.run(until=lambda w: "node.replace_requested" in _kinds(w), ticks=900)
    world.machines.illnesses.clear()
    world.converge(ticks=600)
    assert {i.key for i in world.view().alive()} == {"brokers-a-0.g1", "brokers-b-0.g2", "brokers-c-0.g1"}
    _votes_are_where_brokers_are(world)


def server_beside_a_broker_loses_its_directory(world: World) -> None:
    """Its broker serves on: it is emptied onto the next VM, whose server votes instead of the dead one."""
    _born(world)
    world.machines.lose_member("brokers-b-0.g1")
    world.run(until=lambda w: not w.is_converged(), ticks=120)
    world.converge(ticks=600)
    kinds = _kinds(world)
    told = ("volume.lost", "voter.removed", "voter.added", "drain.requested", "instance.fenced")
    assert [k for k in kinds if k in told] == list(told)
    _votes_are_where_brokers_are(world)


def _member_heaps(world: World) -> set[int]:
    return {vm.member.document.heap_mib for vm in world.machines.vms.values() if vm.member}


def servers_beside_brokers_get_another_heap(world: World) -> None:
    """In place, the first one watched, the leader last; no broker is restarted and no vote is changed."""
    _born(world)
    brokers = {k: vm.process for k, vm in world.machines.vms.items()}
    leader = world.kafka.snapshot().quorum.leader
    world.declare(a_cohosted_document(quorum_heap=192))
    world.converge()
    assert _member_heaps(world) == {192}
    assert {k: vm.process for k, vm in world.machines.vms.items()} == brokers
    asked = [r.data["key"] for r in world.history() if r.type == "restart.requested"]
    last = next(m.key for m in world.view().controllers() if m.service_id == leader)
    assert (len(asked), asked[-1]) == (3, last)
    assert "voter.removed" not in _kinds(world)
    _votes_are_where_brokers_are(world)


def heap_of_servers_beside_brokers_is_too_large(world: World) -> None:
    """The first one does not come back: it gets the heap it had, and no other one is tried."""
    _born(world)
    world.machines.largest_heap_mib = 300
    world.declare(a_cohosted_document(quorum_heap=512))
    world.run(until=lambda w: w.is_held(), ticks=300)
    _wait(world, 30)
    assert _member_heaps(world) == {128}
    assert sorted(i.member.starts for i in world.view().alive()) == [1, 1, 3]
    assert {i.start.count for i in world.view().alive()} == {1}
    world.declare(a_cohosted_document(quorum_heap=256))
    world.converge()
    assert _member_heaps(world) == {256}
    _votes_are_where_brokers_are(world)


def cohosted_cluster_is_restarted_when_asked(world: World) -> None:
    """Brokers one after the other, then the servers beside them."""
    _born(world)
    ask_for_restart(world)
    world.converge()
    asked = [r.data["service"] for r in world.history() if r.type == "restart.requested"]
    assert asked == ["", "", "", "zookeeper", "zookeeper", "zookeeper"]
    assert {(i.start.count, i.member.starts) for i in world.view().alive()} == {(2, 2)}
    _votes_are_where_brokers_are(world)


def no_broker_of_a_cohosted_cluster_comes_up(world: World) -> None:
    """All are given up with their ensemble, which nobody ever wrote to. The next VMs found another one: once by
    themselves, then when a person has mended the spec and resumes."""
    world.machines.fatal = {"queued.max.requests": "17"}
    world.declare(a_cohosted_document(config=", config: {queued.max.requests: 17}"))
    world.run(until=lambda w: w.is_held(), ticks=400)
    assert _kinds(world).count("ensemble.founded") == 2
    assert not world.view().alive()
    world.declare(a_cohosted_document())
    world.person(facts.ClusterResumed("the setting is gone"))
    world.converge(ticks=400)
    assert _kinds(world).count("ensemble.founded") == 3
    assert set(world.view().quorum.voters) == {106, 107, 108}
    _votes_are_where_brokers_are(world)


def two_brokers_of_a_cohosted_cluster_do_not_come_up(world: World) -> None:
    """Their servers go on: one of them leaves at once, the other one when the next VM's server votes. Never fewer than
    two of three vote."""
    world.machines.unwell = {"brokers-b-0.g1", "brokers-c-0.g1"}
    world.declare(a_cohosted_document())
    world.converge(ticks=900)
    assert _kinds(world).count("instance.join_failed") == 2
    _votes_are_where_brokers_are(world)


def roll_of_a_cohosted_cluster_is_aborted_before_its_drain(world: World) -> None:
    """The new VM's server loses the vote it was given, then both of the new VM stop; the old ones go on."""
    _born(world)
    world.declare(a_cohosted_document(machine="medium"))
    world.run(until=lambda w: _kinds(w).count("surge.completed") == 2, ticks=200)
    world.person(facts.RecycleAborted("second thoughts"))
    world.hold()
    assert "drain.requested" not in _kinds(world)
    assert {i.key for i in world.view().alive()} == {f"brokers-{rack}-0.g1" for rack in "abc"}
    _votes_are_where_brokers_are(world)


def roll_of_a_cohosted_cluster_is_aborted_in_its_drain(world: World) -> None:
    """That replacement is finished: the old VM's server leaves, as if nobody had aborted; no other one begins."""
    _born(world)
    world.kafka.link_bytes_per_s = 10_000_000
    world.declare(a_cohosted_document(machine="medium"))
    world.run(until=lambda w: "drain.requested" in _kinds(w), ticks=200)
    world.person(facts.RecycleAborted("second thoughts"))
    world.hold()
    assert sorted(i.planned.generation for i in world.view().alive()) == [1, 1, 2]
    _votes_are_where_brokers_are(world)


STORIES = (
    cohosted_cluster_is_founded,
    cohosted_cluster_becomes_3_9,
    cohosted_vm_is_lost,
    cohosted_cluster_of_3_becomes_5_and_3_again,
    broker_beside_a_server_is_restarted_alone,
    server_beside_a_broker_dies_and_comes_back,
    broker_beside_a_server_loses_their_disk,
    server_beside_a_broker_becomes_unhealthy,
    server_beside_a_broker_loses_its_directory,
    servers_beside_brokers_get_another_heap,
    heap_of_servers_beside_brokers_is_too_large,
    cohosted_cluster_is_restarted_when_asked,
    no_broker_of_a_cohosted_cluster_comes_up,
    two_brokers_of_a_cohosted_cluster_do_not_come_up,
    roll_of_a_cohosted_cluster_is_aborted_before_its_drain,
    roll_of_a_cohosted_cluster_is_aborted_in_its_drain,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_story_of_a_cohosted_cluster_is_told_as_recorded(story: Callable[[World], None]) -> None:
    told_as_recorded_by(World(version="3.8.1"), story)
