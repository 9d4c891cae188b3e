"""What is wrong of a pair is told of the cluster that stands by, as an anomaly with its severity, and as metrics."""

import pytest
from prometheus_client.metrics_core import Metric

from controlplane.api.metrics.pair_families import pair_families
from controlplane.api.metrics.snapshot import PairSnapshot
from controlplane.background.failovers.findings import (
    FAILOVER_WAITS,
    PAIR_SUBJECTS,
    PAIR_WAITS,
    STANDBY_BEHIND,
    STANDBY_INCOMPLETE,
    findings_of,
)
from controlplane.cluster.condition_severity import OF_PAIRS, Severity, severity_of_anomaly
from controlplane.fleet.failovers.fold import after
from controlplane.fleet.failovers.seen import CopySeen, PairSeen, ReplicatorsSeen
from controlplane.fleet.failovers.state import RegisteredPair
from controlplane.fleet.failovers.view import PairView
from events import failover_facts as facts
from planner.anomalies.judge import AnomalyFinding
from planner.anomalies.kinds import Kind, State
from tests.unit.controlplane.background.anomalies.test_anomaly_reconciler import Scene
from tests.unit.controlplane.background.failovers.cold_pair import EU, US
from tests.unit.controlplane.fleet.failovers.pair_world import declared

SEEDING = (
    facts.FailoverDeclared("p", EU, US, "warm"),
    facts.DoorClosed(US, 1, "agents", "3 VMs"),
    facts.CopyRequested({}),
)
WAITING = (*SEEDING, facts.StandbySeeded("lag 0.1 s"))
FENCING = (
    *WAITING,
    facts.FailoverRequested("f1", False, "gone"),
    facts.StandbyReady("f1", ""),
    facts.NamesFlipRequested("f1", US),
    facts.NamesFlipped("f1", US),
    facts.DoorCloseRequested("f1", EU, 2),
)
PROMOTED = (
    *FENCING,
    facts.DoorClosed(EU, 2, "agents", ""),
    facts.ReplicatorStopRequested("f1"),
    facts.ReplicatorStopped("f1", ""),
    facts.PromotionRequested("f1", US, 3),
    facts.DoorOpened(US, 3),
    facts.PairPromoted("f1"),
    facts.DoorClosed(EU, 2, "agents", ""),
)
RUNS = ReplicatorsSeen(is_running=True)
WELL = PairSeen(replicators=RUNS, copy=CopySeen(0.2))


def found(story: tuple[object, ...], seen: PairSeen = WELL) -> dict[str, str]:
    view = PairView(uid="p1", declaration=declared("warm"))
    for fact in story:
        view = after(view, fact)
    return {f.subject: f.reason for f in findings_of(RegisteredPair("p1", "p", (EU, US), view), seen, 3)}


@pytest.mark.parametrize("story", [SEEDING, WAITING])
def test_of_a_pair_that_goes_its_way_nothing_is_wrong(story: tuple[object, ...]) -> None:
    assert found(story) == {}


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        (PairSeen(replicators=RUNS, copy=CopySeen(31.0)), "the copy is 31.0 s behind, and 30 s are allowed"),
        (PairSeen(replicators=RUNS), "how far the copy is behind is not known"),
        (PairSeen(replicators=RUNS, copy=CopySeen(problem="no leader")), "is behind is not known; no leader"),
        (PairSeen(copy=CopySeen(0.2)), "nobody knows which VM could copy"),
    ],
)
def test_a_copy_that_does_not_keep_up_is_told_while_the_pair_is_at_rest(seen: PairSeen, why: str) -> None:
    (told,) = [reason for subject, reason in found(WAITING, seen).items() if subject == STANDBY_BEHIND]
    assert told.startswith("of the pair p: ")
    assert why in told
    assert STANDBY_BEHIND not in found(SEEDING, seen), "it is on its way"


def test_records_that_will_never_be_copied_are_told_whatever_the_pair_does() -> None:
    seen = PairSeen(replicators=RUNS, copy=CopySeen(0.2, gaps={"orders-0": 3, "orders-1": 40}))
    words = "up to 40 records of orders-1, and of 1 more partitions were deleted by retention before they were copied"
    assert found(WAITING, seen) == {STANDBY_INCOMPLETE: f"of the pair p: {words}"}


def test_a_failover_that_goes_on_by_a_persons_word_alone_is_told_apart_from_a_pair_that_has_no_standby() -> None:
    assert found(FENCING).keys() == {FAILOVER_WAITS}
    assert "is not proved shut by order 2" in found(FENCING)[FAILOVER_WAITS]
    without = found(PROMOTED)
    assert without.keys() == {PAIR_WAITS}
    assert "whether the old primary has records that the new one has not is not known" in without[PAIR_WAITS]


def test_each_has_a_severity_and_a_failover_that_waits_is_the_gravest() -> None:
    assert set(PAIR_SUBJECTS) == OF_PAIRS.keys()
    critical = [s for s in PAIR_SUBJECTS if severity_of_anomaly(Kind.CONDITION, s) is Severity.CRITICAL]
    assert critical == [FAILOVER_WAITS]


def test_people_are_notified_after_the_grace_with_what_to_type_and_it_is_over_with_the_finding() -> None:
    scene = Scene()
    finding = AnomalyFinding(Kind.CONDITION, STANDBY_BEHIND, "of the pair p: the copy is 31.0 s behind")
    scene.of_pairs = {scene.fleet.view.uid: (finding,)}
    (first,) = scene.look().open_.values()
    assert (first.subject, first.reason, first.state) == (STANDBY_BEHIND, finding.reason, State.FOUND)
    (told,) = scene.look(minutes=2).open_.values()
    assert (told.state, told.words) == (State.WAITING, "Next: kedge failovers")
    scene.of_pairs = {}
    (over,) = scene.look(minutes=1).past
    assert over.state is State.OVER


def samples(*pairs: PairSnapshot) -> dict[str, float]:
    families: list[Metric] = list(pair_families(pairs))
    return {f"{s.name}{{{','.join(s.labels.values())}}}": s.value for f in families for s in f.samples}


def test_what_is_not_known_of_a_copy_has_no_sample() -> None:
    known = PairSnapshot("p", "eu", "us", "Standby", True, True, CopySeen(2.5, {"a-0": 3, "a-1": 4}, gaps={"a-0": 7}))
    unknown = PairSnapshot("q", "eu", "us", "Seeding", True, False, CopySeen(problem="no leader"))
    assert samples(known, unknown, PairSnapshot("r", "us", "eu", "Standby")) == {
        "kedge_pair_state{p,eu,us,Standby}": 1.0,
        "kedge_pair_state{q,eu,us,Seeding}": 1.0,
        "kedge_pair_state{r,us,eu,Standby}": 1.0,
        "kedge_pair_replicator_running{p}": 1.0,
        "kedge_pair_replicator_running{q}": 0.0,
        "kedge_pair_copy_lag_seconds{p}": 2.5,
        "kedge_pair_copy_lag_records{p}": 7.0,
        "kedge_pair_copy_gap_records{p}": 7.0,
    }
