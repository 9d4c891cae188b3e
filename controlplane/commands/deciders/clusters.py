"""What people may ask for a whole cluster: its deletion, and another source of its spec. Pure: the view in."""

from controlplane.cluster.commands import CommandRefused, DeleteCluster, TakeOverSource
from controlplane.cluster.spec_source import fact_of, refuse_deletion, source_name
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.source import SpecOrigin
from controlplane.commands.deciders.decision import CommandDecision
from events import facts


def cluster_deleted(view: ClusterView, command: DeleteCluster) -> CommandDecision:
    """The tombstone, policies aside. Raises CommandRefused."""
    if command.confirm != view.name:
        message = f"to delete {view.name} its name must be typed out; {command.confirm!r} is not it"
        raise CommandRefused("name-mismatch", message, f"kedge delete {view.name} --confirm {view.name}")
    if view.tombstone:
        return CommandDecision(None, f"{view.name} is being deleted already")
    refusal = refuse_deletion(view)
    if refusal is not None:
        raise CommandRefused(refusal.code, refusal.message, refusal.what_next)
    if view.held:
        message = f"{view.name} is held: {view.held}. Nothing is destroyed on what was guessed"
        raise CommandRefused("held", message, f"Look at `kedge describe {view.name}`, and resume it first.")
    if command.only_at is not None and command.only_at != view.generation:
        message = f"{view.name} is at generation {view.generation}, and generation {command.only_at} was meant"
        raise CommandRefused("generation-moved", message, "Look at what is in force now, and ask again.")
    fate = "its VMs and disks are destroyed" if destroys(view) else "its VMs and disks stay"
    fact = facts.ClusterDeletionRequested(view.name, command.reason or "asked for")
    return CommandDecision(fact, f"{view.name} is deleted: {fate}, as its deletion policy says")


def destroys(view: ClusterView) -> bool:
    """Whether its deletion destroys VMs and disks; they stay where nothing says so."""
    return view.document is not None and view.document.spec.deletion_policy == "destroy"


def source_taken_over(view: ClusterView, command: TakeOverSource) -> CommandDecision:
    """From here on its spec comes from elsewhere."""
    if source_name(view) == command.source:
        return CommandDecision(None, f"the spec of {view.name} comes from {command.source} already")
    fact = fact_of(SpecOrigin(command.source, "", "", "", "", ""), reason=command.reason or "taken over")
    return CommandDecision(fact, f"the spec of {view.name} comes from {command.source} from here on")
