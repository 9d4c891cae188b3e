"""May a team have that much? What the clusters of one owner have together, held to the quota of a policy. Pure.

A quota is of each team, not of all that a policy speaks of. It holds growth alone: who is above it already, because it
was lowered or prices rose, may change everything that asks for no more.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from controlplane.commands.policies.decision import PolicyDecision, Reason, Refusal
from controlplane.commands.policies.judge import ClusterChange, TopicsChange, fits, missing_prices, money_words
from controlplane.commands.policies.model import Money, Policy
from controlplane.commands.previews.costs import monthly_bill
from events.quantities import counted
from events.spec.model import KafkaClusterDocument
from providers.price_list import PriceList


@dataclass(frozen=True, slots=True)
class OtherCluster:
    """A living cluster beside the one that changes, and how many partitions it has; None where Kafka was not read."""

    document: KafkaClusterDocument
    partitions: int | None = 0


def judge_cluster_quotas(
    policies: Iterable[Policy], change: ClusterChange, others: Sequence[OtherCluster], price_list: PriceList
) -> PolicyDecision:
    """Brokers and costs of the team that owns the cluster from here on."""
    found = [
        one
        for policy in policies
        if fits(policy.selector, change.after)
        for one in (*_brokers(policy, change, others), *_cost(policy, change, others, price_list))
    ]
    return _verdict(found)


def judge_topic_quotas(
    policies: Iterable[Policy], change: TopicsChange, others: Sequence[OtherCluster]
) -> PolicyDecision:
    """Partitions of the team that owns the cluster the topics are in."""
    found = [
        one
        for policy in policies
        if fits(policy.selector, change.cluster)
        for one in _partitions(policy, change, others)
    ]
    return _verdict(found)


def _brokers(policy: Policy, change: ClusterChange, others: Sequence[OtherCluster]) -> Iterator[Refusal]:
    most, before = policy.quota.max_brokers, _own_before(policy, change)
    more = _brokers_of(change.after) - (_brokers_of(before) if before is not None else 0)
    if most is None or more <= 0:
        return
    total = _brokers_of(change.after) + sum(_brokers_of(d) for d in _documents(policy, change.after, others))
    if total > most:
        index = next(i for i, pool in enumerate(change.after.spec.pools) if pool.is_broker)
        message = f"{_team(change.after)} would have {counted(total, 'broker')} in all its clusters"
        yield Refusal(policy.name, ("spec", "pools", index, "size"), f"{message}, at most {most} may be", _LESS)


def _cost(
    policy: Policy, change: ClusterChange, others: Sequence[OtherCluster], price_list: PriceList
) -> Iterator[Refusal | Reason]:
    most, before = policy.quota.monthly_cost, _own_before(policy, change)
    if most is None:
        return
    price = _priced(change.after, most, price_list)
    if before is not None and not price.is_more_than(_priced(before, most, price_list)):
        return
    every = [price, *(_priced(d, most, price_list) for d in _documents(policy, change.after, others))]
    total, missing = sum((p.known for p in every), Decimal(0)), [what for p in every for what in p.missing]
    team = _team(change.after)
    if total > most.amount:
        message = f"{team} would cost {money_words(total, most)} in all its clusters, at most {most.amount} may be"
        yield Refusal(policy.name, ("spec", "pools"), message, _LESS)
    elif missing:
        yield Reason(policy.name, f"whether {team} passes its quota: the price of {missing[0]} is unknown")


def _partitions(policy: Policy, change: TopicsChange, others: Sequence[OtherCluster]) -> Iterator[Refusal | Reason]:
    most = policy.quota.max_partitions
    wanted = sum(topic.spec.partitions for topic in change.topics)
    if most is None or not change.topics or (change.partitions_now is not None and wanted <= change.partitions_now):
        return
    beside = [change.partitions_beside, *(other.partitions for other in _own(policy, change.cluster, others))]
    total = wanted + sum(count or 0 for count in beside)
    team = _team(change.cluster)
    if total > most:
        message = f"{team} would have {counted(total, 'partition')} in all its clusters, at most {most} may be"
        fix = "Ask for fewer partitions, or delete topics first."
        yield Refusal(policy.name, ("spec", "partitions"), message, fix, change.topics[0].topic)
    elif None in beside:
        yield Reason(policy.name, f"Kafka was not read: nobody knows whether {team} passes {most} partitions")


_LESS = "Ask for less, give something of another cluster of the team back, or ask for a larger quota."


def _own(policy: Policy, document: KafkaClusterDocument, others: Iterable[OtherCluster]) -> list[OtherCluster]:
    owner = document.metadata.owner
    return [o for o in others if o.document.metadata.owner == owner and fits(policy.selector, o.document)]


def _documents(
    policy: Policy, document: KafkaClusterDocument, others: Iterable[OtherCluster]
) -> list[KafkaClusterDocument]:
    return [other.document for other in _own(policy, document, others)]


def _own_before(policy: Policy, change: ClusterChange) -> KafkaClusterDocument | None:
    """The cluster as it is, where it counts for the same team already."""
    before = change.before
    if before is None or before.metadata.owner != change.after.metadata.owner or not fits(policy.selector, before):
        return None
    return before


@dataclass(frozen=True, slots=True)
class _Priced:
    """What a cluster costs in the currency of a quota, and what nobody knows the price of."""

    known: Decimal
    missing: Counter[str]

    def is_more_than(self, before: "_Priced") -> bool:
        return self.known > before.known or bool(self.missing - before.missing)


def _priced(document: KafkaClusterDocument, most: Money, price_list: PriceList) -> _Priced:
    bill = monthly_bill(document, price_list)
    return _Priced(
        bill.totals.get(most.currency, Decimal(0)), Counter(missing_prices(document, bill, most, price_list))
    )


def _brokers_of(document: KafkaClusterDocument) -> int:
    return sum(pool.size for pool in document.spec.broker_pools)


def _team(document: KafkaClusterDocument) -> str:
    owner = document.metadata.owner
    return f"team {owner}" if owner else "what has no owner"


def _verdict(found: Iterable[Refusal | Reason]) -> PolicyDecision:
    told = list(found)
    refusals = tuple(one for one in told if isinstance(one, Refusal))
    return PolicyDecision(refusals, tuple(one for one in told if isinstance(one, Reason)))
