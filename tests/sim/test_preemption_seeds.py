"""Seeded lives on VMs that their cloud takes back: with each cloud's warning, or with none; in the middle of rolls,
drains and handovers, two in the same moment; and some that are told so and stay."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.tick.cluster_tick import new_events
from controlplane.converger.tick.sources.agents import FINDINGS_EVERY
from controlplane.storage.streams import cluster_stream
from events import facts
from events.envelope import Origin
from tests.builders import a_document
from tests.sim.evidence import Violation
from tests.sim.faults import Trouble
from tests.sim.sweep import sweep
from tests.sim.takings import CLOUDS, KNOWN_FOR_S, Fate, Takings, can_spare
from tests.sim.world import UID, World

BEGUN_WITHIN_S = FINDINGS_EVERY.total_seconds() + KNOWN_FOR_S + 1.0
"""After its agent was told, the successor of a VM that goes is asked for: a report, a look and a tick. What rings for a
look at once where a server is asked over HTTP is not here."""

COUNTED_ON_S = 300.0
"""Whom the cloud takes within this is not counted on (`unavailability.TAKEN_SOON`)."""


class Taking(Trouble):
    """All the usual trouble; and the cloud takes VMs back."""

    def __init__(self, world: World, **about: Any) -> None:
        super().__init__(world, **about)
        self.takings = Takings(world, self._random)
        self._judged_fences = 0
        self._faults = (
            *self._faults,
            *((("the cloud wants a VM back", self._one_is_told),) * 6),
            *((("the cloud wants the VM of who comes or goes back", self._one_in_hand_is_told),) * 6),
            *((("the cloud wants two VMs back", self._two_are_told),) * 4),
            *((("the cloud may want a VM back some day", self._one_may_go),) * 2),
            *((("the cloud takes a VM without a word", self._one_is_taken),) * 2),
        )

    def step(self) -> None:
        self.pass_time()
        super().step()
        self.judge_stops()

    def pass_time(self) -> None:
        """What the cloud has in mind for this moment."""
        if self.takings.is_anybody_told:
            self._world.disturbed()
        due = self.takings.pass_time()
        if due:
            self._world.story.append(f"{self._world.seconds:6.0f} s  !! " + ", ".join(f"{t.key} {t.fate}" for t in due))
        self.takings.end(due)

    def stop(self) -> None:
        self.takings.withdraw_all()
        super().stop()

    def judge_stops(self) -> None:
        """Nobody with replicas is stopped on purpose beside one whose VM goes any moment, unless it goes itself."""
        fences, soon, told = self._world.evidence.fences, self._known_to_go(), self._world.machines.taken_back
        for fence in fences[self._judged_fences :]:
            if fence.service == "broker" and fence.replicas and soon - {fence.key} and fence.key not in told:
                raise Violation(f"P3: {fence.key} was stopped while the cloud takes back {sorted(soon)}")
        self._judged_fences = len(fences)

    def _known_to_go(self) -> set[str]:
        """By what agents told long enough ago: VMs that go within minutes, and still run their broker."""
        now, machines = self._world.clock(), self._world.machines
        known = {t.key for t in self.takings.told if t.known_at + KNOWN_FOR_S <= self._world.seconds}
        dates = {k: n.deadline for k, n in machines.taken_back.items() if n.deadline is not None and k in known}
        soon = {k for k, at in dates.items() if abs((at - now).total_seconds()) <= COUNTED_ON_S}
        return {k for k in soon if (vm := machines.vms.get(k)) and vm.alive and vm.process and vm.process.up}

    # --- faults -----------------------------------------------------------------------------------------------

    def _one_is_told(self) -> bool:
        keys = self._brokers(Phase.JOINED)
        return bool(keys) and self._tell([self._random.choice(keys)])

    def _one_in_hand_is_told(self) -> bool:
        """Who is drained or handed over, and who is to take that over."""
        view, brokers = self._world.view(), self._brokers(*Phase)
        nodes = {i.node for i in view.alive() if i.phase is not Phase.JOINED}
        keys = sorted(k for k in brokers if view.instances[k].node in nodes)
        return bool(keys) and self._tell([self._random.choice(keys)])

    def _two_are_told(self) -> bool:
        keys = self._brokers(Phase.JOINED, Phase.DRAINING)
        return len(keys) > 1 and self._tell(sorted(self._random.sample(keys, 2)))

    def _tell(self, keys: list[str]) -> bool:
        """At most two at a time. With half a minute nobody could take back what was ordered a moment ago."""
        cloud = self._random.choice(sorted(CLOUDS))
        fate = self._random.choice((Fate.TAKEN, Fate.TAKEN, Fate.TAKEN, Fate.EARLY, Fate.WITHDRAWN, Fate.LEFT))
        if len(self.takings.told) + len(keys) > 2 or {t.key for t in self.takings.told} & {*keys}:
            return False
        if self._world.view().settings.orders and (cloud != "aws" or fate is Fate.EARLY):
            return False
        self.takings.tell(cloud, keys, fate)
        if fate is Fate.LEFT:
            for key in keys:
                self._later(self._random.choice((200.0, 500.0, 900.0)), partial(self.takings.withdraw, key))
        self._world.story.append(f"{self._world.seconds:6.0f} s  !! {cloud}: {', '.join(keys)} {fate}")
        return True

    def _one_may_go(self) -> bool:
        keys = [k for k in self._brokers(Phase.JOINED) if k not in self._world.machines.taken_back]
        if not keys or self.takings.told:
            return False
        key, told = self._random.choice(keys), self._random.random() < 0.5
        self.takings.recommend(key)
        self._later(self._random.choice((20.0, 90.0, 400.0)), lambda: self._comes_to_it(key, told))
        return True

    def _comes_to_it(self, key: str, told: bool) -> None:
        vm = self._world.machines.vms.get(key)
        if not told or vm is None or not vm.alive or self.takings.told or self._world.view().settings.orders:
            self.takings.withdraw(key)
        else:
            self.takings.tell("aws", [key], Fate.TAKEN)

    def _one_is_taken(self) -> bool:
        """As a power cut, which it is to everybody: at most one at a time."""
        if self._world.kafka.under_min_isr() or self._restarting() or self._world.view().settings.orders:
            return False
        if any(not vm.alive for vm in self._world.machines.vms.values()) or self.takings.told:
            return False
        keys = [k for k in self._brokers(Phase.JOINED) if can_spare(self._world, [k])]
        if not keys:
            return False
        self.takings.take(self._random.choice(keys))
        return True

    def _brokers(self, *phases: Phase) -> list[str]:
        vms = self._world.machines.vms
        there = [i for i in self._world.view().brokers() if i.phase in phases and not i.lost]
        return sorted(i.key for i in there if i.key in vms and vms[i.key].alive and vms[i.key].process)


def told_in_time(world: World, trouble: Taking, key: str) -> None:
    """A VM of a cluster that has nothing else in hand is told two minutes ahead: its successor is begun at once, and by
    then its broker is empty or handed over."""
    trouble.takings.tell("aws", [key], Fate.TAKEN)
    (told,) = trouble.takings.told
    world.disturbed()
    begun_at: float | None = None
    while world.seconds < told.taken_at:
        trouble.pass_time()
        world.tick()
        trouble.judge_stops()
        begun_at = world.seconds if begun_at is None and _successors(world, key) else begun_at
    late_s = begun_at - told.known_at if begun_at is not None else 0.0
    if late_s > BEGUN_WITHIN_S:
        raise Violation(f"P8: {key} was told, and {late_s:.0f} s later its successor was begun")
    left = what_is_left(world, key)
    if left:
        raise Violation(f"P8: {key} was told {told.taken_at - told.known_at:.0f} s ahead, and {left}")
    trouble.pass_time()


def what_is_left(world: World, key: str) -> str:
    """What a VM that is about to be taken still has that its node's next one should have by now."""
    instance, successors = world.view().instances[key], _successors(world, key)
    if not any(i.phase is Phase.JOINED for i in successors):
        return "its node has no other one"
    if all(i.service_id != instance.service_id for i in successors) and world.kafka_hosts(instance.service_id):
        return f"{world.kafka_hosts(instance.service_id)} replicas are on it still"
    return ""


