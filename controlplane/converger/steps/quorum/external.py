"""A quorum of others that is static (`kraft.version` 0): nobody of ours joins it, and where the spec asks it is made
dynamic.

    spec.external.quorum: dynamic, and all of it whole -> finalisation.requested -> Kafka raises kraft.version to 1
                                    -> its voters are told with their directories -> feature.finalised

Kafka asks less than is asked here: 4.1.1 raises the level while a voter is down that was up since the last election,
and cannot go back (tests/kafka/test_live_static_quorum.py).
"""

from controlplane.cluster.external_brokers import declared_external, expected_brokers, other_voters
from controlplane.cluster.view import ClusterView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.services.cluster_healthy import cluster_is_whole
from controlplane.converger.situation.decision import Decision, act, record, wait
from controlplane.converger.situation.effects import RaiseFeature
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.features import KRAFT, METADATA, is_static, metadata_level_of
from controlplane.kafka.gates import Gate, is_following, lags
from controlplane.kafka.quorum import STEADY_S
from events import facts
from events.spec.external import External
from planner.observed import KafkaSnapshot
from planner.quantities import brokers_named

DYNAMIC = 1
RAISED_FROM = "4.1"
"""The first Kafka that makes a static quorum dynamic (KAFKA-16538). 4.0 takes the level, and its voters stay as they
are (KAFKA-18979)."""

_LEVEL = (KRAFT, DYNAMIC)


def external_quorum_step(situation: Situation) -> Decision | None:
    """Raises the level where the spec asks; holds up the first VM of ours until the quorum is dynamic."""
    view, external = situation.view, declared_external(situation.view)
    if external is None or view.external is None or is_dynamic(view):
        return None
    asked = external.quorum == "dynamic"
    joins = view.document is not None and bool(view.document.spec.broker_pools)
    ours = bool(view.brokers())  # none is there before the quorum is dynamic
    if not asked and (ours or not joins):
        return None
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return None if ours else wait(WaitReason.KAFKA_UNKNOWN, "whether the quorum there is static cannot be read")
    if not is_static(kafka):
        return _finish_by_voters(kafka) if asked else None
    impossible = why_it_stays_static(kafka)
    if impossible:
        next_command = f"Kafka {RAISED_FROM} or later there, its {METADATA} finalised, by who runs it"
        return wait(
            WaitReason.EXTERNAL_QUORUM_STATIC, _stays(joins, impossible), next_command=next_command, patience_s=0
        )
    if not asked:
        next_command = "`quorum: dynamic` under `spec.external`, then kedge apply (Kafka has no way back from it)"
        sentence = _stays(joins, f"the quorum there is static ({KRAFT} 0)")
        return wait(WaitReason.EXTERNAL_QUORUM_STATIC, sentence, next_command=next_command, patience_s=0)
    return _held_up(view, external, kafka) or _raise(view, kafka)


def is_dynamic(view: ClusterView) -> bool:
    """Whether it is recorded that voters of this cluster may change: there is no way back from that."""
    return view.roll.finalised.get(KRAFT, 0) >= DYNAMIC


def why_it_stays_static(kafka: KafkaSnapshot) -> str:
    """What makes it impossible for Kafka itself, in words; "" where it can be raised, or is.

    Nobody tells which release a controller of others runs. That `metadata.version` is finalised at 4.1 is the proof:
    Kafka lets nobody finalise it before every controller runs 4.1, and none may be older after it.
    """
    metadata = kafka.features.get(METADATA)
    level = metadata.finalised if metadata is not None else 0
    if not is_static(kafka) or level >= metadata_level_of(RAISED_FROM):
        return ""
    return (
        f"Kafka makes a static quorum dynamic from {RAISED_FROM} on, and {METADATA} is finalised at {level} there, "
        f"{RAISED_FROM} has {metadata_level_of(RAISED_FROM)}"
    )


def _stays(joins: bool, why: str) -> str:
    return f"no broker is added: {why}" if joins else f"the quorum stays static: {why}"


def _held_up(view: ClusterView, external: External, kafka: KafkaSnapshot) -> Decision | None:
    """What has to be mended before the level is raised: there is no way back, so nothing may be missing then."""
    wrong = other_voters(external, kafka)
    if wrong:
        return wait(WaitReason.EXTERNAL_MISMATCH, wrong, next_command="correct spec.external.controllers", patience_s=0)
    expected = expected_brokers(view)
    whole = cluster_is_whole(kafka, expected, excepted=frozenset())
    if not whole.open:
        return wait(WaitReason.BROKER_DOWN, f"not making the quorum dynamic: {whole.reason}")
    silent = sorted(b.id for b in kafka.brokers.values() if b.fenced)
    if silent:
        sentence = f"{brokers_named(silent)} registered and not serving: nobody knows what it supports"
        by_hand = f"start it, or kafka-cluster.sh unregister --id {silent[0]}, by who runs it"
        return wait(WaitReason.FINALISATION_BLOCKED, f"not making the quorum dynamic: {sentence}", next_command=by_hand)
    kraft = kafka.features.get(KRAFT)
    if kraft is None or kraft.max_supported < DYNAMIC:
        who = brokers_named(kraft.limited_by) if kraft is not None and kraft.limited_by else "a broker"
        return wait(
            WaitReason.FINALISATION_BLOCKED, f"not making the quorum dynamic: {who} does not support {KRAFT} {DYNAMIC}"
        )
    gate = quorum_is_whole(kafka)
    return None if gate.open else wait(WaitReason.QUORUM_GATE, f"not making the quorum dynamic: {gate.reason}")


def quorum_is_whole(kafka: KafkaSnapshot) -> Gate:
    """Open when every voter keeps up and has just been heard."""
    voters = [m for m in kafka.quorum.members if m.is_voter]
    late = [m for m in voters if not is_following(m) or m.silent_s >= STEADY_S]
    if kafka.quorum.leader < 0 or not voters:
        return Gate(False, "the quorum has no leader")
    if late:
        return Gate(False, f"{len(late)} of {len(voters)} voters do not keep up: {lags(late)}")
    return Gate(True, f"all {len(voters)} voters keep up")


def _raise(view: ClusterView, kafka: KafkaSnapshot) -> Decision:
    if view.roll.finalising == _LEVEL:
        return act(f"raising {KRAFT} to {DYNAMIC}: the quorum becomes dynamic", RaiseFeature(*_LEVEL))
    reason = f"asked for in the spec; {quorum_is_whole(kafka).reason}, {len(kafka.live_brokers())} brokers serve"
    asked = facts.FinalisationRequested(KRAFT, DYNAMIC, reason)
    return record(f"the quorum of others is made dynamic, for good: {reason}", asked)


def _finish_by_voters(kafka: KafkaSnapshot) -> Decision:
    """Recorded once Kafka names the directory of each voter: from then on its voters may change."""
    untold = sorted(m.id for m in kafka.quorum.members if m.is_voter and not set(m.directory_id) - {"A"})
    if untold:
        ids = ", ".join(map(str, untold))
        return wait(
            WaitReason.QUORUM_GATE, f"{KRAFT} is {DYNAMIC}, and voter {ids} is told without its directory as yet"
        )
    voters = sum(m.is_voter for m in kafka.quorum.members)
    return record(f"the quorum is dynamic: {voters} voters, each with its directory", facts.FeatureFinalised(*_LEVEL))
