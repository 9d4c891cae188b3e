"""May `min.insync.replicas` change now? Pure: one answer for a topic's own value and for the cluster's default.

It rises where no partition it is the value of refuses writes with it, and while nothing of ours is about to take a
replica away: a service that was told to stop or to start anew serves on until it hears, and Kafka counts on it until
then. Nor does it rise in the middle of a roll, whose next stops are judged by it. That of a topic falls at once, which
is what people lower it for. In neither direction it changes under a partition without a leader: in mode `kraft` every
change of it makes Kafka forget who of those that left the ISR may lead (the ELR, KIP-966), and such a partition has
nobody else.
"""

from collections.abc import Collection, Iterable

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.rolls.stale_stops import ON_ITS_WAY
from controlplane.converger.questions.running.setting_work import is_between_steps, rolls
from controlplane.kafka.gates import Gate
from planner.observed import KafkaSnapshot, PartitionSeen

_WAITING = ("WaitsForStage", "WaitsForWindow")
"""Conditions of a roll that stands still for hours or days, with nothing in hand."""


def rise_gate(
    view: ClusterView,
    kafka: KafkaSnapshot,
    partitions: Iterable[PartitionSeen],
    wanted: int,
    *,
    replicas: int = 0,
    away: Collection[int] = (),
) -> Gate:
    """Whether it may rise to `wanted` under these partitions. `replicas`: as many as each of them is to have, where
    some are to arrive first. `away` are brokers known not to serve, whether Kafka has noticed or not.

    A partition with one replica takes writes under any min ISR, but not while its copies run.
    """
    running = _in_hand(view, kafka)
    if running:
        return Gate(False, running)
    rising = [p for p in partitions if p.configured_min_isr < wanted]
    short = [p for p in rising if p.is_moving or _in_sync(p, away) < min(wanted, max(replicas, len(p.replicas)))]
    if short:
        first = short[0]
        moving = ", being moved" if first.is_moving else ""
        example = f"{first.name} among them (ISR {list(first.isr)} of {list(first.replicas)}{moving})"
        return Gate(False, f"{len(short)} partitions have too few replicas in sync for it, {example}")
    return fall_gate(rising)


def default_gate(
    view: ClusterView, kafka: KafkaSnapshot, running: Collection[int], wanted: int, *, away: Collection[int] = ()
) -> Gate:
    """Whether the cluster's default may become `wanted`. `running` are the values brokers have now: partitions under
    one of them may follow the default, others have a value of their own. Neither direction while a roll runs."""
    in_hand = _in_hand(view, kafka)
    if in_hand:
        return Gate(False, in_hand)
    following = [p for p in kafka.partitions if not p.configured_min_isr or p.configured_min_isr in running]
    if any(value < wanted for value in running):
        return rise_gate(view, kafka, following, wanted, away=away)
    return fall_gate(following)


def fall_gate(partitions: Iterable[PartitionSeen]) -> Gate:
    """Whether it may become another value at all under these partitions, as far as they are concerned."""
    leaderless = next((p for p in partitions if p.leader < 0), None)
    if leaderless is not None:
        return Gate(False, f"{leaderless.name} has no leader, and would lose those who may become it")
    return Gate(True, "every partition it is for has a leader")


def stop_in_progress(view: ClusterView, kafka: KafkaSnapshot) -> str:
    """Who of ours may be about to stop, in words; "" where nobody is. Until it hears it serves, and is counted on."""
    if view.settings.restarts:
        return f"{min(view.settings.restarts)} is being started anew"
    ordered = next((n for n, at in sorted(view.settings.orders.items()) if kafka.at - at <= ON_ITS_WAY), "")
    if ordered:
        return f"{ordered} was told to stop or to start anew, and may yet obey"
    stopping = next((i.key for i in view.in_phase(Phase.FENCING)), "")
    return f"{stopping} is being stopped" if stopping else ""


def _in_sync(partition: PartitionSeen, away: Collection[int]) -> int:
    return sum(1 for broker in partition.isr if broker not in away)


def _in_hand(view: ClusterView, kafka: KafkaSnapshot) -> str:
    """What of ours may take a replica out of its ISR, or counts on min ISR as it is; "" where nothing does."""
    stopping = stop_in_progress(view, kafka)
    if stopping:
        return stopping
    if not is_between_steps(view) or any(len(there) > 1 for there in view.nodes().values()):
        return "VMs are being made, emptied, handed over or mended"
    if view.quorum.migration is not None:
        return "the cluster migrates"
    begun = view.roll.recycling > 0 and view.roll.recycling == view.generation
    waits = any(view.conditions[c].status for c in _WAITING if c in view.conditions)
    return "a roll runs" if begun and not waits and rolls(view) else ""
