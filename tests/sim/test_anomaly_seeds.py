"""Anomalies in a simulated life: a roll gives no false alarm, and what breaks is found, told, healed and over."""

import pytest

from controlplane.background.anomalies.fold import AnomalyFold, read_anomalies
from controlplane.background.anomalies.reconciler import AnomalyReconciler
from controlplane.background.anomalies.windows import NoWindows
from controlplane.cluster.commands import Command
from events import facts
from planner.anomalies.judge import Anomaly
from planner.anomalies.kinds import Kind, State
from tests.builders import a_document
from tests.sim.world import UID, World

EVERY_S = 5
NO_GRACE = "grace: {broker-failure: 0s, goal-violation: 0s, topic-anomaly: 0s}, after: 1s"
"""Whatever is found is told at once: only what is known keeps an alarm away."""


class Refuses:
    """No command is expected: nobody is slow here."""

    def handle(self, command: Command) -> object:
        raise AssertionError(f"{command} was not expected")


class WatchedWorld(World):
    """Looks for anomalies every few seconds, as the server does."""

    def watch(self) -> None:
        self.reconciler = AnomalyReconciler(
            self.converger, self.store, self.latest, NoWindows(), Refuses(), self.clock, epoch=lambda: int(self.epoch)
        )

    def tick(self) -> tuple[int, int]:
        done = super().tick()
        if hasattr(self, "reconciler") and int(self.seconds) % EVERY_S == 0:
            self.reconciler.poll()
        return done

    def fold(self) -> AnomalyFold:
        return read_anomalies(self.store, UID)

    def alarms(self) -> list[Anomaly]:
        return [a for a in self.fold().every() if a.notified]


def watched(seed: int) -> WatchedWorld:
    """A converged cluster with data, looked after."""
    world = WatchedWorld(seed=seed)
    world.declare(a_document(healing=NO_GRACE))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000 * (1 + seed % 4))
    world.watch()
    return world


@pytest.mark.parametrize("seed", range(5200, 5212))
def test_a_roll_gives_no_false_alarm(seed: int) -> None:
    world = watched(seed)
    world.declare(a_document(version="4.2.0", healing=NO_GRACE))
    world.converge(ticks=900)
    for _ in range(3 * EVERY_S):
        world.tick()
    assert world.alarms() == []
    assert world.fold().open_ == {}


@pytest.mark.parametrize("seed", range(5240, 5243))
def test_a_vm_that_dies_is_found_told_and_over_once_its_successor_serves(seed: int) -> None:
    world = watched(seed)
    victim = world.random.choice(sorted(k for k, vm in world.machines.vms.items() if vm.alive and "brokers" in k))
    node = victim.rpartition(".g")[0]
    world.machines.power_cut(victim)
    world.disturbed()
    world.run(until=lambda w: bool(w.view().of_node(node)[0].lost), ticks=100)
    world.converge(ticks=1500)
    for _ in range(4 * EVERY_S):
        world.tick()
    told = [(a.kind, a.subject, a.state) for a in world.alarms()]
    assert (Kind.BROKER_FAILURE, node, State.OVER) in told, world.fold().every()
    assert {kind for kind, _, _ in told} == {Kind.BROKER_FAILURE}
    assert not world.fold().open_, "nothing is left open"


def test_a_rolling_restart_is_known_and_told_nobody() -> None:
    world = watched(5250)
    keys = tuple(sorted(i.key for i in world.view().brokers()))
    world.person(facts.RollingRestartRequested("restart-1", keys, "asked by anna"))
    for _ in range(200):
        world.tick()
        world.reconciler.poll()
    assert not world.view().requests.rolling_restart
    known = world.fold().past
    assert {a.subject for a in known} == {"brokers-a-0", "brokers-b-0", "brokers-c-0"}
    assert not any(a.notified for a in known)
    assert world.fold().open_ == {}


def test_what_a_look_says_once_is_not_said_again() -> None:
    world = watched(5260)
    world.machines.power_cut("brokers-a-0.g1")
    world.disturbed()
    for _ in range(60):
        world.tick()
    count = world.fold().version
    for _ in range(3):
        world.reconciler.poll()
    assert world.fold().version == count
