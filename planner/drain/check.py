"""The independent judge: a plan is believed only after this has read it against what Kafka says now.

Works on the snapshot and on plain dictionaries, shares no code with the planner, the replay or the certificate.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from events.spec.broker_sets import set_words
from planner.drain.plan import DrainPlan, Move, Port
from planner.drain.request import MAX_MOVES_PER_CALL, DrainRequest
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition

ViolationKind = Literal[
    "identity",
    "stale",
    "shape",
    "stays",
    "target",
    "rack",
    "disk",
    "log-dir",
    "source",
    "slots",
    "checkpoint",
    "throttle",
    "coverage",
    "certificate",
]


@dataclass(frozen=True, slots=True)
class DrainViolation:
    """One broken rule. `subject` is a partition, a broker or the plan. A plan with any violation is not
    executed.
    """

    kind: ViolationKind
    subject: str
    message: str


def check(plan: DrainPlan, snapshot: KafkaSnapshot, request: DrainRequest) -> tuple[DrainViolation, ...]:
    """Everything wrong with the plan. `request` is the one it answers, `snapshot` the newest metadata.

    Sizes in the certificate are judged by the request; replicas, brokers, racks and disks by the snapshot.
    """
    return tuple(
        violation
        for rule in (_identity, _each_move, _disks, _log_dirs, _checkpoints, _ports, _coverage, _certificate)
        for violation in rule(plan, snapshot, request)
    )


def _identity(plan: DrainPlan, snapshot: KafkaSnapshot, request: DrainRequest) -> Iterator[DrainViolation]:
    for name in ("cluster_uid", "drain_id", "round"):
        got, asked = getattr(plan, name), getattr(request, name)
        if got != asked:
            yield DrainViolation("identity", "plan", f"{name} is {got!r}, asked for {asked!r}")
    for partition, times in Counter(m.name for m in plan.moves).items():
        if times > 1:
            yield DrainViolation("shape", str(partition), f"moved {times} times in one plan")


def _each_move(plan: DrainPlan, snapshot: KafkaSnapshot, request: DrainRequest) -> Iterator[DrainViolation]:
    seen = snapshot.by_name
    live = snapshot.live_brokers()
    staying = {b for b in snapshot.brokers if b not in request.outgoing}
    left = len(_racks(snapshot, tuple(staying)))
    racks = {broker: seen.rack for broker, seen in snapshot.brokers.items()}
    for move in plan.moves:
        yield from _stale(move, seen.get(move.name))
        yield from _shape(move)
        yield from _targets(move, live, racks, request)
        yield from _source(move, seen.get(move.name), live)
        if len(request.sets.outside(move.topic, move.after)) > len(request.sets.outside(move.topic, move.before)):
            own = set_words(request.sets.of_topic(move.topic))
            yield DrainViolation("target", str(move.name), f"goes to {list(move.added)}: its topic stays within {own}")
        before, after = (_racks(snapshot, ids) for ids in (move.before, move.after))
        if len(after) < min(len(before), left):
            yield DrainViolation(
                "rack", str(move.name), f"spans racks {sorted(before)} now, only {sorted(after)} after"
            )


def _stale(move: Move, now: PartitionSeen | None) -> Iterator[DrainViolation]:
    if now is None:
        yield DrainViolation("stale", str(move.name), "no such partition in the newest metadata")
    elif now.is_moving:
        yield DrainViolation("stale", str(move.name), f"is being reassigned to {list(now.target)}")
    elif now.replicas != move.before:
        yield DrainViolation(
            "stale", str(move.name), f"replicas are {list(now.replicas)}, planned from {list(move.before)}"
        )


def _shape(move: Move) -> Iterator[DrainViolation]:
    if len(move.after) != len(move.before):
        yield DrainViolation("shape", str(move.name), f"{len(move.before)} replicas before, {len(move.after)} after")
    if len(set(move.after)) != len(move.after):
        yield DrainViolation("shape", str(move.name), f"a broker twice in {list(move.after)}")
    if move.before == move.after:
        yield DrainViolation("shape", str(move.name), "moves nothing")


def _targets(
    move: Move, live: frozenset[int], racks: Mapping[int, str], request: DrainRequest
) -> Iterator[DrainViolation]:
    """Only replicas on outgoing brokers leave, to allowed targets; order is the plan's to choose."""
    subject = str(move.name)
    for old in move.before:
        if old not in request.outgoing and old not in move.after:
            yield DrainViolation("stays", subject, f"broker {old} is not outgoing but loses its replica")
    for new in move.after:
        if new in request.outgoing:
            yield DrainViolation("target", subject, f"broker {new} is outgoing and may not hold a replica after")
    for new in move.added:
        if new not in request.targets:
            yield DrainViolation("target", subject, f"broker {new} is not among the targets")
        elif new not in live:
            yield DrainViolation("target", subject, f"broker {new} is fenced or not registered")
    successors = {old: request.successors[old] for old in move.before if old in request.successors}
    if any(successor in move.before for successor in successors.values()):
        return
    for old, successor in successors.items():
        if successor not in move.after and not _crowds(move, old, successor, racks, request):
            yield DrainViolation("target", subject, f"broker {old} is succeeded by {successor}, which gets no replica")


