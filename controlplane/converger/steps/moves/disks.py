"""Replicas that move between the log directories of one broker, because a person asked.

    disk_moves.requested -> a throttle, two moves at a time -> the throttle goes -> disk_moves.ended
                            (another one with each word of the latency brake: disk_moves.throttled)

Nothing is remembered but the wish: the broker itself tells what is on its way, and goes on with it whatever happens to
the server. Nothing crosses the network, and no replica leaves an ISR over it.
"""

from controlplane.cluster.latency_brake import first_disk_moves, share_of
from controlplane.cluster.views.healing import DiskMovesView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.moves.disk_work import DiskWork, disk_work
from controlplane.converger.questions.moves.latency_brake import words_of
from controlplane.converger.situation.decision import Decision, act, record, wait
from controlplane.converger.situation.effects import Effect, PreferLogDirs, SetLogDirsThrottle
from controlplane.converger.situation.situation import Situation
from events import node_facts as facts
from planner.drain.throttle import LEAST_CATCH_UP_BYTES_PER_S
from planner.observed import KafkaSnapshot
from planner.quantities import human_bytes

AT_ONCE = 2
"""Moves of one broker that run together."""

PATIENCE_S = 3600.0

APART = 10
"""A rate is set anew where it is more than one part in so many off."""


def disk_moves_step(situation: Situation) -> Decision | None:
    """What the broker that was asked for first needs now. None when nobody asked, or nobody knows."""
    first, kafka = first_disk_moves(situation.view), situation.seen.fresh_kafka(situation.now)
    if first is None or kafka is None:
        return None
    broker, wanted = first
    work = disk_work(situation.view, kafka, broker, wanted)
    slowed = _slowed(situation, kafka, broker, wanted, work) if work.arriving else None
    if slowed is not None:
        return slowed
    starting = () if wanted.cancelled else work.moves[: max(0, AT_ONCE - len(work.arriving))]
    if starting:
        sentence = f"{work.words}: moving {len(starting)} more, {len(work.arriving)} on their way"
        wishes = {broker: {move.name: move.after for move in starting}}
        return act(sentence, *_throttle(kafka, broker, wanted), PreferLogDirs(wishes))
    if work.arriving or not (work.over or wanted.cancelled):
        braked = "; ".join(("", *filter(None, [words_of(situation)]))) if work.arriving else ""
        waits = f"{len(work.arriving)} on their way{braked}" if work.arriving else work.waits
        return wait(WaitReason.DISK_MOVES, f"{work.words}: {waits}", patience_s=PATIENCE_S)
    if wanted.bytes_per_s and wanted.is_ours(kafka.throttles.log_dirs_rate.get(broker)):
        return act(f"{work.words}: clearing the throttle", SetLogDirsThrottle({broker: None}))
    why = work.over or wanted.cancelled
    return record(f"disks of broker {broker}: {why}", facts.DiskMovesEnded(broker, why))


def _throttle(kafka: KafkaSnapshot, broker: int, wanted: DiskMovesView) -> tuple[Effect, ...]:
    """None where the broker, or the cluster, has a value already: that is somebody's own, or ours of before."""
    rates = kafka.throttles.log_dirs_rate
    if not wanted.bytes_per_s or broker in rates or -1 in rates:
        return ()
    return (SetLogDirsThrottle({broker: wanted.due_bytes_per_s}),)


def _slowed(
    situation: Situation, kafka: KafkaSnapshot, broker: int, wanted: DiskMovesView, work: DiskWork
) -> Decision | None:
    """Another rate, where the brake says so and the one in force is ours: recorded, then set. None where it stays."""
    in_force = kafka.throttles.log_dirs_rate.get(broker)
    if not wanted.bytes_per_s or not wanted.is_ours(in_force):
        return None
    due = _due_bytes_per_s(situation, kafka, wanted, work)
    if due is not None and abs(due - wanted.due_bytes_per_s) * APART > wanted.due_bytes_per_s:
        share = share_of(situation.view)
        reason = f"{share:.0%} of {human_bytes(wanted.bytes_per_s)}/s, which clients leave them"
        sentence = f"{work.words}: at most {human_bytes(due)}/s from now on, {reason}"
        return record(sentence, facts.DiskMovesThrottled(broker, due, reason))
    if in_force != wanted.due_bytes_per_s:
        sentence = f"{work.words}: setting {human_bytes(wanted.due_bytes_per_s)}/s"
        return act(sentence, SetLogDirsThrottle({broker: wanted.due_bytes_per_s}))
    return None


def _due_bytes_per_s(situation: Situation, kafka: KafkaSnapshot, wanted: DiskMovesView, work: DiskWork) -> int | None:
    """What the brake leaves of the planned rate. They have to end: 128 KiB/s and one and a half times what is written
    to them meanwhile at least. None where that is not known, and less than all is due: then it stays as it is."""
    share = share_of(situation.view)
    if share >= 1:
        return wanted.bytes_per_s
    rates = situation.seen.traffic.write_bytes_per_s
    if any(name not in rates for name in work.arriving):
        return None
    written = sum(rates[name] for name in work.arriving)
    floor = LEAST_CATCH_UP_BYTES_PER_S + 1.5 * written
    return min(wanted.bytes_per_s, int(max(floor, share * wanted.bytes_per_s)))
