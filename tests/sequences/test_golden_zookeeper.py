"""The stories of clusters in ZooKeeper mode, told and compared as those of rolls are (`test_golden_rolls`).

Servers of the ensemble are the voters of these stories: they are handed over, come and go as controllers do.
"""

from collections.abc import Callable
from datetime import timedelta

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.converger.questions.quorum.protocol import PROTOCOL
from controlplane.kafka.zookeeper.locks import RESTART
from controlplane.storage.streams import FREEZES
from events import facts
from events.codec import encode
from events.envelope import Origin
from tests.builders import a_zookeeper_document
from tests.fakes.event_store import MemoryEventStore
from tests.fakes.zookeeper import FakeLocks
from tests.sequences.recorded import told_as_recorded_by
from tests.sim.world import World


def _born(world: World, servers: int = 3) -> None:
    world.declare(a_zookeeper_document(controllers=servers))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _kinds(world: World) -> list[str]:
    return [r.type for r in world.history()]


def zookeeper_cluster_is_founded(world: World) -> None:
    """No broker starts before the ensemble holds the cluster's id."""
    _born(world)
    kinds = _kinds(world)
    assert kinds.index("ensemble.founded") < kinds.index("ensemble.cluster_id_fixed") < kinds.index("instance.joined")
    assert set(world.machines.protocols.values()) == {"3.8"}
    assert world.machines.ensemble_id == world.view().quorum.founding.kafka_cluster_id  # type: ignore[union-attr]


def zookeeper_cluster_becomes_3_9(world: World) -> None:
    """Three rolls: brokers, servers, and after the soak the brokers once more with the new protocol."""
    _born(world)
    world.declare(a_zookeeper_document(version="3.9.1"))
    world.converge(ticks=900)
    kinds = _kinds(world)
    assert kinds.count("protocol.raised") == 1
    last_old = max(i for i, k in enumerate(kinds) if k == "replacement.completed")
    raised = kinds.index("protocol.raised")
    assert last_old < raised < kinds.index("restart.requested")
    assert kinds.count("restart.completed") == 3
    there = {i.service_id: i for i in world.view().alive()}
    assert {i.planned.kafka_version for i in there.values()} == {"3.9.1"}
    assert {world.machines.protocols[i] for i, one in there.items() if one.is_broker} == {"3.9"}
    assert world.kafka.under_min_isr_s == 0


def zookeeper_cluster_goes_back_to_3_8_half_way(world: World) -> None:
    """One broker is on 3.9.1 and the next has begun when the old spec is declared again: the protocol never moved, so
    these two go back."""
    _born(world)
    world.declare(a_zookeeper_document(version="3.9.1"))
    world.run(until=lambda w: "replacement.completed" in _kinds(w), ticks=200)
    world.declare(a_zookeeper_document())
    world.converge(ticks=900)
    assert "protocol.raised" not in _kinds(world)
    assert {i.planned.kafka_version for i in world.view().alive()} == {"3.8.1"}
    assert set(world.machines.protocols.values()) == {"3.8"}
    there = {i.node: i.planned.generation for i in world.view().brokers()}
    assert there == {"brokers-a-0": 1, "brokers-b-0": 3, "brokers-c-0": 3}, "what had not begun is left as it was"
    assert world.kafka.under_min_isr_s == 0


