"""Seeded lives of clusters in ZooKeeper mode whose sessions end in the middle of restarts, upgrades and changes of the
ensemble, with reads that are late and a lock that is lost, or taken by others (experience.md, F5)."""

from collections.abc import Callable
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from events import facts
from tests.builders import a_document
from tests.sim.faults import Trouble
from tests.sim.sessions import OLDEST_S, SessionWorld, end_kedges_session, give_the_lock_back, take_the_lock
from tests.sim.stories import IN_ZOOKEEPER_MODE
from tests.sim.sweep import sweep
from tests.sim.vms import Illness

SERVED = (Phase.JOINED, Phase.DRAINING, Phase.LINGERING)


class Sessions(Trouble):
    """All the usual trouble; and sessions end, reads are late, the ensemble loses its majority for a moment."""

    def __init__(self, world: SessionWorld, *, chance: float, **spec: Any) -> None:
        super().__init__(world, chance=chance, settings=True, asking=True, **spec)
        self._kafka, self._locks = world.kafka, world.lock_nodes
        self.drawn: list[str] = []
        faults: tuple[tuple[str, Callable[[], bool]], ...] = (
            ("Kedge's session ends", self._own_ends),
            ("somebody else takes the lock", self._another_locks),
            ("no session is connected", self._silence),
            ("a broker's session ends", self._brokers_ends),
            ("what is read is late", self._late),
            ("who leads is in doubt", self._doubt),
            ("the ensemble loses its majority", self._no_majority),
        )
        self._faults = (*self._faults, *(fault for fault in faults for _ in range(3)))

    def stop(self) -> None:
        if kept_empty := tuple(self._world.view().requests.evacuations):
            # Of six brokers that become three none is left for what it would hold.
            self._world.person(facts.EvacuationEnded(kept_empty, "asked by anna: enough"))
        self._locks.silent = False
        give_the_lock_back(self._world)
        self._timely()
        super().stop()

    def _restarting(self) -> bool:
        """While reads are late nobody dies: whoever looks is told of it too late, which is nobody's fault."""
        away = any(not self._kafka.serves(i.service_id) for i in self._world.view().brokers() if i.phase in SERVED)
        return away or self._kafka.late_s > 0 or super()._restarting()

    def _somebody_asks(self) -> bool:
        is_told = not self._kafka.in_doubt and self._kafka.leader != -1
        return is_told and super()._somebody_asks()

    def _new_topic(self) -> bool:
        there = [b for b in self._world.machines.broker_ids if self._kafka.serves(b)]
        return len(there) >= 3 and super()._new_topic()

    def _setting_changes(self) -> bool:
        if self._world.view().generation >= 12:
            return False
        threads = self._random.choice((2, 5, 16))
        self._spec = {**self._spec, "config": f"{IN_ZOOKEEPER_MODE['config']}, config: {{num.io.threads: {threads}}}"}
        self._world.declare(a_document(**{**self._last, **self._spec}))
        return True

    def _own_ends(self) -> bool:
        if not end_kedges_session(self._world):
            return False
        self.drawn.append("own")
        if self._random.random() < 0.5:
            self._another_locks()
        return True

    def _another_locks(self) -> bool:
        if not take_the_lock(self._world):
            return False
        self.drawn.append("another")
        self._later(self._random.choice((10.0, 60.0, 150.0)), lambda: give_the_lock_back(self._world))
        return True

    def _silence(self) -> bool:
        if self._locks.silent:
            return False
        self._locks.silent = True
        self.drawn.append("silence")
        self._later(self._random.choice((3.0, 20.0, 60.0)), self._heard)
        return True

    def _heard(self) -> None:
        """Connected again; after long the session is over."""
        self._locks.silent = False
        if self._random.random() < 0.5:
            end_kedges_session(self._world)

    def _brokers_ends(self) -> bool:
        """Its process goes on; it registers anew after a while, or not before it is started anew."""
        machines, kafka = self._world.machines, self._kafka
        running = {k: vm.process for k, vm in machines.vms.items() if vm.alive and vm.process and vm.process.up}
        brokers = sorted(k for k, process in running.items() if process.document.name == "broker")
        brokers = [k for k in brokers if kafka.serves(running[k].document.node_id)]
        if not brokers or self._restarting() or self._world.view().settings.orders or kafka.under_min_isr():
            return False
        if any(not vm.alive for vm in machines.vms.values()):
            return False
        key = self._random.choice(brokers)
        process, lasts_s = running[key], self._random.choice((3.0, 15.0, 40.0, 300.0))
        kafka.lose_session(process.document.node_id)
        if lasts_s > 60:
            machines.illnesses[key] = Illness("zookeeper_session", self._world.clock())
        self.drawn.append("broker")

        def again() -> None:
            vm = machines.vms.get(key)
            if vm is not None and vm.alive and vm.process is process and process.up:
                machines.illnesses.pop(key, None)
                kafka.start_broker(process.document.node_id)

        self._later(lasts_s, again)
        return True

    def _late(self) -> bool:
        if self._restarting():
            return False
        self._kafka.late_s = self._random.uniform(2.0, OLDEST_S)
        self.drawn.append("late")
        self._later(self._random.choice((20.0, 60.0, 120.0)), self._timely)
        return True

    def _doubt(self) -> bool:
        if self._kafka.in_doubt:
            return False
        self._kafka.in_doubt = True
        self.drawn.append("doubt")
        self._later(self._random.choice((3.0, 20.0, 50.0)), self._timely)
        return True

    def _timely(self) -> None:
        self._kafka.late_s, self._kafka.in_doubt = 0.0, False

    def _no_majority(self) -> bool:
        """All but one of its servers end at once; their agents start them again."""
        machines, kafka = self._world.machines, self._kafka
        voters = kafka.voters()
        if len(voters) < 3 or kafka.voters_up() != set(voters) or self._restarting() or machines.blank:
            return False
        up = [k for k, vm in sorted(machines.vms.items()) if vm.alive and vm.process and vm.process.up]
        servers = [k for k in up if machines.vms[k].process.document.name == "zookeeper"]  # type: ignore[union-attr]
        servers = [k for k in servers if machines.vms[k].process.document.node_id in voters]  # type: ignore[union-attr]
        if len(servers) < 3 or any(not vm.alive for vm in machines.vms.values()):
            return False
        for key in self._random.sample(servers, len(servers) // 2 + 1):
            machines.stop_process(key)
        self.drawn.append("majority")
        return True


def roll_with_sessions(seed: int, *, steps: int = 300) -> SessionWorld:
    """A roll to the next release with its protocol, settings and servers that change meanwhile. Every other seed hands
    disks over."""
    spec: dict[str, Any] = {"strategy": "reattach", "max_unavailable": 1} if seed % 2 else {}
    spec |= {**IN_ZOOKEEPER_MODE, "healing": "perDay: 20"}
    world = SessionWorld(seed=seed, version="3.8.1")
    world.declare(a_document(**{**spec, "version": "3.8.1"}))
    world.converge(ticks=300)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    spec = {**spec, "version": "3.9.1"}
    world.declare(a_document(**spec))
    trouble = Sessions(world, chance=0.15, **spec)
    trouble.lasts(steps)
    world.converge(ticks=1500)
    assert trouble.drawn
    return world


@pytest.mark.parametrize("seed", range(3800, 3802))
def test_it_converges_though_sessions_end_and_reads_are_late(seed: int) -> None:
    roll_with_sessions(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", [38030, 38125])
def test_a_value_set_by_hand_just_before_the_end_is_put_right_by_the_next_look(seed: int) -> None:
    """In the steps in which thread pools may change, or where the broker had it before it died."""
    roll_with_sessions(seed)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_though_many_more_sessions_end() -> None:
    sweep("roll_with_sessions", range(38000, 38200), roll_with_sessions)
