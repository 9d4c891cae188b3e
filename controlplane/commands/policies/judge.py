"""May this change come into force, and does somebody else have to say yes first? Pure.

A policy that speaks of the cluster as it is also speaks of the change that would take it out of its reach: nobody
relabels a cluster to be rid of a limit.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from controlplane.commands.policies.decision import PolicyDecision, Reason, Refusal
from controlplane.commands.policies.model import Money, Policy, Selector
from controlplane.commands.policies.rights import judge_rights
from controlplane.commands.previews.costs import Bill, CostPart, monthly_bill
from events.quantities import counted
from events.spec.client_security import client_security
from events.spec.model import KafkaClusterDocument
from events.spec.problems import Path
from events.spec.topic_model import KafkaTopicDocument
from events.spec.topic_tiers import effective_min_isr, effective_replicas
from events.spec.user_model import KafkaUserDocument
from providers.price_list import PriceList

_NAME: Path = ("metadata", "name")
_POOLS: Path = ("spec", "pools")
_FREE_CLOUD = "local"
"""A VM there is a process of this machine: nobody sends a bill."""


@dataclass(frozen=True, slots=True)
class ClusterChange:
    """`before` is None for a new cluster. `rolling`: living clusters that the whole change rolls, this one included."""

    before: KafkaClusterDocument | None
    after: KafkaClusterDocument
    rolling: int = 0


@dataclass(frozen=True, slots=True)
class TopicsChange:
    """Topics of one cluster. `partitions_beside` are those of all its other topics, None where Kafka was not read."""

    cluster: KafkaClusterDocument
    topics: Sequence[KafkaTopicDocument]
    partitions_beside: int | None
    owners: Mapping[str, str] = field(default_factory=dict)
    """Owner in force of topics that are declared."""
    partitions_now: int | None = 0
    """What these topics have already, None where Kafka was not read."""


@dataclass(frozen=True, slots=True)
class UsersChange:
    """Users of one cluster. `owners`: those in force, of users that are declared."""

    cluster: KafkaClusterDocument
    users: Sequence[KafkaUserDocument]
    owners: Mapping[str, str] = field(default_factory=dict)


def judge_cluster(policies: Iterable[Policy], change: ClusterChange, price_list: PriceList) -> PolicyDecision:
    """What all policies that speak of it say; a document that is in force already is nobody's business."""
    if change.before == change.after:
        return PolicyDecision()
    refusals: list[Refusal] = []
    reasons: list[Reason] = []
    for policy in policies:
        if policy.selector.tiers or not _speaks(policy.selector, change.before, change.after):
            continue
        refusals += _cluster_limits(policy, change)
        reasons += _cluster_reserves(policy, change)
        cost = _cost(policy, change, price_list)
        refusals += [one for one in cost if isinstance(one, Refusal)]
        reasons += [one for one in cost if isinstance(one, Reason)]
    return PolicyDecision(tuple(refusals), tuple(reasons))


def judge_topics(policies: Iterable[Policy], change: TopicsChange) -> PolicyDecision:
    """The same for topics: each by the policies of its cluster and its tier."""
    refusals: list[Refusal] = []
    reasons: list[Reason] = []
    total = sum(t.spec.partitions for t in change.topics) + (change.partitions_beside or 0)
    for policy in policies:
        if not _speaks(policy.selector, None, change.cluster):
            continue
        tiers = policy.selector.tiers
        chosen = [t for t in change.topics if not tiers or t.spec.tier in tiers]
        most = policy.limits.max_partitions
        for topic in chosen:
            refusals += _topic_limits(policy, change.cluster, topic)
            owner = change.owners.get(topic.topic, topic.metadata.owner)
            if policy.reserved.owner_change and owner != topic.metadata.owner:
                what = f"the topic {topic.topic} goes from {owner or 'nobody'} to {topic.metadata.owner or 'nobody'}"
                reasons.append(Reason(policy.name, what))
        if chosen and most is not None and total > most:
            message = f"{change.cluster.metadata.name} would have {counted(total, 'partition')}, at most {most} may be"
            fix = "Ask for fewer partitions, or delete topics first."
            refusals.append(Refusal(policy.name, ("spec", "partitions"), message, fix, chosen[0].topic))
        elif chosen and most is not None and change.partitions_beside is None:
            what = f"Kafka was not read: nobody knows whether {most} partitions are passed"
            reasons.append(Reason(policy.name, what))
    return PolicyDecision(tuple(refusals), tuple(reasons))


