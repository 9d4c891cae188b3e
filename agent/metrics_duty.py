"""Whose metrics are shipped, and where to: one thread for the broker that is up and measured, none for any other."""

from dataclasses import dataclass

from agent.duty import Duty
from agent.host_port import HostPort
from agent.kafka_tls import BrokerTask
from agent.wire import MetricsTopic, ServiceDocument


@dataclass(frozen=True, slots=True)
class MeasuredBroker:
    """A broker that is up, and where its figures go."""

    broker: ServiceDocument
    cluster_uid: str
    node: str
    topic: MetricsTopic

    @property
    def bootstrap(self) -> str:
        return self.topic.bootstrap or str(HostPort(self.broker.address, self._port()))

    def _port(self) -> int:
        """Where the broker takes it. On its way to TLS it listens for nodes by TLS before all are asked to come so."""
        plain = (
            (one.port for one in self.broker.tls.listeners if one.security == "plaintext") if self.broker.tls else ()
        )
        return self.broker.port if self.topic.secured else next(iter(plain), self.broker.port)

    @property
    def secured(self) -> bool:
        """Whether those brokers know the VM by its node's certificate."""
        return self.topic.secured


class MetricsDuty(Duty[BrokerTask[MeasuredBroker]]):
    """`agent.metrics_start.start_shipping` starts its threads."""