def zookeeper_downgrade_waits_for_a_protocol_raised_by_hand(world: World) -> None:
    """All run 3.9.1 with the protocol pinned, and the spec of 3.8.1 is accepted again. One broker was given protocol
    3.9 by hand: nothing older is made beside it until it is put back."""
    _born(world)
    world.declare(a_zookeeper_document(version="3.9.1", config=', metadataVersion: "3.8"'))
    world.converge(ticks=900)
    raised = next(i.service_id for i in world.view().brokers() if i.planned.rack == "b")
    _started_by_hand_with(world, raised, "3.9")
    before = len(_kinds(world))
    world.kafka.settings.silent.add(raised)
    world.declare(a_zookeeper_document())
    _wait(world, 60)
    assert world.view().conditions["Blocked"].reason == "KafkaUnknown"
    assert f"no answer from {raised}" in world.sentence()
    world.kafka.settings.silent.clear()
    world.run(until=lambda w: w.view().conditions["Blocked"].reason == "DowngradeBlocked", ticks=10)
    _wait_until_blocked(world)
    assert set(_kinds(world)[before:]) == {"cluster.declared", "condition.changed"}
    assert f"broker {raised} runs with 3.9" in world.view().conditions["Blocked"].message
    _started_by_hand_with(world, raised, "3.8")
    world.disturbed()
    world.converge(ticks=900)
    assert {i.planned.kafka_version for i in world.view().alive()} == {"3.8.1"}
    assert world.kafka.under_min_isr_s == 0


def zookeeper_downgrade_asks_again_before_each_broker(world: World) -> None:
    """Another broker is given protocol 3.9 by hand when the first one has gone back: the roll stops there, and goes on
    to 3.9.1 by the spec of before."""
    _born(world)
    pinned = a_zookeeper_document(version="3.9.1", config=', metadataVersion: "3.8"')
    world.declare(pinned)
    world.converge(ticks=900)
    replaced = _kinds(world).count("replacement.completed")
    world.declare(a_zookeeper_document())
    world.run(until=lambda w: any(v == "3.8.1" for v in _joined(w).values()), ticks=200)
    last = max(broker for broker, version in _joined(world).items() if version == "3.9.1")
    _started_by_hand_with(world, last, "3.9")
    _wait_until_blocked(world)
    assert _kinds(world).count("replacement.completed") == replaced + 1, "what had begun was ended"
    _started_by_hand_with(world, last, "3.8")
    world.declare(pinned)
    world.converge(ticks=900)
    assert {i.planned.kafka_version for i in world.view().alive()} == {"3.9.1"}
    assert world.kafka.under_min_isr_s == 0


def zookeeper_downgrade_asks_again_before_a_disk_passes(world: World) -> None:
    """A broker is given protocol 3.9 by hand when the VM with 3.8.1 is made that is to have the disk of another one:
    that one is not stopped for it. The spec of before lets go of the VM."""
    reattach = {"strategy": "reattach", "max_unavailable": 1}
    pinned = a_zookeeper_document(**reattach, version="3.9.1", config=', metadataVersion: "3.8"')
    world.declare(pinned)
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_zookeeper_document(**reattach))
    world.run(until=lambda w: any(i.awaits_bind or not i.bound for i in w.view().brokers()), ticks=200)
    successor = next(i for i in world.view().brokers() if not i.bound)
    last = max(i.service_id for i in world.view().brokers() if i.node != successor.node)
    _started_by_hand_with(world, last, "3.9")
    _wait_until_blocked(world)
    assert f"not handing over to {successor.key} with Kafka 3.8.1" in world.view().conditions["Blocked"].message
    assert world.kafka.serves(successor.service_id)
    _started_by_hand_with(world, last, "3.8")
    world.declare(pinned)
    world.converge(ticks=900)
    assert {i.planned.kafka_version for i in world.view().alive()} == {"3.9.1"}
    assert world.kafka.under_min_isr_s == 0


def _wait_until_blocked(world: World) -> None:
    world.run(until=lambda w: "Blocked" in w.view().conditions and w.view().conditions["Blocked"].status, ticks=200)
    _wait(world, 60)
    assert world.view().conditions["Blocked"].reason == "DowngradeBlocked"


def _joined(world: World) -> dict[int, str]:
    return {i.service_id: i.planned.kafka_version for i in world.view().brokers() if i.phase is Phase.JOINED}


def _started_by_hand_with(world: World, broker: int, protocol: str) -> None:
    """Somebody changes the file of a broker and starts its process anew."""
    world.kafka.settings.files[broker] = {**world.kafka.settings.files[broker], PROTOCOL: protocol}


