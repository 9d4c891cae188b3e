"""What Kedge may do to a cluster by itself: healing, balancing and keeping replicas in their places."""

from typing import ClassVar, Literal

from events.spec.fields import FieldClass, Part, classed
from events.spec.rollout import RolloutWindow
from events.spec.scalars import (
    DnsLabel,
    Flag,
    Seconds,
    TopicName,
    TopicPattern,
    Whole,
)

BEHAVIOURAL = FieldClass.BEHAVIOURAL

AnomalyKind = Literal[
    "goal-violation",
    "broker-failure",
    "slow-broker",
    "hot-broker",
    "disk-failure",
    "topic-anomaly",
    "maintenance-event",
    "partition-failure",
    "capacity",
    "condition",
]

GoalName = Literal[
    "broker-sets",
    "racks",
    "replica-capacity",
    "disk-capacity",
    "nic-in-capacity",
    "nic-out-capacity",
    "cpu-capacity",
    "replicas",
    "potential-nic-out",
    "disk",
    "nic-in",
    "nic-out",
    "cpu",
    "topic-spread",
    "leaders",
    "leader-nic-in",
]
"""The goals of a rebalance (docs/goals.md), hard ones first."""

AntiAffinity = Literal["strict", "best-effort", "none"]
TierName = Literal["critical", "standard", "scratch"]


class Healing(Part):
    """What Kedge does by itself about findings of agents: a restart first, a new VM where that did not last."""

    restart: Flag = classed(BEHAVIOURAL, "Restart a service in place where a fresh process is a cure.", default=True)
    replace: Flag = classed(BEHAVIOURAL, "Replace a VM whose restart did not last, or whose disk failed.", default=True)
    after_s: Seconds = classed(
        BEHAVIOURAL,
        "How long a finding has to last before anything is done. Seconds, or as in `2m`.",
        default=60,
        alias="after",
    )
    maintenance: Literal["replace", "tell"] = classed(
        BEHAVIOURAL,
        "A VM whose host the cloud is going to take down at a date: `replace` it before, or only `tell`.",
        default="replace",
    )
    per_day: Whole = classed(
        BEHAVIOURAL, "Cures the cluster gets in 24 hours; further findings wait and are told.", default=4, ge=0, le=100
    )
    lost_after_s: Seconds | None = classed(
        BEHAVIOURAL,
        "How long a VM the cloud says is gone may stay so until its successor is made, and a broker that is there may "
        "not serve. Seconds, or as in `5m`; by default the server's `loss_grace_s`.",
        default=None,
        alias="lostAfter",
    )
    lost_disk: Literal["reattach", "copy"] = classed(
        BEHAVIOURAL,
        "The persistent disk of a broker whose VM is gone. `copy` goes by `rollout.strategy`: under `migrate` the next "
        "VM gets a new disk and id, and all of it is copied. `reattach` gives it to the next VM, with the broker's id, "
        "whatever the strategy says, where the cloud shows it whole and free in its zone, and copies only where that "
        "fails.",
        default="copy",
        alias="lostDisk",
    )
    hung_after_s: Seconds = classed(
        BEHAVIOURAL,
        "How long a move may make no progress until it counts as hung. Seconds, or as in `5m`.",
        default=300,
        alias="hungAfter",
    )
    slow_broker: Literal["demote", "tell"] = classed(
        BEHAVIOURAL,
        "A broker slower than its peers and than its own past: `demote` takes leadership off it until it is as fast as "
        "the others again, copying nothing; or only `tell`.",
        default="demote",
    )
    hot_broker: Literal["hand-over", "tell"] = classed(
        BEHAVIOURAL,
        "A broker with far more CPU or traffic than its peers and than it had: `hand-over` lets others lead some of "
        "its partitions, in the windows of rolls, copying nothing; or only `tell`.",
        default="hand-over",
    )
    grace: dict[AnomalyKind, Seconds] = classed(
        BEHAVIOURAL,
        "How long an anomaly of a kind may last until people are told and it is healed, where that is Kedge's to say: "
        "as in `slow-broker: 30m`. `docs/anomalies.md` has the defaults.",
        default_factory=dict,
    )


