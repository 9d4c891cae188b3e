"""The part of the contract that is about topics agents send to; `agent.wire` has the whole of it."""

from pydantic import Field

from agent.host_port import HostPort
from agent.wire_base import Wire


class AgentTopic(Wire):
    """A topic agents send to; they make it if it is missing."""

    name: str
    bootstrap: str = Field(default="", description="`host:port,...`; empty: the broker's own cluster")
    partitions: int = 1
    replication: int
    config: dict[str, str] = Field(default_factory=dict, description="topic configs it is made with")
    secured: bool = Field(
        default=False,
        description="at brokers of the VM's own cluster, which know it by its node's certificate. Only in documents of"
        " version 2",
    )


class LogsTopic(AgentTopic):
    """Where the agent of any VM sends the lines of its services' logs and of its own. `bootstrap` is never empty."""

    lines_per_min: int = Field(
        default=6000, ge=1, description="of one log: more lines of a minute are left out, and their number is told"
    )


class MetricsTopic(AgentTopic):
    """Where the agent of a broker sends what it measures."""

    interval_s: int = Field(default=60, description="a divisor of 60")


class HeartbeatTarget(Wire):
    """A broker that heartbeats are sent through."""

    broker: int
    address: str
    port: int


class Heartbeats(Wire):
    """Brokers of the next rack this VM's agent looks at as a client does: it sends small records, and reads them."""

    topic: str
    targets: tuple[HeartbeatTarget, ...]
    interval_ms: int = Field(default=2000, ge=100)
    secured: bool = Field(
        default=False, description="they know the VM by its node's certificate. Only in documents of version 2"
    )

    @property
    def bootstrap(self) -> str:
        return ",".join(str(HostPort(t.address, t.port)) for t in self.targets)
