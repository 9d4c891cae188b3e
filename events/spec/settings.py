"""The Kafka properties a pool's services get: what Kedge sets by the shape of the cluster, then what the spec says.

`min.insync.replicas` goes to controllers too: since Kafka 4.1 the controller's own static value becomes the cluster
default and beats the brokers', so a value on brokers only would give new topics a min ISR of 1.
"""

import re
from collections.abc import Mapping

from events.spec.model import KafkaClusterDocument, KafkaSection, Pool

USUAL_REPLICATION = 3

_SHARE_GROUPS = "share.coordinator."
"""Kafka 3.8 and 3.9 have no share groups and would only warn of their properties."""

_INTEGER = re.compile(r"-?[0-9]{1,18}", re.ASCII)

DEFAULT_RF = "default.replication.factor"
DEFAULT_MIN_ISR = "min.insync.replicas"

REPLICATION_KEYS: Mapping[str, str] = {
    DEFAULT_RF: DEFAULT_MIN_ISR,
    "offsets.topic.replication.factor": DEFAULT_MIN_ISR,
    "transaction.state.log.replication.factor": "transaction.state.log.min.isr",
    "share.coordinator.state.topic.replication.factor": "share.coordinator.state.topic.min.isr",
}
"""Every property that holds a replication factor, with the one that holds the min ISR of the same topics.

The offsets topic has no min ISR of its own: it lives under the cluster's.
"""


def service_settings(document: KafkaClusterDocument, pool: Pool) -> dict[str, str]:
    """Kafka properties of the services of one pool, sorted by name. Ids, addresses and directories are not in it. A
    ZooKeeper server has none; beside a broker they are the broker's."""
    if "zookeeper" in pool.services and not pool.is_broker:
        return {}
    merged = {**shape_defaults(document.spec.kafka, document.spec.pools), **spec_config(document, pool.name)}
    if document.spec.kafka.mode == "zookeeper":
        merged = {key: value for key, value in merged.items() if not key.startswith(_SHARE_GROUPS)}
    return dict(sorted(merged.items()))


def spec_config(document: KafkaClusterDocument, pool: str) -> Mapping[str, str]:
    """The properties the spec names for the services of a pool: the cluster's, and the pool's own over them. Of a pool
    it does not have (any more) they are the cluster's."""
    own = pool_config(document, pool)
    return {**document.spec.kafka.config, **own} if own else document.spec.kafka.config


def pool_config(document: KafkaClusterDocument, pool: str) -> Mapping[str, str]:
    """What the spec says for the nodes of one pool alone."""
    return next((p.config for p in document.spec.pools if p.name == pool), {})


def shape_defaults(kafka: KafkaSection, pools: tuple[Pool, ...]) -> dict[str, str]:
    """What Kedge sets where the spec is silent.

    Topics get three replicas, fewer only where there are fewer brokers; with fewer zones than that the spec has to
    say so itself (the rules refuse it otherwise). Kafka's internal topics follow the zones.
    """
    usual = min(USUAL_REPLICATION, broker_count(pools))
    internal = min(usual, zone_count(pools))
    defaults = {"auto.leader.rebalance.enable": "false"}
    for rf_key, isr_key in REPLICATION_KEYS.items():
        factor = usual if rf_key == DEFAULT_RF else internal
        defaults[rf_key] = str(factor)
        said = as_integer(kafka.config.get(rf_key, ""))
        defaults.setdefault(isr_key, str(_usual_min_isr(said if said is not None else factor)))
    return defaults


def as_integer(text: str) -> int | None:
    """The whole number a property holds, or None where it holds none."""
    return int(text) if _INTEGER.fullmatch(text) else None


def broker_count(pools: tuple[Pool, ...]) -> int:
    """Brokers of all pools."""
    return sum(pool.size for pool in pools if pool.is_broker)


def zone_count(pools: tuple[Pool, ...]) -> int:
    """Zones that hold at least one broker."""
    places = {(pool.place.cloud, pool.place.region, z) for pool in pools if pool.is_broker for z in pool.zones_in_use}
    return len(places)


def _usual_min_isr(replication_factor: int) -> int:
    """One replica may always be away: 3 -> 2, 2 -> 1; two acknowledgements are enough beyond that."""
    return max(1, min(2, replication_factor - 1))
