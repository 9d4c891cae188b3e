"""What the API says of the loop and of the whole log."""

from datetime import datetime

from pydantic import Field

from controlplane.api.schemas.clusters import EventOut
from controlplane.api.schemas.messages import Message
from controlplane.api.schemas.metric_pipeline import MetricPipelineOut
from controlplane.api.schemas.plan_jobs import PlanJobsOut


class LogEventOut(EventOut):
    """One recorded event and what it is about. `cluster` is "" where that is no single one, or one that is unknown."""

    stream: str
    cluster: str = ""


class LogOut(Message):
    """A page of the log in the order asked for."""

    events: list[LogEventOut]
    head: int = Field(description="highest global position")
    looked_to: int = Field(description="position up to which the log was looked through for this page")
    is_all: bool = Field(description="whether nothing lies beyond; else go on `before` or `after` `looked_to`")


class BeatOut(Message):
    """One beat of the loop. What clusters with work in hand do goes on after it, on threads of its own."""

    at: datetime
    seconds: float
    rung: int | None = Field(description="clusters it was rung for; absent: all of them, at the interval")
    led: bool = Field(description="whether this server ticked, else it read along")
    clusters: int
    events: int
    effects: int
    failures: int
    problem: str = ""


class TimerOut(Message):
    """One thing that is looked at at intervals, by the leader alone."""

    of: str
    name: str
    every_s: float
    last_at: datetime | None = Field(description="absent where this server has not looked yet")
    seconds: float
    problem: str
    note: str = Field(default="", description="what a look that went well saw, where it has to say something")
    next_at: datetime | None


class JobOut(Message):
    """A long act: a run of Terraform, a plan, an audit."""

    id: str
    kind: str
    cluster: str
    state: str
    owner: str
    epoch: int
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    heartbeat_at: datetime
    progress: str = ""
    error: str = ""


class PoisonOut(Message):
    """A cluster that this server cannot tick, or whose history it cannot read."""

    cluster: str
    uid: str
    error: str
    failures: int
    since: datetime | None
    next_at: datetime | None


class UnclaimedOut(Message):
    """VMs with this installation's tags, of a cluster this server does not have. They are left alone."""

    place: str
    uid: str = Field(description="of the cluster, by their tags")
    name: str = Field(description="what the cluster was called, where the cloud tells")
    vms: int
    ids: list[str] = Field(description="the cloud's ids, of the first few")
    at: datetime = Field(description="when the place was listed")


class ShedOut(Message):
    """Requests that were answered with 503 before anything was done for them."""

    who: str = Field(description="`agents` or `people`")
    why: str = Field(
        description="`no-room` for another agent, `queue` of their requests too long, `slow` body, `memory`, `threads`"
    )
    count: int


class TroubleOut(Message):
    """Something that repeats for as long as the server lives, and has failed."""

    task: str
    count: int = Field(description="times, since this server began")
    error: str = Field(description="the last one")
    at: datetime
    since: datetime | None = Field(description="absent: it went well again")


class LoadOut(Message):
    """What the process that answers has in hand. Counts are since it began."""

    agents: int = Field(description="heard within the last minute")
    agents_fit: int = Field(description="by the limit of open files: each holds two connections")
    nearly_full: bool = Field(description="whether more than four fifths of those that fit are here")
    connections: dict[str, int] = Field(description="open, by whose they are; `new` ones have asked nothing yet")
    connections_fit: int
    descriptors: int | None = Field(description="open files and connections; absent where that cannot be looked up")
    descriptors_limit: int
    threads: int = Field(description="that answer requests")
    threads_busy: int
    shed: list[ShedOut]
    closed: dict[str, int] = Field(description="connections it closed, by why")
    database_problem: str = Field(description='why its last write was not kept; "" where it was')
    database_since: datetime | None = Field(description="since when its writes fail")
    troubles: list[TroubleOut]


class LoopOut(Message):
    """How the loop of the server that answers does."""

    server: str
    leader: bool
    epoch: int
    interval_s: float
    late: bool = Field(description="whether its last beat began more than three intervals ago")
    head: int = Field(description="highest global position of the log")
    position: int = Field(description="position this server's views are folded to")
    lag: int
    beats_ever: int = Field(description="since this server began")
    beats: list[BeatOut] = Field(description="the last ones, newest first")
    timers: list[TimerOut]
    jobs: list[JobOut] = Field(description="those that are kept, newest first")
    poisoned: list[PoisonOut]
    unclaimed: list[UnclaimedOut] = Field(
        default_factory=list,
        description="VMs of clusters this server does not have, in places of those it has, by its last listings",
    )
    load: LoadOut | None = Field(default=None, description="of the process that answers")
    metrics: MetricPipelineOut | None = Field(
        default=None, description="how metrics are read into the lake; absent where the server does not say"
    )
    plans: PlanJobsOut | None = Field(
        default=None, description="what was planned on Spark and what was not; absent where no Spark is used"
    )
