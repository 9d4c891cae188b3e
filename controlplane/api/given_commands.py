"""A command of a person carried out: by the handler, or by way of a proposal; then everybody sees it."""

from controlplane.api import approvals, move_proposals
from controlplane.api.presenters.commands import command_out
from controlplane.api.schemas.commands import CommandOut
from controlplane.api.services import PortalServices, Proposed
from controlplane.cluster import commands
from controlplane.commands.handler import CommandOutcome


def spread(services: PortalServices, outcomes: list[CommandOutcome]) -> None:
    """Whoever was answered sees it in the next answer, and the converger looks at once."""
    if any(o.changed for o in outcomes):
        services.fleet.clusters.catch_up()
    for outcome in outcomes:
        if outcome.changed:
            services.cluster.wake(outcome.uid)


def carry_out(services: PortalServices, command: commands.Command) -> CommandOut:
    """Records a command, and has the converger look at once. Raises what the handler raises.

    A deletion or a rebalance that a policy leaves to a second person becomes a proposal.
    """
    try:
        outcome = services.cluster.commands.handle(command)
    except commands.NeedsApproval as reserved:
        if isinstance(command, commands.RebalanceCluster):
            return _proposed_rebalance(services, command, reserved)
        if not isinstance(command, commands.DeleteCluster | commands.DeleteTopic) or services.access.proposals is None:
            raise
        topic = command.topic if isinstance(command, commands.DeleteTopic) else ""
        wanted = Proposed(
            change="delete-topic" if topic else "delete",
            clusters=(command.name,),
            digest=approvals.in_force_digest(services.cluster.commands.current(command.name), topic),
            reasons=reserved.reasons,
            topic=topic,
            message=command.reason,
        )
        made = services.access.proposals.propose(wanted, actor=command.actor, key=command.command_id)
        sentence = f"a second person must approve: proposal {made.id} is recorded, nothing is deleted"
        return CommandOut(cluster=command.name, changed=False, sentence=sentence, proposal=made.id)
    spread(services, [outcome])
    return command_out(outcome)


def _proposed_rebalance(
    services: PortalServices, command: commands.RebalanceCluster, reserved: commands.NeedsApproval
) -> CommandOut:
    made = move_proposals.propose_rebalance(services, command, reserved.reasons)
    sentence = f"a second person must approve: proposal {made.id} is recorded, nothing is moved"
    return CommandOut(cluster=command.name, changed=False, sentence=sentence, proposal=made.id)
