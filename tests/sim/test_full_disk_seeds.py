"""Seeded lives in which the disk of a broker fills while copies go to it: they stand still, its process ends for want
of room, or one of its directories fails (experience.md, F15). Somebody makes room after a while, or once it is told why
nothing goes on.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders import a_document
from tests.sim.evidence import Violation
from tests.sim.faults import Trouble
from tests.sim.sweep import sweep
from tests.sim.vms import Illness
from tests.sim.world import World

TWO = ", count: 2"
THROTTLE = ", throttleMibPerS: 60"
TOLD_WITHIN_S = 400.0
"""A full disk on which something waits is told in a condition by then."""


class Filling(Trouble):
    """All the usual trouble; and disks fill under what is copied to them."""

    def __init__(self, world: World, *, chance: float, **spec: Any) -> None:
        super().__init__(world, chance=chance, **spec)
        self.filled = 0
        self._how: dict[int, str] = {}
        self._full_since: dict[int, float] = {}
        self._coming: dict[int, frozenset[object]] = {}
        """By broker that is full, what was on its way to it when it was seen so."""
        self._faults = (
            *self._faults,
            *((("a target's disk fills: copies stand still", lambda: self._fills("stands")),) * 8),
            *((("a target's disk fills: its process ends", lambda: self._fills("ends")),) * 4),
            *((("a target's disk fails under a copy", self._fails),) * 3),
        )

    def step(self) -> None:
        super().step()
        full = self._world.kafka.on_disk.full()
        for broker in sorted(self._how.keys() & full):
            self._bursts(broker)
        self._full_since = {b: self._full_since.get(b, self._world.seconds) for b in full}
        for broken in self._made_worse(full):
            raise Violation(broken)

    def stop(self) -> None:
        """Who is full for longer is told by now; then somebody makes room."""
        told = " ".join(c.message for c in self._world.view().conditions.values() if c.status)
        for broker, since in self._full_since.items():
            waits = [p.name for p in self._world.kafka.partitions() if broker in p.adding]
            if waits and self._world.seconds - since > TOLD_WITHIN_S and f"broker {broker}" not in told:
                raise Violation(
                    f"P8: broker {broker} is full since {since:.0f} s, {waits} wait, and it is said: {told}"
                )
        for broker in list(self._how):
            self._room(broker)
        super().stop()

    def _made_worse(self, full: frozenset[int]) -> Iterator[str]:
        """Nothing more is sent to a disk that has told for a while that it is full, and no new VM is made for one."""
        coming = {b: frozenset(p.name for p in self._world.kafka.partitions() if b in p.adding) for b in full}
        for broker, names in coming.items():
            known = self._coming.get(broker)
            if self._world.seconds - self._full_since[broker] < 5 or known is None:
                self._coming[broker] = names  # what was asked for before anybody could know
            elif more := names - known - self._by_hand():
                yield f"{sorted(map(str, more))} are sent to broker {broker}, whose disk is full"
        self._coming = {b: names for b, names in self._coming.items() if b in full}

    def _by_hand(self) -> set[object]:
        return set(self._world.kafka.put_by_hand)

    def _receiving(self) -> list[int]:
        """Brokers that something is copied to, of those that serve; where nothing is, one that any move may choose."""
        kafka = self._world.kafka
        behind = {r for p in kafka.partitions() for r in p.replicas if r not in p.isr and kafka.is_running(r)}
        return sorted(b for b in behind if kafka.serves(b))

    def _fills(self, how: str) -> bool:
        kafka, machines = self._world.kafka, self._world.machines
        targets = self._receiving()
        if self._how or not targets or any(not vm.alive for vm in machines.vms.values()):
            return False
        if how == "ends" and (kafka.under_min_isr() or machines.breakdowns.looping):
            return False
        broker = self._random.choice(targets)
        missing = sum(p.size_bytes for p in kafka.partitions() if broker in p.replicas and broker not in p.isr)
        kafka.on_disk.taken[broker] = kafka.on_disk.free_bytes(broker) - int(self._random.random() * 0.7 * missing)
        self._how[broker] = how
        self.filled += 1
        self._later(self._random.choice((40.0, 200.0, 600.0)), lambda: self._room(broker))
        return True

    def _fails(self) -> bool:
        """Of a broker with two disks, while nobody else is away."""
        machines, kafka = self._world.machines, self._world.kafka
        there = {vm.process.document.node_id: k for k, vm in machines.vms.items() if vm.alive and vm.process}
        targets = [b for b in self._receiving() if b in there]
        two = [b for b in targets if len(machines.vms[there[b]].process.document.log_dirs) > 1]  # type: ignore[union-attr]
        if not two or self._how or not machines.are_well or kafka.under_min_isr():
            return False
        if any(c.finding.startswith("log_dir_failed") for c in self._world.view().vms.cures):
            return False  # a disk that fails again on a new VM is left to a person
        machines.fail_disk(there[self._random.choice(two)], "data2")
        self.filled += 1
        return True

    def _bursts(self, broker: int) -> None:
        """What becomes of a broker that has no room left."""
        machines = self._world.machines
        key = next((k for k, v in machines.vms.items() if v.process and v.process.document.node_id == broker), None)
        if key is None or not machines.vms[key].alive:
            return
        if self._how[broker] == "stands":
            machines.illnesses.setdefault(key, Illness("disk_full:data", self._world.clock()))
        elif key not in machines.breakdowns.looping and not self._restarting():
            machines.breakdowns.loop(machines, key)

    def _room(self, broker: int) -> None:
        machines = self._world.machines
        self._how.pop(broker, None)
        self._world.kafka.on_disk.taken.pop(broker, None)
        for key in [k for k, unhealthy in machines.illnesses.items() if unhealthy.finding == "disk_full:data"]:
            del machines.illnesses[key]
        machines.breakdowns.looping.clear()


def filling_roll(seed: int, *, steps: int = 300) -> World:
    """A roll by drains, with brokers that come and go. Every other seed with two disks a broker."""
    spec: dict[str, Any] = {"brokers": 6 if seed % 3 == 0 else 3, "throttle": THROTTLE, "healing": "perDay: 20"}
    spec |= {"disks": TWO} if seed % 2 else {}
    world = World(seed=seed)
    world.declare(a_document(**spec))
    world.converge(ticks=300)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=300_000_000)
    world.declare(a_document(**{**spec, "version": "4.2.0"}))
    trouble = Filling(world, chance=0.12, **spec)
    trouble.lasts(steps)
    for _ in range(90):
        world.tick()  # an agent starts what has ended again and again a minute apart
    world.converge(ticks=2000)
    return world


@pytest.mark.parametrize("seed", [3700, 3703])
def test_it_converges_though_disks_fill_under_what_is_copied_to_them(seed: int) -> None:
    assert [line for line in filling_roll(seed).story if "a target's disk f" in line]


@pytest.mark.soak
@pytest.mark.parametrize("seed", [3717, 3726, 3733])
def test_a_drain_onto_a_disk_that_failed_or_is_full_is_told_and_its_target_cured(seed: int) -> None:
    """It was handed more, or waited for ever for a plan."""
    filling_roll(seed)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_though_many_more_disks_fill() -> None:
    sweep("filling_roll", range(37000, 37200), filling_roll)
