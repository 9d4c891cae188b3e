"""What the HTTP API says of the brokers of a cluster, of what one holds, and of who follows whom."""

from datetime import datetime

from pydantic import Field

from controlplane.api.schemas.messages import Message


class BrokerOut(Message):
    """One broker. What is null nobody has told yet, or Kafka does not list it."""

    id: int
    key: str = Field(description="of its VM, as in `brokers-a-0.g1`; `external` for one that others run")
    cloud_id: str
    console: str = Field(description="the page of its VM in the cloud's console, empty where there is none")
    address: str
    zone: str
    machine: str
    kafka_version: str
    image: str = Field(description="revision of the catalogue, empty for the image the cloud's settings name")
    phase: str
    lost: bool
    state: str = Field(description="live, fenced, not registered, or unknown")
    is_controller: bool = Field(description="the active controller, in ZooKeeper mode")
    up_since: datetime | None = Field(description="by its agent's word of the last 3 minutes")
    leaders: int | None
    replicas: int | None
    in_sync: int | None
    disk_used_bytes: int | None
    disk_total_bytes: int | None
    write_bytes_per_s: float | None
    read_bytes_per_s: float | None
    leader_skew: float | None = Field(description="above (+) or below (-) the mean of live brokers, as a share of it")
    leader_skew_level: str = Field(description="good, warn or bad; empty where the skew is not known")
    replica_skew: float | None
    replica_skew_level: str
    disk_level: str
    external: str = Field(description="how a broker that others run stands, in words; else empty")


class BrokersOut(Message):
    """The brokers of a cluster by id; `total` counts all that match, of which `brokers` may be a page. `recorded`: the
    server that answers has not read Kafka itself, and tells what each holds as another look recorded it."""

    cluster: str
    metadata_age_s: float | None
    recorded: bool
    brokers: list[BrokerOut]
    total: int


class HostedOut(Message):
    """A partition that a broker has a replica of."""

    topic: str
    partition: int
    role: str = Field(description="leader, follower, `follower, out of sync`, arriving or leaving")
    leader: int = Field(description="-1 where there is none")
    replicas: list[int]
    isr: list[int]
    min_isr: int
    size_bytes: int | None


class HostedPartitionsOut(Message):
    """What a broker holds, by topic and number; `total` counts all that match."""

    cluster: str
    broker: int
    metadata_age_s: float | None
    recorded: bool
    partitions: list[HostedOut]
    total: int


class MatrixRowOut(Message):
    """One broker as a leader."""

    broker: int
    rack: str
    leads: int
    alone: int = Field(description="partitions it leads that nobody else has a replica of")
    followed_by: dict[int, int] = Field(description="by broker, how many partitions it leads have a replica there")
    follows: int = Field(description="replicas it has of partitions that others lead")


class MatrixOut(Message):
    """Who follows whom, by broker; `total` counts the brokers, of which `rows` may be a page."""

    cluster: str
    metadata_age_s: float | None
    recorded: bool
    rows: list[MatrixRowOut]
    total: int
    leaderless: int = Field(description="partitions without a leader: they are in no row")