def _successors(world: World, key: str) -> list[InstanceView]:
    instance = world.view().instances[key]
    return [i for i in world.view().of_node(instance.node) if i.planned.generation > instance.planned.generation]


def taken_roll(seed: int, *, steps: int = 250, chance: float = 0.12, healing: str = "perDay: 40") -> World:
    """Told in time at rest; then a roll while the cloud takes VMs back. Every other seed hands disks over, every third
    has six brokers."""
    spec: dict[str, Any] = {"strategy": "reattach", "max_unavailable": 1} if seed % 2 else {}
    spec |= {"brokers": 6 if seed % 3 == 0 else 3, "healing": healing}
    world = World(seed=seed)
    world.declare(a_document(**spec))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    trouble = Taking(world, chance=chance, **spec)
    told_in_time(world, trouble, world.random.choice(sorted(i.key for i in world.view().brokers())))
    world.converge(ticks=400)
    world.declare(a_document(**{**spec, "version": "4.2.0"}))
    trouble.lasts(steps)
    world.run(until=lambda w: w.is_converged() or _went_before_they_served(w), ticks=1500)
    if _went_before_they_served(world):
        world.person(facts.ClusterResumed("two VMs in a row went before they served"))
    world.converge(ticks=1500)
    return world


def _went_before_they_served(world: World) -> bool:
    """The last of the trouble may be told after it: then a person is asked whether to try again."""
    blocked = world.view().conditions.get("Blocked")
    return blocked is not None and blocked.status and blocked.reason == "ReplacementFailed"


