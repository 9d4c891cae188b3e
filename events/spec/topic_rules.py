"""Which topics are accepted: by their document alone, and in the cluster they are to live in."""

from collections.abc import Iterable, Iterator

from events.quantities import counted
from events.spec import problems as p
from events.spec.broker_set_rules import pools_for
from events.spec.broker_sets import set_words
from events.spec.model import KafkaClusterDocument
from events.spec.positions import NOWHERE, Positions
from events.spec.problems import Path, Problem, shorten
from events.spec.setting_table import Setting, has_table
from events.spec.setting_values import unreadable_because
from events.spec.settings import as_integer, broker_count, zone_count
from events.spec.suggestions import did_you_mean
from events.spec.topic_model import KafkaTopicDocument
from events.spec.topic_names import owner_of
from events.spec.topic_table import EXECUTOR_KEYS, every_topic_key, topic_keys_of
from events.spec.topic_tiers import MIN_ISR, effective_config, effective_min_isr, effective_replicas, said_replicas

_CONFIG = ("spec", "config")


def check_topic(document: KafkaTopicDocument, *, positions: Positions = NOWHERE) -> list[Problem]:
    """Everything wrong with a topic whose fields have the right shape, as far as it can be told without its cluster."""
    found = [*_name(document, positions), *_config(document, positions)]
    replicas = said_replicas(document)
    min_isr = as_integer(effective_config(document).get(MIN_ISR, ""))
    if replicas is not None:
        found += _copies(document, replicas, min_isr, positions)
    return [*found, *_rate(document, positions)]


def check_topic_in(
    document: KafkaTopicDocument, cluster: KafkaClusterDocument, *, positions: Positions = NOWHERE
) -> list[Problem]:
    """What is wrong with a topic in this very cluster; `check_topic` has accepted it."""
    found: list[Problem] = []
    pools, own = pools_for(cluster.spec.balance, cluster.spec.pools, document.topic)
    replicas, brokers, zones = effective_replicas(document, cluster), broker_count(pools), zone_count(pools)
    home = f"{set_words(own)} of {cluster.metadata.name}" if cluster.spec.balance.broker_sets else cluster.metadata.name
    path: Path = ("spec", "replicas") if document.spec.replicas else ("spec", "tier")
    if replicas > brokers:
        message = (
            f"`{document.topic}` is to have {counted(replicas, 'replica')}, but {home} has {counted(brokers, 'broker')}"
        )
        found.append(positions.problem(p.RF_OVER_BROKERS, path, message, f"Use at most {brokers}, or add brokers."))
    elif replicas > zones:
        message = (
            f"`{document.topic}` is to have {counted(replicas, 'replica')}, but brokers of {home} "
            f"stand in {counted(zones, 'zone')}: two replicas in one zone are lost together"
        )
        found.append(positions.problem(p.TOPIC_ZONES, path, message, f"Use at most {zones}, or add zones."))
    if said_replicas(document) is None or MIN_ISR not in effective_config(document):
        found += _copies(document, replicas, effective_min_isr(document, cluster), positions)
    return found + list(_unknown_in_version(document, cluster.spec.kafka.version, positions))


def check_topic_change(
    document: KafkaTopicDocument, *, partitions_before: int, positions: Positions = NOWHERE
) -> list[Problem]:
    """What refuses the step from a topic that has so many partitions."""
    wanted = document.spec.partitions
    if wanted >= partitions_before:
        return []
    message = (
        f"`{document.topic}` has {counted(partitions_before, 'partition')} and is to have {wanted}: Kafka takes none "
        "away, their records would be lost"
    )
    fix = f"Write {partitions_before}, or make a new topic."
    return [positions.problem(p.PARTITIONS_SHRINK, ("spec", "partitions"), message, fix)]


def collision(name: str, others: Iterable[str]) -> str | None:
    """Another topic that differs from `name` in nothing but `.` and `_`: Kafka's metrics cannot tell them apart."""
    own = _as_in_metrics(name)
    return next((other for other in others if other != name and _as_in_metrics(other) == own), None)


def collision_problem(document: KafkaTopicDocument, other: str, positions: Positions) -> Problem:
    """Kafka refuses to make the second one (`Topic.hasCollision`)."""
    message = (
        f"`{document.topic}` and `{shorten(other)}` differ only in `.` and `_`, and Kafka makes no second one: its "
        "metrics could not tell them apart"
    )
    return positions.problem(p.TOPIC_COLLISION, _name_path(document), message, "Give it another name.")


