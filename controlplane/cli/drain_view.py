"""A drain plan as people read it: how long, how close to what nobody can beat, what was assumed, who gets what."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from rich.console import RenderableType

from controlplane.cli.drain_brokers import broker_table, plain
from controlplane.cli.drain_engine import Planned
from controlplane.cli.drain_plot import ingress_lines
from controlplane.cli.moves_view import assumption_lines, certificate_table
from controlplane.cli.quantities import counted, human_seconds
from controlplane.cli.terminal import styled
from controlplane.previews.drainfigures import MEASURES, broker_rows, certificate_rows, time_words
from planner.drain.certified import CertifiedPlan
from planner.drain.model.measures import Measures
from planner.drain.model.state import ClusterState
from planner.drain.solver import Infeasible
from planner.quantities import human_bytes


def plan_lines(
    state: ClusterState, planned: Planned, name: str, *, wide: bool, blocks: bool
) -> Iterator[RenderableType]:
    """The whole answer for a person. `blocks`: the terminal can show block characters."""
    if planned.plan is None:
        return
    plan = planned.plan
    yield styled(_headline(state, plan, name), "bold")
    yield f"computed {planned.engine} in {human_seconds(planned.seconds)}"
    yield ""
    yield certificate_table(certificate_rows(plan.measures))
    yield from assumption_lines(plan.schedule.assumptions)
    yield ""
    yield broker_table(broker_rows(state, plan.schedule, plan.verdict.replay), wide=wide)
    yield from ingress_lines(state, plan.schedule, plan.measures.makespan_s.value, blocks=blocks)


def refusal_words(state: ClusterState, refusal: Infeasible) -> str:
    """`no plan: orders-3 cannot move: add a broker in rack b`."""
    return f"{counted(refusal.stuck.size, 'partition')} cannot be moved: {refusal.message}"


def plan_document(state: ClusterState, planned: Planned, name: str, files: Mapping[str, str]) -> Mapping[str, Any]:
    """The answer for machines."""
    plan = planned.plan
    outcome = "planned" if planned.refusal is None else "partial" if plan else "infeasible"
    content: dict[str, Any] = {
        "outcome": outcome,
        "of": name,
        "engine": str(planned.engine),
        "seconds": planned.seconds,
    }
    if planned.refusal is not None:
        content["reason"] = refusal_document(state, planned.refusal)
    if plan is not None:
        replay = plan.verdict.replay
        content |= {
            "eta_s": finite(plan.measures.makespan_s.value),
            "entries": len(plan.schedule),
            "checkpoints": list(plan.schedule.checkpoints),
            "certificate": certificate_document(plan.measures),
            "assumptions": list(plan.schedule.assumptions),
            "left_behind": replay.left_behind,
            "brokers": [plain(row) for row in broker_rows(state, plan.schedule, replay)],
        }
    return {**content, "files": dict(files)}


def refusal_document(state: ClusterState, refusal: Infeasible) -> Mapping[str, Any]:
    """Why there is no whole plan: the kind is a stable word."""
    parts = state.partitions
    stuck = [
        {"topic": parts.topics[int(parts.topic[row])], "partition": int(parts.partition[row])}
        for row in refusal.stuck.tolist()
    ]
    return {"kind": refusal.kind, "message": refusal.message, "stuck": stuck}


def certificate_document(measures: Measures) -> Mapping[str, Any]:
    """value, bound and ratio of each measure; null is what never ends or has no bound."""
    return {
        name: {"value": finite(m.value), "bound": finite(m.bound), "ratio": finite(m.ratio)}
        for name in MEASURES
        for m in [getattr(measures, name)]
    }


def finite(figure: float) -> float | None:
    """JSON has no infinity."""
    return float(figure) if math.isfinite(figure) else None


def _headline(state: ClusterState, plan: CertifiedPlan, name: str) -> str:
    leaving = state.brokers.id[state.brokers.must_empty].tolist()
    who = ", ".join(map(str, leaving[:8])) + (f" and {len(leaving) - 8} more" if len(leaving) > 8 else "")
    if not len(plan.schedule):
        return f"drain of {who} ({name}): nothing to do, they hold no replica"
    moved = int(np.count_nonzero(plan.verdict.replay.end_s > 0))
    return (
        f"drain of {who} ({name}): {counted(moved, 'partition')} to move, "
        f"{human_bytes(plan.measures.bytes.value)}, done in {time_words(plan.measures.makespan_s.value)}"
    )
