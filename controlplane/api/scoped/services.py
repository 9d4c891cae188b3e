"""The services as one caller may use them: what they may not read is not there, what they may not do is refused.

Every route takes its services from here, so a page, an API call, a search, a count and an event stream judge alike.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from controlplane.api.access.bindings import Traits, traits_of
from controlplane.api.access.rights import Forbidden, Rights
from controlplane.api.access.roles import Verb
from controlplane.api.scoped.agents import ScopedAgents
from controlplane.api.scoped.failovers import ScopedFailovers
from controlplane.api.scoped.freezes import ScopedFreezes
from controlplane.api.scoped.images import ScopedImages
from controlplane.api.scoped.networks import ScopedNetworks
from controlplane.api.services import Commands, Fleet, FleetServices, PortalServices
from controlplane.background.git_sync.service import SourceNotFound, SourceService
from controlplane.background.git_sync.status import SourceStatus
from controlplane.background.notifications.service import Notifiers, NotifierSeen
from controlplane.cluster.commands import (
    AbortRecycle,
    AdoptMoves,
    AdoptTopic,
    CancelDiskMoves,
    CancelRebalance,
    CancelReplicationFactor,
    ChangeReplicationFactor,
    ClusterNotFound,
    Command,
    ConfirmLoss,
    DeclareCluster,
    DeclareInCluster,
    DeclareTopics,
    DeclareUsers,
    DeleteCluster,
    DeleteTopic,
    DemoteBrokers,
    EndFault,
    EndGame,
    EvacuateBrokers,
    FixOffline,
    InjectChaos,
    MoveBetweenDisks,
    NoteOffsetsReset,
    PauseCluster,
    ReadmitBrokers,
    RebalanceCluster,
    ReplaceAuthority,
    ReplaceNode,
    ResetOffsets,
    RestartServices,
    ResumeCluster,
    RevokeCertificates,
    StartGame,
    SwitchHealing,
    TakeBackMoves,
    TakeOverSource,
    UndemoteBrokers,
    WaiveWindow,
)
from controlplane.cluster.observed.moves import MoveProgress
from controlplane.cluster.observed.replica_lag import Replica
from controlplane.cluster.observed.traffic import UNKNOWN, Traffic
from controlplane.cluster.user_commands import (
    DeleteUser,
    NotePasswordCollected,
    NoteUserCertificate,
    RotatePassword,
)
from controlplane.cluster.view import ClusterView, empty_view
from controlplane.commands.handler import CommandOutcome
from controlplane.converger.tick.report import Said
from controlplane.storage.backup import BackupSummary
from events.ids import ClusterUid
from events.spec.model import KafkaClusterDocument
from planner.observed import KafkaSnapshot

VERB_OF: dict[type[Command], Verb] = {
    DeclareCluster: Verb.DECLARE,
    PauseCluster: Verb.STEER,
    ResumeCluster: Verb.STEER,
    AbortRecycle: Verb.STEER,
    RestartServices: Verb.STEER,
    ReplaceNode: Verb.STEER,
    ReplaceAuthority: Verb.DELETE,
    RevokeCertificates: Verb.DELETE,
    EvacuateBrokers: Verb.STEER,
    TakeBackMoves: Verb.STEER,
    AdoptMoves: Verb.STEER,
    InjectChaos: Verb.DELETE,
    EndFault: Verb.DELETE,
    StartGame: Verb.DELETE,
    EndGame: Verb.DELETE,
    ReadmitBrokers: Verb.STEER,
    DemoteBrokers: Verb.STEER,
    FixOffline: Verb.STEER,
    MoveBetweenDisks: Verb.STEER,
    CancelDiskMoves: Verb.STEER,
    ChangeReplicationFactor: Verb.STEER,
    CancelReplicationFactor: Verb.STEER,
    UndemoteBrokers: Verb.STEER,
    RebalanceCluster: Verb.STEER,
    CancelRebalance: Verb.STEER,
    WaiveWindow: Verb.STEER,
    SwitchHealing: Verb.STEER,
    DeleteCluster: Verb.DELETE,
    ConfirmLoss: Verb.DELETE,
    TakeOverSource: Verb.HAND_OVER,
    DeclareTopics: Verb.DECLARE,
    AdoptTopic: Verb.DECLARE,
    DeleteTopic: Verb.DELETE,
    DeclareUsers: Verb.DECLARE,
    DeleteUser: Verb.DELETE,
    RotatePassword: Verb.DECLARE,
    NotePasswordCollected: Verb.DECLARE,
    NoteUserCertificate: Verb.DECLARE,
    ResetOffsets: Verb.DECLARE,
    NoteOffsetsReset: Verb.DECLARE,
}
"""What each command of people does. One that is not listed is an administrator's."""

