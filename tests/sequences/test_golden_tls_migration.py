"""The stories of clusters whose nodes speak TLS and that go from ZooKeeper to KRaft, with TLS all the way: what
`test_golden_migration` is to plaintext. The simulation knows who finds whom, and who may change what in ZooKeeper
(`tests.sim.ensemble`, `tests.sim.endpoints`): one told to come by another port, or as nobody, would end the story."""

from collections.abc import Callable

import pytest

from controlplane.kafka.zookeeper.migration import Knows
from planner.rollout.security_steps import ENSEMBLE_STEPS, LAST
from tests.builders import a_document, a_zookeeper_document, with_tls
from tests.sequences.recorded import told_as_recorded_by
from tests.sequences.tls_way import born, completed, runs
from tests.sim.crashes import Crashes
from tests.sim.stories import count_told, turned_when
from tests.sim.world import World

ZOOKEEPER = with_tls(a_zookeeper_document(version="3.9.1"))
KRAFT = with_tls(a_document(version="3.9.1"))


def _is_krafts(world: World) -> None:
    view = world.view()
    assert (view.in_zookeeper_mode, view.quorum.migration, view.quorum.protocol) == (False, None, "")
    assert runs(world) == {("broker", "tls"), ("controller", "tls")}
    assert (view.security.low, view.security.quorum) == (LAST, "controller")
    assert {voter.port for voter in view.quorum.voters.values()} == {9090}
    assert set(world.kafka.migration.knows.values()) == {Knows.QUORUM}
    assert world.kafka.under_min_isr_s == 0


def _starts(world: World) -> list[tuple[str, str]]:
    return [(r.data["service"], r.data["knows"]) for r in world.history() if r.type == "migration.service_started"]


def secured_zookeeper_cluster_becomes_krafts(world: World) -> None:
    """The steps of one in plaintext, and no other: nobody is ever told of a port without TLS. In KRaft Kedge works by
    ACLs, so they are made at the end, and nobody is started anew for it."""
    born(world, ZOOKEEPER)
    world.declare(KRAFT)
    world.converge(ticks=900)
    _is_krafts(world)
    assert _starts(world) == [
        ("controller", "both"),
        *[("broker", "both")] * 3,
        *[("broker", "the quorum")] * 3,
        *[("controller", "the quorum")] * 3,
    ]
    kinds = [r.type for r in world.history()]
    assert "restart.requested" not in kinds
    assert kinds.index("migration.ended") < kinds.index("security.least_rights_begun")


def secured_migration_turns_back_half_way_and_is_made_after_that(world: World) -> None:
    """Two brokers are KRaft's: all go back to both, the cut, then to ZooKeeper alone; then all the way forward."""
    born(world, ZOOKEEPER)
    world.declare(KRAFT)
    turned_when(world, lambda w: count_told(w, Knows.QUORUM) == 2, ZOOKEEPER)
    world.converge(ticks=900)
    assert world.view().in_zookeeper_mode
    assert runs(world) == {("broker", "tls"), ("zookeeper", "tls")}
    world.declare(KRAFT)
    world.converge(ticks=900)
    _is_krafts(world)


def cluster_that_became_tls_in_zookeeper_mode_becomes_krafts_and_4_1(world: World) -> None:
    """It was born in plaintext: what is recorded of its steps was the ensemble's. After it, it rolls as any other."""
    born(world, a_zookeeper_document(version="3.9.1"))
    world.declare(ZOOKEEPER)
    world.converge(ticks=900)
    assert [name for name, _ in completed(world)] == [step.name for step in ENSEMBLE_STEPS]
    world.declare(KRAFT)
    world.converge(ticks=900)
    _is_krafts(world)
    world.declare(with_tls(a_document(version="4.1.1")))
    world.converge(ticks=900)
    assert {i.planned.kafka_version for i in world.view().alive()} == {"4.1.1"}
    assert runs(world) == {("broker", "tls"), ("controller", "tls")}


STORIES: tuple[Callable[[World], None], ...] = (
    secured_zookeeper_cluster_becomes_krafts,
    secured_migration_turns_back_half_way_and_is_made_after_that,
    cluster_that_became_tls_in_zookeeper_mode_becomes_krafts_and_4_1,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_story_of_a_secured_migration_is_told_as_recorded(story: Callable[[World], None]) -> None:
    told_as_recorded_by(World(version="3.9.1"), story)


def test_the_way_to_tls_of_one_that_left_zookeeper_in_plaintext_is_that_of_controllers() -> None:
    """It had begun the ensemble's way, and went back: what is recorded of that is not how its controllers go."""
    world = World(version="3.9.1")
    born(world, a_zookeeper_document(version="3.9.1"))
    world.declare(ZOOKEEPER)
    world.run(until=lambda w: len(completed(w)) == 1, ticks=300)
    world.declare(a_zookeeper_document(version="3.9.1"))
    world.converge(ticks=900)
    world.declare(a_document(version="3.9.1"))
    world.converge(ticks=900)
    world.declare(a_document(version="4.1.1"))
    world.converge(ticks=900)
    begun = len(completed(world))
    world.declare(with_tls(a_document(version="4.1.1")))
    world.converge(ticks=900)
    assert [name for name, _ in completed(world)[begun:]] == ["C1", "B1", "C2", "B2", "B3", "C3"]
    assert runs(world) == {("broker", "tls"), ("controller", "tls")}


def test_agents_that_know_no_migration_with_tls_are_waited_for() -> None:
    world = World(version="3.9.1")
    world.machines.documents_known = 5
    born(world, ZOOKEEPER)
    world.declare(KRAFT)
    world.run(until=lambda w: "Blocked" in w.view().conditions, ticks=300)
    assert world.view().conditions["Blocked"].reason == "MigrationBlocked"
    assert not [r for r in world.history() if r.type.startswith("migration.")]
    world.machines.documents_known = 6
    world.converge(ticks=900)
    _is_krafts(world)


@pytest.mark.parametrize("node", ["brokers-b-0", "controllers-b-0", "zookeepers-b-0"])
def test_a_vm_that_is_lost_half_way_is_made_anew_with_tls(node: str) -> None:
    world = World(version="3.9.1")
    born(world, ZOOKEEPER)
    world.declare(KRAFT)
    world.run(until=lambda w: count_told(w, Knows.QUORUM) == 1, ticks=300)
    world.machines.power_cut(f"{node}.g1")
    world.disturbed()
    world.converge(ticks=1500)
    _is_krafts(world)


def _half_way_back_and_there(world: World) -> None:
    born(world, ZOOKEEPER)
    world.declare(KRAFT)
    turned_when(world, lambda w: count_told(w, Knows.QUORUM) > 0, ZOOKEEPER)
    world.converge(ticks=900)
    world.declare(KRAFT)
    world.converge(ticks=900)
    _is_krafts(world)


CRASHES = Crashes(_half_way_back_and_there, version="3.9.1")
NEW_KINDS = ("migration.", "forget_migration", "least_rights")


def _one_of_each_kind() -> list[int]:
    kinds = {p for p in CRASHES.points if any(kind in p for kind in NEW_KINDS)}
    return sorted(CRASHES.points.index(name) + 1 for name in kinds)


@pytest.mark.parametrize("point", _one_of_each_kind(), ids=CRASHES.id_of)
def test_a_secured_migration_survives_a_crash_at(point: int) -> None:
    CRASHES.at(point)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_secured_migration_survives_a_crash_at_every_single_point() -> None:
    CRASHES.at_every_single_point()
