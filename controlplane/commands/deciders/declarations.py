"""What comes of a declared document, and of what its git source has to say of it."""

from controlplane.cluster.commands import (
    CommandHead,
    CommandRefused,
    DeclareCluster,
    ReportSync,
    TakeOverSource,
)
from controlplane.cluster.spec_source import SYNCED, fact_of, is_news, refuse_declaration, source_name
from controlplane.cluster.standby_commands import GrowStandby
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.source import SpecOrigin
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.lookups import NOTHING, Lookups, refuse_errors, refuse_unagreed
from controlplane.commands.previews.plan import moved_parts, preview
from controlplane.fleet.failovers.standby_size import grown_to
from events import facts
from events.spec.conversion import to_data
from planner.observed import KafkaSnapshot


def cluster_declared(view: ClusterView, command: DeclareCluster, known: Lookups) -> CommandDecision:
    """Raises CommandRefused, SpecRefused, NeedsApproval, StoreUnavailable."""
    refusal = refuse_declaration(view, command.origin, is_change=view.document != command.document)
    if refusal is not None:
        raise CommandRefused(refusal.code, refusal.message, refusal.what_next)
    _refuse_moved(view, command, known.kafka)
    origin = command.origin
    if view.document == command.document:
        if origin is not None and _has_moved(view, origin):
            return CommandDecision(fact_of(origin), f"the file of {command.name} is {origin.path} now")
        return CommandDecision(None, f"{command.name} is declared like this already (generation {view.generation})")
    judged = known.judge.cluster(
        view,
        command.document,
        positions=command.positions,
        snapshot=known.kafka,
        rolling=command.rolling,
        beside=command.beside,
    )
    refuse_errors(judged)
    refuse_unagreed(command, judged.reasons)
    generation = view.generation + 1
    document = to_data(command.document)
    declared = facts.ClusterDeclared(view.uid, command.name, generation, document, source=command.source)
    before = fact_of(origin) if origin is not None else None
    return CommandDecision(declared, f"{command.name} is declared, generation {generation}", before)


def standby_grown(view: ClusterView, command: GrowStandby, known: Lookups) -> CommandDecision:
    """By what is in force now: what a person declared meanwhile stays. Raises as `cluster_declared`."""
    if view.document is None:
        raise CommandRefused("not-declared", f"{view.name} is not declared", "Declare it first.")
    head: CommandHead = {"name": command.name, "actor": command.actor, "command_id": command.command_id}
    document = grown_to(view.document, command.brokers)
    return cluster_declared(view, DeclareCluster(**head, document=document, source=f"failover:{command.pair}"), known)


def source_taken_over(view: ClusterView, command: TakeOverSource, _: Lookups = NOTHING) -> CommandDecision:
    """From here on its spec comes from elsewhere."""
    if source_name(view) == command.source:
        return CommandDecision(None, f"the spec of {view.name} comes from {command.source} already")
    fact = fact_of(SpecOrigin(command.source, "", "", "", "", ""), reason=command.reason or "taken over")
    return CommandDecision(fact, f"the spec of {view.name} comes from {command.source} from now on")


def sync_reported(view: ClusterView, command: ReportSync, _: Lookups = NOTHING) -> CommandDecision:
    """The condition `Synced`, where the report changes it and its source is still in charge."""
    if source_name(view) != command.source or not is_news(view, command.condition_reason, command.message):
        return CommandDecision(None, "nothing new")
    fact = facts.ConditionChanged(SYNCED, command.status, command.condition_reason, command.message)
    return CommandDecision(fact, command.message)


def _has_moved(view: ClusterView, origin: SpecOrigin) -> bool:
    """Whether the same document stands in another file now. Another commit of the same file is no news."""
    return view.declaration.source is None or not view.declaration.source.origin.is_same_file(origin)


def _refuse_moved(view: ClusterView, command: DeclareCluster, snapshot: KafkaSnapshot | None) -> None:
    if command.plan_digest is None:
        return
    now = preview(view, command.document, snapshot=snapshot, warnings=command.warnings)
    moved = moved_parts(command.plan_digest, now.digest)
    if moved:
        message = f"the plan of {command.name} is not what it was: {' and '.join(moved)} changed since it was made"
        raise CommandRefused("plan-moved", message, "Plan again, and look at what it says now.")
