"""The throttles that are due while a drain copies: the plan's, corrected by what the brokers' own traffic is now.

Pure, and restart-safe: what is in force is read off Kafka, never remembered. A server that knows no rates yet leaves
the throttles it finds.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from controlplane.cluster.bandwidth import nic_bytes_per_s
from controlplane.cluster.hardware import volumes_of
from controlplane.cluster.latency_brake import share_of
from controlplane.cluster.observed.traffic import Traffic
from controlplane.cluster.throttle_cap import cap_mib_per_s
from controlplane.cluster.tls_limits import tls_limits
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.moves.latency_brake import words_of
from controlplane.converger.questions.rolls.batch import source_of
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.throttle import ThrottlePlan, throttle_for
from events.quantities import MIB
from planner.drain.correction import Due, PortTraffic, due, left_by_volumes
from planner.drain.plan import DrainPlan, Move, Port
from planner.observed import KafkaSnapshot, PartitionSeen
from planner.quantities import human_bytes

FRESH = timedelta(seconds=30)
"""Rates older than this correct nothing."""

Rates = defaultdict[int, float]

_NAMED = 2
"""Corrections told in a sentence; of the others only how many."""


@dataclass(frozen=True, slots=True)
class Pace:
    """`said`: which rates are corrected and why, with numbers; "" when none is."""

    throttle: ThrottlePlan
    said: str = ""


@dataclass(frozen=True, slots=True)
class _Copy:
    """An open entry: who is read, who receives."""

    partition: PartitionSeen
    source: int
    targets: tuple[int, ...]


@dataclass(slots=True)
class _Load:
    """One direction. By broker, bytes/s: in-sync traffic of throttled partitions, and all that is not copies."""

    charge: Rates
    unknown: defaultdict[int, int]
    own: Rates
    growth: Rates
    """What is written meanwhile to what is copied."""
    blind: bool
    """Nothing is known of any partition."""


def paced(
    situation: Situation,
    plan: DrainPlan,
    kafka: KafkaSnapshot,
    running: Sequence[Move],
    starting: Sequence[Move],
    *,
    batch: str = "",
) -> Pace:
    """The throttles for these moves, on exactly them: a listed partition in sync is charged to the same quota. `batch`
    is whose moves they are, "" for the drain in hand.

    While moves of the plan run only brokers that serve or receive one of these are corrected; others keep what they
    have.
    """
    live = kafka.live_brokers()
    copies = _copies(kafka, running, starting)
    traffic = situation.seen.traffic.not_older(FRESH, situation.now)
    out, into = _loads(kafka, copies, traffic)
    set_out = kafka.throttles.leader_rate if running else {}
    set_in = kafka.throttles.follower_rate if running else {}
    left_in, left_out = _left_by_volumes(situation.view, plan, into)
    tls = tls_limits(situation.view)
    judge_in, judge_out = _judge(situation.view, left_in, tls.into), _judge(situation.view, left_out, tls.out)
    given = {b: p for b, p in plan.out.items() if b in live}
    taken = {b: p for b, p in plan.into.items() if b in live}
    raised_out, raised_in = _raised(situation.view, batch)
    due_out = {b: _at_least(judge_out(b, p, out, set_out), raised_out.get(b, 0)) for b, p in given.items()}
    due_in = {b: _at_least(judge_in(b, p, into, set_in), raised_in.get(b, 0)) for b, p in taken.items()}
    braked = words_of(situation)
    lines = [*([braked] if braked else []), *_rate_lines("out of", due_out), *_rate_lines("into", due_in)]
    throttle = ThrottlePlan(
        leader_bytes_per_s={b: d.quota_bytes_per_s for b, d in due_out.items()},
        follower_bytes_per_s={b: d.quota_bytes_per_s for b, d in due_in.items()},
        topics=throttle_for(((m.name, m.before, m.after) for m in (*running, *starting)), bytes_per_s=0).topics,
    )
    return Pace(throttle, _sentence(lines))


def _left_by_volumes(
    view: ClusterView, plan: DrainPlan, into: _Load
) -> tuple[Mapping[int, float], Mapping[int, float]]:
    """(into, out): by broker, what its volumes leave copies beside what is written to it; of others nobody knows."""
    left_in, left_out = {}, {}
    for broker, known in volumes_of(view).items():
        promised = [p[broker].promised_bytes_per_s if broker in p else 0 for p in (plan.into, plan.out)]
        left_in[broker], left_out[broker] = left_by_volumes(known.bytes_per_s, into.own.get(broker, 0.0), *promised)
    return left_in, left_out


def _judge(
    view: ClusterView, left: Mapping[int, float], encrypted: Mapping[int, float]
) -> Callable[[int, Port, _Load, Mapping[int, int]], Due]:
    bandwidth, cap, share = bandwidths(view), _cap(view), share_of(view)

    def judged(broker: int, port: Port, load: _Load, in_force: Mapping[int, int]) -> Due:
        if broker in in_force and broker not in load.charge:
            return Due(in_force[broker], in_force[broker])
        seen = PortTraffic(
            set_bytes_per_s=in_force.get(broker),
            charge_bytes_per_s=load.charge.get(broker, 0.0),
            own_bytes_per_s=load.own.get(broker, 0.0),
            unknown=load.unknown.get(broker, 0) or int(load.blind),
            bandwidth_bytes_per_s=_least(bandwidth.get(broker), encrypted.get(broker)),
            volumes_bytes_per_s=left.get(broker),
            share=share,
            growth_bytes_per_s=load.growth.get(broker, 0.0),
        )
        return due(port, seen, cap_bytes_per_s=cap)

    return judged


def _least(*known: float | None) -> float | None:
    """Of network and TLS, None where neither is known."""
    return min((rate for rate in known if rate is not None), default=None)


def _copies(kafka: KafkaSnapshot, running: Sequence[Move], starting: Sequence[Move]) -> list[_Copy]:
    seen, live = kafka.by_name, kafka.live_brokers()
    open_now = [(seen[m.name], seen[m.name].leader, m) for m in running]
    soon = [(seen[m.name], source_of(m, seen[m.name], live), m) for m in starting]
    return [_Copy(now, source, m.added) for now, source, m in (*open_now, *soon) if m.added]


def _loads(kafka: KafkaSnapshot, copies: Sequence[_Copy], traffic: Traffic) -> tuple[_Load, _Load]:
    """(out, into). `charge` has every broker that takes part, if only with 0."""
    blind = traffic.at is None
    out, into = (_load(own, blind=blind) for own in _own(kafka, traffic))
    for copy in copies:
        written = traffic.write_bytes_per_s.get(copy.partition.name)
        followers = max(0, len(copy.partition.isr) - 1)
        out.charge[copy.source] += (written or 0) * followers
        out.unknown[copy.source] += blind or (written is None and followers > 0)
        out.growth[copy.source] += (written or 0) * len(set(copy.targets) - set(copy.partition.isr))
        for target in copy.targets:
            # A new replica is charged once it has caught up; until then it is the copy itself.
            arrived = target in copy.partition.isr
            into.charge[target] += (written or 0) * arrived
            into.growth[target] += (written or 0) * (not arrived)
            into.unknown[target] += blind or (written is None and arrived)
    return out, into


def _load(own: Rates, *, blind: bool) -> _Load:
    return _Load(charge=defaultdict(float), unknown=defaultdict(int), own=own, growth=defaultdict(float), blind=blind)


def _own(kafka: KafkaSnapshot, traffic: Traffic) -> tuple[Rates, Rates]:
    """(out, into): sent to followers in sync and to consumers, taken from producers and leaders."""
    out: Rates = defaultdict(float)
    into: Rates = defaultdict(float)
    for broker, read in traffic.read_bytes_per_s.items():
        out[broker] += read
    for partition in kafka.partitions if traffic.write_bytes_per_s else ():
        written = traffic.write_bytes_per_s.get(partition.name, 0)
        out[partition.leader] += written * max(0, len(partition.isr) - 1)
        for broker in partition.isr:
            into[broker] += written
    return out, into


def bandwidths(view: ClusterView) -> dict[int, int]:
    """Bytes/s each way of brokers whose machine the catalogue knows."""
    clouds = {p.name: p.place.cloud for p in view.document.spec.pools} if view.document else {}
    found = {}
    for instance in view.brokers():
        rate = nic_bytes_per_s(clouds.get(instance.planned.pool, ""), instance.planned.shape, view.declaration.machines)
        if rate is not None:
            found[instance.service_id] = rate
    return found


def _cap(view: ClusterView) -> int | None:
    cap = cap_mib_per_s(view)
    return cap * MIB if cap else None


def _at_least(found: Due, raised_bytes_per_s: int) -> Due:
    """What it was raised to stands, whatever the plan promised."""
    return found if found.quota_bytes_per_s >= raised_bytes_per_s else Due(raised_bytes_per_s, raised_bytes_per_s)


def _raised(view: ClusterView, batch: str) -> tuple[Mapping[int, int], Mapping[int, int]]:
    """(out, into): what the throttles of this batch were raised to, since its moves hung on them."""
    whose = batch or (view.moves.drain.id if view.moves.drain is not None else "")
    if not whose or view.moves.stuck.cured != whose:
        return {}, {}
    return view.moves.stuck.leader_rates, view.moves.stuck.follower_rates


def _rate_lines(way: str, found: Mapping[int, Due]) -> list[str]:
    return [f"rate {way} broker {broker} {_change(d)}" for broker, d in sorted(found.items()) if d.why]


def _change(found: Due) -> str:
    return f"{human_bytes(found.before_bytes_per_s)}/s -> {human_bytes(found.quota_bytes_per_s)}/s: {found.why}"


def _sentence(lines: Sequence[str]) -> str:
    more = f"; and {len(lines) - _NAMED} more" if len(lines) > _NAMED else ""
    return "; ".join(lines[:_NAMED]) + more
