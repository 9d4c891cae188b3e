"""The planner's answer to a question, judged: a schedule with its measures, or which rows cannot move and why.

Partitions that a successor cannot take are planned apart, to other targets, and judged together with the rest.
"""

from dataclasses import dataclass, replace

import numpy as np

from planner.drain.arrays import Int64s
from planner.drain.certified import PlanRefused, certified
from planner.drain.infeasible import InfeasibleKind
from planner.drain.judge import PlanJudgement, judge
from planner.drain.model.measures import Measures
from planner.drain.model.plan import Schedule
from planner.drain.model.state import NO_BROKER, NOWHERE, Bools, Floats, Int32s
from planner.drain.question import DrainQuestion, conflicting, eligible_targets, question_of
from planner.drain.request import DrainRequest
from planner.drain.solver import Unsolvable
from planner.drain.solver.volumes import within_volumes, writing_share


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """`moving`: the model rows that were asked to move. `schedule` counts rows of `question`."""

    question: DrainQuestion
    schedule: Schedule
    measures: Measures
    verdict: PlanJudgement
    moving: Int64s

    @property
    def source_transfers(self) -> int:
        return self.verdict.replay.source_transfers


@dataclass(frozen=True, slots=True, eq=False)
class Unanswered:
    """No plan. `stuck`: model rows that cannot move, empty when `kind` is "refused": a defect the judge found.
    `others`: ids of brokers that could hold what those may not that are named as targets.
    """

    kind: InfeasibleKind
    message: str
    stuck: Int64s
    others: tuple[int, ...] = ()


def answered(request: DrainRequest, moving: Int64s, *, ingress: Floats, egress: Floats) -> Answered | Unanswered:
    """Plans and judges the model rows `moving`."""
    apart = conflicting(request, moving)
    if apart.any():
        return _in_two_parts(request, moving, apart, ingress, egress)
    return _planned(question_of(request, moving, ingress=ingress, egress=egress), moving)


def _planned(question: DrainQuestion, moving: Int64s, writing: Floats | None = None) -> Answered | Unanswered:
    """`writing`: how volumes are shared, where a part is planned and the whole settled it."""
    try:
        plan = certified(question.state, writing=writing)
    except PlanRefused as refused:
        return _refused(str(refused))
    if isinstance(plan, Unsolvable):
        others = sorted({broker for reason in plan.reasons for _, ids in reason.widen for broker in ids})
        return Unanswered(plan.kind, plan.message, question.row[plan.stuck], tuple(others))
    planned = DrainQuestion(plan.state, question.row)
    return Answered(planned, plan.schedule, plan.measures, plan.verdict, moving)


def _in_two_parts(
    request: DrainRequest, moving: Int64s, apart: Bools, ingress: Floats, egress: Floats
) -> Answered | Unanswered:
    """To successors what they do not hold yet; then the rest, to any target, on the disks as that leaves them. What
    cannot move in either part is told together.
    """
    whole = question_of(request, moving, ingress=ingress, egress=egress, destinations=_either(request))
    writing = writing_share(whole.state) if whole.state.hardware is not None else None
    answers: list[Answered] = []
    refusals: list[Unanswered] = []
    asked = request
    for rows in (moving[~apart], moving[apart]):
        part = question_of(asked, rows, ingress=ingress, egress=egress) if rows.size else None
        answer = _planned(part, rows, writing) if part is not None else None
        if isinstance(answer, Unanswered):
            refusals.append(answer)
        elif answer is not None:
            answers.append(answer)
            asked = _after(asked, answer)
        asked = replace(asked, successors={})
    if refusals:
        return _together(refusals)
    whole = replace(whole, state=within_volumes(whole.state, writing))
    return _judged(whole, _joined(whole, answers), moving)


def _together(refusals: list[Unanswered]) -> Unanswered:
    message = "; ".join(refusal.message for refusal in refusals)
    stuck = np.concatenate([refusal.stuck for refusal in refusals])
    others = sorted({broker for refusal in refusals for broker in refusal.others})
    return Unanswered(refusals[0].kind, message, stuck, tuple(others))


