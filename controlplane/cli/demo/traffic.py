"""The demo's own clients: topics, a producer and a consumer that never stop, and an eye on min ISR."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from controlplane.cli.demo.clients import IN_PLAINTEXT
from controlplane.cli.demo.house import DemoFailed
from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.audit import Audit
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.min_isr import MinIsrObserver, MinIsrReport
from controlplane.kafka.workload import Workload
from events.quantities import MIB

PARTITIONS = 12
GROUP = "orders-readers"

_GIVEN_UP_WITHIN_S = 5.0

Bootstrap = Callable[[], Sequence[str]]


class DemoTraffic:
    """Traffic on one cluster, from the first topic to the audit."""

    def __init__(self, bootstrap: Bootstrap, *, topic: str) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self.clients = IN_PLAINTEXT
        """As whom it signs in, from the next client on."""
        self._workload: Workload | None = None
        self._observer: MinIsrObserver | None = None
        self._seen: MinIsrReport | None = None

    @property
    def workload(self) -> Workload:
        if self._workload is None:
            raise DemoFailed("the traffic has not been started")
        return self._workload

    def create_topic(self, name: str) -> None:
        """RF 3, min ISR 2. Raises DemoFailed with Kafka's words."""
        admin = AdminClient({**self.clients.writer, "bootstrap.servers": ",".join(self._bootstrap()), "log_level": 0})
        topic = NewTopic(name, num_partitions=PARTITIONS, replication_factor=3, config={"min.insync.replicas": "2"})
        try:
            admin.create_topics([topic])[name].result(timeout=30)
        except KafkaException as error:
            raise DemoFailed(f"topic {name} was not created: {error}") from error

    def begin(self, fill_mib: int) -> int:
        """Creates and fills the first topic, then starts producer, consumer and observer. Returns records written."""
        self.create_topic(self._topic)
        clients = self.clients
        self._workload = Workload(
            self._bootstrap, self._topic, group=GROUP, client=clients.writer, reader=clients.reader
        )
        written = self._workload.fill(self._topic, fill_mib * MIB)
        # A connection of its own: the observer must not wait for anybody else's call.
        gateway = AdminGateway(clients.dialer(), "demo-observer", self._bootstrap)
        self._observer = MinIsrObserver(gateway.partitions)
        self._observer.start()
        self._workload.start()
        return written

    def add_topic(self, name: str, fill_mib: int) -> int:
        """A second topic, filled once. Returns records written."""
        self.create_topic(name)
        return self.workload.fill(name, fill_mib * MIB)

    def end(self) -> tuple[Audit, MinIsrReport]:
        """Stops the traffic and reads everything back from offset 0."""
        self.workload.stop()
        if self.workload.error:
            raise DemoFailed(f"the traffic broke off: {self.workload.error}")
        audit = self.workload.audit()
        if self._observer is None:
            raise DemoFailed("min ISR was not watched")
        return audit, self._observer.stop()

    def abandon(self) -> None:
        """Ends what threads still run, without an audit: for a demo that is given up. Safe to repeat."""
        if self._observer is not None:
            self._observer.stop()
        if self._workload is not None:
            # Brokers may be gone: what does not end by itself ends with the process.
            with suppress(KafkaUnavailable):
                self._workload.stop(timeout_s=_GIVEN_UP_WITHIN_S)
