"""All rolls of a cluster: those that are over as the events have them, the one in hand with what is left to do. Pure.

Built on the fold that the portal's timeline shows (`pages.stages`). Nothing is kept beside the events: they are for
ever, so the rolls are.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from controlplane.api.read_models.roll_stages import NodeRoll, Roll, after
from controlplane.api.read_models.rolls import rows_of
from controlplane.api.schemas import nodes as node_api
from events.envelope import Recorded
from planner.rollout.steps import RolloutPhase, RolloutPlan, RolloutStep

_ASKS = frozenset(
    {
        "cluster.declared",
        "rolling_restart.requested",
        "node.replace_requested",
        "evacuation.requested",
    }
)
"""What people do that a roll may follow from."""


_OF_VMS = ("create", "replace", "remove", "hand over")


@dataclass(frozen=True, slots=True)
class AskedRoll:
    """A roll, who asked last before it began, and whether another one took its place before it was over."""

    roll: Roll
    asked_by: str = ""
    is_superseded: bool = False


def rolls_of(history: Iterable[Recorded]) -> list[AskedRoll]:
    """All rolls of a stream, the oldest first."""
    found: list[AskedRoll] = []
    current, asked = AskedRoll(Roll()), ""
    for event in history:
        asked = event.actor if event.type in _ASKS else asked
        roll = after(current.roll, event)
        if event.type == "recycle.started" and _is_another(current.roll, roll, event):
            if current.roll.began_at is not None:
                found.append(replace(current, is_superseded=current.roll.ended_at is None))
            current = AskedRoll(roll, asked)
        else:
            current = replace(current, roll=roll)
    return [*found, current] if current.roll.began_at is not None else found


def rolls_out(
    rolls: Sequence[AskedRoll], pending: RolloutPlan, *, now: datetime, after: int = 0, limit: int
) -> list[node_api.RollOut]:
    """The newest `limit` of them, the newest first; with `after` of those with a number below it.

    What is left to do belongs to the one in hand, or to the next.
    """
    shown = list(rolls)
    if pending.phases and (not shown or shown[-1].roll.ended_at is not None):
        shown.append(AskedRoll(Roll(reason=pending.phases[0].name)))
    steps = [s for phase in pending.phases for s in phase.steps]
    out: list[node_api.RollOut] = []
    for number in range(min(after - 1, len(shown)) if after else len(shown), 0, -1)[:limit]:
        asked, is_newest = shown[number - 1], number == len(shown)
        rows = rows_of(asked.roll, steps) if is_newest else list(asked.roll.nodes.values())
        out.append(_roll_out(number, asked, rows, _places(pending) if is_newest else {}, now))
    return out


def replaced_in(roll: Roll) -> int:
    """Nodes it made a new VM for, or took away, so far."""
    return sum(row.is_done and row.change in _OF_VMS for row in roll.nodes.values())


def _is_another(before: Roll, now: Roll, event: Recorded) -> bool:
    """Work that is added to a roll leaves its start as it is."""
    return now.began_at == event.recorded_at and (before.began_at != now.began_at or before.ended_at is not None)


Place = tuple[RolloutPhase, RolloutStep]


def _places(pending: RolloutPlan) -> Mapping[str, Place]:
    return {step.node: (phase, step) for phase in pending.phases for step in phase.steps}


def _roll_out(
    number: int, asked: AskedRoll, rows: Sequence[NodeRoll], places: Mapping[str, Place], now: datetime
) -> node_api.RollOut:
    roll = asked.roll
    return node_api.RollOut.like(
        roll,
        number=number,
        state=state_of(asked),
        asked_by=asked.asked_by,
        done=sum(row.is_done for row in rows),
        replaced=replaced_in(roll),
        steps=[_step_out(row, places.get(row.node), now) for row in rows],
    )


def state_of(asked: AskedRoll) -> str:
    """waiting, running, done, aborted, or superseded by the next one."""
    if asked.roll.began_at is None:
        return "waiting"
    if asked.roll.aborted:
        return "aborted"
    if asked.is_superseded:
        return "superseded"
    return "done" if asked.roll.ended_at is not None else "running"


def _step_out(row: NodeRoll, place: Place | None, now: datetime) -> node_api.RollStepOut:
    waits = place is not None and not row.is_begun
    active = row.active
    state = "done" if row.is_done else active.state if active is not None else "active" if row.is_begun else "waiting"
    return node_api.RollStepOut(
        node=row.node,
        change=row.change,
        state=state,
        reason=row.note,
        since=row.done_at or (active.began_at if active is not None else None),
        stages=[
            node_api.RollStageOut(name=s.name, state=s.state, began_at=s.began_at, seconds=s.seconds(now))
            for s in row.stages.values()
        ],
        phase=place[0].name if place is not None and waits else "",
        parallel=place[0].parallel if place is not None and waits else False,
        left_s=place[1].seconds if place is not None and waits else None,
    )
