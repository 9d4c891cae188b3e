"""The fold of hung moves, of elections in vain and of moves of others: part of `controlplane.cluster.fold.evolve`."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules, current_drain, frozen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.stuck_moves import DeposedController, StuckMovesView
from events import facts
from planner.stuck_moves import Diagnosis, MoveCure, PastMoveCure

REMEMBERED = 50
"""Cures that are remembered: far more than count for the next one."""


def _cure(view: ClusterView, e: facts.MoveCureRequested, at: datetime) -> ClusterView:
    tries, stuck = _tries(view, e), view.moves.stuck
    cure, cured = MoveCure(e.cure), e.batch or e.drain
    same = stuck.cured == cured
    return _with(
        view,
        replace(
            stuck,
            cures=(*stuck.cures, PastMoveCure(cure, Diagnosis(e.diagnosis), at))[-REMEMBERED:],
            cured=cured,
            tries=tries,
            cured_at=at,
            taking_back=e.partitions if cure is MoveCure.TAKE_BACK else (),
            brokers=e.brokers,
            diagnosis=e.diagnosis,
            why=e.reason,
            follower_rates=_raised(stuck.follower_rates if same else {}, e.follower_rates),
            leader_rates=_raised(stuck.leader_rates if same else {}, e.leader_rates),
        ),
    )


def _tries(view: ClusterView, e: facts.MoveCureRequested) -> int:
    """How often the batch in hand was planned; one of replicas is never planned anew."""
    if not e.batch:
        return current_drain(view, e.drain).planning.tries
    if view.moves.rebalance is not None and view.moves.rebalance.id == e.batch:
        return view.moves.rebalance.planning.tries
    if view.topics.replication is not None and view.topics.replication.id == e.batch:
        return 0
    raise ValueError(f"batch {e.batch} is not in hand")


def _election_cure(view: ClusterView, e: facts.ElectionCureRequested, at: datetime) -> ClusterView:
    cure = PastMoveCure(MoveCure(e.cure), Diagnosis.CONTROLLER, at)
    return _with(view, replace(view.moves.stuck, cures=(*view.moves.stuck.cures, cure)[-REMEMBERED:]))


def _depose(view: ClusterView, e: facts.ControllerElectionRequested, at: datetime) -> ClusterView:
    deposed = DeposedController(e.controller, e.epoch, at, e.reason)
    return _with(view, replace(view.moves.stuck, deposed=deposed))


def _cancel(view: ClusterView, e: facts.MovesCancelRequested, at: datetime) -> ClusterView:
    asked = {**view.moves.stuck.cancelling, **dict.fromkeys(e.partitions, e.reason)}
    adopted = _without(view.moves.stuck.adopted, e.partitions)
    return _with(view, replace(view.moves.stuck, cancelling=frozen(asked), adopted=adopted))


def _adopt(view: ClusterView, e: facts.MovesAdopted, at: datetime) -> ClusterView:
    adopted = {**view.moves.stuck.adopted, **dict.fromkeys(e.partitions, e.reason)}
    cancelling = _without(view.moves.stuck.cancelling, e.partitions)
    return _with(view, replace(view.moves.stuck, adopted=frozen(adopted), cancelling=cancelling))


def _settled(view: ClusterView, e: facts.MovesSettled, at: datetime) -> ClusterView:
    stuck = view.moves.stuck
    left = replace(
        stuck, cancelling=_without(stuck.cancelling, e.partitions), adopted=_without(stuck.adopted, e.partitions)
    )
    return _with(view, left)


def _with(view: ClusterView, stuck: StuckMovesView) -> ClusterView:
    return replace(view, moves=replace(view.moves, stuck=stuck))


def _raised(before: Mapping[int, int], raised: Mapping[str, int]) -> Mapping[int, int]:
    return frozen({**before, **{int(broker): rate for broker, rate in raised.items()}})


def _without(asked: Mapping[str, str], partitions: Iterable[str]) -> Mapping[str, str]:
    gone = set(partitions)
    return frozen({name: why for name, why in asked.items() if name not in gone})


RULES: Rules = {
    facts.MoveCureRequested: _cure,
    facts.ElectionCureRequested: _election_cure,
    facts.ControllerElectionRequested: _depose,
    facts.MovesCancelRequested: _cancel,
    facts.MovesAdopted: _adopt,
    facts.MovesSettled: _settled,
}
