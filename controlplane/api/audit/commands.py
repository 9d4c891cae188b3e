"""Commands that come by no request, but from git: noted in the audit like any other."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from controlplane.api.access.roles import Verb
from controlplane.api.audit import entry as audit
from controlplane.api.audit.store import AuditStore
from controlplane.cluster.commands import (
    Command,
    DeclareCluster,
    DeclareInCluster,
    ReportSync,
    ReportTopicsGone,
)
from controlplane.cluster.user_commands import ReportUsersGone
from controlplane.cluster.view import ClusterView
from controlplane.commands.failover_declarations import DeclarePair, ReportPairGone
from controlplane.commands.failover_orders import PairOutcome
from controlplane.commands.failovers import FailoverService
from controlplane.commands.handler import CommandHandler, CommandOutcome
from controlplane.fleet.failovers.state import PairsView
from events.clock import Clock
from events.errors import StoreUnavailable
from events.spec.model import KafkaClusterDocument

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AuditedCommands:
    """A `CommandHandler` whose changes are noted. The poller's own reports of a source's status are nobody's doing."""

    commands: CommandHandler
    store: AuditStore
    head: Callable[[], int]
    clock: Clock

    def handle(self, command: Command) -> CommandOutcome:
        outcome = self.commands.handle(command)
        if outcome.changed and not isinstance(command, ReportSync | ReportTopicsGone | ReportUsersGone):
            self._note(command)
        return outcome

    def check(self, command: DeclareCluster) -> None:
        self.commands.check(command)

    def current(self, name: str) -> ClusterView:
        return self.commands.current(name)

    def _note(self, command: Command) -> None:
        noted(self.store, command, self.head(), self.clock())


@dataclass(frozen=True, slots=True)
class AuditedPairs:
    """A `FailoverService` for git, whose changes are noted likewise."""

    service: FailoverService
    store: AuditStore
    head: Callable[[], int]
    clock: Clock

    def pairs(self) -> PairsView:
        return self.service.pairs()

    def check(self, command: DeclarePair, beside: Mapping[str, KafkaClusterDocument]) -> None:
        self.service.check(command, beside)

    def declare(self, command: DeclarePair) -> PairOutcome:
        outcome = self.service.declare(command)
        if outcome.changed:
            noted(self.store, command, self.head(), self.clock())
        return outcome

    def report_gone(self, command: ReportPairGone) -> PairOutcome:
        return self.service.report_gone(command)


def noted(store: AuditStore, command: Command, position: int, at: datetime) -> None:
    """Notes a command that was carried out."""
    is_spec = isinstance(command, DeclareCluster | DeclareInCluster | DeclarePair)
    entry = audit.Entry(
        at=at,
        who=command.actor,
        via=command.actor,
        client="",
        call=command.source if isinstance(command, DeclareCluster) else type(command).__name__,
        verb=Verb.DECLARE.value if is_spec else Verb.STEER.value,
        object=f"failover {command.name}" if isinstance(command, DeclarePair) else command.name,
        outcome=audit.Outcome.DONE,
        status=200,
        event_position=position,
    )
    try:
        store.append(entry)
    except StoreUnavailable:
        # It is in force, and the event says by whom: a second attempt would change nothing and note nothing.
        _log.error("%s declared %s, which could not be noted in the audit", command.actor, command.name)
