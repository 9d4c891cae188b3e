"""How a cluster may be changed: windows, pace, limits, soaks."""

from typing import Literal

from events.spec import scalars
from events.spec.fields import FieldClass, Part, classed

BEHAVIOURAL = FieldClass.BEHAVIOURAL

Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


class RolloutWindow(Part):
    """When what is not urgent may begin, week by week."""

    days: tuple[Weekday, ...] = classed(
        BEHAVIOURAL,
        "Days of the week it opens on, `mon` to `sun`, by the calendar of its zone. Without any, every day.",
        default=(),
        max_length=7,
    )
    start: scalars.ClockTime = classed(
        BEHAVIOURAL,
        "When it opens, by the clock on the wall, as in `02:30`. A time that clocks skip in spring is as much later; "
        "of one that comes twice in autumn, the first counts.",
    )
    duration_s: scalars.Seconds = classed(
        BEHAVIOURAL,
        "How long it stays open. Seconds, or as in `4h`. What has begun by then is ended.",
        alias="duration",
    )
    zone: scalars.TimeZone = classed(BEHAVIOURAL, "Time zone by its IANA name, as in `Europe/Zurich`.", default="UTC")


class LatencyBrake(Part):
    """When moves of replicas are slowed for the sake of clients. A figure is over its limit when it is above the number
    here and above `risePercent` of what it was before the moves."""

    enabled: scalars.Flag = classed(
        BEHAVIOURAL, "`false`: moves go at the planned rate whatever clients feel.", default=True
    )
    rise_percent: scalars.Whole = classed(
        BEHAVIOURAL,
        "What a figure may reach of what it was before the moves, in percent, where that is more than its limit.",
        default=150,
        ge=110,
        le=10_000,
    )
    produce_p99_ms: scalars.Whole = classed(
        BEHAVIOURAL,
        "Produce latency (p99, ms, replication with it) at and below which nobody is harmed, however much it rose.",
        default=20,
        alias="produceP99Ms",
        ge=1,
        le=600_000,
    )
    request_queue: scalars.Whole = classed(
        BEHAVIOURAL, "Requests that wait for a handler.", default=100, ge=1, le=100_000
    )
    handlers_busy_percent: scalars.Whole = classed(
        BEHAVIOURAL, "Share of the last minute in which request handlers were busy.", default=95, ge=1, le=100
    )
    disk_busy_percent: scalars.Whole = classed(
        BEHAVIOURAL,
        "Share of the time in which the busiest disk has anything to do. It is over its limit together with "
        "`diskWaitMs` only: a fast disk is busy long before it is slow.",
        default=90,
        ge=1,
        le=100,
    )
    disk_wait_ms: scalars.Whole = classed(
        BEHAVIOURAL, "How long a request to that disk takes, ms.", default=50, ge=1, le=600_000
    )
    floor_percent: scalars.Whole = classed(
        BEHAVIOURAL,
        "The slowest that moves may become, in percent of the planned rate: they have to end.",
        default=10,
        ge=1,
        le=100,
    )
    start_percent: scalars.Whole = classed(
        BEHAVIOURAL,
        "What moves of some minutes begin with, in percent of the planned rate, where nobody knows what the volumes "
        "they write to can do; doubled every 15 s while no figure comes near its limit. `100`: at once as planned.",
        default=25,
        ge=1,
        le=100,
    )


class RolloutPolicy(Part):
    """How Kedge rolls instances forward."""

    strategy: Literal["migrate", "reattach"] = classed(
        BEHAVIOURAL,
        "`migrate`: a fresh VM with a fresh broker id, the old broker is drained. "
        "`reattach`: same broker id, the persistent disk moves to the next VM while the broker is down.",
        default="migrate",
    )
    surge: scalars.Whole = classed(
        BEHAVIOURAL, "How many VMs beyond the size may exist while rolling.", default=1, ge=0, le=100
    )
    max_unavailable: scalars.Whole = classed(
        BEHAVIOURAL,
        "How many brokers may be away at a time, for whatever reason: failed, fenced, restarting, handed over. At "
        "that number none is stopped on purpose; repairs do not wait. `0` is 1 for restarts in place, and forbids "
        "`reattach`. More than 1 lifts this ceiling only: one is stopped at a time, while every other one serves, "
        "unless `maxParallelRestarts` says otherwise.",
        default=0,
        ge=0,
        le=100,
    )
    max_parallel_restarts: scalars.Whole = classed(
        BEHAVIOURAL,
        "How many brokers of one rack may be restarted in place at the same time. More than 1 only where no partition "
        "would fall below its min ISR with all of them away; the first one with new settings, and controllers, always "
        "go alone. `maxUnavailable` has to be as large.",
        default=1,
        ge=1,
        le=100,
    )
    soak_s: scalars.Seconds = classed(
        BEHAVIOURAL,
        "Watched time between the last node on a new version and the finalised metadata level, "
        "which closes the way back. Seconds, or as in `10m`.",
        default=600,
        alias="soak",
    )
    linger_s: scalars.Seconds = classed(
        BEHAVIOURAL,
        "How long an emptied broker stays up so that clients refresh their metadata. Seconds, or as in `60s`.",
        default=60,
        alias="linger",
    )
    pause: scalars.Flag = classed(BEHAVIOURAL, "`true` stops new steps; the broker in hand is finished.", default=False)
    join_deadline_s: scalars.Seconds = classed(
        BEHAVIOURAL,
        "How long a new VM may take from its order until its service has joined. Then it is replaced, but where Kafka "
        "refuses its configuration. "
        "A restart may take as long, and a minute more where the process it ends hangs.",
        default=600,
        alias="joinDeadline",
    )
    throttle_mib_per_s: scalars.Whole | None = classed(
        BEHAVIOURAL,
        "Ceiling of replica moves per broker in MiB/s: a wish about moves that changes no capacity. "
        "Without it what is known of the broker's network and volumes decides.",
        default=None,
        ge=1,
        le=100_000,
    )
    brake: LatencyBrake = classed(
        BEHAVIOURAL,
        "When moves are slowed for the sake of clients, and let go again ([planning](planning.md#the-latency-brake)).",
        default=LatencyBrake(),
    )
    windows: tuple[RolloutWindow, ...] = classed(
        BEHAVIOURAL,
        "When rolls, restarts, evacuations, rebalances and changes of the quorum may begin. Without any, always. "
        "Repairs never wait for a window.",
        default=(),
        max_length=32,
    )
    allow_unavailable: tuple[scalars.TopicName, ...] = classed(
        BEHAVIOURAL,
        "Topics that may fall below their min ISR while rolling, "
        "because they have too few replicas to avoid it. No pattern, full names.",
        default=(),
        max_length=1000,
    )
