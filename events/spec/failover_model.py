"""The `KafkaFailover` document: two clusters of which one takes over from the other, as frozen values. Judged by
`events.spec.failover_rules`.

A warm standby gets a copy of the records; a cold one is a small cluster without topics, which grows when it takes over.
"""

from typing import Literal

from events.spec.fields import FieldClass, Part, classed
from events.spec.model import API_VERSION, Metadata, PlaceSpec
from events.spec.scalars import CloudWord, DnsLabel, HostName, Seconds, TopicPattern, Whole

FAILOVER_KIND = "KafkaFailover"

STATIC, BEHAVIOURAL, IDENTITY = FieldClass.STATIC, FieldClass.BEHAVIOURAL, FieldClass.IDENTITY

LONGEST_TTL_S = 60


class PairBootstrap(Part):
    """The name by which clients find whichever of the two is the primary."""

    dns: HostName = classed(IDENTITY, "The pair's DNS name. It is neither cluster's own, and leads to the primary.")
    ttl: Seconds = classed(
        BEHAVIOURAL,
        "How long a look-up of it may be kept: clients move that much later.",
        default=5,
        ge=1,
        le=LONGEST_TTL_S,
    )


class PairTopics(Part):
    """Of which topics there are two. Those of tier `scratch` are left out."""

    include: tuple[TopicPattern, ...] = classed(
        BEHAVIOURAL, "Names, or how names begin with `*` behind it.", default=("*",), min_length=1, max_length=200
    )
    exclude: tuple[TopicPattern, ...] = classed(BEHAVIOURAL, "Of those, the ones left out.", default=(), max_length=200)


class PairGroups(Part):
    """Whose offsets go along."""

    exclude: tuple[TopicPattern, ...] = classed(
        BEHAVIOURAL, "Consumer groups, or how their names begin, that stay behind.", default=(), max_length=200
    )


class ColdStandby(Part):
    """Brokers of a cold standby."""

    size: Whole = classed(BEHAVIOURAL, "Brokers while it waits.", ge=1, le=1000)
    resize_to: Whole | None = classed(
        BEHAVIOURAL, "Brokers when it takes over. Without it as many as the primary has.", default=None, ge=1, le=1000
    )


class ReplicatorPool(Part):
    """The VMs that copy."""

    size: Whole = classed(BEHAVIOURAL, "VMs.", ge=1, le=100)
    machine: CloudWord = classed(STATIC, "As of a cluster's pool.")
    place: PlaceSpec = classed(STATIC, "Where they live: beside the standby.")


class Replication(Part):
    """How a warm standby gets its records."""

    engine: Literal["mirrormaker"] = classed(STATIC, "`mirrormaker`: MirrorMaker 2.", default="mirrormaker")
    pool: ReplicatorPool | None = classed(
        STATIC,
        "VMs that do nothing else. Without it a broker's VM of the standby copies, beside its broker.",
        default=None,
    )
    heap_mib: Whole = classed(STATIC, "Java heap of the replicator in MiB.", default=512, ge=128, le=262144)
    max_lag: Seconds = classed(BEHAVIOURAL, "How far the copy may be behind before it is told.", default=30, ge=1)


class FailoverPolicy(Part):
    """When and how the standby takes over."""

    after: Seconds | None = classed(
        BEHAVIOURAL,
        "How long the primary has to be gone, as its own agents and clouds prove, before Kedge fails over by itself. "
        "Without it a person does.",
        default=None,
        ge=30,
    )
    max_loss: Seconds = classed(
        BEHAVIOURAL, "Most that an unplanned failover may lose, by the copy's lag; more needs a person.", default=60
    )
    max_pause: Seconds = classed(
        BEHAVIOURAL, "Longest pause of producers in a planned one; then it is aborted.", default=60, ge=5, le=110
    )
    divergence: Literal["recopy", "keep"] = classed(
        BEHAVIOURAL,
        "What becomes of records that only the old primary has: `recopy` copies its topics anew, after their deletion "
        "is confirmed; `keep` leaves them before those of the new one.",
        default="recopy",
    )


class FailoverSpec(Part):
    """What the pair should be."""

    clusters: tuple[DnsLabel, ...] = classed(
        IDENTITY, "Both clusters. The first is the primary at first.", min_length=2, max_length=2
    )
    bootstrap: PairBootstrap = classed(BEHAVIOURAL, "How clients find the primary.")
    mode: Literal["cold", "warm"] = classed(STATIC, "`warm`: records are copied all the time. `cold`: none are.")
    topics: PairTopics = classed(BEHAVIOURAL, "Of which topics there are two.", default_factory=PairTopics)
    groups: PairGroups = classed(BEHAVIOURAL, "Whose offsets go along.", default_factory=PairGroups)
    standby: ColdStandby | None = classed(BEHAVIOURAL, "Of a cold pair: how large its standby is.", default=None)
    replication: Replication | None = classed(STATIC, "Of a warm pair: how records get there.", default=None)
    failover: FailoverPolicy = classed(
        BEHAVIOURAL, "When and how the standby takes over.", default_factory=FailoverPolicy
    )


class KafkaFailoverDocument(Part):
    """One document of a spec file, in the storage version."""

    api_version: Literal["kedge/v1alpha1"] = classed(
        BEHAVIOURAL, "Version of this format. Older ones are converted when they are read.", default=API_VERSION
    )
    kind: Literal["KafkaFailover"] = classed(IDENTITY, "Always `KafkaFailover`.", default=FAILOVER_KIND)
    metadata: Metadata = classed(IDENTITY, "Which pair it is, and whose.")
    spec: FailoverSpec = classed(BEHAVIOURAL, "What the pair should be.")

    @property
    def pair(self) -> str:
        """Its name."""
        return self.metadata.name
