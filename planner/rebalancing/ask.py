"""From a snapshot to a rebalance plan: the optimiser's schedule as moves with throttles, cut into small batches."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from planner.balance.answer import Answer, Balanced, GoalReport, Shortfall
from planner.balance.cpu import BrokerCpu, with_cpu
from planner.balance.in_sets import SetTerms, rebalance_in_sets
from planner.balance.loads import MeasuredLoads
from planner.balance.rebalance import add_brokers, rebalance
from planner.drain.certificate import Certificate
from planner.drain.model.capacity import resolve
from planner.drain.model.document import ReadState, read_document
from planner.drain.model.measures import Measure, Measures
from planner.drain.model.observed import ObservationPolicy, RacksMissing, brokers_of, dead_brokers, observed_document
from planner.drain.model.plan import UNLIMITED_SLOTS, Schedule
from planner.drain.model.problem import DocumentRefused, StateProblemKind
from planner.drain.model.state import NO_BROKER, BrokerState, ClusterState
from planner.drain.plan import DrainPlan, Engine, Move, Port
from planner.drain.solver.volumes import within_volumes
from planner.drain.throttle import KAFKA_REACHES, LEAST_CATCH_UP_BYTES_PER_S
from planner.heartbeats import HEARTBEAT_TOPIC
from planner.observed import KafkaSnapshot
from planner.rebalancing.choice import EVERYTHING, BalanceChoice
from planner.rebalancing.imbalance import deviations
from planner.rebalancing.known_load import KnownLoad, figures_of
from planner.rebalancing.plan import GoalStatus, RebalancePlan, Unplanned
from planner.rebalancing.question import RebalanceQuestion
from planner.rebalancing.request import RebalanceRequest

MOST_IN_A_BATCH = 200
"""Moves of one batch: small logs end at once, but the controller has work with each."""


class NothingToRead(ValueError):
    """The metadata is no state that can be planned on. What now: the message says what is missing; plan again then."""


def answered(question: RebalanceQuestion, *, engine: Engine = "in-process") -> RebalancePlan | Unplanned:
    """The same question gives the same answer (but for `engine`) on every machine: the one entry both engines call."""
    request = question.request
    try:
        return plan_rebalance(request, question.cluster, engine=engine)
    except (NothingToRead, DocumentRefused, RacksMissing) as why:
        return Unplanned(request.cluster_uid, request.rebalance_id, request.round, type(why).__name__, str(why))


def plan_rebalance(
    request: RebalanceRequest, snapshot: KafkaSnapshot, *, engine: Engine = "in-process"
) -> RebalancePlan:
    """The plan with the fewest bytes that was found; one without moves where the cluster is within every goal.

    A hard goal that cannot be met is no refusal: what comes nearest is planned, and the goal says why. Raises
    NothingToRead, DocumentRefused, RacksMissing.
    """
    read = _state(request, snapshot)
    read = replace(read, state=within_volumes(read.state))
    measured = measured_loads(request, read.state)
    answer = spread(read.state, request.new, measured, demoted=request.demoted, choice=request.choice)
    best = answer.best if isinstance(answer, Shortfall) else answer
    if best is None:
        raise NothingToRead(str(answer.message) if isinstance(answer, Shortfall) else "no plan")
    moves = _in_order(_moves(read.state, best.schedule))
    copies = _copies(request, read, best, moves, engine)
    load, receivers = known_load(request), request.receivers
    after = {m.name: m.after for m in moves}
    return RebalancePlan(
        copies=copies,
        goals=tuple(_goal_status(report) for report in best.goals),
        left=len(best.left),
        uneven_before=deviations(snapshot, receivers, load, choice=request.choice, sets=request.sets),
        uneven_after=deviations(snapshot, receivers, load, choice=request.choice, after=after, sets=request.sets),
    )


def known_load(request: RebalanceRequest) -> KnownLoad:
    """What the request says of load, as who decides on a rebalance has it."""
    return KnownLoad(
        write_bytes_per_s=request.write_bytes_per_s,
        read_bytes_per_s=request.read_bytes_per_s,
        nic_in_bytes_per_s=figures_of(request.receivers, request.capacities, "nic_in_bytes_per_s"),
        nic_out_bytes_per_s=figures_of(request.receivers, request.capacities, "nic_out_bytes_per_s"),
        cpu_used=request.cpu_used,
        processors=request.processors,
        demoted=frozenset(request.demoted),
    )


def measured_loads(request: RebalanceRequest, state: ClusterState) -> MeasuredLoads:
    """What the state does not carry: CPU, where it is known of every broker that is there."""
    ids = state.brokers.id[state.brokers.state != BrokerState.DEAD].tolist()
    if not ids or not all(b in request.cpu_used and request.processors.get(b, 0) > 0 for b in ids):
        return MeasuredLoads()
    processors = np.array([float(request.processors.get(b, 1)) for b in state.brokers.id.tolist()])
    share = np.array([request.cpu_used.get(b, 0.0) for b in state.brokers.id.tolist()])
    return with_cpu(state, MeasuredLoads(), BrokerCpu(share * processors, processors))


def spread(
    state: ClusterState,
    onto: Sequence[int],
    measured: MeasuredLoads | None = None,
    *,
    demoted: Sequence[int] = (),
    choice: BalanceChoice = EVERYTHING,
) -> Answer:
    """The brokers within the goals chosen, or as near as can be; with `onto` these alone receive, and `demoted` lead
    nothing. Topics stay within their sets. Heartbeats stay: each broker leads one. Raises ValueError for a goal there
    is not."""
    apart, known = frozenset({HEARTBEAT_TOPIC, *choice.exclude_topics}), measured or MeasuredLoads()
    goals = choice.aims()
    there = [b for b in demoted if b in state.brokers.id]
    out = [b for b in choice.exclude_brokers if b in state.brokers.id]
    if state.sets:
        terms = SetTerms(
            goals=goals, brings_home=choice.brings_home, measured=known, excluded_topics=apart, excluded_brokers=out,
            demoted=there, onto=onto,
        )  # fmt: skip
        return rebalance_in_sets(state, terms)
    if not onto:
        return rebalance(state, goals, measured=known, excluded_topics=apart, excluded_brokers=out, demoted=there)
    takers = [b for b in onto if b not in out]
    return add_brokers(state, takers, goals, measured=known, excluded_topics=apart, demoted=there)


def _state(request: RebalanceRequest, snapshot: KafkaSnapshot) -> ReadState:
    alive = brokers_of(snapshot) - dead_brokers(snapshot)
    away = tuple(sorted(alive - set(request.receivers)))
    policy = ObservationPolicy(
        disk_limit=request.disk_limit_fraction,
        racks=request.racks,
        outgoing=away,
        write_bytes_per_s=request.write_bytes_per_s,
        write_rates_from=request.write_rates_from,
        read_bytes_per_s=request.read_bytes_per_s,
        sets=request.sets,
    )
    capacity = resolve(alive, request.capacities)
    lacking = [b for b, figures in capacity.missing.items() if "disk_bytes" in figures]
    if lacking:
        raise NothingToRead(f"broker {lacking[0]} has not told how large its disk is")
    document = observed_document(snapshot, capacity, policy)
    return read_document(document, tolerate=(StateProblemKind.REPAIR_FIRST,))


def _moves(state: ClusterState, schedule: Schedule) -> Iterator[Move]:
    parts = state.partitions
    ids = np.append(state.brokers.id, np.int32(NO_BROKER))
    before, after = ids[parts.replicas[schedule.row]], ids[schedule.after]
    source, rows = ids[schedule.source].tolist(), schedule.row.tolist()
    dirs = schedule.log_dirs.tolist() if schedule.log_dirs is not None and state.log_dirs is not None else None
    paths = (*state.log_dirs.path, "") if state.log_dirs is not None else ("",)
    for entry, row in enumerate(rows):
        old = tuple(b for b in before[entry].tolist() if b >= 0)
        new = tuple(b for b in after[entry].tolist() if b >= 0)
        added = [column for column, b in enumerate(new) if b not in old]
        named = tuple(paths[dirs[entry][column]] for column in added) if dirs else ()
        yield Move(
            topic=parts.topics[parts.topic[row]],
            partition=int(parts.partition[row]),
            before=old,
            after=new,
            bytes=int(parts.size_bytes[row]) * len(added),
            source=source[entry] if added and source[entry] >= 0 else None,
            log_dirs=named if any(named) else (),
        )


def _in_order(moves: Iterator[Move]) -> tuple[Move, ...]:
    """Copies first, as released; those that only change who leads come when the bytes are where they are to be."""
    listed = tuple(moves)
    return (*(m for m in listed if m.added), *(m for m in listed if not m.added))


def _copies(
    request: RebalanceRequest, read: ReadState, best: Balanced, moves: tuple[Move, ...], engine: Engine
) -> DrainPlan:
    into, out = _ports(request, read.state, best.schedule, moves)
    seconds = _seconds(moves, into)
    none = Measure(0, 0)
    return DrainPlan(
        drain_id=request.rebalance_id,
        cluster_uid=request.cluster_uid,
        engine=engine,
        round=request.round,
        moves=moves,
        checkpoints=_checkpoints(moves, into, request.batch_s),
        into=into,
        out=out,
        deferred=(),
        certificate=Certificate(
            measures=Measures(
                bytes=Measure(best.bytes_moved, round(best.bytes_bound)),
                makespan_s=Measure(round(seconds, 3), 0),
                disk=none,
                leaders=none,
                leader_changes=Measure(best.leader_changes, 0),
                release_s=none,
            ),
            replicas=sum(len(m.added) for m in moves),
            source_transfers=0,
            bandwidth_source=request.bandwidth_source,
            assumptions=tuple(dict.fromkeys((*read.assumptions, *best.schedule.assumptions))),
        ),
    )


def _ports(
    request: RebalanceRequest, state: ClusterState, schedule: Schedule, moves: Sequence[Move]
) -> tuple[dict[int, Port], dict[int, Port]]:
    """Whoever takes part, and every replica in sync that may come to lead a copy."""
    copies = [m for m in moves if m.added]
    takes, gives = {b for m in copies for b in m.added}, {b for m in copies for b in m.before}
    brokers = state.brokers
    row = {int(b): i for i, b in enumerate(brokers.id.tolist())}

    def port(broker: int, rates: Sequence[float], slots: Sequence[int]) -> Port:
        cap = request.most_bytes_per_s
        rate = max(1, int(rates[row[broker]]))
        promised = rate if cap is None else max(1, min(rate, int(cap * KAFKA_REACHES)))
        quota = math.ceil(promised / KAFKA_REACHES)
        quota = quota if cap is None else min(quota, cap)
        number = int(slots[row[broker]])
        return Port(
            slots=None if number >= UNLIMITED_SLOTS else max(1, number),
            promised_bytes_per_s=min(promised, quota),
            quota_bytes_per_s=quota,
            floor_bytes_per_s=min(quota, math.ceil(LEAST_CATCH_UP_BYTES_PER_S / KAFKA_REACHES)),
        )

    rates_in, rates_out = brokers.ingress_bytes_per_s.tolist(), brokers.egress_bytes_per_s.tolist()
    into = {b: port(b, rates_in, schedule.slots_in.tolist()) for b in sorted(takes)}
    reads = [b for b in sorted(gives) if b in row and rates_out[row[b]] > 0]
    return into, {b: port(b, rates_out, schedule.slots_out.tolist()) for b in reads}


def _checkpoints(moves: Sequence[Move], into: Mapping[int, Port], batch_s: float) -> tuple[int, ...]:
    """A batch ends before the busiest target would be at it for longer than that; a single log may take longer."""
    ends: list[int] = []
    began, busy_s = 0, defaultdict[int, float](float)
    for number, move in enumerate(moves):
        each = {b: move.bytes / len(move.added) / into[b].promised_bytes_per_s for b in move.added}
        full = any(busy_s[b] + seconds > batch_s for b, seconds in each.items())
        if number > began and (full or number - began >= MOST_IN_A_BATCH):
            ends.append(number)
            began, busy_s = number, defaultdict[int, float](float)
        for broker, seconds in each.items():
            busy_s[broker] += seconds
    return (*ends, len(moves)) if moves else ()


def _seconds(moves: Sequence[Move], into: Mapping[int, Port]) -> float:
    """What the busiest target needs at its promised rate."""
    arriving: Counter[int] = Counter()
    for move in moves:
        for broker in move.added:
            arriving[broker] += move.bytes // len(move.added)
    return max((size / into[b].promised_bytes_per_s for b, size in arriving.items()), default=0.0)


def _goal_status(report: GoalReport) -> GoalStatus:
    """A report as it is kept: figures that do not exist (NaN, infinite) are None."""
    before = (_finite(report.before.least), _finite(report.before.most))
    after = (_finite(report.after.least), _finite(report.after.most))
    return GoalStatus(
        str(report.goal), report.hard, report.broken_before, report.broken_after, before, after, report.why
    )


def _finite(number: float) -> float | None:
    return round(number, 4) if math.isfinite(number) else None
