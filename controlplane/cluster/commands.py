"""What people ask for, in the imperative. A command carries its own id: the same one twice is done once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, Literal, TypedDict, TypeVar

from controlplane.cluster.views.source import SpecOrigin
from events.certificate_facts import ReplacedAuthority
from events.facts import FaultScored, OffsetPut
from events.spec.model import KafkaClusterDocument
from events.spec.positions import NOWHERE, Positions
from events.spec.problems import Problem
from events.spec.topic_model import KafkaTopicDocument
from events.spec.user_model import KafkaUserDocument
from planner.rebalancing.choice import EVERYTHING, BalanceChoice

_D = TypeVar("_D", KafkaTopicDocument, KafkaUserDocument)


class ClusterNotFound(LookupError):
    """No living cluster has that name. What now: give up, or correct the name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no cluster {name!r}")
        self.name = name


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """`actor` is "person:NAME" or "git:BINDING"; `command_id` makes a retry safe."""

    name: str
    actor: str
    command_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonedCommand(Command):
    """One that people say why of."""

    reason: str


class CommandHead(TypedDict):
    """What every command has, for `XCommand(**head, ...)`."""

    name: str
    actor: str
    command_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclareCluster(Command):
    """Bring this document into force. `name` is the document's own.

    `positions` place problems in the file; `source` is shown in the history. With `plan_digest` only if the plan, with
    these `warnings` of the file, is still exactly that one. `origin` is the file's address in git, None for the API.
    `rolling`: living clusters that the whole change rolls, and `beside` all documents of it, for policies. `approval`:
    the proposal a second person agreed to, "" without one.
    """

    document: KafkaClusterDocument
    source: str
    positions: Positions = field(default=NOWHERE, compare=False)
    warnings: tuple[str, ...] = ()
    plan_digest: str | None = None
    origin: SpecOrigin | None = None
    rolling: int = 1
    beside: tuple[KafkaClusterDocument, ...] = ()
    approval: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseCluster(ReasonedCommand):
    """Begin no new step. `until` ends the pause by itself."""

    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeCluster(ReasonedCommand):
    """Go on, and forgive the attempts that failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortRecycle(ReasonedCommand):
    """Stop the roll after the replacement in hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaiveWindow(ReasonedCommand):
    """Let what is left of the generation in force begin whatever windows and earlier stages say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartServices(ReasonedCommand):
    """Start services anew where they are, one at a time: those of these brokers, of a pool, or all of the cluster."""

    brokers: tuple[int, ...] = ()
    pool: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceAuthority(ReasonedCommand):
    """Give a cluster another CA in place of the one that signs its nodes, or its users: begin, go on to the next phase,
    or back to the one before."""

    kind: ReplacedAuthority = "cluster"
    step: Literal["begin", "continue", "back"] = "begin"


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeCertificates(ReasonedCommand):
    """Somebody else may have the VM of this node: nobody recognises it any more, and it is replaced. `node` may be the
    key of one VM of it; `confirm` must be the cluster's name. With `replace_ca` the cluster CA is replaced, too."""

    node: str
    confirm: str
    replace_ca: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceNode(ReasonedCommand):
    """Give one node its next VM, though the spec did not change. Exactly one of `broker` and `node` is named.

    With `new_disk` a broker's disk goes too, where the policy would hand it over. With `disks` (names of its log
    directories) these alone begin anew, and the next VM takes over the broker's id and its other disks.
    """

    broker: int | None = None
    node: str = ""
    new_disk: bool = False
    disks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EvacuateBrokers(ReasonedCommand):
    """Empty these brokers and keep them empty; they stay.

    `targets` alone may take what they hold, where any are named; a throttle bounds that of the spec, 0 does not. With
    `only_while` only while `movepreview.placement_of` says that.
    """

    brokers: tuple[int, ...]
    targets: tuple[int, ...] = ()
    throttle_mib_per_s: int = 0
    only_while: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadmitBrokers(ReasonedCommand):
    """Let these brokers receive replicas again."""

    brokers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceCluster(ReasonedCommand):
    """Spread replicas and leaders anew over the brokers. `per_day_bytes` 0: no more than throttles bound.

    `targets` alone receive, where any are named: the others only give. `choice`: which goals, and what is left out;
    what it says nothing of is as the spec has it. The throttle and `only_while` as of EvacuateBrokers, `approval` as of
    DeclareCluster.
    """

    targets: tuple[int, ...] = ()
    per_day_bytes: int = 0
    throttle_mib_per_s: int = 0
    only_while: str = ""
    approval: str = ""
    choice: BalanceChoice = EVERYTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRebalance(ReasonedCommand):
    """Begin no more of the rebalance in hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeBackMoves(ReasonedCommand):
    """Have these moves (`topic-partition`), which no plan of Kedge names, go back to the replicas before."""

    partitions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptMoves(ReasonedCommand):
    """These moves of others are known: they are waited for and not told any more."""

    partitions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectChaos(ReasonedCommand):
    """Bring about a fault in these VMs (`keys`, or nodes) or in a `rack`. `confirm`: the cluster's name, typed out."""

    fault: str
    for_s: float
    keys: tuple[str, ...] = ()
    rack: str = ""
    several_racks: bool = False
    force: bool = False
    confirm: str = ""
    cut_from: str = "everyone"
    way: str = "both"
    loss_percent: float = 0.0
    mib_per_s: float = 0.0
    game: str = ""
    """The game day that drew it, "" for none; and how many faults that had brought about before."""
    turn: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EndFault(Command):
    """A fault that is on record was not brought about: it is over. `outcome` says why in words."""

    chaos: str
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GameCommand(Command):
    """What is asked about a game day; those below are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartGame(GameCommand):
    """Start a game day; see `facts.GameStarted`. No `faults`: those every game may have. `confirm`: the cluster's
    name, typed out. By `force` it may be asked for while the cluster is not fully healthy: the first fault waits."""

    reason: str
    seed: int
    wanted: int
    within_s: float
    lasts_s: float
    heal_within_s: float
    subject: str
    via: str = ""
    faults: tuple[str, ...] = ()
    force: bool = False
    confirm: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndGame(GameCommand):
    """Begin no further fault of the game. `reason` is why, "" where all of it was played."""

    game: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreFault(GameCommand):
    """What came of a fault of the game."""

    score: FaultScored


@dataclass(frozen=True, slots=True, kw_only=True)
class HealingCommand(ReasonedCommand):
    """What is asked about healing; those below are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchHealing(HealingCommand):
    """Heal anomalies of a kind by itself, or do not, until `until` or until it is said otherwise; "" is all kinds."""

    kind: str
    on: bool
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoteBroker(HealingCommand):
    """Take leadership off the broker of this instance."""

    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteBroker(HealingCommand):
    """Let it lead again."""

    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoteBrokers(ReasonedCommand):
    """Take leadership off these brokers, and keep it off them until it is taken back."""

    brokers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UndemoteBrokers(ReasonedCommand):
    """Let these brokers lead again."""

    brokers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixOffline(ReasonedCommand):
    """Give up these brokers, which do not serve, or what is in log directories of theirs that are offline: make those
    replicas anew on others."""

    brokers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveBetweenDisks(ReasonedCommand):
    """Move replicas of this broker off one of its log directories (`disk`: its path, or the name of its volume) onto
    the others; with "" between all of them, until they are even."""

    broker: int
    disk: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelDiskMoves(ReasonedCommand):
    """Begin no more moves between the log directories of this broker."""

    broker: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmLoss(ReasonedCommand):
    """VMs of these racks that a listing calls gone, and that Kedge does not believe to be, are gone. `confirm` must be
    the cluster's name."""

    racks: tuple[str, ...]
    confirm: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteCluster(ReasonedCommand):
    """The tombstone. `confirm` must be the cluster's name. With `only_at` only while that generation is in force. In a
    freeze VMs are destroyed only with `despite_freeze`."""

    confirm: str
    approval: str = ""
    only_at: int | None = None
    despite_freeze: bool = False


