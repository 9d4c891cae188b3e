"""Seeded lives in which brokers come back as others than they should be: in another rack, by another id, with another
release, or with somebody else's disk (experience.md, F12). Right again after a while, or never until they are replaced.
"""

from collections.abc import Callable
from typing import Any

import pytest

from agent.wire import ServiceDocument
from controlplane.converger.tick.sources.brokers import LOOK_EVERY
from tests.builders import a_document
from tests.fakes.kafka_parts import supported_by
from tests.sim.asking import ask_for_replacement
from tests.sim.faults import Trouble
from tests.sim.stories import IN_ZOOKEEPER_MODE
from tests.sim.sweep import sweep
from tests.sim.world import World
from tests.sim.wrong_identities import Guise

CURED_WITHIN_TICKS = 4000
"""A restart that does not last, the pause between two cures of a node, and a new VM."""


class Strange(Trouble):
    """All the usual trouble; and brokers come back as others than they should be."""

    def __init__(self, world: World, *, chance: float, **spec: Any) -> None:
        super().__init__(world, chance=chance, asking=True, **spec)
        self.kinds: list[str] = []
        faults: tuple[tuple[str, Callable[[], bool]], ...] = (
            ("a broker comes back in another rack", lambda: self._comes_back("rack")),
            ("a broker comes back with another release", lambda: self._comes_back("version")),
            ("a broker comes back by another id", lambda: self._comes_back("id")),
            ("a disk is somebody else's", lambda: self._comes_back("disk")),
        )
        self._faults = (*self._faults, *(fault for fault in faults for _ in range(3)))

    def _comes_back(self, kind: str) -> bool:
        """One at a time, not while another is down or to stop: a start that nobody asked for is a failure, too. Kafka
        calls the one before it alive until its session ends."""
        machines, world = self._world.machines, self._world
        running = {k: vm.process for k, vm in machines.vms.items() if vm.alive and vm.process and vm.process.up}
        brokers = sorted(k for k, process in running.items() if process.document.name == "broker")
        if not brokers or self._restarting() or world.view().settings.orders or world.kafka.under_min_isr():
            return False
        if machines.wrong_identities.among(machines.vms) or any(not vm.alive for vm in machines.vms.values()):
            return False
        key = self._random.choice(brokers)
        guise = self._guise(kind, running[key].document)
        machines.wrong_identities.guises[key] = guise
        machines.stop_process(key)
        self.kinds.append(kind)
        if guise.other_disk or self._random.random() < 0.6:  # else it is so at each start on that VM
            self._later(self._random.choice((5.0, 90.0, 400.0, 900.0)), lambda: self._put_right(key))
        return True

    def _guise(self, kind: str, service: ServiceDocument) -> Guise:
        if kind == "rack":
            return Guise(rack=self._random.choice([r for r in "abcz" if r != service.rack]))
        if kind == "version":
            return Guise(version=self._random.choice(self._releases(service.kafka_version)))
        return Guise(other_id=kind == "id", other_disk=kind == "disk")

    def _releases(self, wanted: str) -> list[str]:
        """Those that know what is finalised: none else comes up."""
        if self._world.view().in_zookeeper_mode:
            return [v for v in ("3.8.1", "3.9.1") if v != wanted]
        level = self._world.kafka.finalised["metadata.version"]
        known = [v for v in ("4.1.1", "4.2.0", "4.3.0") if supported_by(v)["metadata.version"][1] >= level]
        return [v for v in known if v != wanted]

    def _put_right(self, key: str) -> None:
        """From the next start on it is itself."""
        self._world.machines.wrong_identities.guises.pop(key, None)


