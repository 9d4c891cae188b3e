"""What the HTTP API says and takes of moves and of faults on purpose; the rest of the contract is in `schemas`."""

from datetime import datetime

from pydantic import Field

from controlplane.api.schemas.messages import Message


class MoveOut(Message):
    """One running move. `of_kedge`: a plan in hand names it."""

    topic: str
    partition: int
    replicas: list[int]
    target: list[int]
    isr: list[int]
    of_kedge: bool
    age_s: float | None = Field(description="since it was first seen; None while nobody has looked twice")
    still_s: float | None = Field(description="since a byte, or a replica in sync, last came")
    asked: str = Field(default="", description="what a person wants of it")
    hung: str = Field(default="", description="why it hangs, in words; empty while it does not")


class MovesOut(Message):
    """The running moves of a cluster, the oldest first, by metadata of this age."""

    cluster: str
    metadata_age_s: float
    moves: list[MoveOut]


class MovesIn(Message):
    """A command about moves, each as `topic-partition`."""

    partitions: list[str] = Field(min_length=1)
    reason: str = ""


class ChaosIn(Message):
    """A fault to be brought about in these VMs (keys or nodes), or in a rack."""

    fault: str
    for_s: float
    vms: list[str] = Field(default_factory=list)
    rack: str = ""
    several_racks: bool = False
    force: bool = False
    confirm: str = Field(default="", description="the cluster's name, where it is not on the local cloud")
    cut_from: str = Field(default="everyone", description="of a split: everyone, brokers or control-plane")
    way: str = Field(default="both", description="of a fault of the network: both, in or out")
    loss_percent: float = Field(default=0.0, description="of packet-loss")
    mib_per_s: float = Field(default=0.0, description="of slow-disk: what it still does, each way")
    reason: str = ""


class ChaosOut(Message):
    """A fault that was recorded and brought about."""

    chaos: str
    fault: str
    vms: list[str]
    since: datetime
    for_s: float
    sentence: str


class HealthOut(Message):
    """Whether the cluster is in full health now, and what is counted while it is not. `open` are faults not over."""

    cluster: str
    healthy: bool
    why: str
    metadata_age_s: float | None
    under_min_isr: int
    under_replicated: int
    open: list[ChaosOut]
    findings: list[str] = Field(description="conditions that hold, as `type/reason`")
    brokers: list[str] = Field(description="keys of the brokers' VMs that serve")
    controllers: list[str]
    zookeepers: list[str] = Field(
        default_factory=list, description="keys of the VMs with a ZooKeeper server, alone or beside a broker"
    )
    racks: list[str]
    head: int = Field(description="version of the cluster's history")
