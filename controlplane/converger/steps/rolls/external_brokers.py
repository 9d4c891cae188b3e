"""The part of a cluster that others run: found in Kafka, emptied onto ours, and let go once its owner has stopped it.

    spec.external -> Kafka shows that very cluster -> cluster.imported
    a broker leaves the list -> drained onto the pools -> external.drained -> its owner stops it
                                                          -> external.stopped -> unregistered -> external.left

Everything is read from Kafka alone. Nothing here starts, stops or deletes a machine: the one thing done to a broker of
others, beside moving replicas off it, is to forget its registration once it has long been gone and is named by nothing.
"""

from datetime import timedelta

from controlplane.cluster.external_brokers import (
    declared_external,
    expected_brokers,
    external_brokers,
    leaving_externals,
    named,
    other_voters,
)
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.external import ExternalBrokerView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.rolls.drain_requests import request_external_drain
from controlplane.converger.questions.services.cluster_healthy import cluster_is_whole
from controlplane.converger.situation.decision import Decision, act, record, wait
from controlplane.converger.situation.effects import Unregister
from controlplane.converger.situation.situation import Situation
from events import facts
from events.spec.external import External
from planner.observed import BrokerSeen, KafkaSnapshot

STOPPED_FOR = timedelta(seconds=60)
"""A broker that is started anew is back within this; one that stays away longer was stopped."""

_LEVELS = {25: "4.0", 27: "4.1", 29: "4.2", 30: "4.3"}
"""Releases by their metadata.version (`StorageTool version-mapping`)."""


def import_step(situation: Situation) -> Decision | None:
    """Takes on what the spec says that others run, once Kafka shows the very same; brokers they add later too."""
    external = declared_external(situation.view)
    if external is None:
        return None
    kafka = situation.seen.fresh_kafka(situation.now)
    if situation.view.external is not None:
        return _found_more(situation, external, kafka) or _other_quorum(situation.view, external, kafka)
    if kafka is None:
        return wait(WaitReason.KAFKA_UNKNOWN, f"importing {situation.view.name}: {situation.seen.why_no_kafka}")
    wrong = _mismatch(external, kafka)
    if wrong:
        again = f"kedge import --bootstrap HOST:PORT --name {situation.view.name}, then kedge apply"
        return wait(WaitReason.EXTERNAL_MISMATCH, f"nothing is taken on: {wrong}", next_command=again, patience_s=0)
    level = kafka.features.get("metadata.version")
    imported = facts.ClusterImported(
        kafka_cluster_id=kafka.cluster_id,
        metadata_level=_LEVELS.get(level.finalised, "") if level is not None else "",
        voters=_voters(external),
        brokers=tuple(_found(kafka.brokers[b.id]) for b in external.brokers),
        next_broker_id=1 + max([*kafka.brokers, *(m.id for m in kafka.quorum.members)]),
    )
    counts = f"{len(imported.brokers)} brokers and {len(imported.voters)} voters that others run"
    return record(f"cluster {kafka.cluster_id} is there, with {counts}", imported)


def external_departure_step(situation: Situation) -> Decision | None:
    """Follows brokers of others that were emptied: taken back by the spec, filled again, stopped, gone."""
    empty = [b for b in external_brokers(situation.view).values() if b.empty_at is not None]
    if not empty:
        return None
    external = declared_external(situation.view)
    again = [b.id for b in empty if external is not None and b.id in {x.id for x in external.brokers}]
    if again:
        back = (facts.ExternalReturned(b, "the spec names it again") for b in again)
        return record(f"{named(again)} is to stay: the spec names it again", *back)
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return None  # they stay as they are, and keep nobody waiting
    for broker in empty:
        decision = _departs(situation, kafka, broker)
        if decision is not None:
            return decision
    return None


def external_drain_step(situation: Situation) -> Decision | None:
    """Empties brokers of others that the spec names no more, all in one drain, once ours are there to take over."""
    view, ids = situation.view, frozenset(leaving_externals(situation.view))
    if not ids:
        return None
    what = named(ids)
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return wait(WaitReason.KAFKA_UNKNOWN, f"{what} to be emptied: {situation.seen.why_no_kafka}")
    bare = sorted(b for b in ids if not kafka.hosted_by(b))
    if bare:
        return record(f"{named(bare)} held no replica anyway", facts.ExternalDrained("", tuple(bare), 0, 0))
    if not view.receivers():
        sentence = f"not emptying {what}: no broker of a pool is there to take what it holds"
        return wait(WaitReason.NO_RECEIVER, sentence, next_command=f"kedge describe {view.name}", patience_s=0)
    if not situation.allowance.may_roll:
        return wait(WaitReason.FLEET_BRAKE, f"waiting to empty {what}: {situation.allowance.reason}")
    gate = cluster_is_whole(kafka, [b for b in expected_brokers(view) if b not in ids], excepted=ids)
    if not gate.open:
        return wait(WaitReason.BROKER_DOWN, f"not emptying {what}: {gate.reason}")
    if view.roll.recycling != view.generation:
        started = facts.RecycleStarted(view.generation, (), (), (), reason=f"{what} to be emptied")
        return record(f"working towards generation {view.generation}: {started.reason}", started)
    drain = request_external_drain(view, sorted(ids), round_number=1, reason="the spec names it no more")
    return record(f"draining {what}: {drain.reason}", drain)


