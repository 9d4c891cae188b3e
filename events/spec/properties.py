"""What Kedge lets a spec say about Kafka's own properties: an allow-list, taken from Kafka's own table.

Kafka ignores a property it does not know, so a slip of the keyboard would be silent; and some properties load code or
hold secrets (CVE-2023-25194 ran code through `sasl.jaas.config`). Hence: known names only, of the right type, minus
those Kedge owns and those that are unsafe in a file that many people read.
"""

import re

from events.spec.fields import FieldClass
from events.spec.setting_synonyms import time_setting
from events.spec.setting_table import UpdateMode, has_table, newest_known, settings_of

OWNED = {
    "node.id": "each node has its own id for ever",
    "broker.id": "each node has its own id for ever",
    "broker.id.generation.enable": "each node has its own id for ever",
    "reserved.broker.max.id": "each node has its own id for ever",
    "process.roles": "the services of the pool say it",
    "listeners": "`spec.listeners` says it",
    "advertised.listeners": "each instance has its own address",
    "listener.security.protocol.map": "`spec.listeners` says it",
    "early.start.listeners": "`spec.listeners` says it",
    "inter.broker.listener.name": "`spec.listeners` says it",
    "security.inter.broker.protocol": "`spec.listeners` says it",
    "control.plane.listener.name": "`spec.listeners` says it",
    "super.users": "`spec.authorization` says it",
    "allow.everyone.if.no.acl.found": "`spec.authorization` says it: whom no rule lets in is refused",
    "connections.max.reauth.ms": "`spec.listeners` says it, for each listener",
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
    "zookeeper.": "where a cluster keeps its metadata is said by `spec.kafka.mode` and the pools",
    "listener.name.": "`spec.listeners` says it",
    "log4j.": "it belongs to the file of the log, which Kedge writes; Kafka would ignore it here",
    "log4j2.": "it belongs to the file of the log, which Kedge writes; Kafka would ignore it here",
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


SUCCESSORS = {
    "remote.log.manager.thread.pool.size": "remote.log.manager.follower.thread.pool.size",
    "log.message.timestamp.difference.max.ms": (
        "log.message.timestamp.before.max.ms and log.message.timestamp.after.max.ms"
    ),
}
"""What to use instead of a deprecated or removed property, as Kafka's own reference says; the others have no
successor."""


def property_class(name: str, version: str) -> FieldClass:
    """What a change of one property costs in a version.

    `dynamic` where Kafka takes it live, if need be under the name of its synonym in milliseconds; `restart` otherwise,
    which is right for any property, a version without a table included. What exactly happens, and under which
    conditions, is said by `planner.rollout.setting_class`.
    """
    setting = settings_of(version).get(name) if has_table(version) else None
    if setting is None:
        return FieldClass.RESTART
    live = setting.update_mode is not UpdateMode.READ_ONLY or time_setting(name) is not None
    return FieldClass.DYNAMIC if live else FieldClass.RESTART


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
    known = newest_known(name)
    return "it loads code or holds a secret" if known and known.type in ("class", "password") else None
