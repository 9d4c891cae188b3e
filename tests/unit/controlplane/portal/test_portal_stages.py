"""The timeline of a roll, folded from what the simulator's fleet recorded."""

from typing import Any, cast

from controlplane.api.read_models.roll_stages import STAGES, Roll, Rolls, fold
from controlplane.api.read_models.rolls import rows_of
from controlplane.commands.previews.plan import pending_rollout
from controlplane.storage.streams import cluster_stream
from events import facts
from events.envelope import Recorded
from events.store import EventStore
from tests.builders import a_document
from tests.sim.world import UID, World


def rolled(**spec: Any) -> World:
    world = World()
    world.declare(a_document(**spec))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_document(**spec, version="4.2.0"))
    return world


def roll_of(world: World) -> Roll:
    return fold(world.history())


def test_a_roll_that_has_ended_shows_every_node_with_every_stage_it_went_through() -> None:
    world = rolled()
    world.converge()
    roll = roll_of(world)
    assert (roll.generation, roll.done, len(roll.nodes), roll.ended_at is not None) == (2, 6, 6, True)
    for name, node in roll.nodes.items():
        assert node.is_done, name
        assert (node.old, node.new) == (f"{name}.g1", f"{name}.g2")
        assert {s.state for s in node.stages.values()} == {"done"}
        wanted = {"create", "join", "drain", "linger", "stop", "delete"}
        if name.startswith("controllers"):
            wanted = {"create", "join", "stop", "hand over", "delete"}
        assert set(node.stages) == wanted, name
    assert {stage for node in roll.nodes.values() for stage in node.stages} == set(STAGES)


def test_at_every_tick_at_most_one_stage_of_a_node_is_in_hand_and_steps_only_go_up() -> None:
    world = rolled()
    done = 0
    for _ in range(300):
        world.tick()
        roll = roll_of(world)
        for node in roll.nodes.values():
            assert sum(s.state == "active" for s in node.stages.values()) <= 1, node
        assert roll.done >= done
        done = roll.done if roll.generation == 2 else 0
        if world.is_converged():
            break
    assert done == 6


def test_folding_piece_by_piece_is_folding_at_once() -> None:
    world = rolled()
    rolls = Rolls(world.store)
    for _ in range(60):
        world.tick()
        assert rolls.of(UID, world.view().version).roll == roll_of(world)
    assert rolls.of(UID, world.view().version).roll == roll_of(world)


class CountedReads:
    """A store of one stream that counts how often it is read."""

    def __init__(self, world: World) -> None:
        self.reads = 0
        self._store = world.store

    def read_stream(self, stream: str, after_version: int = 0) -> list[Recorded]:
        self.reads += 1
        return self._store.read_stream(stream, after_version)


def test_pages_of_the_same_view_read_its_stream_once() -> None:
    world = rolled()
    store = CountedReads(world)
    rolls = Rolls(cast(EventStore, store))
    told = [rolls.of(UID, world.view().version) for _ in range(5)]
    assert (store.reads, len(set(map(id, told)))) == (1, 1)
    world.tick()
    assert rolls.of(UID, world.view().version).version == world.view().version
    assert store.reads == 2


def test_a_reattached_broker_is_handed_over_and_not_drained() -> None:
    world = rolled(strategy="reattach", max_unavailable=1)
    world.converge()
    node = roll_of(world).nodes["brokers-a-0"]
    assert "drain" not in node.stages
    assert node.stages["hand over"].state == "done"


def test_a_node_that_failed_to_join_says_why() -> None:
    world = rolled()
    world.tick()
    world.tick()
    key = next(k for k in world.view().instances if k.endswith(".g2"))
    for _ in range(12):
        world.tick()
    world.person(facts.JoinFailed(key, "not there after 120 s"))
    node = roll_of(world).nodes[key.rpartition(".")[0]]
    assert node.stages["join"].state == "failed"
    assert node.note == "not there after 120 s"


def test_what_waits_stands_in_the_order_of_the_plan_between_what_is_in_hand_and_what_is_done() -> None:
    world = rolled()
    for _ in range(45):
        world.tick()
    pending = [s for p in pending_rollout(world.view(), world.kafka.snapshot()).phases for s in p.steps]
    rows = rows_of(roll_of(world), pending)
    states = ["hand" if r.is_begun and not r.is_done else "wait" if not r.is_begun else "done" for r in rows]
    assert states == sorted(states, key=["hand", "wait", "done"].index)
    waiting = [r.node for r in rows if not r.is_begun]
    assert waiting == [s.node for s in pending if s.node in waiting]
    assert rows[-1].is_done


def test_the_stream_of_another_kind_folds_to_no_roll() -> None:
    world = World()
    assert Rolls(world.store).of(UID, 1).roll.nodes == {}
    assert cluster_stream(UID)
