"""What a deletion waits for and destroys, place by place; what an abort takes back, and from whom not."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.situation.decision import Decision
from controlplane.converger.steps.deletion import STOP_WITHIN_S, deletion_step
from controlplane.converger.steps.rolls.abort import abort_step, revertible
from events import facts
from events.ids import intent_id
from planner.observed import LogDirsSeen
from tests.builders import BEFORE, NOW, a_document, a_partition, a_report, a_situation, a_snapshot, a_view, an_instance

# --- deletion ---------------------------------------------------------------------------------------------------------


def _condemned(*instances: InstanceView, since_s: float = 0.0, **overrides: Any) -> ClusterView:
    at = NOW - timedelta(seconds=since_s)
    return a_view(*instances, **{"tombstone": "orders", "tombstone_at": at, **overrides})


def _deleted(view: ClusterView, **states: str) -> Decision:
    """`states`: what the agents last said of the service, by node with dashes as underlines."""
    said = ((i, states.get(i.node.replace("-", "_"))) for i in view.alive())
    reports = {i.key: a_report(i, state) for i, state in said if state is not None}
    decision = deletion_step(a_situation(view, reports=reports))
    assert decision is not None
    return decision


def test_services_get_a_minute_and_a_half_to_stop() -> None:
    assert STOP_WITHIN_S == 90.0
    running = {"brokers_a_0": "running", "brokers_b_0": "running"}
    waiting = _deleted(_condemned(since_s=89), **running)
    assert waiting.sentence == "deleting: 2 services are still to stop, brokers-a-0.g1 among them"
    assert not waiting.events
    assert _deleted(_condemned(since_s=90), **running).events


def test_who_has_no_disk_yet_or_is_gone_is_not_waited_for() -> None:
    young = an_instance("controllers-a-0", 2, Phase.LAUNCHED, bound=False)
    gone = an_instance("brokers-b-0", lost_at=BEFORE)
    view = _condemned(young, gone)
    reports = {i.key: a_report(i, "running") for i in (young, gone)}
    decision = deletion_step(a_situation(view, reports=reports))
    assert decision is not None
    assert [type(e) for e in decision.events] == [facts.DestroyRequested]


def test_one_place_is_destroyed_whole_by_one_intent() -> None:
    view = _condemned()
    assert _deleted(view).events == (facts.DestroyRequested(intent_id(view.uid, "destroy", "orders", 1)),)


# --- abort ------------------------------------------------------------------------------------------------------------

LIVE = (1000, 1001, 1002, 1010, 1011)
SUCCESSORS = (an_instance("brokers-a-0", 2), an_instance("brokers-b-0", 2))


def _aborted(*instances: InstanceView, **overrides: Any) -> ClusterView:
    return a_view(*instances, **{"aborting": "second thoughts", "paused": "second thoughts", **overrides})


def _step(*instances: InstanceView, **kafka: Any) -> Decision:
    partitions = kafka.pop("partitions", ())
    seen = a_snapshot(*partitions, **{"brokers": LIVE, **kafka})
    decision = abort_step(a_situation(_aborted(*instances), kafka=seen))
    assert decision is not None
    return decision


def test_a_node_whose_broker_is_gone_hides_no_other_one_that_is_taken_back() -> None:
    lost = an_instance("brokers-a-0", lost_at=BEFORE)
    pairs = revertible(_aborted(lost, *SUCCESSORS))
    assert [(old.key, new.key) for old, new in pairs] == [("brokers-b-0.g1", "brokers-b-0.g2")]


def test_the_first_of_several_whose_disks_are_not_empty_says_so() -> None:
    filled = {1010: LogDirsSeen(1, 5, 100, 50), 1011: LogDirsSeen(2, 6, 100, 50)}
    decision = _step(*SUCCESSORS, log_dirs=filled)
    assert decision.sentence == "aborted: broker 1010 still has 1 replicas with 5 bytes on its disks"


def test_all_that_hold_something_are_drained_back_in_a_first_round_once_all_is_whole() -> None:
    holds = (a_partition("x-0", (1010, 1011, 1002)),)
    (drain,) = _step(*SUCCESSORS, partitions=holds).events
    assert isinstance(drain, facts.DrainRequested)
    assert (drain.round, drain.keys) == (1, tuple(h.key for h in SUCCESSORS))
    assert dict(drain.successors) == {"1010": 1000, "1011": 1001}
    unhealthy = _step(*SUCCESSORS, partitions=holds, brokers=(1000, 1001, 1010, 1011), fenced=(1002,))
    assert unhealthy.sentence.startswith("aborted: not draining brokers-a-0.g2 back: ")


def _for(old: InstanceView | None) -> dict[str, Any]:
    """Of who is to take over this one's id and vote with a disk of its own."""
    if old is None:
        return {}
    return {"handover": True, "new_disk": True, "relieves": old.key, "service_id": old.service_id}


def _moved(old: InstanceView, successor: InstanceView) -> ClusterView:
    """A controller of another node that is to take over from one that stays until then."""
    return replace(_aborted(old, successor), document=a_document())


@pytest.mark.parametrize("moves", [True, False])
def test_who_is_to_take_over_a_seat_of_another_node_is_taken_back_while_the_old_one_serves(moves: bool) -> None:
    old = an_instance("controllers-a-0")
    successor = an_instance("controllers-a-1", 1, Phase.LAUNCHED, bound=False, **_for(old if moves else None))
    pairs = revertible(_moved(old, successor))
    assert [(o.key, h.key) for o, h in pairs] == ([(old.key, successor.key)] if moves else [])


@pytest.mark.parametrize(
    ("of_old", "of_successor"),
    [({"lost_at": BEFORE}, {}), ({"phase": Phase.FENCING}, {}), ({}, {"bound": True})],
    ids=["gone", "stops", "bound"],
)
def test_a_seat_that_is_given_up_already_is_not_taken_back(
    of_old: dict[str, Any], of_successor: dict[str, Any]
) -> None:
    old = an_instance("controllers-a-0", **of_old)
    successor = an_instance("controllers-a-1", 1, Phase.LAUNCHED, **{"bound": False, **_for(old), **of_successor})
    assert revertible(_moved(old, successor)) == []
