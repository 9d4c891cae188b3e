"""After an abort: taken back before its drain, finished after."""

from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.converger.ladder.decide import decide
from controlplane.converger.steps.rolls.abort import abort_step
from events import facts
from planner.observed import LogDirsSeen
from tests.builders import (
    BEFORE,
    NOW,
    a_document,
    a_drain,
    a_partition,
    a_report,
    a_situation,
    a_snapshot,
    a_view,
    an_instance,
)

SUCCESSOR = an_instance("brokers-a-0", 2)
LIVE = (1000, 1001, 1002, 1010)
AT_HOME = a_partition("orders-0")


def _aborted(*instances: Any, **overrides: Any) -> ClusterView:
    return a_view(
        *instances, **{"aborting": "second thoughts", "paused": "second thoughts", "recycling": 1, **overrides}
    )


def _events(view: ClusterView, **seen: Any) -> list[Any]:
    decision = abort_step(a_situation(view, **seen))
    return list(decision.events) if decision else []


def _reason(view: ClusterView, **seen: Any) -> str:
    decision = abort_step(a_situation(view, **seen))
    assert decision is not None
    assert not decision.events
    return decision.wait.reason if decision.wait else ""


def test_without_an_abort_no_successor_is_taken_back() -> None:
    assert abort_step(a_situation(a_view(SUCCESSOR))) is None


def test_an_empty_successor_is_fenced() -> None:
    fence = facts.FenceRequested((SUCCESSOR.key,), "the roll was aborted before its drain")
    assert _events(_aborted(SUCCESSOR), kafka=a_snapshot(AT_HOME, brokers=LIVE)) == [fence]


def test_a_successor_that_holds_replicas_is_drained_back() -> None:
    drain = _events(_aborted(SUCCESSOR), kafka=a_snapshot(a_partition("late-0", (1010, 1001, 1002)), brokers=LIVE))[0]
    assert isinstance(drain, facts.DrainRequested)
    assert (drain.keys, dict(drain.successors), drain.targets) == ((SUCCESSOR.key,), {"1010": 1000}, (1000, 1001, 1002))


def test_a_controllers_successor_is_retired_before_anything_was_handed_to_it() -> None:
    retire = _events(_aborted(an_instance("controllers-a-0", 2, Phase.LAUNCHED)))[0]
    assert isinstance(retire, facts.RetireRequested)
    assert (retire.keys, retire.volumes) == (("controllers-a-0.g2",), ())


@pytest.mark.parametrize(
    "instances",
    [
        (),
        (an_instance("brokers-a-1", 1),),
        (an_instance("brokers-a-0", 2, Phase.LAUNCHED),),
        (SUCCESSOR, an_instance("brokers-a-0", 1, Phase.DRAINING)),
        (SUCCESSOR, an_instance("brokers-a-0", 1, Phase.LINGERING)),
        (SUCCESSOR, an_instance("brokers-a-0", 1, Phase.FENCED)),
        (SUCCESSOR, an_instance("brokers-a-0", 1, lost_at=BEFORE)),
        (an_instance("brokers-a-0", 2, lost_at=BEFORE),),
        (an_instance("brokers-a-0", 2, Phase.RETIRING),),
        (
            an_instance("controllers-a-0", 2, Phase.LAUNCHED),
            an_instance("controllers-a-0", 1, Phase.FENCING),
        ),
        (an_instance("controllers-a-0", 2), an_instance("controllers-a-0", 1, Phase.RELEASED, bound=False)),
    ],
    ids=[
        "nothing in hand",
        "a new node",
        "on its way",
        "being drained",
        "lingering",
        "stopped",
        "its predecessor is gone",
        "itself gone",
        "going already",
        "a handover that has begun",
        "a handover almost done",
    ],
)
def test_everything_else_is_left_to_those_who_began_it(instances: tuple[Any, ...]) -> None:
    assert abort_step(a_situation(_aborted(*instances))) is None


@pytest.mark.parametrize(
    ("kafka", "reason"),
    [
        (None, "KafkaUnknown"),
        (a_snapshot(brokers=LIVE, at=NOW - timedelta(seconds=31)), "KafkaUnknown"),
        (a_snapshot(AT_HOME, brokers=LIVE, log_dirs={}), "LogDirsNotEmpty"),
        (a_snapshot(AT_HOME, brokers=LIVE, log_dirs={1010: LogDirsSeen(1, 5, 9, 9)}), "LogDirsNotEmpty"),
        (
            a_snapshot(a_partition("late-0", (1010, 1000, 1002)), brokers=(1000, 1002, 1010), fenced=(1001,)),
            "BrokerDown",
        ),
    ],
    ids=["unknown", "stale", "no word of its disks", "its disks are not empty", "another broker is down"],
)
def test_nothing_is_taken_back_on_a_guess(kafka: Any, reason: str) -> None:
    assert _reason(_aborted(SUCCESSOR), kafka=kafka) == reason


def test_an_aborted_cluster_begins_nothing_whatever_is_declared() -> None:
    view = _aborted(document=a_document(version="4.2.0"), generation=2, paused="", paused_until=None)
    decision = decide(a_situation(view))
    assert decision.wait is not None
    assert (decision.wait.reason, decision.wait.next_command) == ("Paused", "kedge resume orders")
    assert decision.sentence == "aborted: second thoughts"


def test_a_drain_in_hand_goes_on_after_an_abort() -> None:
    view = _aborted(SUCCESSOR, an_instance("brokers-a-0", 1, Phase.DRAINING), drain=a_drain(plan_sha256="", batch=-1))
    decision = decide(a_situation(view, kafka=a_snapshot(AT_HOME, brokers=LIVE)))
    assert "planning round 1" in decision.sentence
    assert decision.effects


def test_a_handover_does_not_begin_after_an_abort() -> None:
    successor = an_instance("controllers-a-0", 2, Phase.LAUNCHED)
    decision = decide(a_situation(_aborted(successor), reports={successor.key: a_report(successor, "")}))
    assert [type(e) for e in decision.events] == [facts.RetireRequested]
