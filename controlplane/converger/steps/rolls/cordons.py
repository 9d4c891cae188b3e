"""Brokers that are being emptied are cordoned: Kafka places no new replica on them (KIP-1066, from 4.3 on).

A cordon is `cordoned.log.dirs=*`, set live on the broker itself and kept by Kafka until it is deleted. What is cordoned
is read off Kafka each time, as throttles are, so nobody has to remember who is to be lifted: whatever broker of Kedge's
lives and is not being emptied has none. Single directories that somebody cordoned by their path are theirs.

It binds Kafka's own placement alone: an assignment somebody names is taken (seen on 4.3.0). It outlives a stop, and the
registration too, and only the broker itself takes it back: so it is lifted once the linger is over, before the word to
stop, or the metadata would keep it under an id that is never used again. A topic that lands there in between is seen by
the steps of a departure, which read metadata anew before and after the stop. A broker that dies while it is cordoned
leaves its key behind.

Below 4.3 new topics may still land on a leaving broker: the drain goes another round for them.
"""

from collections.abc import Collection

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.decision import Decision, act
from controlplane.converger.situation.effects import SetCordons
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.rolls.departures import linger_left_s
from controlplane.kafka.features import METADATA
from controlplane.runtime.once import once
from planner.observed import KafkaSnapshot
from planner.quantities import brokers_named

CORDON_LEVEL = 30
"""metadata.version 4.3-IV0: below it controllers place replicas on cordoned brokers as on any."""


def cordon_step(situation: Situation) -> Decision | None:
    """Sets what is missing before anything is moved, and lifts what nobody needs."""
    wanted = brokers_to_cordon(situation.view)
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None or not (wanted or kafka.cordoned) or not takes_cordons(kafka):
        return None
    stopping = _stop_next(situation, kafka)
    wanted -= stopping
    live = kafka.live_brokers()
    ours = {i.service_id for i in situation.view.brokers()}
    missing = tuple(sorted((wanted & live) - kafka.cordoned))
    left_over = tuple(sorted((kafka.cordoned & live & ours) - wanted))
    said = [
        *([f"cordoning {brokers_named(missing)}: no new replica goes there"] if missing else []),
        *([f"lifting the cordon of {brokers_named(left_over)}{_why(stopping, left_over)}"] if left_over else []),
    ]
    return act("; ".join(said), SetCordons(missing, left_over)) if said else None


def takes_cordons(kafka: KafkaSnapshot) -> bool:
    """Whether the controllers heed cordons: by the finalised level, not by the version of the binaries."""
    level = kafka.features.get(METADATA)
    return level is not None and level.finalised >= CORDON_LEVEL


@once
def brokers_to_cordon(view: ClusterView) -> frozenset[int]:
    """Those that are drained or linger, and those a person wants empty."""
    leaving = view.in_phase(Phase.DRAINING, Phase.LINGERING)
    kept_empty = (view.instances[k] for k in view.requests.evacuations if view.instances[k].phase is Phase.JOINED)
    return frozenset(i.service_id for i in (*leaving, *kept_empty) if i.is_broker)


def _stop_next(situation: Situation, kafka: KafkaSnapshot) -> frozenset[int]:
    """Brokers whose linger is over and that are as empty as they were: nothing but the word to stop is left."""
    lingering = situation.view.in_phase(Phase.LINGERING)
    if not lingering or linger_left_s(situation) > 0:
        return frozenset()
    return frozenset(i.service_id for i in lingering if not kafka.hosted_by(i.service_id))


def _why(stopping: Collection[int], lifted: Collection[int]) -> str:
    return ", about to stop" if set(lifted) <= set(stopping) else ""
