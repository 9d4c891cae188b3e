"""Rules about a living cluster that is to go from plaintext between its nodes to TLS: docs/kafka-listeners.md has the
way, and where it was tried. Going back is judged by how far the cluster is, which no document knows.
"""

from collections.abc import Iterator

from events.spec import problems as p
from events.spec.kafka_rules import is_migrated
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from events.spec.problems import Path, Problem

PLAINTEXT = "PLAINTEXT"
"""What brokers that speak plaintext call their one listener, whatever the spec calls it."""

_INTERNAL: Path = ("spec", "security", "internal")
_LISTENERS: Path = ("spec", "listeners")
_QUORUM_PORTS = {"kraft": (9093, "controllers listen"), "zookeeper": (2181, "ZooKeeper servers listen in plaintext")}


def security_change_problems(
    old: KafkaClusterDocument, new: KafkaClusterDocument, where: Positions
) -> Iterator[Problem]:
    """Everything that refuses the way to TLS; nothing where it is not asked for."""
    if old.spec.security.internal == new.spec.security.internal or new.spec.security.internal != "tls":
        return
    before, after = old.spec.kafka, new.spec.kafka
    if before.mode != after.mode:
        message = "the mode and the security between nodes cannot change together: each restarts every service"
        yield where.problem(p.SECURITY_WAY, _INTERNAL, message, "Write `plaintext`, and `tls` once it has migrated.")
    elif before.version != after.version:
        message = f"Kafka {before.version} -> {after.version} and the way to TLS cannot be asked for together"
        fix = "Write `plaintext`, apply the version, and `tls` once its generation is reached; or the other way round."
        yield where.problem(p.SECURITY_WAY, _INTERNAL, message, fix)
    elif is_migrated(after):
        message = f"no cluster goes to TLS on Kafka {after.version} in mode `kraft`: migrated clusters roll on first"
        fix = "Write `plaintext`, apply Kafka 4, and `tls` once its generation is reached."
        yield where.problem(p.SECURITY_WAY, _INTERNAL, message, fix)
    yield from _kept(old, new, where)
    for index, one in enumerate(new.spec.listeners):
        if one.authentication.type == "oauth":
            message = f"listener `{one.name}` is to ask for tokens, and nodes have no names yet that no token can have"
            fix = "Go to TLS without it, and add it once the last step is over."
            yield where.problem(p.SECURITY_WAY, (*_LISTENERS, index, "authentication", "type"), message, fix)


def _kept(old: KafkaClusterDocument, new: KafkaClusterDocument, where: Positions) -> Iterator[Problem]:
    """Clients, and brokers that have not made their step yet, know the others by the one listener there is."""
    listener = old.spec.listeners[0]
    if listener.name != PLAINTEXT:
        message = f"the listener is called `{listener.name}`, and brokers that speak plaintext know one another by "
        fix = f"Name it `{PLAINTEXT}` first, with `security: {{internal: plaintext}}`; that makes new VMs."
        yield where.problem(p.SECURITY_WAY, _LISTENERS, f"{message}`{PLAINTEXT}`", fix)
    elif listener.as_started not in [one.as_started for one in new.spec.listeners]:
        message = f"listener `{listener.name}` (port {listener.port}) would go while its clients are at it"
        fix = "Keep it as it is beside others; once the cluster speaks TLS and clients have moved, remove it."
        yield where.problem(p.SECURITY_WAY, _LISTENERS, message, fix)
    port, who = _QUORUM_PORTS[new.spec.kafka.mode]
    for index, one in enumerate(new.spec.listeners):
        if one.port == port:
            message = f"port {one.port} is where {who} on the way to TLS"
            fix = "Use another one, as in 9094."
            yield where.problem(p.SECURITY_WAY, (*_LISTENERS, index, "port"), message, fix)