def _crowds(move: Move, old: int, successor: int, racks: Mapping[int, str], request: DrainRequest) -> bool:
    """Whether the successor is in another rack than its predecessor, which leaves one without a replica for one with
    two."""
    stay = {racks.get(b) for b in move.before if b not in request.outgoing}
    return racks.get(successor) in stay and racks.get(old) not in stay


def _source(move: Move, now: PartitionSeen | None, live: frozenset[int]) -> Iterator[DrainViolation]:
    """Only a live replica in sync can be read, and it may be a leaving one."""
    if move.source is None or now is None:
        return
    if move.source not in now.isr or move.source not in live:
        yield DrainViolation("source", str(move.name), f"is read from broker {move.source}, ISR {list(now.isr)}")


def _racks(snapshot: KafkaSnapshot, ids: tuple[int, ...]) -> set[str]:
    return {snapshot.brokers[b].rack if b in snapshot.brokers else "" for b in ids}


def _disks(plan: DrainPlan, snapshot: KafkaSnapshot, request: DrainRequest) -> Iterator[DrainViolation]:
    """Both copies are held until a move ends and targets only fill, so the last instant is the worst."""
    size = {p.name: p.size_bytes for p in snapshot.partitions}
    arriving: Counter[int] = Counter()
    for seen in snapshot.partitions:
        for broker in seen.adding:
            arriving[broker] += seen.size_bytes
    planned: Counter[int] = Counter()
    for move in plan.moves:
        for broker in move.added:
            planned[broker] += size.get(move.name, move.bytes)
    for broker, added in sorted(planned.items()):
        disk = snapshot.log_dirs.get(broker)
        if disk is None or disk.total_bytes <= 0:
            yield DrainViolation("disk", f"broker {broker}", "its disk is unknown")
            continue
        worst = disk.total_bytes - disk.usable_bytes + arriving[broker] + added
        limit = int(disk.total_bytes * request.disk_limit_fraction)
        if added and worst > limit:
            yield DrainViolation("disk", f"broker {broker}", f"would hold {worst} bytes of {limit} allowed")


def _log_dirs(plan: DrainPlan, snapshot: KafkaSnapshot, request: DrainRequest) -> Iterator[DrainViolation]:
    """As `_disks`, directory by directory. What others are copying to a broker may go to any of its directories."""
    size = {p.name: p.size_bytes for p in snapshot.partitions}
    dirs = {(b, d.path): d for b, seen in snapshot.log_dirs.items() for d in seen.dirs}
    planned: Counter[tuple[int, str]] = Counter()
    for move in plan.moves:
        if move.log_dirs and len(move.log_dirs) != len(move.added):
            yield DrainViolation(
                "log-dir", str(move.name), f"{len(move.log_dirs)} log dirs for {len(move.added)} copies"
            )
            continue
        for broker, path in zip(move.added, move.log_dirs, strict=False):
            if path and (broker, path) not in dirs:
                yield DrainViolation("log-dir", str(move.name), f"broker {broker} has no log dir {path}")
            elif path:
                planned[broker, path] += size.get(move.name, move.bytes)
    arriving = _arriving_in_dirs(snapshot)
    for (broker, path), added in sorted(planned.items()):
        disk = dirs[broker, path]
        worst = disk.total_bytes - disk.usable_bytes + arriving[broker, path] + added
        limit = int(disk.total_bytes * request.disk_limit_fraction)
        if added and worst > limit:
            yield DrainViolation(
                "disk", f"broker {broker} log dir {path}", f"would hold {worst} bytes of {limit} allowed"
            )


