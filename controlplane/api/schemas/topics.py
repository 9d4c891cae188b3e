"""What the HTTP API says and takes of topics; the rest of the contract is in `schemas`."""

from datetime import datetime

from pydantic import Field

from controlplane.api.schemas.messages import Message
from controlplane.api.schemas.past import PastOut


class AdoptTopicIn(Message):
    """Keep a topic that was made outside Kedge. `reason` is recorded."""

    reason: str = ""


class ReplicationFactorIn(Message):
    """Give every partition of these topics, which no document declares, so many replicas."""

    topics: list[str] = Field(min_length=1, max_length=100)
    factor: int = Field(ge=1, le=32767, description="replicas of each partition")
    below_min_isr: bool = Field(default=False, description="it may be fewer than `min.insync.replicas` asks for")
    reason: str = ""
    dry_run: bool = Field(default=False, description="only say what would come of it; nothing is recorded")


class CancelReplicationFactorIn(Message):
    """Begin nothing more of it for these topics, for all where none is named."""

    topics: list[str] = Field(default_factory=list, max_length=100)
    reason: str = ""


class DeleteTopicIn(Message):
    """The tombstone: `confirm` must be the topic's name, typed out."""

    confirm: str
    reason: str = ""
    retain: bool = Field(default=False, description="it stays in Kafka, whatever its deletion policy says")


class DeclaredTopicOut(Message):
    """A topic as it is declared. `config` is null where it was adopted as found: its configuration is left alone."""

    partitions: int
    replicas: int
    config: dict[str, str] | None
    tier: str
    owner: str
    deletion_policy: str
    on_loss: str
    labels: dict[str, str]
    rate_min: int | None = Field(default=None, description="records per second written at least while all is well")
    rate_max: int | None = Field(default=None, description="and at most")
    rate_learn: bool = Field(default=False, description="whether that is learned from its past instead")
    source: str
    path: str
    commit: str
    since: datetime


class ObservedTopicOut(Message):
    """A topic as Kafka's last metadata has it. `replicas` and `most_replicas` differ where partitions do."""

    partitions: int
    replicas: int
    most_replicas: int
    min_isr: int
    under_replicated: int
    offline: int
    moving: int
    preferred_share: float = Field(default=1.0, description="of its partitions, led by the first of their replicas")
    spread: float = Field(default=1.0, description="of the cluster's brokers, those that hold a replica of it")
    skew: float = Field(default=0.0, description="of its brokers, those with more of its replicas than an even share")
    size_bytes: int | None
    write_bytes_per_s: float | None = Field(default=None, description="of one copy; null until Kafka was read twice")


class PlacedThenOut(Message):
    """A partition as the metric lake has it: who held it while the window was open, and who of these led it at some
    time of that. Nobody is in `led_by` where no leader told of it."""

    partition: int
    brokers: list[int]
    led_by: list[int]
    log_bytes: int | None = Field(description="the largest log of its replicas, a mean over the window")


class TopicOut(Message):
    """One topic. `state`: Observed (nobody's), Declared, InSync, Changing, Degraded or Deleting."""

    cluster: str
    name: str
    state: str
    reason: str = Field(description="CamelCase word, stable; empty where nothing is wrong")
    message: str
    internal: bool
    declared: DeclaredTopicOut | None
    observed: ObservedTopicOut | None
    learned_rate: str = Field(
        default="",
        description="what was learned of its rate for the hour that runs, or why nothing; empty in lists, and where "
        "nothing is to be learned",
    )
    past: PastOut | None = Field(default=None, description="set where this is the topic as it was")
    placed: list[PlacedThenOut] = Field(default=[], description="its partitions of then, in lists and of now empty")


class PartitionOut(Message):
    """One partition. `state` is the worst that is to be said of it, as the page says it; `behind_since`, by broker, is
    told by a server that has read Kafka itself."""

    partition: int
    state: str
    leader: int = Field(description="-1 where there is none")
    replicas: list[int]
    isr: list[int]
    min_isr: int
    adding: list[int]
    removing: list[int]
    size_bytes: int | None
    behind_since: dict[int, datetime] = Field(default={})


class PartitionsOut(Message):
    """Partitions of a topic by number; `total` counts all that match, of which `partitions` may be a page."""

    cluster: str
    topic: str
    metadata_age_s: float
    recorded: bool = Field(description="as `recorded` of topics")
    partitions: list[PartitionOut]
    total: int


class UnhealthyPartitionOut(PartitionOut):
    """One partition that ails. `id` is what `after` takes."""

    id: str
    topic: str


class UnhealthyPartitionsOut(Message):
    """Partitions of all topics that lack their leader, their min ISR or a replica in sync, in this order and then by
    name. `metadata_age_s` is null while Kafka was not read yet: then nothing is known, and nobody says that none ails.
    `total` counts all that match, of which `partitions` may be a page; the three counts are by word, of all topics that
    match, whatever `state` narrows them to."""

    cluster: str
    metadata_age_s: float | None
    recorded: bool = Field(description="as `recorded` of topics")
    partitions: list[UnhealthyPartitionOut]
    total: int
    no_leader: int
    below_min_isr: int
    out_of_sync: int


class TopicsOut(Message):
    """The topics of a cluster by name. `metadata_age_s` is null while Kafka was not read yet; `total` counts all that
    match, of which `topics` may be a page. `recorded`: the server that answers has not read Kafka itself, so rates are
    null, and sizes as old as `sizes_age_s` says (null where none were recorded)."""

    cluster: str
    metadata_age_s: float | None
    topics: list[TopicOut]
    total: int
    recorded: bool = False
    sizes_age_s: float | None = None
    past: PastOut | None = Field(default=None, description="set where these are the topics as they were")
