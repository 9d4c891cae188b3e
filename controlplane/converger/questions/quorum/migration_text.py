"""A migration in words: where it stands, and how far it has come."""

from controlplane.cluster.views.migration import MigrationView
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.zookeeper.migration import Knows, MigrationSeen, phase_of

_WAYS = {"kraft": "migrating to KRaft", "zookeeper": "going back to ZooKeeper"}


def progress(situation: Situation, migration: MigrationView, seen: MigrationSeen | None, what: str) -> str:
    """`migrating to KRaft (brokers told of both, 1 of 3 brokers, way back open): broker 1001 is told of both`."""
    sent = [migration.last_sent("broker", i.service_id) for i in situation.view.brokers()]
    where = f"{phase_of(seen)}, " if seen is not None else ""
    if migration.goal == "kraft":
        done = sum(k is Knows.QUORUM for k in sent)
        both = sum(k.has_quorum for k in sent)
        count = f"{done} of {len(sent)} brokers are KRaft's" if done else f"{both} of {len(sent)} brokers told of both"
        way = "no way back any more" if migration.has_no_way_back else "way back open"
        return f"{_WAYS['kraft']} ({where}{count}, {way}): {what}"
    back = sum(k is Knows.ENSEMBLE for k in sent)
    return f"{_WAYS['zookeeper']} ({where}{back} of {len(sent)} brokers are ZooKeeper's alone): {what}"
