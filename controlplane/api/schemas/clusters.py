"""What the HTTP API says and takes: the one contract between the server and every way in (CLI, portal, scripts)."""

from datetime import datetime
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from controlplane.api.moments import Moment
from controlplane.api.schemas.costs import PlanCostOut
from controlplane.api.schemas.external import ExternalBrokerOut
from controlplane.api.schemas.past import PastOut
from controlplane.api.schemas.quorum import QuorumOut
from controlplane.api.schemas.sources import (
    AcceptIn as AcceptIn,
    ForgeOut,
    SourceIn as SourceIn,
    SourcePolledOut as SourcePolledOut,
)

API_PREFIX = "/v1"


class Message(BaseModel):
    """Base of requests and answers: frozen, camelCase outside, no unknown keys in requests."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ProblemOut(Message):
    """One thing wrong with a spec, at its place in the file."""

    file: str
    line: int
    column: int
    code: str
    severity: str = Field(description="error or warning")
    message: str
    fix: str


class SpecIn(Message):
    """A spec file as it is, and its name for messages."""

    text: str
    file: str = "spec.yaml"


class ApplyIn(SpecIn):
    """Declare what the file says. With `plan_digest`, only if the plan is still exactly that one."""

    plan_digest: str | None = None
    message: str = ""
    dry_run: bool = False


class ValidateOut(Message):
    """Every problem of a file at once. `ok` is False when at least one is an error."""

    ok: bool
    clusters: list[str]
    problems: list[ProblemOut]
    topics: list[str] = Field(default_factory=list, description="CLUSTER/TOPIC of each topic of the file")


class StepOut(Message):
    """One node's part in a roll."""

    change: str
    node: str
    rack: str
    service: str
    reason: str
    how: list[str]
    bytes: int
    seconds: float


class PhaseOut(Message):
    name: str
    parallel: bool
    steps: list[StepOut]


class FieldChangeOut(Message):
    """One changed field of the spec with its class: static, restart, dynamic, behavioural or identity."""

    path: str
    old: Any
    new: Any
    field_class: str
    effect: str = Field(default="", description="what will happen, where more is known than the class says")


YOUNG_S: Final = 15.0
"""Sizes of replicas as old as this are told without their age."""


class PlanOut(Message):
    """What applying a document would do to one cluster. `digest` pins it: `apply` refuses when it has moved."""

    cluster: str
    exists: bool
    generation: int = Field(description="the generation it would become")
    changes: list[FieldChangeOut]
    phases: list[PhaseOut]
    bytes: int
    sizes_age_s: float | None = Field(default=None, description="of what `bytes` is from; null: nobody has read it")
    seconds: float
    warnings: list[str]
    digest: str
    brake: str = Field(default="", description="what the fleet's brake says to it now, when it replaces VMs")
    window: str = Field(default="", description="what windows and freezes say to it now, where there are any")
    networks: list[str] = Field(default_factory=list, description="networks that are made before the first VM")
    clients: list[str] = Field(default_factory=list, description="clients too old for the Kafka version, in words")
    moves: list[str] = Field(default_factory=list, description="pools that move to another place, and what that copies")
    afterwards: list[str] = Field(default_factory=list, description="data that moves once the steps are done, in words")
    cost: PlanCostOut | None = Field(default=None, description="null where no cloud of it sells anything")

    @property
    def is_empty(self) -> bool:
        return not self.changes and not self.phases


class PlansOut(Message):
    """The plans of all documents of a file, or its problems."""

    ok: bool
    problems: list[ProblemOut]
    plans: list[PlanOut]
    digest: str = Field(default="", description="pins all of it, topics too: what `apply` takes as `plan_digest`")
    topics: list[str] = Field(default_factory=list, description="what would be declared of topics, a line each")
    reserved: list[str] = Field(
        default_factory=list, description="why a second person must approve; empty: none is needed"
    )


class AppliedOut(Message):
    """What came of an apply, by cluster."""

    cluster: str
    uid: str
    generation: int
    changed: bool
    created: bool


