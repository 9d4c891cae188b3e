"""The independent judge: a plan is believed only after this has read it against what Kafka says now.

Works on the snapshot and on plain dictionaries, shares no code with the kernel, the schedule or the
certificate.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from planner.drain.plan import DrainPlan, Move
from planner.drain.request import DrainRequest
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition

ViolationKind = Literal[
    "identity",
    "stale",
    "shape",
    "stays",
    "target",
    "rack",
    "disk",
    "batch",
    "throttle",
    "coverage",
    "certificate",
]


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule. `subject` is a partition, a broker or the plan. A plan with any violation is not
    executed.
    """

    kind: ViolationKind
    subject: str
    message: str


def check(plan: DrainPlan, snapshot: KafkaSnapshot, request: DrainRequest) -> tuple[Violation, ...]:
    """Everything wrong with the plan. `request` is the one it answers, `snapshot` the newest metadata.

    Sizes in the certificate are judged by the request; replicas, brokers, racks and disks by the snapshot.
    """
    return tuple(
        violation
        for rule in (_identity, _each_move, _disks, _batches, _throttles, _coverage, _certificate)
        for violation in rule(plan, snapshot, request)
    )


def _identity(plan: DrainPlan, snapshot: KafkaSnapshot, request: DrainRequest) -> Iterator[Violation]:
    for name in ("cluster_uid", "drain_id", "round"):
        got, asked = getattr(plan, name), getattr(request, name)
        if got != asked:
            yield Violation("identity", "plan", f"{name} is {got!r}, asked for {asked!r}")
    for partition, times in Counter(m.name for m in plan.moves).items():
        if times > 1:
            yield Violation("shape", str(partition), f"moved {times} times in one plan")


def _each_move(plan: DrainPlan, snapshot: KafkaSnapshot, request: DrainRequest) -> Iterator[Violation]:
    seen = {p.name: p for p in snapshot.partitions}
    live = snapshot.live_brokers()
    for move in plan.moves:
        yield from _stale(move, seen.get(move.name))
        yield from _shape(move)
        yield from _targets(move, live, request)
        before, after = (_racks(snapshot, ids) for ids in (move.before, move.after))
        if len(after) < len(before):
            yield Violation("rack", str(move.name), f"spans racks {sorted(before)} now, only {sorted(after)} after")


def _stale(move: Move, now: PartitionSeen | None) -> Iterator[Violation]:
    if now is None:
        yield Violation("stale", str(move.name), "no such partition in the newest metadata")
    elif now.is_moving:
        yield Violation("stale", str(move.name), f"is being reassigned to {list(now.target)}")
    elif now.replicas != move.before:
        yield Violation("stale", str(move.name), f"replicas are {list(now.replicas)}, planned from {list(move.before)}")


def _shape(move: Move) -> Iterator[Violation]:
    if len(move.after) != len(move.before):
        yield Violation("shape", str(move.name), f"{len(move.before)} replicas before, {len(move.after)} after")
    if len(set(move.after)) != len(move.after):
        yield Violation("shape", str(move.name), f"a broker twice in {list(move.after)}")
    if move.before == move.after:
        yield Violation("shape", str(move.name), "moves nothing")


def _targets(move: Move, live: frozenset[int], request: DrainRequest) -> Iterator[Violation]:
    for old, new in zip(move.before, move.after, strict=False):
        if old not in request.outgoing:
            if new != old:
                yield Violation("stays", str(move.name), f"broker {old} is not outgoing but gives way to {new}")
            continue
        heir = request.successors.get(old)
        if new in request.outgoing:
            yield Violation("target", str(move.name), f"broker {new} is outgoing and may not hold a replica after")
        elif new not in request.targets:
            yield Violation("target", str(move.name), f"broker {new} is not among the targets")
        elif new not in live:
            yield Violation("target", str(move.name), f"broker {new} is fenced or not registered")
        elif heir is not None and heir not in move.before and new != heir:
            yield Violation("target", str(move.name), f"broker {old} is succeeded by {heir}, not by {new}")


def _racks(snapshot: KafkaSnapshot, ids: tuple[int, ...]) -> set[str]:
    return {snapshot.brokers[b].rack if b in snapshot.brokers else "" for b in ids}


def _disks(plan: DrainPlan, snapshot: KafkaSnapshot, request: DrainRequest) -> Iterator[Violation]:
    """Both copies are held until a move ends and targets only fill, so the last instant is the worst."""
    size = {p.name: p.size_bytes for p in snapshot.partitions}
    arriving: Counter[int] = Counter()
    for seen in snapshot.partitions:
        for broker in seen.adding:
            arriving[broker] += seen.size_bytes
    planned = {b for move in plan.moves for b in move.added}
    for move in plan.moves:
        for broker in move.added:
            arriving[broker] += size.get(move.name, move.bytes)
    for broker in sorted(planned):
        disk = snapshot.log_dirs.get(broker)
        if disk is None or disk.total_bytes <= 0:
            yield Violation("disk", f"broker {broker}", "its disk is unknown")
            continue
        worst = disk.total_bytes - disk.usable_bytes + arriving[broker]
        limit = int(disk.total_bytes * request.disk_limit_fraction)
        if worst > limit:
            yield Violation("disk", f"broker {broker}", f"would hold {worst} bytes of {limit} allowed")


