"""What the API says of networks, and takes for them."""

from datetime import datetime

from pydantic import Field

from controlplane.api.schemas.messages import Message


class NetworkOut(Message):
    """One network Kedge makes. `error` is what its last failed run said, "" where none failed since it was asked."""

    name: str
    cloud: str
    account: str
    region: str
    cidr: str
    state: str
    told: str
    zones: list[str]
    clients: list[str]
    broker_ports: list[int] = Field(default_factory=list)
    """What its firewall lets in: from clients and the network's own VMs, and `member_ports` from those VMs alone."""
    member_ports: list[int] = Field(default_factory=list)
    port_clients: dict[int, list[str]] = Field(default_factory=dict)
    """Ports of brokers where those are let in instead of `clients`: of listeners that name their own."""
    peers: list[str] = Field(default_factory=list)
    """Networks of members in other places that are let in as its own VMs are."""
    servers: list[str] = Field(default_factory=list)
    """Where servers of Kedge are let in from, at the ports they dial."""
    overlay_ports: list[int] = Field(default_factory=list)
    """UDP ports of an overlay's tunnels at which members are let in, `open_overlay_ports` those where anybody is."""
    open_overlay_ports: list[int] = Field(default_factory=list)
    clusters: list[str]
    since: datetime
    tries: int = 0
    error: str = ""
    audited_at: datetime | None = None
    """The last audit that ended well; `drifts` are what it found changed by hand, in sentences, and `audit_error` why
    the last one at all told nothing."""
    drifts: list[str] = Field(default_factory=list)
    audit_error: str = ""


class NetworksOut(Message):
    """`free` is how many more networks the pool has room for."""

    items: list[NetworkOut]
    pool: str
    prefix: int
    free: int


class NetworkIn(Message):
    """Which network is meant; account and region may be left out while only one has that name."""

    account: str = Field(default="", max_length=63)
    region: str = Field(default="", max_length=63)
    reason: str = Field(default="", max_length=1000)


class NetworkRemovalIn(NetworkIn):
    """`confirm` is the name of the network again, as a person types it."""

    confirm: str = Field(max_length=63)


class NetworkAskedOut(Message):
    """What will happen."""

    name: str
    sentence: str
