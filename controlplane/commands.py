"""What people ask for, in the imperative. A command carries its own id: the same one twice is done once."""

from dataclasses import dataclass, field
from datetime import datetime

from controlplane.specsource import SpecOrigin
from events.spec.model import KafkaClusterDocument
from events.spec.positions import NOWHERE, Positions


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """`actor` is "person:NAME" or "git:BINDING"; `command_id` makes a retry safe."""

    name: str
    actor: str
    command_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclareCluster(Command):
    """Bring this document into force. `name` is the document's own.

    `positions` place problems in the file; `source` is shown in the history. With `plan_digest` only if the plan, with
    these `warnings` of the file, is still exactly that one. `origin` is the file's address in git, None for the API.
    """

    document: KafkaClusterDocument
    source: str
    positions: Positions = field(default=NOWHERE, compare=False)
    warnings: tuple[str, ...] = ()
    plan_digest: str | None = None
    origin: SpecOrigin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseCluster(Command):
    """Begin no new step. `until` ends the pause by itself."""

    reason: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeCluster(Command):
    """Go on, and forgive the attempts that failed."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortRecycle(Command):
    """Stop the roll after the replacement in hand."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartServices(Command):
    """Start services anew where they are, one at a time: those of these brokers, of a pool, or all of the cluster."""

    reason: str
    brokers: tuple[int, ...] = ()
    pool: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceNode(Command):
    """Give one node its next VM, though the spec did not change. Exactly one of `broker` and `node` is named.

    With `new_disk` a broker's disk goes too, where the policy would hand it over.
    """

    reason: str
    broker: int | None = None
    node: str = ""
    new_disk: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EvacuateBrokers(Command):
    """Empty these brokers and keep them empty; they stay."""

    reason: str
    brokers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadmitBrokers(Command):
    """Let these brokers receive replicas again."""

    reason: str
    brokers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteCluster(Command):
    """The tombstone. `confirm` must be the cluster's name."""

    confirm: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeOverSource(Command):
    """From here on the spec comes from `source`: `api`, or `git:BINDING`. The spec in force stays."""

    source: str
    reason: str


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