class TopicsAppliedOut(Message):
    """What came of the topics of an apply, by cluster."""

    cluster: str
    changed: bool
    sentence: str


class ApplyOut(Message):
    ok: bool
    problems: list[ProblemOut]
    applied: list[AppliedOut]
    plans: list[PlanOut]
    topics: list[TopicsAppliedOut] = Field(default_factory=list)
    proposal: str = Field(default="", description="id of the proposal it became: nothing is declared before a yes")
    reserved: list[str] = Field(default_factory=list, description="why a second person must approve")


class ConditionOut(Message):
    type: str
    status: bool
    reason: str
    message: str
    since: datetime


class FindingOut(Message):
    """What the agent of a VM found wrong inside a service that still runs."""

    name: str
    since: datetime
    message: str
    numbers: dict[str, float] = {}


class BesideOut(Message):
    """The ZooKeeper server that shares a broker's VM."""

    service_id: int
    votes: bool = Field(description="whether it takes part in the ensemble, as recorded")
    reported_state: str = Field(description="what the agent last said of it, empty when it has not spoken")
    reported_message: str = Field(default="", description="why, in the agent's words")


class InstanceOut(Message):
    """One VM. `phase` as in `controlplane.cluster.lifecycle.Phase`."""

    key: str
    node: str
    generation: int
    pool: str
    rack: str
    service: str
    service_id: int
    kafka_version: str
    shape: str
    spot: bool = False
    ipv6: bool = False
    phase: str
    since: datetime
    address: str
    cloud_id: str
    lost: bool
    replaces: str
    reported_state: str = Field(description="what the agent last said of the service, empty when it has not spoken")
    reported_message: str = Field(default="", description="why, in the agent's words")
    report_age_s: float | None
    kafka_state: str = Field(
        default="",
        description="of a broker, by the last metadata: serves, fenced or absent; empty where it is old or unread",
    )
    asked: str = Field(default="", description="what a person asked for it and is not done, and why")
    credential_since: datetime | None = Field(
        default=None, description="when the agent's credential came into force, None before it has enrolled"
    )
    credential_overdue: bool = Field(
        default=False, description="the agent was asked to rotate its credential long ago and has not"
    )
    uncertified: bool = Field(
        default=False,
        description="agents are asked for certificates, and its agent has shown none: its credential is enough yet",
    )
    certificate_ends_at: datetime | None = Field(
        default=None,
        description="of the certificate its agent showed last; null: none was shown to a server that keeps it",
    )
    outdated_credential_at: datetime | None = Field(
        default=None, description="when somebody last showed a credential the agent had let go of: a copy may exist"
    )
    findings: list[FindingOut] = Field(default=[], description="what is wrong inside the service, by its agent's word")
    beside: BesideOut | None = Field(default=None, description="absent: the VM has one service")


class DrainOut(Message):
    keys: list[str]
    outgoing: list[int]
    round: int
    engine: str
    moves: int
    bytes: int
    batch: int
    batches: int


class RebalanceOut(Message):
    """The rebalance in hand: replicas are spread anew in small batches, each of which begins once nothing else is to
    be done. Figures of the plan are 0 before there is one.
    """

    cause: str = Field(description="person, scale-up or policy")
    onto: list[int] = Field(default_factory=list, description="who alone receives, as a person chose; empty: all do")
    reason: str
    round: int = Field(description="plans of it so far")
    engine: str = Field(description="who computed the plan; empty before there is one")
    moves: int
    bytes: int
    bytes_left: int = Field(description="of batches that have not begun")
    batch: int = Field(description="the last one begun, counted from 0; -1 before the first")
    batches: int
    imbalance_before: float = Field(description="percent: how far the broker furthest from its even share is from it")
    imbalance_after: float = Field(description="as planned")
    done_moves: int = Field(description="by plans before this one")
    done_bytes: int
    per_day_bytes: int = Field(description="begun in 24 hours at most; 0: no such limit")
    cancelled: str = Field(description="why no further batch begins; empty while one may")
    failed: str = Field(description="why there is no plan; empty when there is, or none was tried")


