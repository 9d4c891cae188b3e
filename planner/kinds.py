"""The two things the planner is asked, drains and rebalances, behind one shape: as bytes, solved, and as bytes again.

Whoever carries requests to a worker and answers back (the planning service, its worker, Spark's jobs) knows only this.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pyarrow as pa

from planner.drain import codec as drains
from planner.drain.columns import partitions_table
from planner.drain.infeasible import Infeasible
from planner.drain.plan import Engine, Move
from planner.drain.request import DrainRequest
from planner.drain.solve import solve
from planner.rebalancing import codec as rebalances
from planner.rebalancing.plan import RebalancePlan, Unplanned
from planner.rebalancing.question import RebalanceQuestion

Request = TypeVar("Request")
Answer = TypeVar("Answer")

Asked = tuple[str, str, int]
"""Cluster uid, id of the drain or rebalance, round: what an answer must have in common with its request."""


@dataclass(frozen=True, slots=True)
class PlanKind(Generic[Request, Answer]):
    """`document` and `partitions` are a request as JSON and as Arrow, `request` makes them one again.

    `solve` is the same function on Spark and in-process; it loads the kernels when it is first called. `asked` and
    `answers` name a request and what an answer is an answer to; `moves` are those of the plan, none without one;
    `size` is the number of the cluster's partitions.
    """

    name: str
    document: Callable[[Request], dict[str, Any]]
    partitions: Callable[[Request], pa.Table]
    request: Callable[[Mapping[str, Any], pa.Table], Request]
    solve: Callable[[Request, Engine], Answer]
    to_bytes: Callable[[Answer], bytes]
    from_bytes: Callable[[bytes], Answer]
    asked: Callable[[Request], Asked]
    answers: Callable[[Answer], Asked]
    moves: Callable[[Answer], Sequence[Move]]
    size: Callable[[Request], int]


@dataclass(frozen=True, slots=True)
class PlanTask:
    """What one cluster has to have planned: a request, and of which kind it is."""

    kind: PlanKind[Any, Any]
    request: Any

    @property
    def partitions(self) -> int:
        """How many the cluster has: what a plan takes grows with them."""
        return self.kind.size(self.request)


def _solved(request: DrainRequest, engine: Engine) -> drains.Answer:
    return solve(request, engine=engine)


def _drain_moves(answer: drains.Answer) -> Sequence[Move]:
    plan = answer.feasible_part if isinstance(answer, Infeasible) else answer
    return plan.moves if plan else ()


def _balanced(question: RebalanceQuestion, engine: Engine) -> rebalances.Answer:
    from planner.rebalancing.ask import answered  # loads the optimiser's kernels, which most processes never use

    return answered(question, engine=engine)


def _rebalance_of(answer: rebalances.Answer) -> Asked:
    if isinstance(answer, Unplanned):
        return answer.cluster_uid, answer.rebalance_id, answer.round
    return _drain_of(answer.copies)


def _rebalance_moves(answer: rebalances.Answer) -> Sequence[Move]:
    return answer.copies.moves if isinstance(answer, RebalancePlan) else ()


def _drain_of(named: drains.Answer | DrainRequest) -> Asked:
    return named.cluster_uid, named.drain_id, named.round


DRAIN: PlanKind[DrainRequest, drains.Answer] = PlanKind(
    name="drain",
    document=drains.request_document,
    partitions=lambda request: partitions_table(request.cluster),
    request=drains.request_from,
    solve=_solved,
    to_bytes=drains.answer_to_bytes,
    from_bytes=drains.answer_from_bytes,
    asked=_drain_of,
    answers=_drain_of,
    moves=_drain_moves,
    size=lambda request: len(request.cluster),
)

REBALANCE: PlanKind[RebalanceQuestion, rebalances.Answer] = PlanKind(
    name="rebalance",
    document=rebalances.question_document,
    partitions=rebalances.partitions_table,
    request=rebalances.question_from,
    solve=_balanced,
    to_bytes=rebalances.answer_to_bytes,
    from_bytes=rebalances.answer_from_bytes,
    asked=lambda question: (question.request.cluster_uid, question.request.rebalance_id, question.request.round),
    answers=_rebalance_of,
    moves=_rebalance_moves,
    size=lambda question: len(question.cluster.partitions),
)

KINDS: Mapping[str, PlanKind[Any, Any]] = {kind.name: kind for kind in (DRAIN, REBALANCE)}
"""By name, in the order of who goes first: a roll waits for its drain, nothing waits for a rebalance."""
