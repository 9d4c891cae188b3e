"""Why a move makes no progress, and the gentlest thing that is safe to do about it. Pure.

A move hangs when no byte of it has come for a while, or when it grows and never comes closer. A move that waits its
turn behind others into the same broker does not. What is not known to be wrong is told as such, never guessed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from planner.drain.throttle import KAFKA_REACHES
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from planner.pulse import MovePulse
from planner.quantities import human_bytes

WITHIN = timedelta(days=1)

TRICKLE_BYTES = 1024 * 1024
"""A throttle that lets through less than this in the whole time explains why nothing came: `replica.fetch.max.bytes`
is 1 MiB, and the quota is charged only once a fetch has come back."""

RAISED_BY = 2.0
"""A throttle that was too low is doubled, and made enough for the write rate at once where that is known."""


class Diagnosis(StrEnum):
    """What keeps a move from going on; the value is the reason of the condition `ReassignmentHung`."""

    THROTTLE = "ThrottleTooLow"
    TARGET_DEAD = "TargetDead"
    TARGET_DISK = "TargetDisk"
    SOURCE_DEAD = "SourceDead"
    CONTROLLER = "ControllerStuck"
    UNKNOWN = "NoProgress"


class MoveCure(StrEnum):
    """What is done about it, the gentlest first."""

    RAISE_THROTTLE = "raise_throttle"
    TAKE_BACK = "take_back"
    RESTART_CONTROLLER = "restart_controller"
    REELECT_CONTROLLER = "reelect_controller"
    """ZooKeeper mode: the controller is a broker, which need not stop for another one to be elected."""


_CURES = {
    Diagnosis.THROTTLE: MoveCure.RAISE_THROTTLE,
    Diagnosis.TARGET_DEAD: MoveCure.TAKE_BACK,
    Diagnosis.TARGET_DISK: MoveCure.TAKE_BACK,
    Diagnosis.UNKNOWN: MoveCure.TAKE_BACK,
    Diagnosis.CONTROLLER: MoveCure.RESTART_CONTROLLER,
}
"""A dead source has none: its disk holds what the others lack, and it is waited for."""

_GENTLEST = tuple(MoveCure)


@dataclass(frozen=True, slots=True)
class StuckMove:
    """A move that hangs. `broker` is who it waits for, -1 where nobody is known; `sentence` has the numbers."""

    name: TopicPartition
    diagnosis: Diagnosis
    broker: int
    since: datetime
    sentence: str
    may_take_back: bool = False
    """Rule F10: enough of the replicas before are in sync to go back to."""


@dataclass(frozen=True, slots=True)
class MoveContext:
    """What is known beside the metadata. `write_bytes_per_s` by partition, only where it was measured; `disk_trouble`
    in words by broker."""

    write_bytes_per_s: Mapping[TopicPartition, float] = field(default_factory=dict)
    disk_trouble: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PastMoveCure:
    """What was done about moves that hung, and when it was asked for."""

    cure: MoveCure
    diagnosis: Diagnosis
    at: datetime


@dataclass(frozen=True, slots=True)
class MovePolicy:
    """`after`: how long a move may stand still. `a_day`: cures the cluster gets. `restart`: whether another controller
    may be had, by a restart or an election. `ceiling`: the most a throttle may be raised to, bytes/s by broker, -1 for
    all others; empty is no ceiling."""

    after: timedelta = timedelta(seconds=300)
    a_day: int = 4
    restart: bool = True
    ceiling: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MovePrescription:
    """One cure for moves with the same trouble, and in words why."""

    cure: MoveCure
    diagnosis: Diagnosis
    moves: tuple[StuckMove, ...]
    reason: str
    follower_rates: Mapping[int, int] = field(default_factory=dict)
    leader_rates: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hung:
    """All that hangs, the cure to begin now if any, and why the others have none."""

    moves: tuple[StuckMove, ...] = ()
    prescription: MovePrescription | None = None
    refusal: str = ""


def hung_moves(
    kafka: KafkaSnapshot, pulses: Mapping[TopicPartition, MovePulse], around: MoveContext, after: timedelta
) -> tuple[StuckMove, ...]:
    """Every running move that hangs, whoever began it; `pulses` of the same look as `kafka`."""
    moving = [(p, pulses[p.name]) for p in kafka.moving() if p.name in pulses and pulses[p.name].target == p.target]
    fed = _receivers(moving, lambda pulse: pulse.grew_at, kafka.at - after)
    nearing = _receivers(moving, lambda pulse: pulse.closer_at, kafka.at - after)
    found = []
    for partition, pulse in moving:
        late = frozenset(r for r in partition.target if r not in partition.isr)
        if kafka.at - pulse.grew_at >= after:
            hung = _still(kafka, partition, pulse, around, after, waits_its_turn=bool(late & fed))
        elif kafka.at - pulse.closer_at >= after and not late & nearing:
            hung = _outgrown(kafka, partition, pulse, around)
        else:
            hung = None
        if hung is not None:
            found.append(hung)
    return tuple(sorted(found, key=lambda h: (h.since, h.name)))


def may_take_back(partition: PartitionSeen) -> bool:
    """Rule F10: a move is taken back only where the replicas before it keep min ISR (KAFKA-14424)."""
    return len([r for r in partition.isr if r not in partition.adding]) >= partition.min_isr


def prescribe_moves(
    hung: Sequence[StuckMove], kafka: KafkaSnapshot, past: Sequence[PastMoveCure], policy: MovePolicy
) -> tuple[MovePrescription | None, str]:
    """The gentlest cure of these moves, which are ours; or why there is none, "" when nothing hangs."""
    reasons = []
    for cure in _GENTLEST:
        stuck = [h for h in hung if _cure_of(h.diagnosis, kafka) is cure]
        for diagnosis in dict.fromkeys(h.diagnosis for h in stuck):
            judged = _judge(cure, diagnosis, [h for h in stuck if h.diagnosis is diagnosis], kafka, past, policy)
            if isinstance(judged, MovePrescription):
                return judged, ""
            reasons.append(judged)
    if not reasons and hung:
        reasons.append("nothing that Kedge may do would help: the source has what the others lack and is waited for")
    return None, reasons[0] if reasons else ""


def controller_cure(kafka: KafkaSnapshot) -> MoveCure:
    """How another controller is had."""
    return MoveCure.REELECT_CONTROLLER if kafka.mode == "zookeeper" else MoveCure.RESTART_CONTROLLER


def active_controller(kafka: KafkaSnapshot) -> int:
    """Who leads the cluster: the leader of the quorum, or a broker in ZooKeeper mode."""
    return kafka.controller if kafka.mode == "zookeeper" else kafka.quorum.leader


def why_no_cure(past: Sequence[PastMoveCure], policy: MovePolicy, at: datetime) -> str:
    """Why nothing more is done for now: too many cures in a day, or the last one has time left to show. "" if not."""
    recent = [c for c in past if at - c.at < WITHIN]
    if len(recent) >= policy.a_day:
        return f"{len(recent)} cures of moves and elections in a day are the most this cluster gets"
    if recent:
        pause = policy.after * 2 ** max(0, len(recent) - 1)
        left_s = (recent[-1].at + pause - at).total_seconds()
        if left_s > 0:
            return f"the last cure ({recent[-1].cure}) has {left_s / 60:.0f} min more to show"
    return ""


def why_no_other_controller(policy: MovePolicy) -> str:
    """The spec's word on it, "" where it may be."""
    return "" if policy.restart else "the spec allows no restart, and no other controller, without asking"