def _after(request: DrainRequest, answer: Answered) -> DrainRequest:
    """The request with the bytes of the answer's copies on their targets' disks."""
    added = _added(answer)
    entry, column = np.nonzero(added)
    size = answer.question.state.partitions.size_bytes[answer.schedule.row]
    brokers = request.cluster.brokers
    free = brokers.free_bytes.copy()
    np.subtract.at(free, answer.schedule.after[entry, column], size[entry])
    log_dirs = brokers.log_dirs
    if answer.schedule.log_dirs is not None:
        entry, column = np.nonzero(answer.schedule.log_dirs != NOWHERE)
        left = log_dirs.free_bytes.copy()
        directory = log_dirs.one_of_several()[answer.schedule.log_dirs[entry, column]]
        np.subtract.at(left, directory, size[entry])
        log_dirs = replace(log_dirs, free_bytes=left)
    filled = replace(brokers, free_bytes=free, log_dirs=log_dirs)
    return replace(request, cluster=replace(request.cluster, brokers=filled))


def _either(request: DrainRequest) -> dict[int, tuple[int, ...]]:
    """Every usable target, for every outgoing broker: what the two parts together were free to use."""
    able = tuple(int(row) for row in np.flatnonzero(eligible_targets(request)))
    leaving = np.flatnonzero(np.isin(request.cluster.brokers.id, np.array(request.outgoing, dtype=np.int32)))
    return {int(row): able for row in leaving}


def _joined(whole: DrainQuestion, answers: list[Answered]) -> Schedule:
    """One list: the first part whole, of the others only what copies (a partition is listed once)."""
    kept = [np.ones(len(answers[0].schedule), dtype=np.bool_), *(_copies(a) for a in answers[1:])]
    schedules = [a.schedule for a in answers]
    rows = [a.question.row[a.schedule.row[k]] for a, k in zip(answers, kept, strict=True)]
    lengths = np.cumsum([k.sum() for k in kept]).tolist()
    return Schedule(
        row=np.searchsorted(whole.row, np.concatenate(rows)).astype(np.int32),
        after=np.concatenate([s.after[k] for s, k in zip(schedules, kept, strict=True)]),
        source=np.concatenate([s.source[k] for s, k in zip(schedules, kept, strict=True)]),
        slots_in=np.minimum.reduce([s.slots_in for s in schedules]),
        slots_out=np.minimum.reduce([s.slots_out for s in schedules]),
        throttle_in_bytes_per_s=_wider([s.throttle_in_bytes_per_s for s in schedules]),
        throttle_out_bytes_per_s=_wider([s.throttle_out_bytes_per_s for s in schedules]),
        checkpoints=(*schedules[0].checkpoints, *(int(n) for n in lengths[1:])),
        assumptions=tuple(line for s in schedules for line in s.assumptions),
        log_dirs=_joined_log_dirs(schedules, kept),
    )


def _joined_log_dirs(schedules: list[Schedule], kept: list[Bools]) -> Int32s | None:
    if all(s.log_dirs is None for s in schedules):
        return None
    each = [np.full(s.after.shape, NOWHERE, dtype=np.int32) if s.log_dirs is None else s.log_dirs for s in schedules]
    return np.concatenate([dirs[k] for dirs, k in zip(each, kept, strict=True)])


def _copies(answer: Answered) -> Bools:
    """Which entries of the schedule copy something."""
    return np.asarray(_added(answer).any(axis=1))


def _added(answer: Answered) -> Bools:
    """bool[M, W]: where a list of the schedule has a broker it had not before."""
    before, after = answer.question.state.partitions.replicas[answer.schedule.row], answer.schedule.after
    found: Bools = after[:, :, None] == before[:, None, :]
    added: Bools = np.asarray(~found.any(axis=2) & (after != NO_BROKER))
    return added


def _wider(rates: list[Floats]) -> Floats:
    """The larger throttle of the parts that have one: inf means none."""
    finite = np.array([np.where(np.isinf(r), 0.0, r) for r in rates]).max(axis=0)
    return np.where(finite > 0, finite, np.inf)


def _judged(question: DrainQuestion, schedule: Schedule, moving: Int64s) -> Answered | Unanswered:
    verdict = judge(question.state, schedule)
    if verdict.holds:
        return Answered(question, schedule, verdict.measures, verdict, moving)
    broken = verdict.replay.violations
    return _refused(str(broken[0]) if broken else "replicas left behind")


def _refused(why: str) -> Unanswered:
    return Unanswered("refused", f"the plan did not pass its replay: {why}", np.zeros(0, dtype=np.int64))
