"""The decision on the deletion of a whole cluster."""

from controlplane.cluster.commands import CommandRefused, DeleteCluster
from controlplane.cluster.spec_source import refuse_deletion
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.lookups import NOTHING, Lookups, obey, refuse_frozen
from events import facts


def cluster_deleted(view: ClusterView, command: DeleteCluster, known: Lookups = NOTHING) -> CommandDecision:
    """The tombstone. Raises CommandRefused, NeedsApproval."""
    if command.confirm != view.name:
        message = f"to delete {view.name} its name must be typed out; {command.confirm!r} is not it"
        raise CommandRefused("name-mismatch", message, f"kedge delete {view.name} --confirm {view.name}")
    if view.requests.tombstone:
        return CommandDecision(None, f"{view.name} is being deleted already")
    refusal = refuse_deletion(view)
    if refusal is not None:
        raise CommandRefused(refusal.code, refusal.message, refusal.what_next)
    if pair := known.paired(view):
        message = f"{view.name} is of the failover {pair}: the other cluster counts on it"
        raise CommandRefused("cluster-paired", message, f"Take the pair back first: kedge failovers withdraw {pair}")
    if view.requests.held:
        message = f"{view.name} is held: {view.requests.held}. Nothing is destroyed on what was guessed"
        raise CommandRefused("held", message, f"Look at `kedge describe {view.name}`, and resume it first.")
    if command.only_at is not None and command.only_at != view.generation:
        message = f"{view.name} is at generation {view.generation}, and generation {command.only_at} was meant"
        raise CommandRefused("generation-moved", message, "Look at what is in force now, and ask again.")
    if destroys(view) and not command.despite_freeze:
        again = f"kedge delete {view.name} --despite-freeze"
        refuse_frozen(view, known, f"Wait, thaw it, or, if it is to go all the same: {again}")
    obey(known.judge.gate.deletion(view), command)
    fate = "its VMs and disks are destroyed" if destroys(view) else "its VMs and disks stay"
    fact = facts.ClusterDeletionRequested(view.name, command.reason or "asked for")
    return CommandDecision(fact, f"{view.name} is deleted: {fate}, as its deletion policy says")


def destroys(view: ClusterView) -> bool:
    """Whether its deletion destroys VMs and disks; they stay where nothing says so."""
    return view.document is not None and view.document.spec.deletion_policy == "destroy"
