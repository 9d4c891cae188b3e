"""Plans of drains and rebalances as the portal shows them. Loads the planner's kernels: not for the server's start."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from controlplane.cluster.balance_choice import choice_of
from controlplane.cluster.commands import EvacuateBrokers, RebalanceCluster
from controlplane.cluster.demotions import demoted_brokers
from controlplane.cluster.observed.traffic import Traffic
from controlplane.cluster.planner_state import cluster_document
from controlplane.cluster.throttle_cap import lowered
from controlplane.cluster.view import ClusterView
from controlplane.commands.previews import drain_figures
from controlplane.commands.previews.moves import Course, MovesPreview, NoPreview, PlannedMove
from planner.balance.answer import Shortfall
from planner.drain.certified import CertifiedPlan, PlanRefused, certified
from planner.drain.model.document import read_document
from planner.drain.model.observed import RacksMissing
from planner.drain.model.plan import Schedule
from planner.drain.model.problem import DocumentRefused, StateProblemKind
from planner.drain.model.state import NO_BROKER, BrokerState, ClusterState, Int32s, Int64s
from planner.drain.replay import replay
from planner.drain.solver.volumes import within_volumes
from planner.observed import KafkaSnapshot
from planner.rebalancing.ask import spread

MOST_PARTITIONS = 100_000
"""Larger clusters are planned on the command line: a page has to be there in seconds."""
_BINS = 120
_MOST_LISTED = 200


def drain_preview(
    view: ClusterView, kafka: KafkaSnapshot, command: EvacuateBrokers, *, traffic: Traffic, now: datetime
) -> MovesPreview:
    """How these brokers would be emptied, onto those chosen where some are. Raises NoPreview."""
    state, assumptions = _state(_slowed(view, command.throttle_mib_per_s), kafka, traffic, now)
    rows = _rows(state, command.brokers)
    states = state.brokers.state.copy()
    states[rows[states[rows] != BrokerState.DEAD]] = BrokerState.OUTGOING
    takers = tuple(_rows(state, command.targets).tolist())
    onto = {**state.destinations, **dict.fromkeys(rows.tolist(), takers)} if takers else state.destinations
    state = replace(state, brokers=replace(state.brokers, state=states), destinations=onto)
    try:
        answer = certified(state)
    except PlanRefused as refused:
        raise NoPreview(str(refused)) from refused
    if not isinstance(answer, CertifiedPlan):
        raise NoPreview(answer.message)
    state = answer.state
    if answer.verdict.binds:
        assumptions = (*assumptions, f"what binds: {answer.verdict.binds}")
    return MovesPreview(
        certificate=tuple(tuple(row) for row in drain_figures.certificate_rows(answer.measures)),
        brokers=tuple(drain_figures.broker_rows(state, answer.schedule, answer.verdict.replay)),
        assumptions=assumptions,
        course=_course(state, answer.schedule, answer.measures.makespan_s.value),
    )


def rebalance_preview(
    view: ClusterView, kafka: KafkaSnapshot, command: RebalanceCluster, *, traffic: Traffic, now: datetime
) -> MovesPreview:
    """How replicas would be spread within the goals chosen, or as near to them as can be; onto those chosen alone,
    where some are. Raises NoPreview.
    """
    state, assumptions = _state(_slowed(view, command.throttle_mib_per_s), kafka, traffic, now)
    state = within_volumes(state)
    _rows(state, command.targets)  # all of them are there
    demoted = sorted(demoted_brokers(view))
    answer = spread(state, command.targets, demoted=demoted, choice=choice_of(view, command.choice))
    shortfall = answer if isinstance(answer, Shortfall) else None
    balanced = answer.best if isinstance(answer, Shortfall) else answer
    if balanced is None:
        raise NoPreview(shortfall.message if shortfall else "there is no plan")
    run = replay(state, balanced.schedule)
    if run.violations:
        raise NoPreview(f"the plan breaks a rule in its replay: {run.violations[0]}; please report the state")
    return MovesPreview(
        certificate=(),
        brokers=tuple(drain_figures.broker_rows(state, balanced.schedule, run)),
        assumptions=assumptions,
        shortfall=shortfall.message if shortfall else "",
        goals=tuple(tuple(row) for row in drain_figures.goal_rows(balanced.goals)),
        course=_course(state, balanced.schedule, run.makespan_s),
    )


def _state(
    view: ClusterView, kafka: KafkaSnapshot, traffic: Traffic, now: datetime
) -> tuple[ClusterState, tuple[str, ...]]:
    """The state that `kedge drain plan --cluster` plans on."""
    if len(kafka.partitions) > MOST_PARTITIONS:
        many = f"{len(kafka.partitions):,} partitions are planned in a terminal"
        raise NoPreview(f"{many}: kedge drain plan --cluster {view.name}")
    try:
        document = cluster_document(view, kafka, traffic=traffic, now=now)
        read = read_document(document, tolerate=(StateProblemKind.REPAIR_FIRST,))
    except RacksMissing as missing:
        raise NoPreview(f"the racks of its brokers are not known: {missing}") from missing
    except DocumentRefused as refused:
        raise NoPreview(str(refused)) from refused
    return read.state, read.assumptions


def _slowed(view: ClusterView, throttle_mib_per_s: int) -> ClusterView:
    """The cluster under the throttle that is asked for, where that is lower than its own."""
    if view.document is None or not throttle_mib_per_s:
        return view
    spec = view.document.spec
    rollout = spec.rollout.model_copy(update={"throttle_mib_per_s": lowered(view, throttle_mib_per_s)})
    document = view.document.model_copy(update={"spec": spec.model_copy(update={"rollout": rollout})})
    return replace(view, document=document)


def _rows(state: ClusterState, brokers: Sequence[int]) -> Int64s:
    """Rows of these brokers. Raises NoPreview for one that Kafka does not list."""
    ids = state.brokers.id
    rows = np.flatnonzero(np.isin(ids, list(brokers))).astype(np.int64)
    if rows.size != len(set(brokers)):
        unknown = sorted(set(brokers) - set(ids.tolist()))
        raise NoPreview(f"Kafka does not list {', '.join(map(str, unknown))}")
    return rows


def _course(state: ClusterState, schedule: Schedule, seconds: float) -> Course:
    moves = tuple(_move(state, schedule, entry) for entry in range(len(schedule)))
    drawn = drain_figures.targets_over_time(state, schedule, seconds, bins=_BINS)
    ingress: tuple[tuple[int, tuple[float, ...]], ...] = ()
    if drawn is not None:
        rows, series = drawn
        share = np.clip(series / state.brokers.ingress_bytes_per_s[rows][:, None], 0.0, 1.0)
        ingress = tuple(
            (int(broker), tuple(line)) for broker, line in zip(state.brokers.id[rows], share.tolist(), strict=True)
        )
    largest = sorted(moves, key=lambda m: (-m.copied_bytes, m.topic, m.partition))
    return Course(
        seconds=seconds,
        copied_bytes=sum(m.copied_bytes for m in moves),
        total_moves=len(moves),
        copying=drain_figures.copying_entries(state, schedule),
        moves=tuple(largest[:_MOST_LISTED]),
        ingress=ingress,
    )


def _move(state: ClusterState, schedule: Schedule, entry: int) -> PlannedMove:
    row = int(schedule.row[entry])
    before, after = (_ids(state, replicas) for replicas in (state.partitions.replicas[row], schedule.after[entry]))
    copies = len(set(after) - set(before))
    topic, partition = state.partitions.topics[int(state.partitions.topic[row])], int(state.partitions.partition[row])
    return PlannedMove(topic, partition, before, after, copies * int(state.partitions.size_bytes[row]))


def _ids(state: ClusterState, rows: Int32s) -> tuple[int, ...]:
    return tuple(int(state.brokers.id[r]) for r in rows if r != NO_BROKER)