def judge_users(policies: Iterable[Policy], change: UsersChange) -> PolicyDecision:
    """The same for users. Tiers are of topics: a policy that chooses by them says nothing of users."""
    refusals: list[Refusal] = []
    reasons: list[Reason] = []
    for policy in policies:
        if policy.selector.tiers or not _speaks(policy.selector, None, change.cluster):
            continue
        for user in change.users:
            for refusal in _name(policy, policy.limits.user_names, user.user, _NAME):
                refusals.append(replace(refusal, subject=user.user))
            owner = change.owners.get(user.user, user.metadata.owner)
            if policy.reserved.owner_change and owner != user.metadata.owner:
                what = f"the user {user.user} goes from {owner or 'nobody'} to {user.metadata.owner or 'nobody'}"
                reasons.append(Reason(policy.name, what))
            if policy.reserved.administrators and user.spec.authorization.administrator:
                reasons.append(Reason(policy.name, f"the user {user.user} may give itself every right"))
            of_rights = list(judge_rights(policy, user))
            refusals += [one for one in of_rights if isinstance(one, Refusal)]
            reasons += [one for one in of_rights if isinstance(one, Reason)]
    return PolicyDecision(tuple(refusals), tuple(reasons))


def judge_deletion(policies: Iterable[Policy], cluster: KafkaClusterDocument | None, topic: str = "") -> PolicyDecision:
    """A tombstone, of the cluster or of one topic in it. Nothing refuses it; somebody may have to agree.

    A cluster without a document is spoken of by every policy: nobody knows whose it is.
    """
    what = f"the topic {topic} is deleted" if topic else "the cluster is deleted"
    found = [
        Reason(policy.name, what)
        for policy in policies
        if policy.reserved.tombstone and (cluster is None or _speaks(policy.selector, None, cluster))
    ]
    return PolicyDecision(reasons=tuple(found))


def judge_rebalance(policies: Iterable[Policy], cluster: KafkaClusterDocument | None) -> PolicyDecision:
    """A rebalance that a person asks for; what the spec itself has done is none. As `judge_deletion` otherwise."""
    found = [
        Reason(policy.name, "replicas are spread anew")
        for policy in policies
        if policy.reserved.rebalance and (cluster is None or _speaks(policy.selector, None, cluster))
    ]
    return PolicyDecision(reasons=tuple(found))


def _speaks(selector: Selector, before: KafkaClusterDocument | None, after: KafkaClusterDocument) -> bool:
    return any(document is not None and fits(selector, document) for document in (before, after))


def fits(selector: Selector, document: KafkaClusterDocument) -> bool:
    """Whether a policy speaks of a cluster as it is there."""
    meta = document.metadata
    clouds = {pool.place.cloud for pool in document.spec.pools}
    return (
        (not selector.teams or meta.owner in selector.teams)
        and all(meta.labels.get(key) == value for key, value in selector.labels.items())
        and (not selector.clouds or bool(clouds & set(selector.clouds)))
    )


def _cluster_limits(policy: Policy, change: ClusterChange) -> Iterator[Refusal]:
    limits, document = policy.limits, change.after
    for index, pool in enumerate(document.spec.pools):
        here = (*_POOLS, index)
        for allowed, value, path in (
            (limits.clouds, pool.place.cloud, (*here, "place", "cloud")),
            (limits.accounts, f"{pool.place.cloud}/{pool.place.account}", (*here, "place", "account")),
            (limits.regions, pool.place.region, (*here, "place", "region")),
            (limits.machines, pool.machine, (*here, "machine")),
            *((limits.machines, other, (*here, "alternatives")) for other in pool.alternatives),
        ):
            if allowed and value not in allowed:
                message = f"pool `{pool.name}`: `{value}` is not allowed"
                yield Refusal(policy.name, path, message, f"Use one of: {', '.join(allowed)}.")
    brokers = sum(pool.size for pool in document.spec.broker_pools)
    if limits.max_brokers is not None and brokers > limits.max_brokers:
        index = next(i for i, pool in enumerate(document.spec.pools) if pool.is_broker)
        message = f"{counted(brokers, 'broker')}, at most {limits.max_brokers} may be"
        yield Refusal(policy.name, (*_POOLS, index, "size"), message, "Ask for fewer brokers, or for larger machines.")
    yield from _name(policy, limits.cluster_names, document.metadata.name, _NAME)
    if limits.max_rolling is not None and change.rolling > limits.max_rolling:
        message = f"this change rolls {counted(change.rolling, 'cluster')}, at most {limits.max_rolling} may be"
        yield Refusal(policy.name, _NAME, message, "Split it: declare fewer clusters at a time.")


def _topic_limits(policy: Policy, cluster: KafkaClusterDocument, topic: KafkaTopicDocument) -> Iterator[Refusal]:
    limits, spec, name = policy.limits, topic.spec, topic.topic
    path = ("spec", "topicName") if spec.topic_name else _NAME
    for refusal in _name(policy, limits.topic_names, name, path):
        yield Refusal(refusal.policy, refusal.path, refusal.message, refusal.fix, name)
    if limits.max_topic_partitions is not None and spec.partitions > limits.max_topic_partitions:
        message = f"{counted(spec.partitions, 'partition')}, at most {limits.max_topic_partitions} may be"
        yield Refusal(policy.name, ("spec", "partitions"), message, "Ask for fewer partitions.", name)
    least = limits.tiers.get(spec.tier)
    if least is None:
        return
    replicas, isr = effective_replicas(topic, cluster), effective_min_isr(topic, cluster)
    if replicas < least.min_replicas:
        message = f"{counted(replicas, 'replica')}; a topic of tier {spec.tier} has at least {least.min_replicas}"
        yield Refusal(policy.name, ("spec", "replicas"), message, f"Write replicas: {least.min_replicas}.", name)
    if isr < least.min_isr:
        message = f"min ISR {isr}; a topic of tier {spec.tier} has at least {least.min_isr}"
        fix = f"Write min.insync.replicas: {least.min_isr}."
        yield Refusal(policy.name, ("spec", "config"), message, fix, name)


