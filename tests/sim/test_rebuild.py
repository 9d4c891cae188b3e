"""The store is lost at any moment of a roll: rebuilt, held, resumed, it converges and nothing is lost."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from controlplane.server.rebuild.evidence import Weight
from events import facts
from events.spec.model import KafkaClusterDocument
from providers.handover import Handover
from tests.builders import a_document
from tests.sim.rebuilding import LosableWorld
from tests.sim.world import World

OLD, NEW = a_document(), a_document(version="4.2.0")
NEXT = a_document(version="4.2.0", machine="medium")


def a_world(**given: object) -> LosableWorld:
    """Three brokers, three controllers and some data."""
    world = LosableWorld(**given)
    world.declare(OLD)
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    return world


def resume(world: World) -> None:
    world.person(facts.ClusterResumed("looked at it"))


def still(world: LosableWorld, *, ticks: int = 10) -> None:
    """Held: no effect of any kind, no VM, no document, nothing asked of Kafka."""
    vms, passed, kept = set(world.machines.created), len(world.points.names), dict(world.kept)
    for _ in range(ticks):
        _, effects = world.tick()
        assert effects == 0
    assert set(world.machines.created) == vms
    assert world.kept == kept
    asked = [n for n in world.points.names[passed:] if "condition.changed" not in n]
    assert asked == []


def lost_and_resumed(world: LosableWorld, spec: KafkaClusterDocument, **found: Any) -> None:
    """The store is lost: the rebuild is not refused, all stands still while it is held, and resumed it converges."""
    rebuilt = world.lose_store(spec, **found)
    assert not rebuilt.refused, rebuilt.findings
    still(world, ticks=6)
    resume(world)
    world.converge(ticks=1500)


def used_once(world: LosableWorld, before: frozenset[int]) -> None:
    """No broker id and no generation was ever given out twice (the machines refuse a second VM of a generation)."""
    assert len(world.machines.created) == len(set(world.machines.created))
    living = {i.service_id for i in world.view().brokers()}
    assert not {i for i in living if i in before and world.machines.broker_ids[i] not in world.machines.volumes}


def test_a_cluster_at_rest_is_rebuilt_held_and_resumed_without_any_effect() -> None:
    world = a_world()
    before = world.view()
    rebuilt = world.lose_store(OLD)
    assert not [f for f in rebuilt.findings if f.weight is not Weight.NOTED], rebuilt.findings
    still(world)
    assert world.sentence().startswith("held: ")
    resume(world)
    events = effects = 0
    for _ in range(3):
        recorded, done = world.tick()
        events, effects = events + recorded, effects + done
    assert effects == 0
    world.settle()
    after = world.view()
    assert after.roll.converged == after.generation
    assert after.vms.next_broker_id == before.vms.next_broker_id
    planned = {k: replace(i.planned, port=i.port) for k, i in before.instances.items()}
    assert {k: i.planned for k, i in after.instances.items()} == planned
    assert after.quorum.founding == before.quorum.founding
    assert after.quorum.controller_ids == before.quorum.controller_ids


def test_a_later_roll_spends_only_new_ids_and_generations() -> None:
    world = a_world()
    world.declare(a_document(brokers=6))
    world.converge(ticks=400)
    world.declare(OLD)
    world.converge(ticks=600)
    ids = world.memory().broker_ids
    assert max(ids) > max(i.service_id for i in world.view().brokers())
    world.lose_store(OLD)
    resume(world)
    world.declare(NEW)
    world.converge(ticks=900)
    assert min(i.service_id for i in world.view().brokers()) > max(ids)
    world.declare(a_document(version="4.2.0", brokers=6))
    world.converge(ticks=600)
    assert len(world.machines.created) == len(set(world.machines.created))


def test_where_the_cloud_forgets_the_terminated_new_ones_begin_far_above() -> None:
    world = a_world()
    ids = world.memory().broker_ids
    world.lose_store(OLD, forgets=True)
    resume(world)
    world.declare(NEW)
    world.converge(ticks=900)
    assert min(i.service_id for i in world.view().brokers()) > max(ids) + 1000
    assert {i.planned.generation for i in world.view().alive()} == {102}


def test_a_spec_that_differs_is_reported_and_acted_upon_only_once_resumed() -> None:
    world = a_world()
    rebuilt = world.lose_store(NEXT)
    assert {f.subject for f in rebuilt.findings if f.weight is Weight.DIFFERS} >= {"brokers-a-0", "brokers-a-0.g1"}
    still(world)
    resume(world)
    world.converge(ticks=900)
    assert {i.planned.shape for i in world.view().brokers()} == {"medium"}


def test_disks_that_grew_by_themselves_keep_their_size_though_the_spec_says_less() -> None:
    """Taken for disks that are too large, every broker would be copied to a new one."""
    spec = a_document(disks=", grow: {above: 80, to: 500}")
    world = LosableWorld()
    world.declare(spec)
    world.converge(ticks=200)
    world.kafka.on_disk.taken[1001] = int(0.9 * world.kafka.snapshot().log_dirs[1001].total_bytes)
    world.disturbed()
    world.run(until=lambda w: bool(w.view().vms.grown_pools), ticks=200)
    world.run(until=lambda w: len([r for r in w.history() if r.type == "growth.completed"]) == 1, ticks=50)
    made = len(world.machines.created)
    lost_and_resumed(world, spec)
    assert sorted(v.size_gib for v in world.machines.volumes.values()) == [1, 1, 1, 140, 140, 140]
    assert len(world.machines.created) == made


def _phase(world: World, phase: str, service: str) -> bool:
    return any(i.phase == phase and i.planned.service == service for i in world.view().instances.values())


def _drains(world: World) -> bool:
    return bool(world.kafka.snapshot().moving())


LINGERS = "the-old-broker-lingers"
MOMENTS: dict[str, Callable[[World], bool]] = {
    "a-surge-is-asked-for": lambda w: _phase(w, "requested", "broker"),
    "a-new-broker-boots": lambda w: _phase(w, "launched", "broker"),
    "a-drain-is-asked-for": lambda w: _phase(w, "draining", "broker"),
    "moves-run": _drains,
    LINGERS: lambda w: _phase(w, "lingering", "broker"),
    "the-old-broker-is-fenced": lambda w: _phase(w, "fencing", "broker"),
    "the-old-broker-has-stopped": lambda w: _phase(w, "fenced", "broker"),
    "the-old-broker-is-retired": lambda w: _phase(w, "retiring", "broker"),
    "a-new-controller-boots": lambda w: _phase(w, "launched", "controller"),
    "the-old-controller-is-stopped": lambda w: _phase(w, "fencing", "controller"),
    "the-old-controller-has-stopped": lambda w: _phase(w, "fenced", "controller"),
    "the-old-controller-has-let-go": lambda w: _phase(w, "released", "controller"),
    "the-old-controller-is-retired": lambda w: _phase(w, "retiring", "controller"),
    "a-level-is-being-raised": lambda w: w.view().roll.finalising is not None,
}


def _in_soak(later: int) -> object:
    return pytest.param(later, marks=pytest.mark.soak)


@pytest.mark.parametrize("later", [0, 3, _in_soak(1), _in_soak(2), _in_soak(5), _in_soak(8)])
@pytest.mark.parametrize("moment", MOMENTS)
def test_the_store_is_lost_mid_roll_when(moment: str, later: int) -> None:
    world = a_world()
    world.declare(NEW)
    world.run(until=MOMENTS[moment], ticks=600)
    for _ in range(later):
        world.tick()
    ids = world.memory().broker_ids
    lost_and_resumed(world, NEW)
    assert {i.planned.kafka_version for i in world.view().alive()} == {"4.2.0"}
    used_once(world, ids)


@pytest.mark.parametrize("moment", ["a-new-broker-boots", "the-old-broker-has-stopped", "moves-run"])
def test_brokers_that_keep_their_disk_are_taken_up_too_when(moment: str) -> None:
    old, new = (
        a_document(strategy="reattach", max_unavailable=1),
        a_document(strategy="reattach", max_unavailable=1, version="4.2.0"),
    )
    world = LosableWorld()
    world.declare(old)
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(new)
    reached = MOMENTS[moment] if moment != "moves-run" else MOMENTS["the-old-broker-is-fenced"]
    world.run(until=reached, ticks=600)
    lost_and_resumed(world, new)
    assert {i.service_id for i in world.view().brokers()} == {1000, 1001, 1002}


@pytest.mark.parametrize("later", [2, 5, 7, _in_soak(6), _in_soak(8), _in_soak(9), _in_soak(12)])
def test_a_disk_that_is_on_its_way_keeps_its_id(later: int) -> None:
    """Fenced, let go, on the next VM whose agent was told nothing of it yet (7, 8): what is on it is that broker's."""
    spec: dict[str, Any] = {"strategy": "reattach", "max_unavailable": 1}
    world = LosableWorld()
    world.declare(a_document(**spec))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_document(**spec, version="4.2.0"))
    world.run(until=MOMENTS["a-new-broker-boots"], ticks=600)
    for _ in range(later):
        world.tick()
    lost_and_resumed(world, a_document(**spec, version="4.2.0"))
    assert {i.service_id for i in world.view().brokers()} == {1000, 1001, 1002}
    assert {v for v in world.machines.volumes if v.startswith("brokers-")} == {
        f"brokers-{rack}-0.data.v1" for rack in "abc"
    }