def _arriving_in_dirs(snapshot: KafkaSnapshot) -> Counter[tuple[int, str]]:
    arriving: Counter[tuple[int, str]] = Counter()
    for seen in snapshot.partitions:
        for broker in seen.adding:
            log_dirs = snapshot.log_dirs[broker].dirs if broker in snapshot.log_dirs else ()
            holding = [d.path for d in log_dirs if seen.name in d.replicas] or [d.path for d in log_dirs]
            for path in holding:
                arriving[broker, path] += seen.size_bytes
    return arriving


def _checkpoints(plan: DrainPlan, snapshot: KafkaSnapshot, request: DrainRequest) -> Iterator[DrainViolation]:
    """Ascending numbers of moves, the last closes the list, at most one request's worth between two."""
    ends = (0, *plan.checkpoints)
    if ends[-1] != len(plan.moves):
        yield DrainViolation("checkpoint", "plan", f"its checkpoints end at {ends[-1]}, it has {len(plan.moves)} moves")
    for before, end in itertools.pairwise(ends):
        if not 0 < end - before <= MAX_MOVES_PER_CALL:
            yield DrainViolation("checkpoint", f"checkpoint {end}", f"stands {end - before} moves after the one before")


def _ports(plan: DrainPlan, snapshot: KafkaSnapshot, request: DrainRequest) -> Iterator[DrainViolation]:
    """Every broker that serves or receives has slots and rates that leave copies something."""
    isr = {p.name: p.isr for p in snapshot.partitions}
    copies = [m for m in plan.moves if m.added]
    serve = {b for m in copies for b in isr.get(m.name, ())}
    receive = {b for m in copies for b in m.added}
    for side, needed, ports in (("out", serve, plan.out), ("in", receive, plan.into)):
        for broker in sorted(needed - set(ports)):
            yield DrainViolation("throttle", f"broker {broker}", f"has no throttle {side}")
        for broker, port in sorted(ports.items()):
            yield from _port(f"broker {broker}", side, port, request)


def _port(subject: str, side: str, port: Port, request: DrainRequest) -> Iterator[DrainViolation]:
    cap, rate = request.throttle_cap_bytes_per_s, port.quota_bytes_per_s
    if port.slots is not None and port.slots < 1:
        yield DrainViolation("slots", subject, f"has {port.slots} slots {side}: nothing would ever start")
    if rate <= 0 or (cap is not None and rate > cap):
        yield DrainViolation("throttle", subject, f"throttle {side} of {rate} bytes/s, cap {cap}")
    if rate < port.floor_bytes_per_s:
        yield DrainViolation("throttle", subject, f"throttle {side} of {rate} bytes/s may leave copies nothing")
    if not 0 < port.promised_bytes_per_s <= rate:
        yield DrainViolation(
            "throttle", subject, f"promises {port.promised_bytes_per_s} of a throttle of {rate} bytes/s"
        )


def _coverage(plan: DrainPlan, snapshot: KafkaSnapshot, request: DrainRequest) -> Iterator[DrainViolation]:
    """Every partition the request shows on an outgoing broker is moved or deferred, not both; of the others only the
    order may change.
    """
    hosted = {request.cluster.name(r) for r in request.cluster.rows_hosted_by(request.outgoing).tolist()}
    moved = {m.name for m in plan.moves}
    copied = {m.name for m in plan.moves if m.added or m.removed}
    waiting = {d.name for d in plan.deferred}
    for name in sorted(hosted - moved - waiting):
        yield DrainViolation("coverage", str(name), "sits on an outgoing broker and is neither moved nor deferred")
    for name in sorted((moved & waiting) | ((copied | waiting) - hosted)):
        yield DrainViolation("coverage", str(name), "is not the plan's to move, or both moved and deferred")