def other_controller_words(kafka: KafkaSnapshot) -> str:
    """What is done, in words."""
    if kafka.mode == "zookeeper":
        return f"the brokers are made to elect a controller anew, in place of broker {kafka.controller}"
    return f"the active controller {kafka.quorum.leader} is restarted, so that another one takes over"


def _cure_of(diagnosis: Diagnosis, kafka: KafkaSnapshot) -> MoveCure | None:
    cure = _CURES.get(diagnosis)
    return controller_cure(kafka) if cure is MoveCure.RESTART_CONTROLLER else cure


def _judge(
    cure: MoveCure,
    diagnosis: Diagnosis,
    stuck: Sequence[StuckMove],
    kafka: KafkaSnapshot,
    past: Sequence[PastMoveCure],
    policy: MovePolicy,
) -> MovePrescription | str:
    refused = why_no_cure(past, policy, kafka.at)
    if refused:
        return refused
    if cure is MoveCure.RAISE_THROTTLE:
        return _raised(stuck, kafka, policy)
    if cure is controller_cure(kafka):
        return why_no_other_controller(policy) or MovePrescription(
            cure, diagnosis, tuple(stuck), other_controller_words(kafka)
        )
    safe = tuple(h for h in stuck if h.may_take_back)
    if not safe:
        return f"{stuck[0].name} cannot be taken back: too few of its replicas before are in sync"
    return MovePrescription(
        cure, diagnosis, safe, f"{len(safe)} moves go back to their replicas before and are planned anew"
    )


def _raised(stuck: Sequence[StuckMove], kafka: KafkaSnapshot, policy: MovePolicy) -> MovePrescription | str:
    followers: dict[int, int] = {}
    leaders: dict[int, int] = {}
    needed = 0
    for hung in stuck:
        partition = kafka.by_name[hung.name]
        late = [r for r in partition.target if r not in partition.isr]
        rates = [(followers, kafka.throttles.follower_rate, b) for b in late]
        for chosen, in_force, broker in (*rates, (leaders, kafka.throttles.leader_rate, partition.leader)):
            before = in_force.get(broker, in_force.get(-1))
            if before is None:
                continue
            wanted = int(max(RAISED_BY * before, TRICKLE_BYTES))
            needed = max(needed, wanted)
            most = policy.ceiling.get(broker, policy.ceiling.get(-1))
            due = wanted if most is None else min(wanted, most)
            if due > before:
                chosen[broker] = max(due, chosen.get(broker, 0))
    if not followers and not leaders:
        return f"the throttle is at its ceiling; raise rollout.throttleMibPerS to {-(-needed // 2**20)} or more"
    told = {**leaders, **followers}
    words = ", ".join(f"broker {b} {human_bytes(r)}/s" for b, r in sorted(told.items())[:3])
    reason = f"the throttle is raised: {words}"
    return MovePrescription(MoveCure.RAISE_THROTTLE, Diagnosis.THROTTLE, tuple(stuck), reason, followers, leaders)