CAUGHT_BLIND = [
    ("drain", "the-old-broker-is-fenced", 0),
    ("drain", "a-new-controller-boots", 7),
    ("drain", "the-old-controller-has-let-go", 0),
    ("reattach", "a-new-broker-boots", 7),
    ("reattach", "the-old-broker-is-fenced", 3),
]
"""Moments at which what documents say is missed most: without them these never converged."""


def _blind_moments() -> list[object]:
    every = [(s, m, n) for s in ("drain", "reattach") for m in MOMENTS for n in (0, 3, 7)]
    told = [m for m in every if m[0] == "drain" or m[1] not in ("a-drain-is-asked-for", "moves-run", LINGERS)]
    return [pytest.param(*m, marks=() if m in CAUGHT_BLIND else pytest.mark.soak) for m in told]


@pytest.mark.parametrize(("strategy", "moment", "later"), _blind_moments())
def test_no_document_can_be_read_mid_roll_when(strategy: str, moment: str, later: int) -> None:
    """As on all clouds, which show nobody a VM's disk: tags, disks and Kafka's own word have to do."""
    spec: dict[str, Any] = {"strategy": strategy, "max_unavailable": 1} if strategy == "reattach" else {}
    world = LosableWorld()
    world.declare(a_document(**spec))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    new = a_document(**spec, version="4.2.0")
    world.declare(new)
    world.run(until=MOMENTS[moment], ticks=600)
    for _ in range(later):
        world.tick()
    ids = world.memory().broker_ids
    lost_and_resumed(world, new, without_documents=set(world.machines.vms))
    used_once(world, ids)


