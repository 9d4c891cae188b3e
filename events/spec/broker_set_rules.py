"""Rules about broker sets: who is in one, and whether what is to be there has the brokers and zones it needs."""

from collections.abc import Iterator, Mapping, Sequence

from events.quantities import counted
from events.spec import problems as p
from events.spec.broker_sets import ANY_TOPIC, NO_SET, BrokerSets, set_words
from events.spec.housekeeping import Balance
from events.spec.model import KafkaSection, Pool
from events.spec.positions import Positions
from events.spec.problems import Path, Problem
from events.spec.settings import DEFAULT_RF, as_integer, broker_count, shape_defaults, zone_count

_PATH: Path = ("spec", "balance", "brokerSets")
_OWN_TOPICS = {
    "offsets.topic.replication.factor": "__consumer_offsets",
    "transaction.state.log.replication.factor": "__transaction_state",
}
"""Topics that Kafka makes itself, by the key that says how many replicas they get."""


def broker_sets_of(balance: Balance, pools: Mapping[int, str]) -> BrokerSets:
    """The sets as plans take them. `pools`: of each broker, by id."""
    of_pool = {pool: one.name for one in balance.broker_sets for pool in one.pools}
    return BrokerSets(
        {broker: of_pool[pool] for broker, pool in pools.items() if pool in of_pool},
        {pattern: one.name for one in balance.broker_sets for pattern in one.topics},
    )


def pools_for(balance: Balance, pools: Sequence[Pool], topic: str) -> tuple[tuple[Pool, ...], str]:
    """The pools on whose brokers a topic may be, and the name of their set; all of them where there are no sets."""
    sets = broker_sets_of(balance, {})
    if not sets:
        return tuple(pools), NO_SET
    own = sets.of_topic(topic)
    return _pools_of(balance, pools, own), own


def broker_set_problems(
    balance: Balance, kafka: KafkaSection | None, pools: tuple[Pool, ...], where: Positions
) -> Iterator[Problem]:
    """Everything wrong with the broker sets."""
    if not balance.broker_sets or not pools:
        return
    found = [*_unknown_pools(balance, pools, where), *_named_twice(balance, where), *_nowhere(balance, pools, where)]
    yield from found
    if kafka is not None and not found:
        yield from _too_small(balance, kafka, pools, where)


def _unknown_pools(balance: Balance, pools: Sequence[Pool], where: Positions) -> Iterator[Problem]:
    there = {pool.name for pool in pools if pool.is_broker}
    for index, one in enumerate(balance.broker_sets):
        for at, name in enumerate(one.pools):
            if name not in there:
                message = f"broker set `{one.name}` names pool `{name}`, and no pool of that name has brokers"
                fix = f"Name one of {', '.join(f'`{n}`' for n in sorted(there)) or 'the pools'}."
                yield where.problem(p.BROKER_SET, (*_PATH, index, "pools", at), message, fix)


def _named_twice(balance: Balance, where: Positions) -> Iterator[Problem]:
    seen: dict[tuple[str, str], str] = {}
    for index, one in enumerate(balance.broker_sets):
        parts = (("set", "name", (one.name,)), ("pool", "pools", one.pools), ("topic", "topics", one.topics))
        for what, field, names in parts:
            for at, name in enumerate(names):
                other = seen.setdefault((what, name), f"{one.name} {index}")
                if other != f"{one.name} {index}":
                    path: Path = (*_PATH, index, field) if field == "name" else (*_PATH, index, field, at)
                    message = f"{what} `{name}` is named by two broker sets"
                    yield where.problem(p.BROKER_SET, path, message, f"Name {what} `{name}` once.")


def _nowhere(balance: Balance, pools: Sequence[Pool], where: Positions) -> Iterator[Problem]:
    if _pools_of(balance, pools, NO_SET) or any(ANY_TOPIC in one.topics for one in balance.broker_sets):
        return
    message = "every pool is in a broker set, and no set has the topics that nothing names, such as Kafka's own"
    fix = 'Add `"*"` to the topics of one set, or leave a pool without a set.'
    yield where.problem(p.NO_BROKERS_LEFT, _PATH, message, fix)


def _too_small(balance: Balance, kafka: KafkaSection, pools: tuple[Pool, ...], where: Positions) -> Iterator[Problem]:
    """Topics made without a word of their replicas get so many, and Kafka's own as many as their key says."""
    defaults = {**shape_defaults(kafka, pools), **kafka.config}
    zones = zone_count(pools)
    usual = as_integer(defaults.get(DEFAULT_RF, "")) or 1
    needs = {one.name: (usual, DEFAULT_RF) for one in balance.broker_sets}
    sets = broker_sets_of(balance, {})
    for key, topic in _OWN_TOPICS.items():
        own, factor = sets.of_topic(topic), as_integer(defaults.get(key, "")) or 1
        needs[own] = max(needs.get(own, (1, key)), (factor, key), key=lambda need: need[0])
    for name, (factor, key) in needs.items():
        mine = _pools_of(balance, pools, name)
        index = next((n for n, one in enumerate(balance.broker_sets) if one.name == name), 0)
        who = set_words(name) if name == NO_SET else f"broker set `{name}`"
        has = f"has {counted(broker_count(mine), 'broker')}" if name else f"are {broker_count(mine)}"
        if broker_count(mine) < factor:
            message = f"{who} {has}, and topics there get {counted(factor, 'replica')} (`{key}`)"
            fix = f"Give it {factor} brokers, or lower `{key}`."
            yield where.problem(p.BROKER_SET_SMALL, (*_PATH, index), message, fix)
        elif zone_count(mine) < min(factor, zones):
            stand = "stands" if name else "stand"
            message = f"{who} {stand} in {counted(zone_count(mine), 'zone')}, and topics there get {factor} replicas"
            fix = f"Give it pools in {min(factor, zones)} zones."
            yield where.problem(p.BROKER_SET_ZONES, (*_PATH, index), message, fix)


def _pools_of(balance: Balance, pools: Sequence[Pool], name: str) -> tuple[Pool, ...]:
    """Pools with brokers in the set of that name; those in none for NO_SET."""
    of_pool = {pool: one.name for one in balance.broker_sets for pool in one.pools}
    return tuple(pool for pool in pools if pool.is_broker and of_pool.get(pool.name, NO_SET) == name)