def zookeeper_spec_changes_mid_upgrade(world: World) -> None:
    """Another machine, asked for while a broker is drained: the roll in hand goes on to both."""
    _born(world)
    world.declare(a_zookeeper_document(version="3.9.1"))
    world.run(until=lambda w: w.view().moves.drain is not None, ticks=200)
    world.declare(a_zookeeper_document(version="3.9.1", machine="medium"))
    world.converge(ticks=900)
    assert {(i.planned.kafka_version, i.planned.shape) for i in world.view().brokers()} == {("3.9.1", "medium")}
    assert _kinds(world).count("protocol.raised") == 1
    assert world.kafka.under_min_isr_s == 0


def zookeeper_upgrade_is_aborted_in_its_last_roll(world: World) -> None:
    """The protocol is raised and one broker speaks it: that restart is ended, the others wait for a person."""
    _born(world)
    world.declare(a_zookeeper_document(version="3.9.1"))
    world.run(until=lambda w: "restart.requested" in _kinds(w), ticks=900)
    world.person(facts.RecycleAborted("second thoughts"))
    world.hold()
    assert _kinds(world).count("restart.completed") == 1
    spoken = {i.service_id: world.machines.protocols[i.service_id] for i in world.view().brokers()}
    assert sorted(spoken.values()) == ["3.8", "3.8", "3.9"], "brokers of both protocols serve together"
    world.person(facts.ClusterResumed("go on"))
    world.converge(ticks=300)
    assert _kinds(world).count("restart.completed") == 3
    assert world.kafka.under_min_isr_s == 0


def restarts_wait_for_who_has_the_lock(world: World) -> None:
    """A person's script holds the restart lock: Kedge says who and why, and begins once it is free."""
    _born(world)
    script = FakeLocks(world.lock_nodes, holder="the night's script")
    script.take(RESTART, why="new certificates")
    world.declare(a_zookeeper_document(config=", config: {queued.max.requests: 600}"))
    _wait(world, 20)
    assert "restart.requested" not in _kinds(world)
    assert "the night's script holds it: new certificates" in world.sentence()
    script.release(RESTART)
    world.converge()
    assert _kinds(world).count("restart.completed") == 3
    assert world.lock_nodes.held == {}


def zookeeper_cluster_keeps_its_protocol_pinned(world: World) -> None:
    """New binaries, old protocol: the way back to 3.8 stays open, and nothing is restarted."""
    _born(world)
    world.declare(a_zookeeper_document(version="3.9.1", config=', metadataVersion: "3.8"'))
    world.converge(ticks=900)
    assert "protocol.raised" not in _kinds(world)
    assert set(world.machines.protocols.values()) == {"3.8"}


def zookeeper_server_dies_and_is_handed_over(world: World) -> None:
    """Its id, disk and address pass to the next VM: the ensemble does not change."""
    _born(world)
    before = world.kafka.voters()
    world.machines.power_cut("zookeepers-b-0.g1")
    _wait(world, 10)
    world.converge()
    assert world.kafka.voters() == before
    assert {i.node: i.planned.generation for i in world.view().controllers()}["zookeepers-b-0"] == 2


def zookeeper_server_loses_its_disk(world: World) -> None:
    """It leaves before its process starts on an empty disk, and joins like any newcomer."""
    _born(world)
    world.machines.lose_volume("zookeepers-b-0.g1")
    _wait(world, 10)
    world.converge()
    changes = [k for k in _kinds(world) if k.startswith("voter.")]
    assert changes == ["voter.remove_requested", "voter.removed", "voter.add_requested", "voter.added"]