ANOTHER = "another cluster"


def scoped(services: PortalServices, rights: Rights) -> PortalServices:
    """The same services, as far as these rights go. What is done with them is noted in the trail of the rights."""
    seen = ScopedFleet(services.fleet.clusters, rights)
    commands = NotedCommands(services.cluster.commands, rights, services.store.head)
    fleet = _scoped_fleet(services.fleet, seen, rights, services.store.head)
    access = replace(services.access, proposals=services.access.proposals and services.access.proposals.scoped(rights))
    if rights.may_everywhere(Verb.ADMINISTER):
        return replace(services, cluster=replace(services.cluster, commands=commands), fleet=fleet, access=access)
    return replace(
        services,
        cluster=replace(
            services.cluster,
            commands=ScopedCommands(commands, rights),
            without_others=seen.teller,
            brake=lambda view: seen.without_others(services.cluster.brake(view)),
            window=lambda view: seen.without_others(services.cluster.window(view)),
        ),
        fleet=replace(
            fleet,
            clusters=seen,
            sources=_scoped_sources(fleet.sources, rights),
            notifiers=ScopedNotifiers(fleet.notifiers, rights),
        ),
        access=replace(access, audit_topic=lambda: None),  # of everybody's entries, and of roles of the database
        operations=replace(services.operations, backup=_administrators_backup(services.operations.backup, rights)),
    )


@dataclass(frozen=True, slots=True)
class ScopedFleet:
    """The `Fleet` a caller may read. Names of other clusters are taken out of what is said about those."""

    fleet: Fleet
    rights: Rights
    _hidden: dict[int, frozenset[str]] = field(default_factory=dict)
    """The names that are not shown, as of a position of the log: within a request many texts are looked through."""

    def views(self) -> list[ClusterView]:
        every = self.fleet.views()
        shown = [view for view in every if self._shows(view)]
        if len(shown) == len(every):
            return shown
        others = _others(every, shown)
        return [_redacted(view, others) for view in shown]

    def view(self, uid: ClusterUid) -> ClusterView | None:
        view = self.fleet.view(uid)
        return _redacted(view, self._others()) if view is not None and self._shows(view) else None

    def said(self, uid: ClusterUid) -> Said | None:
        said = self.fleet.said(uid) if self._may_see(uid) else None
        return said and replace(said, sentence=self.without_others(said.sentence))

    def last_snapshot(self, uid: ClusterUid) -> KafkaSnapshot | None:
        return self.fleet.last_snapshot(uid) if self._may_see(uid) else None

    def last_moves(self, uid: ClusterUid) -> MoveProgress:
        return self.fleet.last_moves(uid) if self._may_see(uid) else MoveProgress()

    def traffic(self, uid: ClusterUid) -> Traffic:
        return self.fleet.traffic(uid) if self._may_see(uid) else UNKNOWN

    def behind(self, uid: ClusterUid) -> Mapping[Replica, datetime]:
        return self.fleet.behind(uid) if self._may_see(uid) else {}

    def catch_up(self) -> None:
        self.fleet.catch_up()

    @property
    def position(self) -> int:
        return self.fleet.position

    def without_others(self, text: str) -> str:
        """The text without names of clusters that the caller may not read."""
        return _without(text, self._others())

    def teller(self) -> Callable[[str], str]:
        """The same for many texts at this moment."""
        return partial(_without, others=self._others())

    def _others(self) -> frozenset[str]:
        position = self.fleet.position
        if (known := self._hidden.get(position)) is not None:
            return known
        every = self.fleet.views()
        others = _others(every, [view for view in every if self._shows(view)])
        self._hidden.clear()
        self._hidden[position] = others
        return others

    def _may_see(self, uid: ClusterUid) -> bool:
        view = self.fleet.view(uid)
        return view is not None and self._shows(view)

    def _shows(self, view: ClusterView) -> bool:
        return self.rights.may_on(Verb.READ, view)