def _certificate(plan: DrainPlan, snapshot: KafkaSnapshot, request: DrainRequest) -> Iterator[DrainViolation]:
    size = dict(zip(_names(request), request.cluster.size_bytes.tolist(), strict=True))
    for move in plan.moves:
        copied = size.get(move.name, -1) * len(move.added)
        if copied != move.bytes and move.added:
            yield DrainViolation("certificate", str(move.name), f"says {move.bytes} bytes to copy, it is {copied}")
        elif move.bytes and not move.added:
            yield DrainViolation("certificate", str(move.name), f"says {move.bytes} bytes to copy and copies nothing")
    said = plan.certificate
    facts = {
        "bytes": (said.measures.bytes.value, sum(m.bytes for m in plan.moves)),
        "replicas": (said.replicas, sum(len(m.added) for m in plan.moves)),
        "bandwidth_source": (said.bandwidth_source, request.bandwidth.source),
    }
    for name, (claimed, fact) in facts.items():
        if claimed != fact:
            yield DrainViolation("certificate", name, f"says {claimed}, it is {fact}")
    least_s = max(_least_seconds(plan), default=0.0)
    if said.measures.makespan_s.value < least_s * (1 - 1e-6) - 1e-3:
        yield DrainViolation(
            "certificate", "makespan_s", f"says {said.measures.makespan_s.value} s, it needs {least_s:.3f}"
        )
    fullest = max((*_disk_fractions(plan, request), *_log_dir_fractions(plan, request)), default=0.0)
    if plan.moves and abs(said.measures.disk.value - fullest) > 1e-4:
        yield DrainViolation("certificate", "disk", f"says {said.measures.disk.value}, it is {fullest:.6f}")


def _least_seconds(plan: DrainPlan) -> Iterator[float]:
    """How long each target needs at its promised rate."""
    arriving: Counter[int] = Counter()
    for move in plan.moves:
        for broker in move.added:
            arriving[broker] += move.bytes // len(move.added)
    for broker, size in arriving.items():
        if broker in plan.into:
            yield size / plan.into[broker].promised_bytes_per_s


def _disk_fractions(plan: DrainPlan, request: DrainRequest) -> Iterator[float]:
    """How full each staying broker ends. What the plan may not touch (other files, logs of partitions that move or
    lag, bytes on their way) is taken off its disk, as the certificate counts it.
    """
    brokers, limit = request.cluster.brokers, request.disk_limit_fraction
    waiting, moves = {d.name for d in plan.deferred}, {m.name: m for m in plan.moves}
    held: Counter[int] = Counter()
    arriving: Counter[int] = Counter()
    for row, name in enumerate(_names(request)):
        size, replicas = int(request.cluster.size_bytes[row]), request.cluster.replicas_of(row)
        if name in waiting or not (name in moves or _rests(request, row, replicas)):
            continue
        for broker in replicas:
            held[broker] += size
        for broker in moves[name].added if name in moves else ():
            arriving[broker] += size
    figures = zip(brokers.id.tolist(), brokers.total_bytes.tolist(), brokers.free_bytes.tolist(), strict=True)
    for broker, total, free in figures:
        if total > 0 and broker not in request.outgoing:
            room = math.floor(total * limit) - (total - free)
            yield (held[broker] + arriving[broker]) / max(1, math.floor((held[broker] + room + 1) / limit))


def _log_dir_fractions(plan: DrainPlan, request: DrainRequest) -> Iterator[float]:
    """How full each directory of a staying broker with several ends."""
    sizes = dict(zip(_names(request), request.cluster.size_bytes.tolist(), strict=True))
    arriving: Counter[tuple[int, str]] = Counter()
    for move in plan.moves:
        for broker, path in zip(move.added, move.log_dirs, strict=False):
            arriving[broker, path] += sizes.get(move.name, 0)
    table, ids = request.cluster.brokers.log_dirs, request.cluster.brokers.id.tolist()
    owners = [ids[row] for row in table.broker.tolist()]
    count = Counter(owners)
    figures = zip(owners, table.path, table.total_bytes.tolist(), table.free_bytes.tolist(), strict=True)
    for broker, path, total, free in figures:
        if count[broker] > 1 and broker not in request.outgoing:
            yield (total - free + arriving[broker, path]) / total


def _rests(request: DrainRequest, row: int, replicas: tuple[int, ...]) -> bool:
    """Nobody moves it, it has a leader and every replica is in sync."""
    model = request.cluster
    in_sync = set(replicas) <= set(model.isr[row].tolist())
    return not model.moving[row] and model.leader[row] >= 0 and in_sync


def _names(request: DrainRequest) -> list[TopicPartition]:
    return [request.cluster.name(row) for row in range(len(request.cluster))]
