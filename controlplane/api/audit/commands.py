"""Commands that come by no request, but from git: noted in the audit like any other."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

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
from controlplane.commands.handler import CommandHandler, CommandOutcome
from events.clock import Clock
from events.errors import StoreUnavailable

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
        is_spec = isinstance(command, DeclareCluster | DeclareInCluster)
        entry = audit.Entry(
            at=self.clock(),
            who=command.actor,
            via=command.actor,
            client="",
            call=command.source if isinstance(command, DeclareCluster) else type(command).__name__,
            verb=Verb.DECLARE.value if is_spec else Verb.STEER.value,
            object=command.name,
            outcome=audit.Outcome.DONE,
            status=200,
            event_position=self.head(),
        )
        try:
            self.store.append(entry)
        except StoreUnavailable:
            # It is in force, and the event says by whom: a second attempt would change nothing and note nothing.
            _log.error("%s declared %s, which could not be noted in the audit", command.actor, command.name)