@pytest.mark.parametrize("moment", ["a-new-broker-boots", "moves-run", "the-old-broker-is-retired"])
def test_brokers_that_nothing_tells_the_vms_of_are_not_guessed_when(moment: str) -> None:
    """With new ids they were taken for brokers that do not join, and all stopped while they served."""
    world = a_world()
    world.declare(NEW)
    world.run(until=MOMENTS[moment], ticks=600)
    rebuilt = world.lose_store(NEW, without_documents=set(world.machines.vms), by_names=True)
    (told,) = [f for f in rebuilt.findings if f.weight is Weight.REFUSES]
    assert "nothing tells which id brokers-a-0.g1, brokers-" in told.message
    assert "Kafka has brokers " in told.message
    assert rebuilt.facts == ()


@pytest.mark.parametrize("later", [2, 4])
def test_a_controller_that_is_being_moved_is_taken_up_too(later: int) -> None:
    """Where addresses stay with VMs: two VMs have its id, and never do both run."""
    world = LosableWorld()
    world.machines.handover = Handover.NONE
    world.declare(OLD)
    world.converge(ticks=200)
    world.declare(NEW)
    world.run(until=lambda w: any(i.planned.relieves and i.address for i in w.view().controllers()), ticks=900)
    for _ in range(later):
        world.tick()
    lost_and_resumed(world, NEW)
    assert {i.planned.kafka_version for i in world.view().alive()} == {"4.2.0"}


def test_a_dead_vm_is_found_dead_and_replaced_once_resumed() -> None:
    world = a_world()
    world.machines.power_cut("brokers-b-0.g1")
    world.lose_store(OLD)
    still(world)
    resume(world)
    world.converge(ticks=1500)
    assert [i.key for i in world.view().of_node("brokers-b-0")] == ["brokers-b-0.g2"]


def test_it_may_be_lost_again_and_again() -> None:
    world = a_world()
    world.declare(NEW)
    for moment in ("moves-run", "the-old-broker-has-stopped", "the-old-controller-has-let-go"):
        world.run(until=MOMENTS[moment], ticks=900)
        assert not world.lose_store(NEW).refused
        resume(world)
    world.converge(ticks=1500)