def external_words(view: ClusterView, broker: ExternalBrokerView) -> str:
    """How one broker of others stands, for people."""
    if broker.stopped_at is not None:
        return "stopped; its registration goes"
    if broker.empty_at is not None:
        return "empty: stop it yourself"
    if view.moves.drain is not None and broker.id in view.moves.drain.outgoing:
        return "being emptied"
    return "to be emptied" if broker.id in leaving_externals(view) else "serves"


def _mismatch(external: External, kafka: KafkaSnapshot) -> str:
    """Why what answers is not what the spec means, "" where it is."""
    if kafka.cluster_id != external.cluster_id:
        return f"cluster {kafka.cluster_id} answers at these addresses, the spec means {external.cluster_id}"
    strange = sorted(b.id for b in external.brokers if b.id not in kafka.brokers)
    if strange:
        return f"{named(strange)} of the spec is not known to Kafka"
    return other_voters(external, kafka)


def _voters(external: External) -> tuple[facts.FoundingVoter, ...]:
    return tuple(
        facts.FoundingVoter(f"external-{c.id}", c.id, c.host, c.port, c.directory_id or "")
        for c in external.controllers
    )


def _other_quorum(view: ClusterView, external: External, kafka: KafkaSnapshot | None) -> Decision | None:
    """The spec names other voters than new starts are told: they are, once Kafka has them, too."""
    voters = _voters(external)
    if {v.id: v for v in voters} == view.quorum.voters:
        return None
    if kafka is None:
        return wait(WaitReason.KAFKA_UNKNOWN, "the spec names other voters; Kafka's metadata cannot be read")
    wrong = other_voters(external, kafka)
    if wrong:
        return wait(WaitReason.EXTERNAL_MISMATCH, wrong, next_command="correct spec.external.controllers", patience_s=0)
    ids = ", ".join(str(v.id) for v in voters)
    return record(f"new brokers are told the voters {ids}", facts.ExternalQuorumChanged(voters))


def _found_more(situation: Situation, external: External, kafka: KafkaSnapshot | None) -> Decision | None:
    known = external_brokers(situation.view)
    new = [b.id for b in external.brokers if b.id not in known]
    if not new:
        return None
    ours = {i.service_id for i in situation.view.instances.values() if i.is_broker}
    if kafka is None:
        return wait(WaitReason.KAFKA_UNKNOWN, f"looking for {named(new)}: Kafka's metadata cannot be read")
    missing = [b for b in new if b not in kafka.brokers or b in ours]
    if missing:
        sentence = f"{named(missing)} of the spec is not a broker of others that Kafka knows"
        return wait(
            WaitReason.EXTERNAL_MISMATCH, sentence, next_command="take it off spec.external.brokers", patience_s=0
        )
    found = facts.ExternalFound(tuple(_found(kafka.brokers[b]) for b in new))
    return record(f"{named(new)} found", found)


def _found(seen: BrokerSeen) -> facts.ExternalBrokerFound:
    return facts.ExternalBrokerFound(seen.id, seen.rack, seen.host, seen.port)


def _departs(situation: Situation, kafka: KafkaSnapshot, broker: ExternalBrokerView) -> Decision | None:
    held, live = len(kafka.hosted_by(broker.id)), broker.id in kafka.live_brokers()
    if held:
        words = f"{held} partitions came to it after it was empty"
        return record(f"{named([broker.id])}: {words}", facts.ExternalReturned(broker.id, words))
    if broker.stopped_at is None:
        return None if live else record(f"{named([broker.id])} has stopped", facts.ExternalStopped(broker.id))
    if live:
        words = "it serves again"
        return record(f"{named([broker.id])}: {words}", facts.ExternalReturned(broker.id, words))
    if kafka.at - broker.stopped_at < STOPPED_FOR or broker.id in situation.view.quorum.voters:
        return None
    if broker.id in kafka.brokers:
        return act(f"unregistering {named([broker.id])}: empty, and stopped by its owner", Unregister(broker.id))
    return record(f"{named([broker.id])} is no longer registered", facts.ExternalLeft(broker.id))
