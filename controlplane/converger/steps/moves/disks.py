"""Replicas that move between the log directories of one broker, because a person asked.

    disk_moves.requested -> a throttle, two moves at a time -> the throttle goes -> disk_moves.ended

Nothing is remembered but the wish: the broker itself tells what is on its way, and goes on with it whatever happens to
the server. Nothing crosses the network, and no replica leaves an ISR over it.
"""

from controlplane.cluster.views.healing import DiskMovesView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.moves.disk_work import disk_work
from controlplane.converger.situation.decision import Decision, act, record, wait
from controlplane.converger.situation.effects import Effect, PreferLogDirs, SetLogDirsThrottle
from controlplane.converger.situation.situation import Situation
from events import node_facts as facts
from planner.observed import KafkaSnapshot

AT_ONCE = 2
"""Moves of one broker that run together."""

PATIENCE_S = 3600.0


def disk_moves_step(situation: Situation) -> Decision | None:
    """What the broker that was asked for first needs now. None when nobody asked, or nobody knows."""
    asked, kafka = situation.view.requests.disk_moves, situation.seen.fresh_kafka(situation.now)
    if not asked or kafka is None:
        return None
    broker, wanted = min(asked.items(), key=lambda one: (one[1].requested_at, one[0]))
    work = disk_work(situation.view, kafka, broker, wanted)
    starting = () if wanted.cancelled else work.moves[: max(0, AT_ONCE - len(work.arriving))]
    if starting:
        sentence = f"{work.words}: moving {len(starting)} more, {len(work.arriving)} on their way"
        wishes = {broker: {move.name: move.after for move in starting}}
        return act(sentence, *_throttle(kafka, broker, wanted), PreferLogDirs(wishes))
    if work.arriving or not (work.over or wanted.cancelled):
        waits = f"{len(work.arriving)} on their way" if work.arriving else work.waits
        return wait(WaitReason.DISK_MOVES, f"{work.words}: {waits}", patience_s=PATIENCE_S)
    if wanted.bytes_per_s and kafka.throttles.log_dirs_rate.get(broker) == wanted.bytes_per_s:
        return act(f"{work.words}: clearing the throttle", SetLogDirsThrottle({broker: None}))
    why = work.over or wanted.cancelled
    return record(f"disks of broker {broker}: {why}", facts.DiskMovesEnded(broker, why))


def _throttle(kafka: KafkaSnapshot, broker: int, wanted: DiskMovesView) -> tuple[Effect, ...]:
    """None where the broker, or the cluster, has a value already: that is somebody's own, or ours of before."""
    rates = kafka.throttles.log_dirs_rate
    if not wanted.bytes_per_s or broker in rates or -1 in rates:
        return ()
    return (SetLogDirsThrottle({broker: wanted.bytes_per_s}),)