def _at_rest() -> tuple[World, Taking]:
    world = World()
    world.declare(a_document())
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=6, rf=3, min_isr=1, bytes_per_partition=50_000_000)
    return world, Taking(world)


def test_a_server_that_does_nothing_for_a_vm_that_goes_is_found() -> None:
    world, trouble = _at_rest()
    world.person(facts.ClusterPaused("it only looks on", None))
    with pytest.raises(Violation, match=r"P8: brokers-a-0.g1 was told 1.. s ahead, and its node has no other one"):
        told_in_time(world, trouble, "brokers-a-0.g1")


def test_a_server_that_brings_nothing_away_from_a_vm_that_goes_is_found() -> None:
    world, trouble = _at_rest()
    world.kafka.hangs.controllers.add(world.kafka.active)  # no move ends
    with pytest.raises(Violation, match=r"P8: brokers-a-0.g1 .* replicas are on it still"):
        told_in_time(world, trouble, "brokers-a-0.g1")


def test_a_server_that_begins_late_what_a_vm_that_goes_needs_is_found() -> None:
    """Half a minute may be all there is, and of two minutes it would go unnoticed."""
    world, trouble = _at_rest()
    world.person(facts.ClusterPaused("it looks on for a while", world.clock() + timedelta(seconds=30)))
    with pytest.raises(Violation, match=r"P8: brokers-a-0.g1 was told, and 2. s later its successor was begun"):
        told_in_time(world, trouble, "brokers-a-0.g1")


@pytest.mark.parametrize(("stopped", "is_found"), [("brokers-b-0.g1", True), ("brokers-a-0.g1", False)])
def test_a_server_that_stops_a_broker_beside_one_that_goes_is_found(stopped: str, is_found: bool) -> None:
    world, trouble = _at_rest()
    trouble.takings.tell("aws", ["brokers-a-0.g1"], Fate.TAKEN, looks_after_s=0.0)
    world.disturbed()
    world.seconds += KNOWN_FOR_S
    trouble.pass_time()
    fenced = new_events(cluster_stream(UID), world.view().version, [facts.FenceRequested((stopped,), "on a guess")])
    origin = Origin("converger", epoch=world.epoch)
    world.store.append(cluster_stream(UID), fenced, expected_version=world.view().version, origin=origin)
    if is_found:
        with pytest.raises(Violation, match=r"P3: brokers-b-0.g1 was stopped while the cloud takes back"):
            trouble.judge_stops()
    else:
        trouble.judge_stops()


# 39302: the place of a target that had the only copies was given to another broker. 39307: a broker that was down was
# stopped for good while that of another rack was between two VMs. 39322: two VMs that went, one after the other.
# 39340, 39130: brokers emptied together had one successor. 39190: a drain was put off and begun at each tick. 39104: a
# drain kept those it waited for from being made. 39280, 39294: a move was sent elsewhere from a dead target that Kafka
# still counted in sync. 39280: nobody made a successor for a lost broker whose successor was told to go. 39281: one
# that was told and stayed was stopped beside one that was told. 39509: a stop was asked for seconds before anybody
# could know.
@pytest.mark.parametrize("seed", [39104, 39130, 39190, 39280, 39281, 39294, 39302, 39307, 39322, 39340, 39509])
def test_it_converges_though_the_cloud_takes_vms_back(seed: int) -> None:
    taken_roll(seed)


def passing_disks(seed: int) -> World:
    """The same where the disks of those that are taken pass on, whatever the strategy."""
    return taken_roll(seed, healing="perDay: 40, lostDisk: reattach")


@pytest.mark.parametrize("seed", [39190, 39280])
def test_no_drain_of_another_empties_a_broker_whose_disk_passes_on(seed: int) -> None:
    """It was stopped and unregistered as the VM that was to be this broker came up, which then waited for ever."""
    passing_disks(seed)


@pytest.mark.parametrize("seed", [3900, 39020])
def test_no_drain_waits_for_a_move_that_one_put_off_has_left_behind(seed: int) -> None:
    """It aimed at the broker that was to be emptied, whose VM was gone."""
    taken_roll(seed)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_though_the_cloud_takes_many_more_vms_back() -> None:
    sweep("taken_roll", range(39003, 39200), taken_roll)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_though_the_cloud_takes_vms_back_whose_disks_pass_on() -> None:
    sweep("passing_disks", range(39200, 39400), passing_disks)
