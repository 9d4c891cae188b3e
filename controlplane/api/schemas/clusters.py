"""What the API says of a cluster as a whole: in short, in full, how it is reached, and what was recorded of it."""

from datetime import datetime
from typing import Any

from pydantic import Field

from controlplane.api.schemas.conditions import BrakeOut, ConditionOut, DrainOut, RebalanceOut
from controlplane.api.schemas.external import ExternalBrokerOut
from controlplane.api.schemas.instances import ConsoleOut, InstanceOut
from controlplane.api.schemas.messages import Message
from controlplane.api.schemas.past import PastOut
from controlplane.api.schemas.quorum import QuorumOut
from controlplane.api.schemas.specs import SpecSourceOut, StepOut


class ClusterOut(Message):
    """One cluster, in short."""

    name: str
    uid: str
    generation: int
    converged_generation: int
    kafka_version: str
    status: str = Field(description="one word: Converged, Working, Blocked, Paused, Held, Deleting, Unreadable")
    sentence: str = Field(description="what the last tick said, with numbers")
    sentence_at: datetime | None
    brokers: int = Field(description="that have joined, and serve by Kafka's last word where it was read")
    controllers: int
    desired_brokers: int
    desired_controllers: int
    paused: str
    declared_at: datetime | None
    source: SpecSourceOut = Field(default_factory=SpecSourceOut)


class ClusterDetailOut(ClusterOut):
    """One cluster with all that is known of it."""

    why: str = Field(default="", description="why it is not well, the gravest in one sentence; empty where it is")
    faults: list[str] = Field(default=[], description="brought about on purpose and not over, each in a sentence")
    faults_alone: bool = Field(default=False, description="nothing else is in hand or to be done")
    conditions: list[ConditionOut]
    instances: list[InstanceOut]
    externals: list[ExternalBrokerOut] = Field(default=[], description="its brokers that others run, by id")
    drain: DrainOut | None
    rebalance: RebalanceOut | None = None
    brake: BrakeOut | None = Field(default=None, description="of the moves in hand; absent: they never were slowed")
    consoles: list[ConsoleOut] = Field(default=[], description="of VMs that never joined, of the last day")
    window: str = Field(default="", description="what windows and freezes say now, where there are any")
    quorum: QuorumOut | None = Field(default=None, description="of the last metadata; absent before any was read")
    pending: list[StepOut] = Field(description="what is left to do, node by node")
    features: dict[str, int]
    under_min_isr: int | None = Field(description="partitions below min ISR in the last metadata, None when unknown")
    under_replicated: int | None
    leaderless: int | None = Field(default=None, description="partitions without a leader, None when unknown")
    partitions: int | None
    metadata_age_s: float | None
    document: dict[str, Any]
    stream_version: int
    past: PastOut | None = Field(default=None, description="set where this is the cluster as it was")


class DnsNameOut(Message):
    """A name Kedge keeps in DNS: what it says there, and what stands in the way of what it should say."""

    name: str
    addresses: list[str]
    problem: str = ""
    since: datetime


class ListenerOut(Message):
    """A listener for clients, by the spec."""

    name: str
    port: int
    security: str
    authentication: str
    protocol: str = Field(default="", description="as clients call it: PLAINTEXT, SSL or SASL_SSL")
    bootstrap: list[str] = Field(default=[], description="addresses of brokers that have it")
    missing: int = Field(default=0, description="brokers that are still to be started anew for it")
    examples: dict[str, str] = Field(
        default={}, description="configuration by the kind of client: java, librdkafka, python, kcat"
    )


class EndpointsOut(Message):
    """How clients find the cluster: `bootstrap` is of the first listener, others have their own."""

    cluster: str
    bootstrap: list[str]
    dns: str | None
    security: str
    published_at: datetime | None
    names: list[DnsNameOut] = Field(default=[])
    listeners: list[ListenerOut] = Field(default=[])
    ca: str = Field(default="", description="PEM: by it brokers are recognised at listeners that speak TLS")


class EventOut(Message):
    """One recorded event of a cluster."""

    position: int
    version: int
    type: str
    at: datetime
    actor: str
    data: dict[str, Any]


class EventsOut(Message):
    events: list[EventOut]
    head: int = Field(description="highest global position; ask for events after the last one you have")


class StateOut(Message):
    """A cluster as input for planners. `document` is a state file (docs/state.schema.json); figures of brokers that
    nobody knows are left out of it.
    """

    cluster: str
    at: datetime
    age_s: float
    document: dict[str, Any]