def two_zookeeper_servers_lose_their_disks(world: World) -> None:
    """One of three is no majority: nobody is stopped, formatted or removed, and it is said what is needed."""
    _born(world)
    before = world.kafka.voters()
    for rack in "bc":
        world.machines.lose_volume(f"zookeepers-{rack}-0.g1")
    _wait(world, 60)
    blocked = world.view().conditions["Blocked"]
    assert (blocked.status, blocked.reason) == (True, "MetadataLost")
    assert "1 of them must serve again with the disk it had" in blocked.message
    assert world.kafka.voters() == before
    assert not {"instance.fence_requested", "voter.remove_requested", "retire.requested"} & set(_kinds(world))
    assert all(vm.alive for vm in world.machines.vms.values())


def three_zookeeper_servers_become_five(world: World) -> None:
    _born(world)
    world.declare(a_zookeeper_document(controllers=5))
    world.converge()
    assert len(world.kafka.voters()) == 5


def _frozen_for(world: World, time: timedelta) -> None:
    """By a person, while the server goes on."""
    fact = facts.FreezeDeclared("freeze-1", world.clock() + time, "the sale", ("orders",), (), {})
    event = encode(fact, "freezes-0")
    MemoryEventStore.append(world.store, FREEZES, [event], expected_version=0, origin=Origin("person:anna"))
    world.disturbed()


def _wait(world: World, seconds: float) -> None:
    until = world.seconds + seconds
    while world.seconds < until:
        world.tick()


def zookeeper_protocol_waits_for_the_end_of_a_freeze(world: World) -> None:
    """All binaries are new when a freeze begins: the step without a way back, and the restarts after it, wait."""
    _born(world)
    world.declare(a_zookeeper_document(version="3.9.1"))
    world.run(until=lambda w: _kinds(w).count("replacement.completed") == 6, ticks=900)
    _frozen_for(world, timedelta(minutes=10))
    _wait(world, 60)
    assert "protocol.raised" not in _kinds(world)
    assert world.view().conditions["WaitsForWindow"].status
    world.seconds += 600
    world.kafka.advance(0.0)
    world.disturbed()
    world.converge(ticks=300)
    assert _kinds(world).count("protocol.raised") == 1


def restart_lock_is_given_back_while_restarts_wait(world: World) -> None:
    """A freeze begins between two restarts: the lock is for others as long, also after another start of the server."""
    _born(world)
    world.declare(a_zookeeper_document(config=", config: {queued.max.requests: 600}"))
    world.run(until=lambda w: "restart.completed" in _kinds(w), ticks=100)
    assert RESTART in world.lock_nodes.held
    _frozen_for(world, timedelta(minutes=5))
    _wait(world, 20)
    assert world.lock_nodes.held == {}
    assert world.view().conditions["WaitsForWindow"].status
    world.start_server()
    _wait(world, 20)
    assert world.lock_nodes.held == {}
    _wait(world, 300)
    world.disturbed()
    world.converge()
    assert _kinds(world).count("restart.completed") == 3
    assert world.lock_nodes.held == {}


STORIES = (
    restart_lock_is_given_back_while_restarts_wait,
    zookeeper_protocol_waits_for_the_end_of_a_freeze,
    zookeeper_cluster_is_founded,
    zookeeper_cluster_becomes_3_9,
    zookeeper_cluster_keeps_its_protocol_pinned,
    zookeeper_cluster_goes_back_to_3_8_half_way,
    zookeeper_downgrade_waits_for_a_protocol_raised_by_hand,
    zookeeper_downgrade_asks_again_before_each_broker,
    zookeeper_downgrade_asks_again_before_a_disk_passes,
    zookeeper_spec_changes_mid_upgrade,
    zookeeper_upgrade_is_aborted_in_its_last_roll,
    zookeeper_server_dies_and_is_handed_over,
    zookeeper_server_loses_its_disk,
    two_zookeeper_servers_lose_their_disks,
    three_zookeeper_servers_become_five,
    restarts_wait_for_who_has_the_lock,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_story_of_a_zookeeper_cluster_is_told_as_recorded(story: Callable[[World], None]) -> None:
    told_as_recorded_by(World(version="3.8.1"), story)