def _as_in_metrics(name: str) -> str:
    return name.replace(".", "_")


def _name_path(document: KafkaTopicDocument) -> Path:
    return ("spec", "topicName") if document.spec.topic_name else ("metadata", "name")


def _name(document: KafkaTopicDocument, where: Positions) -> Iterator[Problem]:
    name = document.topic
    if owner := owner_of(name):
        message = f"`{shorten(name)}` is a topic of {owner} itself"
        fix = f"Leave it out: {owner} makes and keeps its own topics."
        yield where.problem(p.INTERNAL_TOPIC, _name_path(document), message, fix)
    if name in (".", ".."):
        message = f"`{name}` is not a name Kafka takes for a topic"
        yield where.problem(p.WRONG_FORM, _name_path(document), message, "Give it another name.")


def _config(document: KafkaTopicDocument, where: Positions) -> Iterator[Problem]:
    known = every_topic_key()
    for key, value in document.spec.config.items():
        path = (*_CONFIG, key)
        if key in EXECUTOR_KEYS:
            message = f"`{key}` belongs to Kedge: it sets and clears it while replicas move"
            yield where.problem(p.OWNED_PROPERTY, path, message, "Remove it.", key=True)
        elif key not in known:
            message = f"topics have no configuration `{shorten(key)}`"
            fix = f"{did_you_mean(key, known)}Correct the name, or remove it."
            yield where.problem(p.UNKNOWN_PROPERTY, path, message, fix, key=True)
        else:
            yield from _value(known[key], value, path, where)


def _value(key: Setting, value: str, path: Path, where: Positions) -> Iterator[Problem]:
    unreadable = unreadable_because(key, value)
    if unreadable is not None:
        message = f"`{key.name}` is `{shorten(value)}`, but {unreadable.why}"
        meant = f"Did you mean `{unreadable.meant}`? " if unreadable.meant else ""
        yield where.problem(p.PROPERTY_VALUE, path, message, f"{meant}Correct the value.")


def _unknown_in_version(document: KafkaTopicDocument, version: str, where: Positions) -> Iterator[Problem]:
    known = topic_keys_of(version) if has_table(version) else every_topic_key()
    for key in document.spec.config:
        if key not in known and key in every_topic_key():
            message = f"topics have no configuration `{key}` in Kafka {version}"
            fix = f"{did_you_mean(key, known)}Remove it."
            yield where.problem(p.UNKNOWN_PROPERTY, (*_CONFIG, key), message, fix, key=True)


def _rate(document: KafkaTopicDocument, where: Positions) -> Iterator[Problem]:
    rate = document.spec.rate
    if rate.learn and (rate.min is not None or rate.max is not None):
        message = f"`{document.topic}` declares how much it takes, and asks to have it learned"
        fix = "Keep `learn`, or `min` and `max`."
        yield where.problem(p.TOPIC_RATE, ("spec", "rate", "learn"), message, fix)
    if rate.min is not None and rate.max is not None and rate.min > rate.max:
        message = f"`{document.topic}` is to take at least {rate.min} and at most {rate.max} records per second"
        yield where.problem(p.TOPIC_RATE, ("spec", "rate", "max"), message, f"Use a `max` above {rate.min}.")


def _copies(document: KafkaTopicDocument, replicas: int, min_isr: int | None, where: Positions) -> Iterator[Problem]:
    path: Path = ("spec", "replicas") if document.spec.replicas else ("spec", "tier")
    if replicas == 1:
        if document.spec.tier != "scratch":
            message = f"`{document.topic}` has one copy only, and a lost disk is lost data"
            fix = "Use three replicas, or `tier: scratch` if the data may be lost."
            yield where.problem(p.SINGLE_COPY, path, message, fix)
    elif min_isr is not None and min_isr >= replicas:
        own = MIN_ISR in document.spec.config
        message = (
            f"min ISR of `{document.topic}` is {min_isr} with {counted(replicas, 'replica')}: no replica may be away, "
            "so every roll stops its writes"
        )
        fix = f"Use a min ISR of at most {replicas - 1}, or more replicas."
        yield where.problem(p.TOPIC_MIN_ISR, (*_CONFIG, MIN_ISR) if own else path, message, fix)
