"""Which function decides a command: one row each, of one signature."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from controlplane.cluster import commands as asked, standby_commands, user_commands
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.authorities import authority_replacement_asked
from controlplane.commands.deciders.chaos import chaos_asked, chaos_end_asked
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.declarations import (
    cluster_declared,
    source_taken_over,
    standby_grown,
    sync_reported,
)
from controlplane.commands.deciders.deletions import cluster_deleted
from controlplane.commands.deciders.demotions import demotion_asked, undemotion_asked
from controlplane.commands.deciders.disks import disk_moves_asked, disk_moves_cancelled
from controlplane.commands.deciders.factors import factor_asked, factor_cancelled
from controlplane.commands.deciders.games import fault_scored, game_ended, game_started
from controlplane.commands.deciders.groups import reset_answered, reset_asked
from controlplane.commands.deciders.healing import broker_demoted, broker_promoted, healing_switched
from controlplane.commands.deciders.lookups import Lookups
from controlplane.commands.deciders.losses import loss_confirmed
from controlplane.commands.deciders.nodes import evacuation_asked, readmission_asked, replacement_asked, restart_asked
from controlplane.commands.deciders.offline import offline_fix_asked
from controlplane.commands.deciders.pauses import cluster_paused, cluster_resumed, roll_aborted
from controlplane.commands.deciders.rebalances import rebalance_asked, rebalance_cancelled
from controlplane.commands.deciders.revocations import revocation_asked
from controlplane.commands.deciders.stuck_moves import moves_adopted, moves_taken_back
from controlplane.commands.deciders.topics import (
    topic_adopted,
    topic_deleted,
    topics_copied,
    topics_declared,
    topics_gone,
)
from controlplane.commands.deciders.users import (
    certificate_noted,
    password_collected,
    password_delivered,
    password_rotated,
    passwords_undelivered,
    user_deleted,
    users_declared,
    users_gone,
)
from controlplane.commands.deciders.windows import window_waived

_C = TypeVar("_C", bound=asked.Command)


@dataclass(frozen=True, slots=True)
class Decider:
    """`decide` raises CommandRefused, SpecRefused or NeedsApproval for what is not to be recorded. `of_deleted`: also
    asked of a cluster that is being deleted; everything else is refused there before."""

    decide: Callable[[ClusterView, Any, Lookups], CommandDecision]
    of_deleted: bool = False


def decided(view: ClusterView, command: asked.Command, known: Lookups) -> CommandDecision:
    """What comes of a command. Raises CommandRefused, SpecRefused, NeedsApproval, StoreUnavailable."""
    decider = DECIDERS[type(command)]
    if view.requests.tombstone and not decider.of_deleted:
        message = f"{view.name} is being deleted ({view.requests.tombstone})"
        raise asked.CommandRefused("being-deleted", message, "Wait until it is gone; its name is free then.")
    return decider.decide(view, command, known)


def _row(
    command: type[_C], decide: Callable[[ClusterView, _C, Lookups], CommandDecision], *, of_deleted: bool = False
) -> tuple[type[asked.Command], Decider]:
    """Holds the function to the command it decides."""
    return command, Decider(decide, of_deleted)


def _once_each(rows: Iterable[tuple[type[asked.Command], Decider]]) -> Mapping[type[asked.Command], Decider]:
    found: dict[type[asked.Command], Decider] = {}
    for command, decider in rows:
        if command in found:
            raise ValueError(f"{command.__name__} is decided twice")
        found[command] = decider
    return MappingProxyType(found)


DECIDERS = _once_each(
    (
        _row(asked.DeclareCluster, cluster_declared),
        _row(asked.TakeOverSource, source_taken_over),
        _row(asked.ReportSync, sync_reported, of_deleted=True),
        _row(asked.DeleteCluster, cluster_deleted, of_deleted=True),
        _row(asked.PauseCluster, cluster_paused),
        _row(asked.ResumeCluster, cluster_resumed),
        _row(asked.AbortRecycle, roll_aborted),
        _row(asked.WaiveWindow, window_waived),
        _row(asked.ConfirmLoss, loss_confirmed),
        _row(asked.RestartServices, restart_asked),
        _row(asked.ReplaceNode, replacement_asked),
        _row(asked.RevokeCertificates, revocation_asked),
        _row(asked.ReplaceAuthority, authority_replacement_asked),
        _row(asked.EvacuateBrokers, evacuation_asked),
        _row(asked.ReadmitBrokers, readmission_asked),
        _row(asked.FixOffline, offline_fix_asked),
        _row(asked.MoveBetweenDisks, disk_moves_asked),
        _row(asked.CancelDiskMoves, disk_moves_cancelled, of_deleted=True),
        _row(asked.DemoteBrokers, demotion_asked),
        _row(asked.UndemoteBrokers, undemotion_asked),
        _row(asked.RebalanceCluster, rebalance_asked),
        _row(asked.CancelRebalance, rebalance_cancelled, of_deleted=True),
        _row(asked.TakeBackMoves, moves_taken_back),
        _row(asked.AdoptMoves, moves_adopted),
        _row(asked.DeclareTopics, topics_declared),
        _row(standby_commands.GrowStandby, standby_grown),
        _row(standby_commands.CopyTopics, topics_copied),
        _row(asked.AdoptTopic, topic_adopted),
        _row(asked.DeleteTopic, topic_deleted),
        _row(asked.ChangeReplicationFactor, factor_asked),
        _row(asked.CancelReplicationFactor, factor_cancelled, of_deleted=True),
        _row(asked.ReportTopicsGone, topics_gone, of_deleted=True),
        _row(asked.DeclareUsers, users_declared),
        _row(user_commands.DeleteUser, user_deleted),
        _row(user_commands.ReportUsersGone, users_gone, of_deleted=True),
        _row(user_commands.RotatePassword, password_rotated),
        _row(user_commands.NotePasswordCollected, password_collected),
        _row(user_commands.NotePasswordDelivered, password_delivered),
        _row(user_commands.NotePasswordsUndelivered, passwords_undelivered),
        _row(user_commands.NoteUserCertificate, certificate_noted),
        _row(asked.ResetOffsets, reset_asked),
        _row(asked.NoteOffsetsReset, reset_answered),
        _row(asked.SwitchHealing, healing_switched),
        _row(asked.DemoteBroker, broker_demoted),
        _row(asked.PromoteBroker, broker_promoted),
        _row(asked.InjectChaos, chaos_asked),
        _row(asked.EndFault, chaos_end_asked, of_deleted=True),
        _row(asked.StartGame, game_started),
        _row(asked.ScoreFault, fault_scored),
        _row(asked.EndGame, game_ended, of_deleted=True),
    )
)