def strange_roll(seed: int, *, born_as: str = "4.1.1", becomes: str = "4.2.0", steps: int = 250, **mode: Any) -> World:
    """Every other seed hands disks over, every third has six brokers, and all are cured as often as it takes."""
    spec: dict[str, Any] = {"strategy": "reattach", "max_unavailable": 1} if seed % 2 else {}
    spec |= {"brokers": 6 if seed % 3 == 0 else 3, "healing": "perDay: 40, lostAfter: 60s", **mode}
    world = World(seed=seed, version=born_as)
    world.declare(a_document(**{**spec, "version": born_as}))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_document(**{**spec, "version": becomes}))
    trouble = Strange(world, chance=0.14, **({**spec, "version": becomes} if mode else spec))
    trouble.lasts(steps)
    if world.machines.wrong_identities.among(world.machines.vms):  # nobody is left as another for ever
        world.run(until=_are_cured_or_told, ticks=CURED_WITHIN_TICKS)
        for key in world.machines.wrong_identities.among(world.machines.vms) if _gave_up(world) else ():
            ask_for_replacement(world, key, "it is another than it should be", new_disk=True)
        world.run(until=lambda w: not w.machines.wrong_identities.among(w.machines.vms), ticks=CURED_WITHIN_TICKS)
    for _ in range(int(LOOK_EVERY.total_seconds() / world.tick_s)):
        world.tick()  # whose broker is back is seen at the next look
    world.converge(ticks=1500)
    return world


def _are_cured_or_told(world: World) -> bool:
    return not world.machines.wrong_identities.among(world.machines.vms) or _gave_up(world)


def _gave_up(world: World) -> bool:
    """Whether Kedge says that a person has to see: too many had the same, so a new VM may well have it, too."""
    unhealthy = world.view().conditions.get("Ailing")
    return unhealthy is not None and unhealthy.status and unhealthy.reason == "GaveUp"


@pytest.mark.parametrize("seed", range(3600, 3602))
def test_it_converges_though_brokers_come_back_as_others(seed: int) -> None:
    assert [line for line in strange_roll(seed).story if "a broker comes back" in line or "somebody else's" in line]


@pytest.mark.soak
def test_seed_36016_a_drain_without_a_plan_lets_who_is_down_be_replaced_first() -> None:
    """The only broker its last partitions could go to was down, and its new VM waited for the drain."""
    strange_roll(36016)


@pytest.mark.soak
@pytest.mark.parametrize("seed", [36070, 36085])
def test_a_cure_that_does_not_help_keeps_nobody_else_from_being_restarted(seed: int) -> None:
    strange_roll(seed)


def test_no_second_broker_is_taken_while_kafka_calls_one_alive_that_came_back_as_another() -> None:
    """A handover took its neighbour in the nine seconds before the session of the first one ended."""
    strange_roll(3667)


@pytest.mark.soak
def test_seed_36187_a_person_replaces_who_kedge_gave_up() -> None:
    strange_roll(36187)


@pytest.mark.soak
@pytest.mark.parametrize("seed", [3605, 3606, 3624, 3644, 3651, 3652, 3665])
def test_nothing_waits_for_ever_for_a_broker_that_came_back_as_another(seed: int) -> None:
    """Handovers, drains, restarts and evacuations did, each above what would have cured it."""
    strange_roll(seed)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_though_many_more_brokers_come_back_as_others() -> None:
    sweep("strange_roll", range(36000, 36200), strange_roll)


@pytest.mark.soak
def test_no_drain_waits_for_a_target_that_came_back_as_another_and_tells_of_no_disk() -> None:
    strange_roll(36570, born_as="3.8.1", becomes="3.9.1", **IN_ZOOKEEPER_MODE)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("seed", "mode"),
    [(36066, {}), (36561, {"born_as": "3.8.1", "becomes": "3.9.1", **IN_ZOOKEEPER_MODE})],
    ids=["kraft", "zookeeper"],
)
def test_a_second_cure_of_a_node_comes_after_the_pause_it_told_of(seed: int, mode: dict[str, Any]) -> None:
    """A restart, once more, and twenty minutes later a new VM: longer than all else may take."""
    strange_roll(seed, **mode)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_in_zookeeper_mode_though_many_brokers_come_back_as_others() -> None:
    def run(seed: int) -> object:
        return strange_roll(seed, born_as="3.8.1", becomes="3.9.1", **IN_ZOOKEEPER_MODE)

    sweep("strange_roll in zookeeper mode", range(36500, 36600), run)
