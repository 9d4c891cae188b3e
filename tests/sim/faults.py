"""Seeded trouble for a simulated world: what clouds, machines, people and the server itself do at the worst moment."""

from collections.abc import Callable
from functools import partial
from typing import Any

from controlplane.cluster.lifecycle import Phase
from events import facts
from planner.observed import TopicPartition
from tests.builders import a_document
from tests.sim.asking import try_to_ask
from tests.sim.guarded import is_unsettled
from tests.sim.world import World

SPECS: tuple[dict[str, object], ...] = (
    {"version": "4.1.1"},
    {"version": "4.1.1", "brokers": 6},
    {"version": "4.2.0"},
    {"version": "4.2.0", "brokers": 6},
    {"version": "4.2.0", "machine": "medium"},
)

OTHER_TYPES: dict[str, tuple[str, ...]] = {
    "compression.type": ("producer", "lz4", "zstd"),
    "log.cleaner.io.max.bytes.per.second": ("1.7976931348623157E308", "1000000", "2e7"),
    "log.cleaner.min.cleanable.ratio": ("0.5", "0.50", "0.25"),
    "log.cleanup.policy": ("delete", "compact, delete"),
    "unclean.leader.election.enable": ("false", "TRUE"),
}
"""Live settings that are no whole numbers."""