def _name(policy: Policy, pattern: str | None, name: str, path: Path) -> Iterator[Refusal]:
    if pattern is not None and not re.fullmatch(pattern, name):
        yield Refusal(policy.name, path, f"`{name}` is not of the form `{pattern}`", "Choose a name of that form.")


def _cluster_reserves(policy: Policy, change: ClusterChange) -> Iterator[Reason]:
    reserved, before, after = policy.reserved, change.before, change.after
    old_topics = set(before.spec.rollout.allow_unavailable) if before else set()
    exposed = sorted(set(after.spec.rollout.allow_unavailable) - old_topics)
    if reserved.allow_unavailable and exposed:
        yield Reason(policy.name, f"{', '.join(exposed[:3])} may fall below min ISR while rolling")
    was_allowed = before is not None and before.spec.chaos == "allowed"
    if reserved.chaos and after.spec.chaos == "allowed" and not was_allowed:
        yield Reason(policy.name, "chaos is allowed")
    if before is not None:
        old, new = before.metadata.owner, after.metadata.owner
        if reserved.owner_change and old != new:
            yield Reason(policy.name, f"the owner changes from {old or 'nobody'} to {new or 'nobody'}")
        others = sorted(_accounts(after) - _accounts(before))
        if reserved.account_change and others:
            yield Reason(policy.name, f"VMs come to be in {', '.join(others)}")
    if reserved.administrators:
        yield from (Reason(policy.name, what) for what in _unlimited(before, after))
    if reserved.rolling is not None and change.rolling > reserved.rolling:
        yield Reason(policy.name, f"{counted(change.rolling, 'cluster')} roll by this one change")


def _unlimited(before: KafkaClusterDocument | None, after: KafkaClusterDocument) -> Iterator[str]:
    """Who comes to be asked for no rule of Kafka's, in words. Without TLS nobody is asked for any."""
    old, new = client_security(before, "broker") if before else None, client_security(after, "broker")
    if new is None:
        return
    where = f"may do everything in {after.metadata.name}"
    added = sorted(set(new.super_users) - set(old.super_users if old else ()))
    if added:
        yield f"{', '.join(added[:3])} {where}"
    if new.anonymous and old is not None and not old.anonymous:
        yield f"whoever is not asked {where}"


def _accounts(document: KafkaClusterDocument) -> set[str]:
    return {f"{pool.place.cloud}/{pool.place.account}" for pool in document.spec.pools}


def _cost(policy: Policy, change: ClusterChange, price_list: PriceList) -> list[Refusal | Reason]:
    """Prices move by themselves: a change that asks for no more machines or disks is not held to them."""
    ceiling, asks = policy.limits.monthly_cost, policy.reserved.monthly_cost
    if ceiling is None and asks is None:
        return []
    bill = monthly_bill(change.after, price_list)
    if change.before is not None and _units(bill) == _units(monthly_bill(change.before, price_list)):
        return []
    if ceiling is not None and (known := _known(bill, ceiling)) > ceiling.amount:
        message = f"it costs {money_words(known, ceiling)}, at most {ceiling.amount} may be"
        return [Refusal(policy.name, _POOLS, message, "Ask for fewer or smaller machines and disks.")]
    if asks is not None and (known := _known(bill, asks)) > asks.amount:
        return [Reason(policy.name, f"it costs {money_words(known, asks)}, more than {asks.amount}")]
    limit = ceiling or asks
    missing = missing_prices(change.after, bill, limit, price_list) if limit is not None else []
    return [Reason(policy.name, f"the price of {missing[0]} is unknown")] if missing else []


def _units(bill: Bill) -> Counter[tuple[str, Decimal]]:
    return Counter((part.what, part.times) for part in bill.parts)


def _known(bill: Bill, limit: Money) -> Decimal:
    return bill.totals.get(limit.currency, Decimal(0))


def missing_prices(document: KafkaClusterDocument, bill: Bill, limit: Money, price_list: PriceList) -> list[str]:
    """Parts without a price in that currency, and pools in a place nobody has a price list of."""

    def is_other(part: CostPart) -> bool:
        return part.price is None or part.price.currency != limit.currency

    silent = [
        f"{pool.name} in {pool.place.cloud} {pool.place.region}"
        for pool in document.spec.pools
        if pool.place.cloud != _FREE_CLOUD and price_list.offers(pool.place.cloud, pool.place.region) is None
    ]
    return [part.what for part in bill.parts if is_other(part)] + silent


def money_words(amount: Decimal, limit: Money) -> str:
    """An amount in the currency of the limit."""
    return f"{amount.quantize(Decimal('0.01'))} {limit.currency} a month"