class SpecSourceOut(Message):
    """Where the spec of a cluster comes from. Parts of a file's address are empty for `api`.

    `sync`: Synced, OutOfSync, Refused, Unknown; "" for `api`.
    """

    source: str = Field(default="api", description="`git:BINDING` or `api`")
    repository: str = ""
    branch: str = ""
    path: str = ""
    commit: str = Field(default="", description="the commit whose declaration is in force")
    author: str = Field(default="", description="whom that commit names: claimed, unless `signed_by` says otherwise")
    signed_by: str = Field(default="", description="fingerprint of the author's listed key that signed the commit")
    sync: str = ""
    reason: str = ""
    message: str = ""
    since: datetime | None = None


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


class ConsoleOut(Message):
    """What a VM that never joined wrote to its console, as its cloud kept it. Secrets are cut out."""

    node: str
    key: str
    at: datetime
    text: str = Field(description="with a cluster its last lines, asked for by its node the last 64 KiB")
    why: str = Field(default="", description="why there is no text")


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


class EndpointsOut(Message):
    """How clients find the cluster."""

    cluster: str
    bootstrap: list[str]
    dns: str | None
    security: str
    published_at: datetime | None
    names: list[DnsNameOut] = []


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


class ReasonIn(Message):
    """A command with its reason. `until` only with pause."""

    reason: str = ""
    until: Moment | None = None


class DeleteIn(Message):
    """The tombstone: `confirm` must be the cluster's name, typed out."""

    confirm: str
    reason: str = ""
    despite_freeze: bool = Field(default=False, description="destroy VMs though the cluster is frozen")


class LossIn(Message):
    """VMs of these racks, which a listing calls gone and Kedge does not believe to be, are gone. `confirm` must be the
    cluster's name, typed out."""

    racks: list[str] = Field(min_length=1, max_length=50)
    confirm: str
    reason: str = ""


class CommandOut(Message):
    """A command was recorded (or changed nothing)."""

    cluster: str
    changed: bool
    sentence: str
    proposal: str = Field(default="", description="id of the proposal it became: nothing is done before a yes")


class SourceOut(Message):
    """One git source as its last poll left it."""

    name: str
    source: str
    repository: str
    branch: str
    path: str
    team: str
    verbs: list[str]
    poll_s: float
    sync: str = Field(description="Synced, OutOfSync, Refused or Unknown")
    reason: str
    message: str
    next: str
    since: datetime | None
    last_poll: datetime | None
    last_reached: datetime | None = Field(description="when the repository last answered")
    commit: str = Field(description="the commit whose files were looked at last")
    tip: str = Field(description="the newest commit seen")
    author: str = Field(description="whom it names: claimed, unless `signed_by` says otherwise")
    signed_by: str = Field(default="", description="fingerprint of the author's listed key that signed the commit")
    claimed_because: str = Field(default="", description="why the author is merely claimed, where keys are listed")
    clusters: list[str]
    missing: list[str] = Field(description="clusters of this source without a file: they stay as they are")
    problems: list[ProblemOut]
    forge: ForgeOut | None = Field(default=None, description="where the binding names one")


class ChangedOut(Message):
    """Whether anything was changed."""

    changed: bool


class BackupIn(Message):
    path: str


class BackupOut(Message):
    path: str
    events: int
    sha256: str


class VersionOut(Message):
    version: str
    api: str
    installation_id: str
    epoch: int
    leader: bool
    planner: str = Field(description="spark, starting or in-process; `unknown` to a portal that has heard no loop")
    part: str = Field(default="", description="`loop` or `portal` where these are processes of their own")


class StateOut(Message):
    """A cluster as input for planners. `document` is a state file (docs/state.schema.json); figures of brokers that
    nobody knows are left out of it.
    """

    cluster: str
    at: datetime
    age_s: float
    document: dict[str, Any]


class AcceptedOut(Message):
    """Whether what an agent sent was news."""

    accepted: bool


class ErrorOut(Message):
    """application/problem+json: what, where, why, what next."""

    title: str
    status: int
    detail: str
    code: str
    next: str = ""
    request: str = Field(default="", description="id of the request: in the server's log and in the audit, too")
