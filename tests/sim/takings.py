"""VMs of the simulator that their cloud takes back: what it tells them before, how long ahead, and what comes of it.

A cloud tells the VM alone; its agent asks every five seconds, so it knows a little later, and of Google, which tells no
date, it counts from its own look. Whoever was told may be taken at the date or before it, or may stay after all.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from random import Random

from agent.wire import PreemptionReport
from tests.sim.world import World

QUERIES_EVERY_S = 5.0
"""`KEDGE_AGENT_PREEMPT_EVERY_S`."""

KNOWN_FOR_S = 2.0
"""So long after an agent was told a server that looks at all knows of it."""


class Fate(StrEnum):
    """What becomes of a VM that was told."""

    TAKEN = "is taken at its date"
    EARLY = "is taken before its date"
    WITHDRAWN = "stays: the cloud takes its word back"
    LEFT = "stays, and the cloud's word stands"


@dataclass(frozen=True, slots=True)
class Warned:
    """How a cloud warns: `ahead_s` before the date at least, `longest_s` at most; `told_date` whether it says when."""

    ahead_s: float
    longest_s: float
    words: str
    told_date: bool = True


CLOUDS = {
    "aws": Warned(120.0, 120.0, "spot terminate"),
    "azure": Warned(30.0, 60.0, "scheduled event Preempt"),
    "google": Warned(30.0, 30.0, "preempted", told_date=False),
}


@dataclass(frozen=True, slots=True)
class Told:
    """A VM that was told: when its agent knows it, and when the cloud takes it, in simulated seconds."""

    key: str
    known_at: float
    taken_at: float
    fate: Fate


@dataclass(slots=True)
class Takings:
    """What one world's cloud has told its VMs, and does to them."""

    world: World
    random: Random
    told: list[Told] = field(default_factory=list)
    """Of whom the cloud's word stands, or is on its way to their agents."""
    taken: list[str] = field(default_factory=list)
    spared: list[str] = field(default_factory=list)
    """Who was to be taken, and had the only copy of something in sync by then: another story."""
    _notices: dict[str, PreemptionReport] = field(default_factory=dict)

    def tell(self, cloud: str, keys: list[str], fate: Fate, *, looks_after_s: float | None = None) -> None:
        """All of them go at the same moment."""
        warning, now = CLOUDS[cloud], self.world.seconds
        ahead = self.random.uniform(warning.ahead_s, warning.longest_s)
        goes_at = now + (ahead if fate is not Fate.EARLY else ahead * self.random.uniform(0.1, 0.9))
        for key in keys:
            late_s = self.random.uniform(0.0, QUERIES_EVERY_S) if looks_after_s is None else looks_after_s
            date_s = ahead if warning.told_date else ahead + late_s
            deadline = self.world.clock() + timedelta(seconds=date_s)
            since = self.world.clock() + timedelta(seconds=late_s)
            self._notices[key] = PreemptionReport(kind="preempt", deadline=deadline, since=since, words=warning.words)
            self.told.append(Told(key, now + late_s, goes_at, fate))
            for process in self.world.machines.vms[key].processes:
                if process.document.name == "broker":
                    self.world.machines.breakdowns.warned[process.document.node_id] = now + late_s + KNOWN_FOR_S

    def recommend(self, key: str) -> None:
        """It may be taken some day: AWS alone says so."""
        now = self.world.clock()
        self.world.machines.taken_back[key] = PreemptionReport(
            kind="rebalance", deadline=None, since=now, words="rebalance recommendation"
        )

    def withdraw(self, key: str) -> None:
        """The VM stays."""
        self.told = [t for t in self.told if t.key != key]
        self._notices.pop(key, None)
        self.world.machines.taken_back.pop(key, None)

    def withdraw_all(self) -> None:
        for key in {*self.world.machines.taken_back, *(t.key for t in self.told)}:
            self.withdraw(key)

    def pass_time(self) -> list[Told]:
        """What is due by now. Returns who was to go at this moment, before anybody goes."""
        now, machines = self.world.seconds, self.world.machines
        for told in self.told:
            if told.known_at <= now and told.key in self._notices:
                machines.taken_back[told.key] = self._notices.pop(told.key)
        return [t for t in self.told if t.taken_at <= now]

    def end(self, due: list[Told]) -> None:
        """What the cloud does to those whose moment has come. All that go, go at once."""
        vms = self.world.machines.vms
        goes = [t for t in due if t.fate in (Fate.TAKEN, Fate.EARLY) and t.key in vms and vms[t.key].alive]
        if goes and not can_spare(self.world, [t.key for t in goes]):
            self.spared += [t.key for t in goes]
            goes = []
        for told in due:
            if told in goes:
                self.take(told.key)
            if told.fate is Fate.LEFT and told not in goes:
                self.told.remove(told)  # its notice stands
            else:
                self.withdraw(told.key)

    def take(self, key: str) -> None:
        """Its VM is deleted; disks of their own outlive it."""
        self.taken.append(key)
        self.world.machines.power_cut(key)

    @property
    def is_anybody_told(self) -> bool:
        return bool(self.told or any(k in self.world.machines.vms for k in self.world.machines.taken_back))


def can_spare(world: World, keys: list[str]) -> bool:
    """Whether of every partition a replica in sync runs elsewhere: what Kafka itself can stand."""
    going = {p.document.node_id for key in keys for p in world.machines.vms[key].processes}
    running = {b for b in world.machines.broker_ids if world.kafka.is_running(b)} - going
    return all(running & set(p.isr) for p in world.kafka.partitions())