class Placement(Part):
    """In which zones replicas of a partition are to be, and when those that are not are moved."""

    correct: Flag = classed(
        BEHAVIOURAL,
        "`true` moves replicas that share a zone apart, in small throttled batches, once everything else is done. "
        "`false` only tells.",
        default=False,
    )
    anti_affinity: AntiAffinity = classed(
        BEHAVIOURAL,
        "`best-effort`: no two replicas of a partition share a zone while another one could take a replica. `strict`: "
        "nor while none can just now, which is told. `none`: wherever they are.",
        default="best-effort",
    )
    tiers: dict[TierName, AntiAffinity] = classed(
        BEHAVIOURAL,
        "Another one for declared topics of a tier. Without a word `critical` is strict.",
        default_factory=dict,
    )
    topics: dict[TopicName, AntiAffinity] = classed(
        BEHAVIOURAL, "Another one for single topics, declared or not, by their full names.", default_factory=dict
    )
    windows: tuple[RolloutWindow, ...] = classed(
        BEHAVIOURAL,
        "When replicas may begin to be moved apart, as a job does that is run daily at three. Inside `rollout.windows` "
        "where there are any. Without any, always.",
        default=(),
        max_length=32,
    )


class BrokerSet(Part):
    """Brokers, and the topics that stay on them."""

    key_field: ClassVar[str | None] = "name"

    name: DnsLabel = classed(BEHAVIOURAL, "Name of the set, as plans and refusals tell it.")
    pools: tuple[DnsLabel, ...] = classed(
        BEHAVIOURAL, "Pools whose brokers are in it. A pool is in one set at most.", min_length=1, max_length=100
    )
    topics: tuple[TopicPattern, ...] = classed(
        BEHAVIOURAL,
        "Topics whose replicas stay on its brokers, Kafka's own among them: full names, beginnings of names with `*` "
        "behind, or `*` for every topic that nothing else names. A full name counts before a beginning, a longer "
        "beginning before a shorter one. Topics that no set names stay on brokers that are in no set.",
        min_length=1,
        max_length=1000,
    )


class Balance(Part):
    """When replicas are spread anew over the brokers, and how much of that a day."""

    after: Literal["scale-up", "never"] = classed(
        BEHAVIOURAL,
        "`scale-up`: brokers that were added get their share once the roll is over. `never`: they stay empty until "
        "somebody asks, or Kafka places new topics there.",
        default="scale-up",
    )
    continuous: Flag = classed(
        BEHAVIOURAL,
        "`true` spreads replicas anew whenever the imbalance is above the threshold, at most once an hour.",
        default=False,
    )
    threshold_percent: Whole = classed(
        BEHAVIOURAL,
        "Imbalance below which nothing is done without being asked: how far the broker furthest from its even share of "
        "any goal whose figures are known (bytes, replicas, leaders, traffic, CPU, replicas of a topic) is from it.",
        default=20,
        ge=10,
        le=1000,
    )
    per_day_gib: Whole | None = classed(
        BEHAVIOURAL,
        "GiB that moves nobody asked for may begin to copy in 24 hours. Without it only `rollout.throttleMibPerS` and "
        "the brokers' own traffic bound them.",
        default=None,
        ge=1,
        le=1_000_000,
    )
    goals: tuple[GoalName, ...] = classed(
        BEHAVIOURAL,
        "Goals that rebalances keep to and that set one going, the first weighs most; without it all of them. No move "
        "loses a zone, whatever the goals.",
        default=(),
        max_length=32,
    )
    exclude_topics: tuple[TopicName, ...] = classed(
        BEHAVIOURAL,
        "Topics whose replicas and leaders no rebalance moves; what they weigh counts. No pattern, full names.",
        default=(),
        max_length=1000,
    )
    exclude_brokers: tuple[Whole, ...] = classed(
        BEHAVIOURAL,
        "Ids of brokers to which no rebalance moves replicas or leaders; it may move some off them.",
        default=(),
        max_length=1000,
    )
    broker_sets: tuple[BrokerSet, ...] = classed(
        BEHAVIOURAL,
        "Sets of brokers that topics stay within ([broker sets](placement.md#broker-sets)): for new topics and "
        "replicas, in drains and in rebalances. Without any, every topic may be on every broker.",
        default=(),
        max_length=100,
    )
    placement: Placement = classed(
        BEHAVIOURAL,
        "In which zones replicas of a partition are to be, and when they are moved there.",
        default_factory=Placement,
    )
    preferred_leaders: Literal["restore", "even", "leave"] = classed(
        BEHAVIOURAL,
        "`restore`: leadership that others lead goes back to the first replica once that is in sync; nothing is "
        "copied. `even`: and where a broker is first in more lists than `thresholdPercent` allows, lists are put into "
        "another order. `leave`: only at the end of Kedge's own work.",
        default="restore",
    )
