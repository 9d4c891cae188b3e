"""The independent judge of a rebalance: a plan is believed only after this has read it against what Kafka says now.

Works on the snapshot and on plain dictionaries; shares no code with the optimiser.
"""

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from events.spec.broker_sets import NO_SETS, BrokerSets, set_words
from planner.drain.plan import DrainPlan, Move
from planner.observed import KafkaSnapshot


@dataclass(frozen=True, slots=True)
class RebalanceViolation:
    """One broken rule. `subject` is a partition, a broker or the plan. Nothing of a plan with one is sent."""

    subject: str
    message: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.message}"


def check(
    plan: DrainPlan,
    snapshot: KafkaSnapshot,
    *,
    receivers: Collection[int],
    disk_limit_fraction: float,
    done: Collection[Move] = (),
    sets: BrokerSets = NO_SETS,
) -> tuple[RebalanceViolation, ...]:
    """Everything wrong with what is left of the plan (all but `done`) against the newest metadata.

    `receivers` are the brokers that may be given anything. Disks are judged batch by batch: both copies are held until
    a move ends, and a batch begins when the one before is over.
    """
    finished = {m.name for m in done}
    left = [m for m in plan.moves if m.name not in finished]
    return (
        *_once(plan),
        *(v for move in left for v in _move(move, snapshot, frozenset(receivers))),
        *(v for move in left for v in _sets(move, sets)),
        *_ports(plan, left, snapshot),
        *_disks(plan, snapshot, finished, disk_limit_fraction),
    )


def _once(plan: DrainPlan) -> Iterator[RebalanceViolation]:
    for partition, times in Counter(m.name for m in plan.moves).items():
        if times > 1:
            yield RebalanceViolation(str(partition), f"moved {times} times in one plan")
    ends = (0, *plan.checkpoints)
    if ends[-1] != len(plan.moves) or any(a >= b for a, b in itertools.pairwise(ends)):
        yield RebalanceViolation("plan", f"its checkpoints do not divide its {len(plan.moves)} moves")


def _move(move: Move, snapshot: KafkaSnapshot, receivers: frozenset[int]) -> Iterator[RebalanceViolation]:
    subject, now = str(move.name), snapshot.by_name.get(move.name)
    if now is None:
        yield RebalanceViolation(subject, "no such partition in the newest metadata")
        return
    if now.is_moving:
        yield RebalanceViolation(subject, f"is being reassigned to {list(now.target)}")
    elif now.replicas not in (move.before, move.sourced):
        yield RebalanceViolation(subject, f"replicas are {list(now.replicas)}, planned from {list(move.before)}")
    if len(move.after) != len(move.before):
        yield RebalanceViolation(subject, f"{len(move.before)} replicas before, {len(move.after)} after")
    if len(set(move.after)) != len(move.after):
        yield RebalanceViolation(subject, f"a broker twice in {list(move.after)}")
    if move.before == move.after:
        yield RebalanceViolation(subject, "moves nothing")
    for broker in move.added:
        if broker not in receivers:
            yield RebalanceViolation(
                subject, f"broker {broker} may receive nothing: it leaves, is to be empty, or is gone"
            )
        elif broker not in snapshot.live_brokers():
            yield RebalanceViolation(subject, f"broker {broker} is fenced or not registered")
    if move.added and not set(now.isr) & set(move.before):
        yield RebalanceViolation(subject, f"no replica is in sync to be read (ISR {list(now.isr)})")
    spanned, spans = _racks(snapshot, move.before), _racks(snapshot, move.after)
    if len(spans) < len(spanned):
        yield RebalanceViolation(subject, f"spans racks {sorted(spanned)} now, only {sorted(spans)} after")


def _sets(move: Move, sets: BrokerSets) -> Iterator[RebalanceViolation]:
    """No copy leaves the set of its topic."""
    for broker in sets.outside(move.topic, move.added):
        yield RebalanceViolation(
            str(move.name), f"broker {broker} is not of {set_words(sets.of_topic(move.topic))}, where its topic stays"
        )


def _racks(snapshot: KafkaSnapshot, ids: Sequence[int]) -> set[str]:
    return {snapshot.brokers[b].rack for b in ids if b in snapshot.brokers}


def _ports(plan: DrainPlan, left: Sequence[Move], snapshot: KafkaSnapshot) -> Iterator[RebalanceViolation]:
    """Whoever may serve or receives has a throttle above 0."""
    isr = {p.name: p.isr for p in snapshot.partitions}
    copies = [m for m in left if m.added]
    needed: Mapping[str, set[int]] = {
        "in": {b for m in copies for b in m.added},
        "out": {b for m in copies for b in isr.get(m.name, ()) if b in m.before},
    }
    for side, ports in (("in", plan.into), ("out", plan.out)):
        for broker in sorted(needed[side] - set(ports)):
            yield RebalanceViolation(f"broker {broker}", f"has no throttle {side}")
        for broker, port in sorted(ports.items()):
            if port.quota_bytes_per_s <= 0 or port.promised_bytes_per_s <= 0:
                yield RebalanceViolation(f"broker {broker}", f"throttle {side} of {port.quota_bytes_per_s} bytes/s")
            if port.slots is not None and port.slots < 1:
                yield RebalanceViolation(f"broker {broker}", f"has {port.slots} slots {side}: nothing would ever start")


def _disks(
    plan: DrainPlan, snapshot: KafkaSnapshot, finished: Collection[object], limit_fraction: float
) -> Iterator[RebalanceViolation]:
    size = {p.name: p.size_bytes for p in snapshot.partitions}
    used: Counter[int] = Counter()
    for broker, disk in snapshot.log_dirs.items():
        used[broker] = disk.total_bytes - disk.usable_bytes
    for seen in snapshot.partitions:
        for broker in seen.adding:
            used[broker] += seen.size_bytes
    told: set[int] = set()
    for number in range(len(plan.checkpoints)):
        batch = [m for m in plan.stretch(number) if m.name not in finished]
        for move in batch:
            for broker in move.added:
                used[broker] += size.get(move.name, move.bytes)
        for broker in sorted({b for m in batch for b in m.added} - told):
            known = snapshot.log_dirs.get(broker)
            if known is None or known.total_bytes <= 0:
                told.add(broker)
                yield RebalanceViolation(f"broker {broker}", "its disk is unknown")
            elif used[broker] > (limit := int(known.total_bytes * limit_fraction)):
                told.add(broker)
                yield RebalanceViolation(f"broker {broker}", f"would hold {used[broker]} bytes of {limit} allowed")
        for move in batch:
            for broker in move.removed:
                used[broker] -= size.get(move.name, move.bytes)