@dataclass(frozen=True, slots=True)
class NotedCommands:
    """`Commands`, as `CommandHandler` has them, whose verb, cluster and place in the log the audit tells."""

    commands: Commands
    rights: Rights
    head: Callable[[], int]

    def handle(self, command: Command) -> CommandOutcome:
        verb = VERB_OF.get(type(command), Verb.ADMINISTER)
        self.rights.trail.judged(verb, command.name, allowed=True)
        outcome = self.commands.handle(command)
        if outcome.changed:
            self.rights.trail.event_position = self.head()
        return outcome

    def check(self, command: DeclareCluster | DeclareInCluster, *, beside: KafkaClusterDocument | None = None) -> None:
        self.commands.check(command, beside=beside)

    def current(self, name: str) -> ClusterView:
        return self.commands.current(name)

    def visible(self, name: str) -> ClusterView:
        return self.commands.visible(name)


@dataclass(frozen=True, slots=True)
class ScopedCommands:
    """Commands a caller may give. A cluster they may not read does not exist for them, its name is taken all the same.

    A declaration needs the right on the cluster as it would be and as it is: nobody takes or gives away another's, and
    nobody hears that a name is taken who could not have had it.
    """

    commands: Commands
    rights: Rights

    def handle(self, command: Command) -> CommandOutcome:
        """See CommandHandler. Raises Forbidden."""
        self._judge(command)
        return self.commands.handle(command)

    def check(self, command: DeclareCluster | DeclareInCluster, *, beside: KafkaClusterDocument | None = None) -> None:
        """See CommandHandler. Raises Forbidden."""
        if beside is None:
            self._judge(command)
        else:
            self.rights.require(VERB_OF[type(command)], traits_of(beside), f"{command.name} as this spec has it")
        self.commands.check(command, beside=beside)

    def current(self, name: str) -> ClusterView:
        """See CommandHandler. Raises Forbidden for a cluster that is not theirs."""
        view = self.commands.current(name)
        self._refuse_taken(view, name)
        return view

    def visible(self, name: str) -> ClusterView:
        view = self.commands.visible(name)
        return view if self.rights.may_on(Verb.READ, view) else empty_view("")

    def _refuse_taken(self, view: ClusterView, name: str) -> None:
        if view.uid and not self.rights.may_on(Verb.READ, view):
            self.rights.trail.judged(Verb.READ, name, allowed=False)
            raise Forbidden(f"the name {name} is taken", "Choose another name.")

    def _judge(self, command: Command) -> None:
        view = self.commands.current(command.name)
        verb = VERB_OF.get(type(command), Verb.ADMINISTER)
        if isinstance(command, DeclareCluster):
            self.rights.require(verb, traits_of(command.document), f"{command.name} as this spec has it")
            self._refuse_taken(view, command.name)
            if view.uid:
                self.rights.require(verb, traits_of(view.document), command.name)
            return
        if not self.rights.may_on(Verb.READ, view):
            self.rights.trail.judged(verb, command.name, allowed=not view.uid)
            raise ClusterNotFound(command.name)
        self.rights.require(verb, traits_of(view.document), command.name)


