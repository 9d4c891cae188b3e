"""Seeded losses beyond one VM at a time (F25), and reports that come again (F24), beside all the usual trouble."""

from itertools import combinations

import pytest

from controlplane.cluster.observed.agent_reports import AGENT_REPORT
from controlplane.storage.latest_values import LatestValue
from tests.builders import a_document
from tests.sim.evidence import Violation
from tests.sim.faults import Trouble
from tests.sim.sweep import sweep
from tests.sim.world import World


class Losing(Trouble):
    """All the usual trouble; and two brokers of different racks die in the same moment, or all VMs of a rack, and what
    an agent reported a while ago arrives once more, also when its VM is long dead.

    Only what Kafka itself can stand: of every partition a replica in sync lives on, and of the controllers a majority.
    """

    def __init__(self, world: World, *, chance: float, brokers: int) -> None:
        super().__init__(world, chance=chance, brokers=brokers)
        self.pairs = self.racks = self.repeats = 0
        self._faults = (
            *self._faults,
            *((("two brokers die", self._two_brokers_die),) * 4),
            *((("a rack dies", self._rack_dies),) * 4),
            *((("an old report comes again", self._report_comes_again),) * 6),
        )

    def _two_brokers_die(self) -> bool:
        brokers = [i for i in self._world.view().brokers() if i.key in self._present()]
        pairs = [
            (a.key, b.key)
            for a, b in combinations(sorted(brokers, key=lambda i: i.key), 2)
            if a.planned.rack != b.planned.rack and self._can_spare({a.service_id, b.service_id})
        ]
        if not pairs or not self._is_whole():
            return False
        self.pairs += 1
        return self._cut(*self._random.choice(pairs))

    def _rack_dies(self) -> bool:
        vms = {key: vm for key, vm in self._world.machines.vms.items() if vm.alive}
        rack = self._random.choice(sorted({vm.zone for vm in vms.values()}))
        keys = sorted(key for key, vm in vms.items() if vm.zone == rack)
        brokers = {i.service_id for i in self._world.view().brokers() if i.key in keys}
        if not set(keys) <= self._present() or not self._is_whole() or not self._can_spare(brokers):
            return False
        self.racks += 1
        return self._cut(*keys)

    def _report_comes_again(self) -> bool:
        kept = sorted(self._world.latest.of_kind(AGENT_REPORT), key=lambda row: row.subject.name)
        if not kept:
            return False
        row = self._random.choice(kept)
        self._later(self._random.choice((0.0, 5.0, 40.0, 200.0)), lambda: self._again(row))
        return True

    def _again(self, row: LatestValue) -> None:
        self.repeats += 1
        late = LatestValue(row.subject, row.value, row.source, self._world.clock(), row.boot_id, row.seq)
        if self._world.latest.put(late):
            raise Violation(f"report {row.seq} of {row.subject.name} counted a second time")

    def _cut(self, *keys: str) -> bool:
        for key in keys:
            self._world.machines.power_cut(key)
        return True

    def _present(self) -> set[str]:
        """VMs whose service runs as recorded: one that dies on its way is the usual trouble's business."""
        view, vms = self._world.view(), self._world.machines.vms
        return {i.key for i in view.alive() if i.phase == "joined" and not i.lost and i.key in vms and vms[i.key].alive}

    def _is_whole(self) -> bool:
        vms = self._world.machines.vms.values()
        return all(vm.alive for vm in vms) and not self._restarting() and not self._world.kafka.under_min_isr()

    def _can_spare(self, brokers: set[int]) -> bool:
        return all(set(p.isr) - brokers for p in self._world.kafka.partitions())


def losing_roll(seed: int, *, steps: int = 200, chance: float = 0.12, brokers: int = 6) -> Losing:
    """A roll of six brokers in three racks; then no more losses: it must converge and keep every record."""
    world = World(seed=seed)
    world.declare(a_document(brokers=brokers))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_document(brokers=brokers, version="4.2.0"))
    trouble = Losing(world, chance=chance, brokers=brokers)
    trouble.lasts(steps)
    world.converge(ticks=2500)
    return trouble


@pytest.mark.parametrize("seed", range(2500, 2512))
def test_it_converges_and_keeps_every_record_though_racks_and_pairs_of_brokers_die(seed: int) -> None:
    losing_roll(seed)


@pytest.mark.soak
def test_a_move_of_a_partition_with_two_replicas_in_a_rack_that_died_ends() -> None:
    losing_roll(320006, steps=400)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_after_many_more_losses() -> None:
    sweep("losing_roll, steps=400, seed", range(25000, 25400), lambda s: losing_roll(s, steps=400))
