"""Two clusters, the agents of their VMs, name servers and a replicator, as a pair's server finds them: answers come
late or never, VMs and the server die and come back, clouds lose machines. The server keeps nothing but its events.

An agent follows no order of an earlier epoch than its last one, and a VM that boots lets nobody in before it has heard
the newest order there is.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from controlplane.fleet.failovers.fold import IllegalStep, after
from controlplane.fleet.failovers.seen import (
    CopySeen,
    DoorSeen,
    NamesSeen,
    PairSeen,
    ReplicatorsSeen,
    StandbyBuild,
)
from controlplane.fleet.failovers.steps import Next, PairStep, next_step
from controlplane.fleet.failovers.view import PairDeclaration, PairState, PairView
from controlplane.fleet.failovers.wanted import DoorOrder, wants_of
from events import failover_facts as facts
from events.failover_facts import TopicEnds
from events.spec.failover_model import KafkaFailoverDocument
from tests.builders import NOW

EU, US = "eu", "us"
VMS = BROKERS = 3


@dataclass
class WorldVm:
    """Its door as it is. `mail`: orders on their way to it, the oldest first; `is_gone`: the cloud has it no more.
    `copies`: to the cluster it is of. What boots copies nothing before it has heard the server."""

    is_open: bool = True
    epoch: int = 0
    is_up: bool = True
    is_gone: bool = False
    copies: bool = False
    mail: list[DoorOrder] = field(default_factory=list)

    @property
    def lets_in(self) -> bool:
        return self.is_up and self.is_open

    def reads(self) -> None:
        order = self.mail.pop(0)
        if order.epoch >= self.epoch:
            self.is_open, self.epoch = order.is_open, order.epoch


class PairWorld:
    """Everything there is. `boots_shut`: the rule for VMs that boot; without it a fenced primary comes back open."""

    def __init__(self, seed: int, *, warm: bool, boots_shut: bool = True) -> None:
        self.random, self.boots_shut = random.Random(seed), boots_shut
        self.log: list[object] = []
        self.view = PairView(declaration=declared("warm" if warm else "cold"))
        self.record(facts.FailoverDeclared("p", EU, US, "warm" if warm else "cold"))
        self.vms = {EU: [WorldVm() for _ in range(VMS)], US: [WorldVm() for _ in range(VMS)]}
        self.reports: dict[str, dict[int, tuple[int, bool]]] = {EU: {}, US: {}}
        self.name, self.lag_s, self.pause_s = EU, 1.0, 0.0
        self.aligned = self.is_built = False
        self.brokers = BROKERS
        self.orders = 0
        self.only_there = {} if seed % 3 else {"a-0": 7}

    # --- the server ---------------------------------------------------------------------------------------------

    def record(self, fact: object) -> None:
        """Raises IllegalStep, as a server would refuse itself."""
        self.view = after(self.view, fact)
        self.log.append(fact)

    def restarted(self) -> PairView:
        """What a server that has just been started knows."""
        view = PairView(declaration=self.view.declaration)
        for fact in self.log:
            view = after(view, fact)
        return view

    def ticks(self) -> Next:
        """What the server does when it looks, unless it dies in between: records one step, tells agents."""
        found = next_step(self.view, self.seen(self.view), BROKERS)
        if isinstance(found, PairStep):
            self.record(found.fact)
        if self.random.random() < 0.8:  # else it died behind its record, and tells at its next look
            self.acts()
        return found

    def acts(self) -> None:
        """What follows from the events alone."""
        view = self.view
        wants = wants_of(view, BROKERS)
        for cluster, order in wants.doors.items():
            for vm in self.vms[cluster]:
                vm.mail += [] if order in vm.mail or vm.is_gone else [order]
        self.name = wants.names_lead_to if self.random.random() < 0.7 else self.name
        for cluster, vms in self.vms.items():
            is_to = wants.copies is not None and wants.copies[1] == cluster
            for n, vm in enumerate(vms):
                if vm.is_up and self.random.random() < 0.7:
                    vm.copies = is_to and view.replicator_at == key_of(cluster, n)
        self.aligned = view.order is not None and view.order.aligns
        if wants.brokers is not None and self.random.random() < 0.7:
            self.brokers = wants.brokers
        self.is_built = view.order is not None or view.is_warm

    def asks(self, *, planned: bool) -> None:
        """A person asks for a failover where one may begin."""
        if self.view.state is PairState.STANDBY:
            self.orders += 1
            self.record(facts.FailoverRequested(f"f{self.orders}", planned, "drill"))

    def aborts(self) -> None:
        """A person takes an order back where that is legal."""
        view = self.view
        if view.order is None:
            return
        fact = facts.FailoverAbortRequested(view.order.id, view.last_epoch + 1, "second thoughts")
        if legal(view, fact):
            self.record(fact)

    def seen(self, view: PairView) -> PairSeen:
        """What has come to the server by now."""
        known = self.random.random
        doors = {c: d for c in (EU, US) if c in view.doors and (d := self._door(c, view.doors[c].epoch)) is not None}
        is_drained = view.order is not None and self._is_shut(view.primary)
        drained = {"a": TopicEnds("a1", (12,), (12,))} if is_drained else None
        return PairSeen(
            doors=doors,
            names=NamesSeen(self.name, known() < 0.6) if known() < 0.8 else None,
            standby=StandbyBuild(self.brokers, 12, () if self.is_built else ("a",), True) if known() < 0.8 else None,
            replicators=self._replicators(view) if known() < 0.8 else None,
            copy=CopySeen(self.lag_s, {}, drained) if known() < 0.8 else None,
            seeds={} if known() < 0.8 else None,
            aligned={"billing": 3} if self.aligned else None,
            ends={} if known() < 0.8 else None,
            only_there=self.only_there if known() < 0.8 else None,
            pause_s=self.pause_s,
        )

    def _door(self, cluster: str, epoch: int) -> DoorSeen | None:
        """By what VMs have reported of that order. One the cloud has no more needs no report."""
        told = self.reports[cluster]
        states = []
        for n, vm in enumerate(self.vms[cluster]):
            if vm.is_gone:
                continue
            if n not in told or told[n][0] != epoch:
                return None
            states.append(told[n][1])
        if not states:
            return DoorSeen(epoch, True, "inventory", "no VM of it is left")
        return DoorSeen(epoch, not any(states), "agents", f"{len(states)} VMs") if len(set(states)) == 1 else None

    def _replicators(self, view: PairView) -> ReplicatorsSeen:
        of_standby = {key_of(view.standby, n): vm for n, vm in enumerate(self.vms[view.standby])}
        return ReplicatorsSeen(
            eligible=tuple(key for key, vm in of_standby.items() if vm.is_up),
            lacking={key: "it copies" for key, vm in of_standby.items() if vm.copies},
            is_running=bool(view.replicator_at) and of_standby[view.replicator_at].copies,
        )

    def _is_shut(self, cluster: str) -> bool:
        return not any(vm.lets_in for vm in self.vms[cluster])

    # --- the world ----------------------------------------------------------------------------------------------

    def moves(self, *, breaks: bool) -> None:
        """One thing happens somewhere; with `breaks` it may be a bad one."""
        cluster = self.random.choice((EU, US))
        number = self.random.randrange(VMS)
        vm, chance = self.vms[cluster][number], self.random.random()
        if breaks and chance < 0.06:
            vm.is_up = vm.copies = False
        elif breaks and chance < 0.07:
            vm.is_up, vm.is_gone, vm.copies, vm.mail = False, True, False, []
        elif breaks and chance < 0.10:
            self.pause_s = self.random.choice((0.0, 10.0, 100.0))
        elif breaks and chance < 0.12:
            self.lag_s = self.random.choice((0.5, 40.0))
        elif not vm.is_up and not vm.is_gone:
            # It boots shut, and whatever was on its way to it may still come.
            vm.is_up, vm.is_open, vm.mail = True, not self.boots_shut, vm.mail[-1:]
        elif vm.is_up and vm.mail and chance < 0.6:
            vm.reads()
        elif vm.is_up:
            self.reports[cluster][number] = vm.epoch, vm.is_open

    def heals(self) -> None:
        """Machines come back, and nothing is slow any more."""
        self.lag_s, self.pause_s = 0.5, 0.0
        for vms in self.vms.values():
            for vm in vms:
                if vm.is_gone or not vm.is_up:
                    vm.is_up, vm.is_gone, vm.is_open, vm.mail = True, False, False, []

    def writable(self) -> Mapping[str, int]:
        """VMs that let clients in, by cluster."""
        return {cluster: sum(vm.lets_in for vm in vms) for cluster, vms in self.vms.items()}

    def copying(self) -> tuple[tuple[str, int], ...]:
        """VMs that copy, by cluster and number."""
        return tuple((cluster, n) for cluster, vms in self.vms.items() for n, vm in enumerate(vms) if vm.copies)


def key_of(cluster: str, number: int) -> str:
    """Of a VM, as its agent has it."""
    return f"{cluster}-{number}.g1"


def declared(mode: str) -> PairDeclaration:
    """A cold standby waits with two brokers, and takes over with as many as the primary has."""
    more: dict[str, object] = {"standby": {"size": 2}}
    if mode == "warm":
        more = {"replication": {}}
    spec = {"clusters": [EU, US], "bootstrap": {"dns": "p.example"}, "mode": mode, **more}
    document = KafkaFailoverDocument.model_validate({"metadata": {"name": "p"}, "spec": spec})
    return PairDeclaration(document, 1, "person:ada", NOW, "api", "p.yaml", "")


def legal(view: PairView, fact: object) -> bool:
    """Whether the fold takes it."""
    try:
        after(view, fact)
    except IllegalStep:
        return False
    return True