def _receivers(
    moving: Iterable[tuple[PartitionSeen, MovePulse]], last: Callable[[MovePulse], datetime], since: datetime
) -> frozenset[int]:
    """Brokers into which some copy came on after `since`."""
    return frozenset(r for p, pulse in moving if last(pulse) > since for r in p.adding)


def _still(
    kafka: KafkaSnapshot,
    partition: PartitionSeen,
    pulse: MovePulse,
    around: MoveContext,
    after: timedelta,
    *,
    waits_its_turn: bool,
) -> StuckMove | None:
    """A move of which nothing has come."""
    live = kafka.live_brokers()
    still = f"{partition.name}: nothing has come for {(kafka.at - pulse.grew_at).total_seconds():.0f} s"
    late = [r for r in partition.target if r not in partition.isr]

    def hung(diagnosis: Diagnosis, broker: int, words: str) -> StuckMove:
        sentence = f"{still}, {words}"
        return StuckMove(partition.name, diagnosis, broker, pulse.grew_at, sentence, may_take_back(partition))

    if not kafka.has_source(partition):
        holders = [r for r in partition.replicas if r not in partition.adding]
        words = f"and no live replica in sync is there to copy from (replicas {holders}, ISR {list(partition.isr)})"
        return hung(Diagnosis.SOURCE_DEAD, holders[0] if holders else -1, words)
    if not late:
        controller = active_controller(kafka)
        words = f"though all of {list(partition.target)} are in sync: controller {controller} does not end it"
        return hung(Diagnosis.CONTROLLER, controller, words)
    dead = [r for r in late if r not in live]
    if dead:
        return hung(Diagnosis.TARGET_DEAD, dead[0], f"broker {dead[0]}, which is to have it, does not serve")
    full = [r for r in late if r in around.disk_trouble]
    if full:
        return hung(Diagnosis.TARGET_DISK, full[0], f"broker {full[0]}: {around.disk_trouble[full[0]]}")
    if waits_its_turn:
        return None
    quota, inflow = _quota(kafka, partition, late), _inflow(kafka, late, around)
    if quota is not None and (quota * after.total_seconds() < TRICKLE_BYTES or quota * KAFKA_REACHES <= inflow):
        return hung(Diagnosis.THROTTLE, late[0], _too_low(quota, inflow))
    return hung(Diagnosis.UNKNOWN, late[0], f"broker {late[0]} serves, and nothing is known to be wrong")


def _outgrown(
    kafka: KafkaSnapshot, partition: PartitionSeen, pulse: MovePulse, around: MoveContext
) -> StuckMove | None:
    """A move that grows and never comes closer, where the throttle is why."""
    late = [r for r in partition.target if r not in partition.isr]
    quota, inflow = _quota(kafka, partition, late), _inflow(kafka, late, around)
    if quota is None or not inflow or quota * KAFKA_REACHES > inflow or not late:
        return None
    seconds = (kafka.at - pulse.closer_at).total_seconds()
    sentence = f"{partition.name}: not one byte closer for {seconds:.0f} s, {_too_low(quota, inflow)}"
    return StuckMove(partition.name, Diagnosis.THROTTLE, late[0], pulse.closer_at, sentence, may_take_back(partition))


def _too_low(quota: float, inflow: float) -> str:
    written = f"{human_bytes(inflow)}/s are written to what it holds" if inflow else "nothing is left of it"
    return f"the throttle lets {human_bytes(quota * KAFKA_REACHES)}/s through and {written}"


def _inflow(kafka: KafkaSnapshot, late: Sequence[int], around: MoveContext) -> float:
    """Bytes/s written to all that moves into these brokers, the most of them; 0.0 where nothing was measured."""
    written = around.write_bytes_per_s
    return max((sum(written.get(p.name, 0.0) for p in kafka.moving() if b in p.adding) for b in late), default=0.0)


def _quota(kafka: KafkaSnapshot, partition: PartitionSeen, late: Sequence[int]) -> float | None:
    """The lowest throttle in force on its way, bytes/s; None where there is none."""
    seen = kafka.throttles
    if partition.name.topic not in seen.topics:
        return None
    on_the_way = [seen.follower_rate.get(b, seen.follower_rate.get(-1)) for b in late]
    on_the_way.append(seen.leader_rate.get(partition.leader, seen.leader_rate.get(-1)))
    known = [rate for rate in on_the_way if rate is not None]
    return min(known) if known else None
