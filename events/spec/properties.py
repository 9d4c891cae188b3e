"""What Kedge lets a spec say about Kafka's own properties: an allow-list, taken from Kafka's own table.

Kafka ignores a property it does not know, so a slip of the keyboard would be silent; and some properties load code or
hold secrets (CVE-2023-25194 ran code through `sasl.jaas.config`). Hence: known names only, of the right type, minus
those Kedge owns and those that are unsafe in a file that many people read.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from events.spec.fields import FieldClass

_INTEGER = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_DECIMAL = re.compile(r"-?[0-9]{1,19}(\.[0-9]{1,19})?([eE][+-]?[0-9]{1,3})?", re.ASCII)
_BITS = {"short": 16, "int": 32, "long": 64}

OWNED = {
    "node.id": "each node has its own id for ever",
    "broker.id": "each node has its own id for ever",
    "process.roles": "the services of the pool say it",
    "listeners": "`spec.listeners` says it",
    "advertised.listeners": "each instance has its own address",
    "listener.security.protocol.map": "`spec.listeners` says it",
    "early.start.listeners": "`spec.listeners` says it",
    "inter.broker.listener.name": "`spec.listeners` says it",
    "security.inter.broker.protocol": "`spec.listeners` says it",
    "controller.listener.names": "the quorum's listener is Kedge's own",
    "log.dir": "the disks of the instance say it",
    "log.dirs": "the disks of the instance say it",
    "metadata.log.dir": "the disks of the instance say it",
    "broker.rack": "the zone of the node is its rack",
    "auto.leader.rebalance.enable": "Kedge restores preferred leaders at the end of each step",
    "leader.replication.throttled.rate": "`spec.rollout.throttleMibPerS` bounds it; Kedge sets and clears it",
    "follower.replication.throttled.rate": "`spec.rollout.throttleMibPerS` bounds it; Kedge sets and clears it",
    "leader.replication.throttled.replicas": "Kedge sets and clears it during moves",
    "follower.replication.throttled.replicas": "Kedge sets and clears it during moves",
    "replica.alter.log.dirs.io.max.bytes.per.second": "Kedge sets and clears it during moves",
    "cordoned.log.dirs": "Kedge sets and clears it while a broker leaves",
    "inter.broker.protocol.version": "`spec.kafka.metadataVersion` took its place",
    "log.message.format.version": "`spec.kafka.metadataVersion` took its place",
}
"""Properties Kedge sets for each node, and why."""

OWNED_PREFIXES = {
    "controller.quorum.": "the addresses and timing of the quorum belong to the controllers' nodes",
    "zookeeper.": "clusters are formed with KRaft controllers",
    "listener.name.": "`spec.listeners` says it",
}

SAFE_VALUES = {
    "replica.selector.class": frozenset({"org.apache.kafka.common.replica.RackAwareReplicaSelector"}),
    "group.consumer.assignors": frozenset({"uniform", "range"}),
    "group.share.assignors": frozenset({"simple"}),
}
"""Properties that name classes, with the values that only name classes of Kafka itself."""

_CODE_WORDS = ("class", "classes", "reporters", "providers", "assignors", "path", "prefix")
_SECRET_WORDS = ("password", "passphrase", "secret", "jaas")
_UNSAFE_PREFIXES = ("sasl.", "ssl.", "config.providers", "remote.log.storage.", "authorizer.")


@dataclass(frozen=True, slots=True)
class Property:
    """One property as Kafka describes itself. `since` is the first supported version that has it."""

    name: str
    type: str
    field_class: FieldClass
    since: str


@cache
def known_properties() -> dict[str, Property]:
    """Every property of the supported Kafka versions, by name."""
    table = files(__package__).joinpath("kafka_properties.txt").read_text(encoding="utf-8")
    rows = [line.split() for line in table.splitlines() if not line.startswith("#")]
    return {name: Property(name, kind, FieldClass(cost), since) for name, kind, cost, since in rows}


def property_class(name: str) -> FieldClass:
    """What a change of one property costs; an unknown one restarts, which is right for any."""
    found = known_properties().get(name)
    return found.field_class if found is not None else FieldClass.RESTART


def owned_because(name: str) -> str | None:
    """Why Kedge owns a property, or None if it does not."""
    if name in OWNED:
        return OWNED[name]
    return next((why for prefix, why in OWNED_PREFIXES.items() if name.startswith(prefix)), None)


def unsafe_because(name: str, value: str) -> str | None:
    """Why a property is refused for safety, or None if it is not."""
    if name in SAFE_VALUES:
        if set(re.split(r"\s*,\s*", value.strip())) <= SAFE_VALUES[name]:
            return None
        return f"it loads code; only {', '.join(sorted(SAFE_VALUES[name]))} is offered"
    words = name.lower().split(".")
    if any(word in _SECRET_WORDS for word in words):
        return "it holds a secret, and specs are read by many"
    if name.startswith(_UNSAFE_PREFIXES) or any(word in _CODE_WORDS for word in words):
        return "it loads code or opens a door that Kedge does not guard yet"
    kind = known_properties().get(name)
    return "it loads code or holds a secret" if kind and kind.type in ("class", "password") else None


def unreadable_because(name: str, value: str) -> str | None:
    """Why Kafka could not read a value of a known property, or None."""
    kind = known_properties()[name].type
    if kind == "boolean" and value.lower() not in ("true", "false"):
        return "must be true or false"
    if kind in _BITS:
        limit: int = 1 << (_BITS[kind] - 1)
        if not _INTEGER.fullmatch(value) or not -limit <= int(value) < limit:
            return f"must be a whole number of {_BITS[kind]} bits"
    if kind == "double" and not _DECIMAL.fullmatch(value):
        return "must be a number"
    return None
