"""A rebalance that waits for a second person: what is kept of the order, and the order made of that again."""

import json
from collections.abc import Sequence

from controlplane.api.services import PortalServices, Proposed
from controlplane.cluster.commands import CommandRefused, RebalanceCluster
from controlplane.cluster.view import ClusterView
from controlplane.commands.previews.moves import placement_of
from controlplane.fleet.proposals.fold import ProposalView
from planner.rebalancing.choice import BalanceChoice

REBALANCE = "rebalance"
"""What `ProposalMade.change` says of one."""


def propose_rebalance(services: PortalServices, command: RebalanceCluster, reasons: Sequence[str]) -> ProposalView:
    """Records it, bound to where replicas and brokers are. Raises CommandRefused where nobody knows, and Forbidden."""
    view = services.cluster.commands.current(command.name)
    digest = placement_of(view, services.fleet.clusters.last_snapshot(view.uid), command)
    if services.access.proposals is None or not digest:
        message = f"a second person must approve, and Kafka of {view.name} was not read by this server yet"
        raise CommandRefused("kafka-unknown", message, "Ask the server that leads, or ask again in a minute.")
    order = {
        "targets": command.targets,
        "per_day_bytes": command.per_day_bytes,
        "throttle_mib_per_s": command.throttle_mib_per_s,
        "goals": command.choice.goals,
        "exclude_topics": command.choice.exclude_topics,
        "exclude_brokers": command.choice.exclude_brokers,
    }
    wanted = Proposed(
        change=REBALANCE,
        clusters=(command.name,),
        digest=digest,
        reasons=tuple(reasons),
        text=json.dumps(order),
        message=command.reason,
    )
    return services.access.proposals.propose(wanted, actor=command.actor, key=command.command_id)


def order_of(proposal: ProposalView) -> RebalanceCluster:
    """The command of its author, to be given only while its plan is still that one."""
    made = proposal.made
    order = json.loads(made.text)
    return RebalanceCluster(
        name=made.clusters[0],
        actor=f"person:{made.author.removeprefix('user:')}",
        command_id=f"proposal-{made.id}",
        reason=made.message,
        targets=tuple(int(broker) for broker in order.get("targets", ())),
        per_day_bytes=int(order["per_day_bytes"]),
        throttle_mib_per_s=int(order["throttle_mib_per_s"]),
        only_while=made.digest,
        approval=made.id,
        choice=BalanceChoice(
            tuple(str(goal) for goal in order.get("goals", ())),
            tuple(str(topic) for topic in order.get("exclude_topics", ())),
            tuple(int(broker) for broker in order.get("exclude_brokers", ())),
        ),
    )


def is_still_so(services: PortalServices, view: ClusterView, proposal: ProposalView) -> bool:
    """Whether replicas and brokers are where they were when it was proposed."""
    now = placement_of(view, services.fleet.clusters.last_snapshot(view.uid), order_of(proposal))
    return now == proposal.made.digest