class Trouble:
    """Draws faults from the world's own seed. At most one VM is lost at a time: two racks down is another story."""

    def __init__(
        self,
        world: World,
        *,
        chance: float = 0.08,
        rivals: bool = False,
        settings: bool = False,
        all_types: bool = False,
        asking: bool = False,
        unhealthy: bool = False,
        hanging: bool = False,
        voting: bool = False,
        heaps: bool = False,
        sharing: bool = False,
        lagging: bool = False,
        breaking: bool = False,
        failing: bool = False,
        **spec: Any,
    ) -> None:
        """`spec` overrides every document that is declared meanwhile; with `rivals` other servers take over at times,
        with `settings` those of the spec change, and people set others by hand (with `all_types` such as are no whole
        numbers, too); with `asking` people ask for restarts
        and for single VMs to be replaced; with `unhealthy` agents find things wrong in services that run; with
        `hanging` moves and elections stand still for a while; with `voting` the number of controllers changes, and one
        loses its disk; with `heaps` those of the spec change, now and then to more than the VMs have; with `sharing`
        ZooKeeper servers beside brokers die; with `lagging` brokers leave their ISRs for a while, two at a time too;
        with `breaking` brokers freeze, end again and again, or are not heard; with `failing` each tick fails for a
        while, at the look or at the decision.

        What is drawn for a seed must not change: seeds that once failed are kept as tests.
        """
        self._spec = spec
        self._all_types = all_types
        self._world = world
        self._random = world.random
        self._chance = chance
        self._last: dict[str, object] = {"version": "4.2.0"}
        """The spec that was declared last, but for what is overridden."""
        self._topics = 0
        self._version = 0
        self._faults: tuple[tuple[str, Callable[[], bool]], ...] = (
            ("power cut", self._power_cut),
            ("kafka process dies", self._process_dies),
            ("terraform dies half-way", self._terraform_dies),
            ("server dies", self._server_dies),
            ("cloud api away", self._cloud_away),
            ("kafka away", self._kafka_away),
            ("new topic", self._new_topic),
            ("somebody reassigns", self._somebody_reassigns),
            ("the spec changes", self._spec_changes),
            ("stillborn VM", self._stillborn),
            ("pause and resume", self._pause_and_resume),
            ("records are written", self._write),
            *((("another server takes over", self._another_server),) if rivals else ()),
            *(((n, f) for n, f in self._setting_faults() for _ in range(3)) if settings else ()),
            *((("somebody asks for a restart or a new VM", self._somebody_asks),) * 4 if asking else ()),
            *((("a service becomes unhealthy", self._becomes_unhealthy),) * 6 if unhealthy else ()),
            *((("moves or elections hang", self._hangs),) * 8 if hanging else ()),
            *(((n, f) for n, f in self._voting_faults() for _ in range(3)) if voting else ()),
            *((("a heap changes", self._heap_changes),) * 6 if heaps else ()),
            *((("a server beside a broker dies", self._member_dies),) * 4 if sharing else ()),
            *((("a server beside a broker loses its directory", self._member_is_lost),) * 2 if sharing else ()),
            *((("brokers fall behind", self._falls_behind),) * 8 if lagging else ()),
            *(((n, f) for n, f in self._breaking_faults() for _ in range(6)) if breaking else ()),
            *((("each tick fails", self._ticks_fail),) * 6 if failing else ()),
        )
        self._ends: list[tuple[float, Callable[[], None]]] = []

    def step(self) -> None:
        """Perhaps one fault, then one tick."""
        for at, end in list(self._ends):
            if at <= self._world.seconds:
                self._ends.remove((at, end))
                end()
        if self._ends or self._world.interrupt_runs or self._world.machines.stillborn:
            self._world.disturbed()
        if self._random.random() < self._chance:
            name, fault = self._random.choice(self._faults)
            if fault():
                self._world.disturbed()
                self._world.story.append(f"{self._world.seconds:6.0f} s  !! {name}")
        self._world.tick()

    def lasts(self, steps: int) -> None:
        """For so many steps; then everything is back, and a person lets the cluster go on."""
        for _ in range(steps):
            self.step()
        self.stop()
        self._world.person(facts.ClusterResumed("the trouble is over"))

    def stop(self) -> None:
        """No more trouble: everything that was away is back."""
        for _, end in self._ends:
            end()
        self._ends.clear()
        self._world.interrupt_runs = 0
        self._world.machines.stillborn.clear()
        self._world.points.crash_at = -1
        self._world.points.usurp = False
        self._nothing_hangs()
        self._world.kafka.catch_up()
        self._world.disturbed()

    def _later(self, seconds: float, end: Callable[[], None]) -> None:
        self._ends.append((self._world.seconds + seconds, end))

    def _power_cut(self) -> bool:
        machines = self._world.machines
        view = self._world.view()
        if any(i.lost for i in view.alive()) or any(not vm.alive for vm in machines.vms.values()):
            return False
        if self._world.kafka.under_min_isr() or self._restarting():
            return False
        victims = sorted(k for k, vm in machines.vms.items() if vm.alive)
        if not victims:
            return False
        victim = self._random.choice(victims)
        if any(i.key == victim and i.phase is Phase.REQUESTED for i in view.alive()):
            machines.evidence.stillborn.append(victim)
        machines.power_cut(victim)
        return True

    def _process_dies(self) -> bool:
        machines = self._world.machines
        running = sorted(k for k, vm in machines.vms.items() if vm.alive and vm.process and vm.process.up)
        if not running or any(not vm.alive for vm in machines.vms.values()) or self._restarting():
            return False
        machines.stop_process(self._random.choice(running))
        return True

    def _member_dies(self) -> bool:
        machines = self._world.machines
        running = sorted(k for k, vm in machines.vms.items() if vm.alive and vm.member and vm.member.up)
        if not running or any(not vm.alive for vm in machines.vms.values()) or self._restarting():
            return False
        machines.stop_process(self._random.choice(running), beside=True)
        return True

    def _member_is_lost(self) -> bool:
        """While the others are a majority: an ensemble that is lost for good is another story."""
        machines, kafka = self._world.machines, self._world.kafka
        voters = kafka.voters()
        if len(voters) < 3 or kafka.voters_up() != set(voters) or self._restarting() or machines.blank:
            return False
        running = {k: vm.member for k, vm in machines.vms.items() if vm.alive and vm.member and vm.member.up}
        victims = sorted(k for k, member in running.items() if member.document.node_id in voters)
        if not victims or any(not vm.alive for vm in machines.vms.values()):
            return False
        machines.lose_member(self._random.choice(victims))
        return True

    def _restarting(self) -> bool:
        """Whether somebody is down already: one failure at a time is what min ISR 2 of 3 can stand."""
        served = {i.service_id for i in self._world.view().brokers() if i.phase in ("joined", "draining", "lingering")}
        kafka, failed = self._world.kafka, self._world.machines.failed_disks
        is_down = any(not kafka.is_running(b) for b in served) or any(kafka.serves(b) for b in failed)
        return is_down or not self._world.quorum_is_whole()

    def _terraform_dies(self) -> bool:
        self._world.interrupt_runs += 1
        return True

    def _server_dies(self) -> bool:
        self._world.points.crash_at = self._world.points.passed + self._random.randint(1, 6)
        return True

    def _another_server(self) -> bool:
        self._world.points.usurp = True
        return True

    def _cloud_away(self) -> bool:
        self._world.machines.outage = True
        self._later(self._random.randint(5, 60), lambda: setattr(self._world.machines, "outage", False))
        return True

    def _kafka_away(self) -> bool:
        self._world.kafka.outage = True
        self._later(self._random.randint(5, 60), lambda: setattr(self._world.kafka, "outage", False))
        return True

    def _new_topic(self) -> bool:
        live = sum(self._world.kafka.is_running(b) for b in self._world.machines.broker_ids)
        if live < 3 or self._topics >= 6:
            return False
        self._topics += 1
        self._world.kafka.create_topic(
            f"t{self._topics}", partitions=self._random.randint(1, 9), rf=3, min_isr=2, bytes_per_partition=20_000_000
        )
        return True

    def _somebody_reassigns(self) -> bool:
        kafka = self._world.kafka
        if (
            kafka.outage
            or not self._world.quorum_is_whole()
            or not any(map(kafka.serves, self._world.machines.broker_ids))
        ):
            return False
        partitions = [p for p in self._world.kafka.partitions() if not p.is_moving]
        if not partitions:
            return False
        p = self._random.choice(partitions)
        replicas = list(p.replicas)
        self._random.shuffle(replicas)
        self._world.kafka.reassign({TopicPartition(p.name.topic, p.name.partition): tuple(replicas)})
        return True

    def _spec_changes(self) -> bool:
        if self._world.view().generation >= 6:
            return False
        known = self._world.kafka.finalised.get("metadata.version", 0) >= 29 or self._version > 0
        choice = self._random.randrange(2 if known else 0, len(SPECS))
        self._version = max(self._version, int(choice >= 2))
        self._last = SPECS[choice]
        self._world.declare(a_document(**{**self._last, **self._spec}))
        return True

    def _setting_faults(self) -> tuple[tuple[str, Callable[[], bool]], ...]:
        return (("a setting changes", self._setting_changes), ("somebody sets by hand", self._set_by_hand))

    def _setting_changes(self) -> bool:
        if self._world.view().generation >= 12:
            return False
        threads, partitions, isr = (
            self._random.choice((2, 5, 16)),
            self._random.choice((1, 4)),
            self._random.choice((1, 2)),
        )
        some = (f"num.io.threads: {threads}", f"num.partitions: {partitions}", f"min.insync.replicas: {isr}")
        config = ", ".join(s for s in (*some, *self._values_of_other_types()) if self._random.random() < 0.7)
        self._spec = {**self._spec, "config": f", config: {{{config}}}"}
        self._world.declare(a_document(**{**self._last, **self._spec}))
        return True

    def _heap_changes(self) -> bool:
        if self._world.view().generation >= 12:
            return False
        heaps = {"heap": self._random.choice((0, 512, 1024, 65536)), "quorum_heap": self._random.choice((0, 256))}
        self._spec = {**self._spec, **heaps}
        self._world.declare(a_document(**{**self._last, **self._spec}))
        return True

    def _set_by_hand(self) -> bool:
        brokers = [b for b in self._world.machines.broker_ids if self._world.kafka.serves(b)]
        if not brokers:
            return False
        value = self._random.choice(("3", "8", "12"))
        self._world.kafka.settings.by_hand(self._random.choice(brokers), "num.io.threads", value)
        if self._all_types:
            name = self._random.choice(sorted(OTHER_TYPES))
            self._world.kafka.settings.by_hand(
                self._random.choice(brokers), name, self._random.choice(OTHER_TYPES[name])
            )
        return True

    def _values_of_other_types(self) -> tuple[str, ...]:
        if not self._all_types:
            return ()
        return tuple(f'{name}: "{self._random.choice(values)}"' for name, values in OTHER_TYPES.items())

    def _ticks_fail(self) -> bool:
        inventory = self._world.inventory
        if inventory.breaks:
            return False
        inventory.breaks = self._random.choice(("looks", "decisions"))
        self._later(self._random.choice((5.0, 40.0, 90.0)), partial(setattr, inventory, "breaks", ""))
        return True

    def _somebody_asks(self) -> bool:
        return try_to_ask(self._world)

    def _becomes_unhealthy(self) -> bool:
        machines = self._world.machines
        alive = [vm for vm in machines.vms.values() if vm.alive]
        running = sorted(vm.service_key(p.document) for vm in alive for p in vm.processes if p.up)
        if not running:
            return False
        finding = self._random.choice(("deadlock", "memory_leak", "log_dir_failed", "disk_full:data", "heap_full"))
        machines.become_unhealthy(self._random.choice(running), finding, lasts=self._random.random() < 0.3)
        return True

    def _hangs(self) -> bool:
        """For a while a broker fetches nothing, the active controller ends no move, or no election changes anything."""
        hangs, kafka = self._world.kafka.hangs, self._world.kafka
        if hangs.fetchers or hangs.controllers or hangs.elections or kafka.outage or not self._world.quorum_is_whole():
            return False
        if not any(kafka.serves(b) and kafka.is_running(b) for b in self._world.machines.broker_ids):
            return False
        kind = self._random.randrange(3)
        if kind == 0:
            hangs.fetchers.add(self._random.choice(sorted(self._world.machines.broker_ids)))
        elif kind == 1:
            hangs.controllers.add(kafka.active)
        else:
            hangs.elections = True
        self._later(self._random.randint(30, 150), self._nothing_hangs)
        return True

    def _nothing_hangs(self) -> None:
        hangs = self._world.kafka.hangs
        hangs.fetchers.clear()
        hangs.controllers.clear()
        hangs.elections = False

    def _falls_behind(self) -> bool:
        """While nobody is being stopped: what an order finds when it is obeyed is not what its gate saw otherwise."""
        kafka, there = self._world.kafka, self._world.machines.broker_ids
        serving = sorted(b for b in there if kafka.serves(b) and kafka.is_running(b))
        if kafka.lagging() or self._restarting() or is_unsettled(self._world.view()) or len(serving) < 3:
            return False
        for broker in self._random.sample(serving, self._random.randint(1, 2)):
            kafka.fall_behind(broker)
        self._later(self._random.randint(10, 60), kafka.catch_up)
        return True

    def _voting_faults(self) -> tuple[tuple[str, Callable[[], bool]], ...]:
        return (
            ("another number of controllers", self._controllers_change),
            ("a controller loses its disk", self._disk_is_lost),
        )

    def _controllers_change(self) -> bool:
        if self._world.view().generation >= 12:
            return False
        self._spec = {**self._spec, "controllers": self._random.choice((1, 3, 5))}
        self._world.declare(a_document(**{**self._last, **self._spec}))
        return True

    def bring_back(self, controllers: int) -> None:
        """What the condition `ControllersRemembered` asks a person for: those who left come back under their ids."""
        self._spec = {**self._spec, "controllers": controllers}
        self._world.declare(a_document(**{**self._last, **self._spec}))

    def _disk_is_lost(self) -> bool:
        """Of a voter, and only while the others are a majority: a quorum that is lost for good is another story."""
        machines, kafka = self._world.machines, self._world.kafka
        voters = kafka.voters()
        if len(voters) < 3 or kafka.voters_up() != set(voters) or self._restarting() or machines.blank:
            return False
        running = {
            vm.process.document.node_id: key
            for key, vm in machines.vms.items()
            if vm.alive and vm.process and vm.process.up and vm.process.document.name == "controller"
        }
        victims = sorted(key for controller, key in running.items() if controller in voters)
        if not victims or any(not vm.alive for vm in machines.vms.values()):
            return False
        machines.lose_volume(self._random.choice(victims))
        return True

    def _breaking_faults(self) -> tuple[tuple[str, Callable[[], bool]], ...]:
        return (
            ("a broker freezes", lambda: self._breaks("freezes")),
            ("a broker ends again and again", lambda: self._breaks("loops")),
            ("a VM is not heard", lambda: self._breaks("falls silent")),
        )

    def _breaks(self, how: str) -> bool:
        """One at a time, for seconds or for longer than anybody waits for it; not while another one is to stop."""
        machines, down = self._world.machines, self._world.machines.breakdowns
        running = {k: vm.process for k, vm in machines.vms.items() if vm.alive and vm.process and vm.process.up}
        brokers = sorted(k for k, process in running.items() if process.document.name == "broker")
        if down.frozen or down.looping or not brokers or self._restarting() or self._world.view().settings.orders:
            return False
        if self._world.kafka.under_min_isr() or any(not vm.alive for vm in machines.vms.values()):
            return False
        key = self._random.choice(brokers)
        down.loop(machines, key) if how == "loops" else down.freeze(machines, key, silent=how == "falls silent")
        self._later(self._random.choice((40.0, 200.0, 900.0)), lambda: self._mended(key))
        return True

    def _mended(self, key: str) -> None:
        self._world.machines.breakdowns.looping.discard(key)
        self._world.machines.breakdowns.thaw(self._world.machines, key)

    def _stillborn(self) -> bool:
        nodes = sorted({i.node for i in self._world.view().brokers()})
        if not nodes or self._world.machines.stillborn:
            return False
        self._world.machines.stillborn.add(self._random.choice(nodes))
        return True

    def _pause_and_resume(self) -> bool:
        if self._world.view().requests.paused:
            return False
        self._world.person(facts.ClusterPaused("a look", None))
        self._later(self._random.randint(10, 60), lambda: self._world.person(facts.ClusterResumed("seen")))
        return True

    def _write(self) -> bool:
        topics = sorted({p.name.topic for p in self._world.kafka.partitions()})
        return bool(topics) and self._world.kafka.write(self._random.choice(topics), 1000) > 0
