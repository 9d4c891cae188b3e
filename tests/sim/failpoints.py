"""Points at which the simulated server can die: before and after each append, each run, each change of Kafka."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from controlplane.cluster.view import ClusterView
from controlplane.kafka.zookeeper.errors import ZooKeeperFault
from controlplane.kafka.zookeeper.locks import RESTART, LockStatus, Taken
from controlplane.kafka.zookeeper_gateway import as_kafka_fault
from events.envelope import NewEvent, Origin, Recorded
from tests.fakes.event_store import MemoryEventStore
from tests.fakes.kafka import FakeKafka
from tests.fakes.zookeeper import FakeLocks, FakeNodes


class Crash(BaseException):
    """The server dies here. Not an Exception: nothing in the server may catch it."""


@dataclass(slots=True)
class Failpoints:
    """Counts the points passed; crashes at the one it is told to."""

    crash_at: int = -1
    usurp: bool = False
    """Another server takes over as soon as this one has done something: it finds out before the next thing it does."""
    take_over: Callable[[], None] = lambda: None
    passed: int = 0
    names: list[str] = field(default_factory=list)

    def reach(self, name: str) -> None:
        self.passed += 1
        self.names.append(name)
        if self.passed == self.crash_at:
            raise Crash(name)
        if self.usurp and name.startswith("after "):
            self.usurp = False
            self.take_over()


class CrashingStore(MemoryEventStore):
    """The memory store with a failpoint before and after each append."""

    def __init__(self, points: Failpoints, clock: Callable[[], datetime]) -> None:
        super().__init__(clock=clock)
        self._points = points
        self.watch: Callable[[Sequence[NewEvent], Origin], None] = lambda _events, _origin: None

    def append(
        self, stream: str, events: Sequence[NewEvent], *, expected_version: int, origin: Origin
    ) -> list[Recorded]:
        names = ",".join(e.type for e in events)
        self._points.reach(f"before {names}")
        recorded = super().append(stream, events, expected_version=expected_version, origin=origin)
        self.watch(events, origin)
        self._points.reach(f"after {names}")
        return recorded


class CrashingKafka:
    """The gateway with a failpoint before and after each call that changes something."""

    CHANGES = frozenset(
        {
            "reassign",
            "cancel",
            "set_cordons",
            "set_log_dirs_throttle",
            "set_producer_quota",
            "set_throttle",
            "clear_throttles",
            "unregister_broker",
            "elect_preferred",
            "update_feature",
            "change_settings",
            "add_voter",
            "remove_voter",
            "change_topics",
            "change_user_rights",
            "change_client_quotas",
        }
    )

    def __init__(self, kafka: FakeKafka, points: Failpoints, watch: Callable[..., None]) -> None:
        self._kafka = kafka
        self._points = points
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._kafka, name)
        if name not in self.CHANGES:
            return call

        def guarded(*args: Any, **kwargs: Any) -> Any:
            self._points.reach(f"before {name}")
            self._watch(name, *args)
            answer = call(*args, **kwargs)
            self._points.reach(f"after {name}")
            return answer

        return guarded


class SimRestartLock:
    """The restart lock of one server process; it dies with it."""

    def __init__(self, nodes: FakeNodes, points: Failpoints) -> None:
        self._locks = FakeLocks(nodes, holder="Kedge")
        self._points = points

    def status(self, view: ClusterView) -> LockStatus:
        return self._locks.status(RESTART)

    def take(self, view: ClusterView, why: str) -> str:
        self._points.reach("before take_restart_lock")
        try:
            taken = self._locks.take(RESTART, why=why)
        except ZooKeeperFault as fault:
            self.release(view)  # as `Gateways`: the next try gets a session of its own
            raise as_kafka_fault(fault) from fault
        return "" if isinstance(taken, Taken) else f"{taken.holder} holds it: {taken.why}"

    def release(self, view: ClusterView) -> None:
        self._locks.close()
