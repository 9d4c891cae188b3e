"""Small Kafka clusters for what is asked of the in-memory fake and of real brokers alike.

One cluster per implementation: 1 controller, brokers 1000 (az-1), 1001 (az-2), 1002 (az-3), cluster-wide min ISR 2.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.gateway import KafkaGateway
from tests.fakes.kafka import FakeKafka
from tests.kafka_processes import SOON_FENCED, KafkaProcesses
from tests.kafka_topics import create_topic
from tests.waiting import until

CONTROLLER = 100
RACKS = {1000: "az-1", 1001: "az-2", 1002: "az-3"}


class World(Protocol):
    """A gateway, and a hand on the machines behind it."""

    gateway: KafkaGateway

    def create_topic(
        self, name: str, *, partitions: int, rf: int, min_isr: int | None = None, bytes_per_partition: int = 0
    ) -> None: ...
    def stop_broker(self, broker: int) -> None: ...
    def start_broker(self, broker: int) -> None: ...
    def add_controller(self, controller: int) -> tuple[str, str]:
        """Start a fresh one; returns its directory id and host."""
        ...

    def stop_controller(self, controller: int) -> None: ...
    def until(self, condition: Callable[[], object], what: str) -> None:
        """Let time pass until the condition holds."""
        ...


class FakeWorld:
    def __init__(self, version: str = "4.1.1", *, disks: int = 1) -> None:
        dirs = ("/data", *(f"/data{n}" for n in range(2, disks + 1)))
        self.kafka = FakeKafka(version=version)
        self.gateway: KafkaGateway = self.kafka
        self.kafka.add_controller(CONTROLLER, version=version)
        for broker, rack in RACKS.items():
            self.kafka.add_broker(broker, rack, version=version, log_dirs=dirs)
        self.create_topic = self.kafka.create_topic
        self.start_broker = self.kafka.start_broker
        self.stop_controller = self.kafka.stop_controller

    def stop_broker(self, broker: int) -> None:
        assert self.kafka.stop_broker(broker)

    def add_controller(self, controller: int) -> tuple[str, str]:
        return self.kafka.add_controller(controller, voter=False), "controller-101"

    def until(self, condition: Callable[[], object], what: str) -> None:
        for _ in range(600):
            if condition():
                return
            self.kafka.advance(0.1)
        raise TimeoutError(f"a minute of the fake's time passed without {what}")


class RealWorld:
    def __init__(
        self, root: Path, *, network: str, version: str = "4.1.1", patience_s: float = 40.0, disks: int = 1
    ) -> None:
        self.processes = KafkaProcesses(
            root, controllers=(CONTROLLER,), network=network, version=version, properties=SOON_FENCED, disks=disks
        )
        self.patience_s = patience_s
        self.dialer = DirectDialer()
        self.gateway: KafkaGateway = AdminGateway(self.dialer, "contract", lambda: self.processes.bootstrap)

    def start_broker(self, broker: int) -> None:
        self.processes.start(broker)

    def start(self) -> None:
        self.processes.found(RACKS)
        self.until(self._all_live, "three live brokers")

    def create_topic(
        self, name: str, *, partitions: int, rf: int, min_isr: int | None = None, bytes_per_partition: int = 0
    ) -> None:
        create_topic(
            self.processes.bootstrap,
            name,
            partitions=partitions,
            rf=rf,
            min_isr=min_isr,
            bytes_per_partition=bytes_per_partition,
        )

    def stop_broker(self, broker: int) -> None:
        self.processes.stop(broker)

    def stop_controller(self, controller: int) -> None:
        self.processes.stop(controller)

    def add_controller(self, controller: int) -> tuple[str, str]:
        node = self.processes.add_controller(controller)
        self.processes.start(controller)
        return node.directory_id, node.host

    def until(self, condition: Callable[[], object], what: str) -> None:
        until(condition, what, timeout_s=self.patience_s)

    def close(self) -> None:
        self.dialer.close()
        self.processes.close()

    def _all_live(self) -> bool:
        try:
            return self.gateway.snapshot().live_brokers() == set(RACKS)
        except KafkaUnavailable:
            return False


@contextmanager
def real_world(
    root: Path, *, network: str, version: str = "4.1.1", patience_s: float = 40.0, disks: int = 1
) -> Iterator[RealWorld]:
    """Runs meanwhile. `patience_s`: as long as it is waited for anything. `disks`: log directories of each broker."""
    real = RealWorld(root, network=network, version=version, patience_s=patience_s, disks=disks)
    try:
        real.start()
        yield real
    finally:
        real.close()
