"""Which goals rebalances of a cluster keep to, and what they leave out: as its spec says, or who asks for one."""

from controlplane.cluster.view import ClusterView
from planner.rebalancing.choice import EVERYTHING, BalanceChoice


def spec_choice(view: ClusterView) -> BalanceChoice:
    """What the spec in force says."""
    policy = view.document.spec.balance if view.document else None
    return BalanceChoice(policy.goals, policy.exclude_topics, policy.exclude_brokers) if policy else EVERYTHING


def choice_of(view: ClusterView, asked: BalanceChoice) -> BalanceChoice:
    """What a person says; each part they say nothing of is as the spec has it."""
    spec = spec_choice(view)
    return BalanceChoice(
        asked.goals or spec.goals,
        asked.exclude_topics or spec.exclude_topics,
        asked.exclude_brokers or spec.exclude_brokers,
    )
