"""What a person has to know of pairs of clusters, as findings about the cluster that stands by. Nothing is decided by
it: how long something has to last before anybody is notified is for those who record it."""

from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.background.failovers.look import PairLook
from controlplane.fleet.failovers.seen import PairSeen
from controlplane.fleet.failovers.state import PairCache, RegisteredPair
from controlplane.fleet.failovers.steps import PairWait, copy_trouble, next_step
from controlplane.fleet.failovers.view import PairState, PairView
from events.ids import ClusterUid
from planner.anomalies.judge import AnomalyFinding
from planner.anomalies.kinds import Kind

STANDBY_BEHIND, STANDBY_INCOMPLETE, PAIR_WAITS, FAILOVER_WAITS = PAIR_SUBJECTS = (
    "StandbyBehind",
    "StandbyIncomplete",
    "PairWaits",
    "FailoverWaits",
)
"""What such findings are about: the copy does not keep up; it lacks records for good; the pair has no standby that
could take over; a failover in hand goes on by nobody's word but a person's."""

PairFindings = Mapping[ClusterUid, tuple[AnomalyFinding, ...]]


@dataclass(frozen=True, slots=True)
class PairWatch:
    """Looks at all pairs at once. Raises StoreUnavailable."""

    cache: PairCache
    look: PairLook

    def findings(self) -> PairFindings:
        """By the cluster that stands by; of pairs of which nothing is wrong there is none."""
        found: dict[ClusterUid, tuple[AnomalyFinding, ...]] = {}
        for pair in self.cache.pairs().living:
            if pair.view.name and not pair.view.is_withdrawn:
                of = findings_of(pair, self.look.of(pair), self.look.primary_brokers(pair))
                if of:
                    found[ClusterUid(pair.view.standby)] = of
        return found


def findings_of(pair: RegisteredPair, seen: PairSeen, primary_brokers: int | None) -> tuple[AnomalyFinding, ...]:
    """What is wrong of one pair now. Pure. An order in hand, or a step that is due, is nobody's trouble."""
    view, found = pair.view, []
    is_kept_up = view.order is None and view.is_warm and view.state is PairState.STANDBY and not view.stands_still
    if is_kept_up and (trouble := copy_trouble(view, seen)):
        why = f"; {seen.copy.problem}" if seen.copy is not None and seen.copy.problem else ""
        found.append(_finding(pair, STANDBY_BEHIND, f"{trouble}{why}"))
    if lacking := _lacking(seen):
        found.append(_finding(pair, STANDBY_INCOMPLETE, lacking))
    step = next_step(view, seen, primary_brokers)
    if isinstance(step, PairWait) and step.needs_person and view.state is not PairState.STANDBY:
        subject = FAILOVER_WAITS if view.order is not None else PAIR_WAITS
        found.append(_finding(pair, subject, _words(view, step)))
    return tuple(found)


def _lacking(seen: PairSeen) -> str:
    gaps = seen.copy.gaps if seen.copy is not None else {}
    if not gaps:
        return ""
    name, count = max(gaps.items(), key=lambda one: one[1])
    more = f", and of {len(gaps) - 1} more partitions" if len(gaps) > 1 else ""
    return f"up to {count} records of {name}{more} were deleted by retention before they were copied"


def _words(view: PairView, step: PairWait) -> str:
    return f"it is {view.state}, and {step.reason}"


def _finding(pair: RegisteredPair, subject: str, reason: str) -> AnomalyFinding:
    return AnomalyFinding(Kind.CONDITION, subject, f"of the pair {pair.name}: {reason}")