def _batches(plan: DrainPlan, snapshot: KafkaSnapshot, request: DrainRequest) -> Iterator[Violation]:
    times = Counter(i for batch in plan.batches for i in batch.moves)
    if times != Counter(range(len(plan.moves))):
        wrong = sorted(i for i in {*times, *range(len(plan.moves))} if times[i] != 1 or i not in range(len(plan.moves)))
        yield Violation("batch", "plan", f"moves {wrong[:5]} are not in exactly one batch")
        return
    leaders = dict(zip(_names(request), request.cluster.leader.tolist(), strict=True))
    for number, batch in enumerate(plan.batches):
        moves = [plan.moves[i] for i in batch.moves]
        total = sum(m.bytes for m in moves)
        if not moves or len(moves) > request.limits.max_moves:
            yield Violation("batch", f"batch {number}", f"{len(moves)} moves, 1 to {request.limits.max_moves} allowed")
        if total != batch.bytes:
            yield Violation("batch", f"batch {number}", f"says {batch.bytes} bytes, its moves copy {total}")
        yield from _in_flight(f"batch {number}", moves, leaders, request)


def _in_flight(
    subject: str, moves: list[Move], leaders: dict[TopicPartition, int], request: DrainRequest
) -> Iterator[Violation]:
    """No broker gives or takes more than its share of one batch; a single move may be as large as it is."""
    flows: dict[tuple[str, int], list[int]] = defaultdict(list)
    for move in moves:
        flows["gives", leaders.get(move.name, -1)].append(move.bytes)
        for broker in move.added:
            flows["takes", broker].append(move.bytes // len(move.added))
    limits = request.limits
    for (side, broker), sizes in sorted(flows.items()):
        crowded = len(sizes) > limits.max_moves_per_broker or sum(sizes) > limits.max_bytes_per_broker
        if len(sizes) > 1 and crowded:
            yield Violation("batch", subject, f"broker {broker} {side} {len(sizes)} copies, {sum(sizes)} bytes at once")


def _throttles(plan: DrainPlan, snapshot: KafkaSnapshot, request: DrainRequest) -> Iterator[Violation]:
    leaders = dict(zip(_names(request), request.cluster.leader.tolist(), strict=True))
    serve = {leaders[m.name] for m in plan.moves if m.name in leaders}
    receive = {b for m in plan.moves for b in m.added}
    for side, needed, rates in (
        ("leader", serve, plan.leader_throttle),
        ("follower", receive, plan.follower_throttle),
    ):
        for broker in sorted(needed - set(rates)):
            yield Violation("throttle", f"broker {broker}", f"has no {side} throttle")
        for broker, rate in sorted(rates.items()):
            cap = request.throttle_cap_bytes_per_s
            if rate <= 0 or (cap is not None and rate > cap):
                yield Violation("throttle", f"broker {broker}", f"{side} throttle of {rate} bytes/s, cap {cap}")


def _coverage(plan: DrainPlan, snapshot: KafkaSnapshot, request: DrainRequest) -> Iterator[Violation]:
    """Every partition the request shows on an outgoing broker is moved or deferred: not both, no other."""
    hosted = {request.cluster.name(r) for r in request.cluster.rows_hosted_by(request.outgoing).tolist()}
    moved = {m.name for m in plan.moves}
    waiting = {d.name for d in plan.deferred}
    for name in sorted(hosted - moved - waiting):
        yield Violation("coverage", str(name), "sits on an outgoing broker and is neither moved nor deferred")
    for name in sorted((moved & waiting) | ((moved | waiting) - hosted)):
        yield Violation("coverage", str(name), "is not the plan's to move, or both moved and deferred")


def _certificate(plan: DrainPlan, snapshot: KafkaSnapshot, request: DrainRequest) -> Iterator[Violation]:
    size = dict(zip(_names(request), request.cluster.size_bytes.tolist(), strict=True))
    for move in plan.moves:
        copied = size.get(move.name, -1) * len(move.added)
        if copied != move.bytes:
            yield Violation("certificate", str(move.name), f"says {move.bytes} bytes to copy, it is {copied}")
    said = plan.certificate
    facts = {
        "moves": len(plan.moves),
        "replicas": sum(len(m.added) for m in plan.moves),
        "bytes": sum(m.bytes for m in plan.moves),
        "rack_violations": 0,
        "stayers_moved": 0,
        "bandwidth_source": request.bandwidth.source,
    }
    for name, fact in facts.items():
        if getattr(said, name) != fact:
            yield Violation("certificate", name, f"says {getattr(said, name)}, it is {fact}")
    if abs(said.eta_s - sum(b.eta_s for b in plan.batches)) > 0.01 or any(b.eta_s <= 0 for b in plan.batches):
        yield Violation("certificate", "eta_s", f"says {said.eta_s} s, its batches do not add up to that")
    fullest = max(_disk_fractions(plan, request), default=0.0)
    if abs(said.disk_max_fraction - fullest) > 1e-5:
        yield Violation("certificate", "disk_max_fraction", f"says {said.disk_max_fraction}, it is {fullest:.6f}")


def _disk_fractions(plan: DrainPlan, request: DrainRequest) -> Iterator[float]:
    """How full each target ends, by the disks the request knew."""
    brokers = request.cluster.brokers
    size = dict(zip(_names(request), request.cluster.size_bytes.tolist(), strict=True))
    arriving: Counter[int] = Counter()
    for move in plan.moves:
        for broker in move.added:
            arriving[broker] += size.get(move.name, 0)
    for broker, total, free in zip(
        brokers.id.tolist(), brokers.total_bytes.tolist(), brokers.free_bytes.tolist(), strict=True
    ):
        if total > 0 and broker in request.targets:
            yield (total - free + arriving[broker]) / total


def _names(request: DrainRequest) -> list[TopicPartition]:
    return [request.cluster.name(row) for row in range(len(request.cluster))]
