"""A drain plan as people read it: how long, how close to what nobody can beat, what was assumed, who gets what."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType

from controlplane.cli.drain_brokers import broker_table, plain
from controlplane.cli.drain_engine import Planned
from controlplane.cli.drain_plot import ingress_lines
from controlplane.cli.moves_view import assumption_lines, certificate_table
from controlplane.commands.previews.drain_figures import (
    MEASURES,
    broker_rows,
    certificate_rows,
    copying_entries,
    time_words,
)
from controlplane.runtime.quantities import human_seconds
from controlplane.runtime.styled_text import styled
from events.quantities import counted
from planner.drain.certified import CertifiedPlan
from planner.drain.model.measures import Measures
from planner.drain.model.state import ClusterState, Int32s
from planner.drain.solver import Unsolvable
from planner.drain.solver.infeasible import Obstacle
from planner.quantities import brokers_named, human_bytes


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
    if plan.verdict.binds:
        yield f"what binds: {plan.verdict.binds}"
    yield from assumption_lines(plan.schedule.assumptions)
    yield ""
    yield broker_table(broker_rows(state, plan.schedule, plan.verdict.replay), wide=wide)
    yield from ingress_lines(state, plan.schedule, plan.measures.makespan_s.value, blocks=blocks)


def refusal_words(state: ClusterState, refusal: Unsolvable) -> str:
    """How many cannot be moved, and why: on one line where there is one reason, else a line for each."""
    count = f"{counted(refusal.stuck.size, 'partition')} cannot be moved"
    if len(refusal.reasons) == 1:
        return f"{count}: {refusal.message}"
    return "\n         ".join([f"{count}, for {len(refusal.reasons)} reasons:", *(r.message for r in refusal.reasons)])


def next_words(state: ClusterState, refusal: Unsolvable) -> str:
    """What a person can do about it, one thing after the other, each once."""
    first, *others = refusal.reasons
    if not others and first.kind in ("broker", "disk"):
        steps = ["add that"]
    else:
        steps = [_widened(state, reason) or reason.next_step for reason in refusal.reasons]
    words = "; ".join([*dict.fromkeys(steps)])
    same_state = all(reason.widen for reason in refusal.reasons)
    return words if same_state else f"{words}, and export the state again"


def _widened(state: ClusterState, reason: Obstacle) -> str:
    """`add broker 1030 (or another of rack a): --destinations 1016=1001,1030`; "" where no other broker would do."""
    row = {int(broker): n for n, broker in enumerate(state.brokers.id.tolist())}
    parts = []
    for source, others in reason.widen:
        home = int(state.brokers.rack[row[source]])
        named_now = [int(state.brokers.id[to]) for to in state.destinations[row[source]]]
        same = all(int(state.brokers.rack[row[other]]) == home for other in others)
        racks = state.brokers.racks
        other = f" (or another of rack {racks[home]})" if same and len(racks) > 1 else ""
        ids = ",".join(map(str, [*named_now, *others]))
        parts.append(f"add {brokers_named(others)}{other}: --destinations {source}={ids}")
    return "; ".join(parts)


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
            "partitions_to_move": copying_entries(state, plan.schedule),
            "checkpoints": list(plan.schedule.checkpoints),
            "certificate": certificate_document(plan.measures),
            "binds": plan.verdict.binds,
            "assumptions": list(plan.schedule.assumptions),
            "left_behind": replay.left_behind,
            "brokers": [plain(row) for row in broker_rows(state, plan.schedule, replay)],
        }
    return {**content, "files": dict(files)}


def refusal_document(state: ClusterState, refusal: Unsolvable) -> Mapping[str, Any]:
    """Why there is no whole plan: each reason with its partitions, and all of them together. The kind is a stable word,
    that of the first reason where there are several.
    """
    reasons = [
        {
            "kind": reason.kind,
            "message": reason.message,
            "next_step": _widened(state, reason) or reason.next_step,
            "stuck": _partitions(state, reason.stuck),
        }
        for reason in refusal.reasons
    ]
    stuck = _partitions(state, refusal.stuck)
    return {"kind": refusal.kind, "message": refusal.message, "stuck": stuck, "reasons": reasons}


def _partitions(state: ClusterState, rows: Int32s) -> list[dict[str, Any]]:
    parts = state.partitions
    return [
        {"topic": parts.topics[int(parts.topic[row])], "partition": int(parts.partition[row])} for row in rows.tolist()
    ]


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
    replay = plan.verdict.replay
    stays = f"; {counted(replay.left_behind, 'replica')} {'stays' if replay.left_behind == 1 else 'stay'}"
    if not len(plan.schedule):
        if replay.left_behind:
            return f"drain of {who} ({name}): nothing can be moved{stays}"
        return f"drain of {who} ({name}): nothing to do, they hold no replica"
    return (
        f"drain of {who} ({name}): {counted(copying_entries(state, plan.schedule), 'partition')} to move, "
        f"{human_bytes(plan.measures.bytes.value)}, done in {time_words(plan.measures.makespan_s.value)}"
        f"{stays if replay.left_behind else ''}"
    )