@dataclass(frozen=True, slots=True)
class ScopedService(SourceService):
    """The sources of a caller's teams. One without a team is everybody's who may read everything."""

    rights: Rights = field(default_factory=lambda: Rights("nobody", ()))

    def statuses(self, *, leads: bool = True) -> list[SourceStatus]:
        service = SourceService(self.polled, self.store, self.ring, reaches_leader=self.reaches_leader)
        every = service.statuses(leads=leads)
        return [status for status in every if self._may(Verb.READ, status)]

    def status(self, name: str) -> SourceStatus:
        status = SourceService(self.polled, self.store, self.ring).status(name)
        if not self._may(Verb.READ, status):
            raise SourceNotFound(name)
        return status

    def accept(self, name: str, commit: str, *, reason: str, actor: str) -> str:
        """See SourceService. Raises Forbidden."""
        status = self.status(name)
        self.rights.require(Verb.HAND_OVER, Traits(status.binding.team), f"the source {name}")
        return SourceService(self.polled, self.store, self.ring).accept(name, commit, reason=reason, actor=actor)

    def _may(self, verb: Verb, status: SourceStatus) -> bool:
        return self.rights.may(verb, Traits(status.binding.team))


_WORD = re.compile(r"[\w-]+")
"""What the name of a cluster is one of, as a whole: it is made of lower-case letters, digits and hyphens."""


def _others(every: Sequence[ClusterView], shown: Sequence[ClusterView]) -> frozenset[str]:
    """The names of clusters that are not shown. A name both have is no secret."""
    return frozenset({v.name for v in every if v.name} - {v.name for v in shown})


def _without(text: str, others: frozenset[str]) -> str:
    """Word by word: a pattern of ten thousand names takes a third of a second to make, and tries all of them at each
    letter."""
    return _WORD.sub(lambda word: ANOTHER if word[0] in others else word[0], text) if others else text


def _redacted(view: ClusterView, others: frozenset[str]) -> ClusterView:
    """The view with the names of others taken out of its conditions."""
    if not others or not any(word in others for c in view.conditions.values() for word in _WORD.findall(c.message)):
        return view
    conditions = {t: replace(c, message=_without(c.message, others)) for t, c in view.conditions.items()}
    return replace(view, conditions=conditions)


def _scoped_fleet(fleet: FleetServices, seen: ScopedFleet, rights: Rights, head: Callable[[], int]) -> FleetServices:
    def names() -> frozenset[str]:
        return frozenset(view.name for view in seen.views())

    return replace(
        fleet,
        networks=ScopedNetworks(fleet.networks, rights, names),
        images=ScopedImages(fleet.images, rights, names, seen.without_others),
        freezes=ScopedFreezes(fleet.freezes, rights, seen.views, seen.without_others),
        failovers=ScopedFailovers(fleet.failovers, rights, seen.views, seen.without_others, head),
        agents=ScopedAgents(fleet.agents, rights, names, seen.without_others),
    )


def _scoped_sources(service: SourceService | None, rights: Rights) -> SourceService | None:
    return service and ScopedService(service.polled, service.store, service.ring, service.reaches_leader, rights)


@dataclass(frozen=True, slots=True)
class ScopedNotifiers:
    """Where anomalies are told to concerns all clusters: an administrator's."""

    notifiers: Notifiers
    rights: Rights

    def all(self) -> Sequence[NotifierSeen]:
        """See Notifiers. Raises Forbidden."""
        self.rights.require_everywhere(Verb.ADMINISTER, "the notifiers")
        return self.notifiers.all()

    def test(self, name: str) -> None:
        """See Notifiers. Raises Forbidden."""
        self.rights.require_everywhere(Verb.ADMINISTER, "the notifiers")
        self.notifiers.test(name)


def _administrators_backup(backup: Callable[[Path], BackupSummary], rights: Rights) -> Callable[[Path], BackupSummary]:
    def judged(path: Path) -> BackupSummary:
        rights.require_everywhere(Verb.ADMINISTER, "the installation")
        return backup(path)

    return judged
