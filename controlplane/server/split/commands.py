"""What a portal leaves to the loop, and how it says so."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from controlplane.api.services import Commands
from controlplane.background.agent_upgrades.service import AgentReleaseService, AgentReleaseStatus, Offered
from controlplane.background.notifications.service import NotifierSeen, NotifierService
from controlplane.cluster.commands import (
    AdoptTopic,
    Command,
    CommandRefused,
    DeclareCluster,
    DeclareInCluster,
    DeleteCluster,
    DeleteTopic,
    InjectChaos,
    RebalanceCluster,
)
from controlplane.cluster.user_commands import DeleteUser
from controlplane.cluster.view import ClusterView
from controlplane.commands.handler import CommandOutcome
from controlplane.server.split.config_parity import differing
from controlplane.server.split.subscriber import LoopSubscriber
from controlplane.storage.backup import BackupSummary
from events.spec.model import KafkaClusterDocument

_THERE = "On the machine of the loop, as its user: `KEDGE_HOME=HOME_OF_THE_LOOP {}`."

_JUDGED = (
    DeclareCluster,
    DeleteCluster,
    DeleteTopic,
    DeleteUser,
    AdoptTopic,
    RebalanceCluster,
)
"""Commands that policies, prices and settings of clouds have a say in."""


def of_the_loop(what: str, verb: str) -> CommandRefused:
    """The refusal of what only the loop can do; `verb` is the command that asks it there."""
    return CommandRefused("ask-the-loop", f"a portal {what}", _THERE.format(verb))


@dataclass(frozen=True, slots=True)
class PortalCommands:
    """`inner` as far as a portal carries it: `Commands`. `files` are this portal's, compared with the loop's."""

    inner: Commands
    subscriber: LoopSubscriber
    files: Callable[[], Mapping[str, str]]

    def handle(self, command: Command) -> CommandOutcome:
        """See Commands. Raises CommandRefused for a fault, which needs hands on VMs, and for a change while the portal
        would judge it by other files than the loop.
        """
        if isinstance(command, InjectChaos):
            raise of_the_loop(
                "has no hands on VMs. A game day is played by the loop: `kedge chaos game`", "kedge chaos ..."
            )
        if isinstance(command, _JUDGED):
            self.refuse_other_files()
        return self.inner.handle(command)

    def check(self, command: DeclareCluster | DeclareInCluster, *, beside: KafkaClusterDocument | None = None) -> None:
        self.inner.check(command, beside=beside)

    def current(self, name: str) -> ClusterView:
        return self.inner.current(name)

    def visible(self, name: str) -> ClusterView:
        return self.inner.visible(name)

    def refuse_other_files(self) -> None:
        """Raises CommandRefused. A portal that never heard a loop has nothing to compare with."""
        last_message = self.subscriber.last_message
        others = differing(self.files(), last_message.files) if last_message is not None else []
        if others:
            raise CommandRefused(
                "homes-differ",
                f"the homes of this portal and of the loop do not say the same in {', '.join(others)}: what is allowed "
                "here could be forbidden there",
                "Copy them from one home to the other; files count at once, kedge.toml after a restart.",
            )


def no_backup(path: Path) -> BackupSummary:
    """A portal's role cannot read all that belongs into one. Raises CommandRefused."""
    raise of_the_loop("makes no backup: it may read neither credentials nor Terraform's states", f"kedge backup {path}")


@dataclass(frozen=True, slots=True)
class PortalAgents:
    """`Agents` of a portal: agents are signed by the loop's key."""

    service: AgentReleaseService

    def status(self) -> AgentReleaseStatus:
        return self.service.status()

    def publish(self, version: str, builds: Sequence[Offered], *, notes: str, actor: str, command_id: str) -> str:
        """See Agents. Raises CommandRefused."""
        raise of_the_loop("has no key to sign agents with", "kedge agents publish ...")

    def withdraw(self, version: str, *, reason: str, actor: str, command_id: str) -> str:
        return self.service.withdraw(version, reason=reason, actor=actor, command_id=command_id)

    def resume(self, *, reason: str, actor: str, command_id: str) -> str:
        return self.service.resume(reason=reason, actor=actor, command_id=command_id)


@dataclass(frozen=True, slots=True)
class PortalNotifiers:
    """`Notifiers` of a portal: their secrets are the loop's."""

    service: NotifierService

    def all(self) -> Sequence[NotifierSeen]:
        return self.service.all()

    def test(self, name: str) -> None:
        """See Notifiers. Raises CommandRefused."""
        raise of_the_loop("has no secret of a notifier", f"kedge notifiers test {name}")