@dataclass(frozen=True)
class DeclaredIn(Generic[_D]):
    """One document of a file about something in a cluster, and where it stands there."""

    document: _D
    positions: Positions = field(default=NOWHERE, compare=False)


TopicDeclared = DeclaredIn[KafkaTopicDocument]
UserDeclared = DeclaredIn[KafkaUserDocument]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclareInCluster(Command):
    """Bring documents about what is in one cluster (`name`) into force. `path` is their file, `commit` "" outside git.

    `approval` as in DeclareCluster. With `plan_digest` only if that is still what it would do, as its preview says.
    """

    source: str
    path: str = ""
    commit: str = ""
    approval: str = ""
    plan_digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclareTopics(DeclareInCluster):
    """Topics of a cluster."""

    topics: tuple[TopicDeclared, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclareUsers(DeclareInCluster):
    """Users of a cluster."""

    users: tuple[UserDeclared, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptTopic(ReasonedCommand):
    """Keep a topic of the cluster that was made outside Kedge."""

    topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeReplicationFactor(ReasonedCommand):
    """Give every partition of topics that no document declares `factor` replicas; fewer than their min ISR only with
    `below_min_isr`."""

    topics: tuple[str, ...]
    factor: int
    below_min_isr: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelReplicationFactor(ReasonedCommand):
    """Begin nothing more of what was asked for these topics, for all where none is named."""

    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCommand(Command):
    """What is asked of a consumer group; those below are. `reset` is the id of a reset."""

    group: str
    reset: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOffsets(GroupCommand):
    """Put these offsets of the group elsewhere, as they were planned."""

    offsets: tuple[OffsetPut, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteOffsetsReset(GroupCommand):
    """The brokers have answered to a reset; what they `refused`, by `topic-partition`, in their words."""

    refused: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopic(ReasonedCommand):
    """The tombstone of a topic. `confirm` must be its name; with `retain` it stays in Kafka, whatever its policy."""

    topic: str
    confirm: str
    retain: bool = False
    approval: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTopicsGone(Command):
    """These topics of the cluster are declared by no file of their git source any more."""

    topics: tuple[str, ...]
    source: str
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeOverSource(ReasonedCommand):
    """From here on the spec comes from `source`: `api`, or `git:BINDING`. The spec in force stays."""

    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSync(Command):
    """What the git source of a cluster has to say of it: its condition `Synced`. Only changes are recorded."""

    source: str
    status: bool
    condition_reason: str
    message: str


class CommandRefused(Exception):
    """The command contradicts what is in force. What now: give up; `what_next` says what a person can do."""

    def __init__(self, code: str, message: str, what_next: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.what_next = what_next


class NeedsApproval(CommandRefused):
    """A policy leaves the change to a second person. What now: it becomes a proposal; `reasons` say why."""

    def __init__(self, name: str, reasons: Sequence[str]) -> None:
        message = f"a second person must approve this change of {name}: {'; '.join(reasons)}"
        super().__init__("needs-approval", message, "Apply it again: it is recorded as a proposal then.")
        self.reasons = tuple(reasons)


class SpecRefused(Exception):
    """The document may not come into force. What now: mend the file at the places named."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(str(problems[0]))
        self.problems = tuple(problems)
