"""What a deletion waits for and destroys, place by place; what an abort takes back, and from whom not."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.intents import IntentView
from controlplane.converger.situation.decision import Decision
from controlplane.converger.steps.deletion import STOP_WITHIN_S, deletion_step
from controlplane.converger.steps.rolls.abort import abort_step, revertible
from events import facts
from events.ids import intent_id
from planner.observed import LogDirsSeen
from tests.builders import (
    BEFORE,
    NOW,
    a_document,
    a_partition,
    a_report,
    a_situation,
    a_snapshot,
    a_view,
    an_instance,
    an_inventory,
)

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
    assert waiting.sentence == "deleting: 2 brokers are still to stop, brokers-a-0.g1 among them"
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


ALL_RUN = {i.node.replace("-", "_"): "running" for i in a_view().alive()}
BROKERS_STOPPED = {**ALL_RUN, **{node: "stopped" for node in ALL_RUN if node.startswith("brokers")}}


def test_controllers_stop_once_every_broker_has_stopped() -> None:
    """A broker without a controller waits for one with its shutdown until it is killed."""
    one_left = {**BROKERS_STOPPED, "brokers_c_0": "stopping"}
    waiting = _deleted(_condemned(), **one_left)
    assert (waiting.sentence, waiting.events) == ("deleting: 1 broker is still to stop, brokers-c-0.g1", ())
    told = _deleted(_condemned(), **BROKERS_STOPPED)
    assert told.events == (facts.QuorumStopRequested("all brokers have stopped"),)


def test_they_get_as_long_as_the_brokers_had_from_when_they_are_told() -> None:
    at = NOW - timedelta(seconds=89)
    view = _condemned(since_s=500, quorum_stop_at=at)
    waiting = _deleted(view, **BROKERS_STOPPED)
    assert waiting.sentence == "deleting: 3 controllers are still to stop, controllers-a-0.g1 among them"
    assert not waiting.events
    over = _deleted(_condemned(since_s=500, quorum_stop_at=NOW - timedelta(seconds=90)), **BROKERS_STOPPED)
    assert [type(e) for e in over.events] == [facts.DestroyRequested]


def test_a_broker_whose_agent_is_silent_keeps_the_controllers_no_longer_than_its_time() -> None:
    hung = {**BROKERS_STOPPED, "brokers_a_0": "running"}
    assert not _deleted(_condemned(since_s=89), **hung).events
    told = _deleted(_condemned(since_s=90), **hung)
    assert told.events == (facts.QuorumStopRequested("brokers-a-0.g1 did not stop within 90 s"),)
    after = _deleted(_condemned(since_s=91, quorum_stop_at=NOW), **hung)
    assert after.sentence.startswith("deleting: 3 controllers are still to stop")
    ended = dict.fromkeys(ALL_RUN, "stopped") | {"brokers_a_0": "running"}
    destroyed = _deleted(_condemned(since_s=92, quorum_stop_at=NOW), **ended)
    assert [type(e) for e in destroyed.events] == [facts.DestroyRequested]


def test_controllers_that_are_gone_or_were_never_heard_of_are_not_waited_for() -> None:
    gone = [an_instance(f"controllers-{rack}-0", lost_at=BEFORE) for rack in "abc"]
    for view, states in ((_condemned(*gone), BROKERS_STOPPED), (_condemned(), {"brokers_a_0": "stopped"})):
        assert [type(e) for e in _deleted(view, **states).events] == [facts.DestroyRequested]


def test_brokers_whose_vms_the_cloud_proves_gone_keep_nobody() -> None:
    view = _condemned()
    brokers = frozenset(i.key for i in view.brokers())
    reports = {i.key: a_report(i) for i in view.alive()}
    decision = deletion_step(a_situation(view, reports=reports, inventory=an_inventory(view, gone=brokers)))
    assert decision is not None
    assert decision.events == (facts.QuorumStopRequested("all brokers have stopped"),)


def test_a_run_in_hand_keeps_no_controller_whose_brokers_have_stopped() -> None:
    view = _condemned(intents={"i": IntentView("i", "surge", ("brokers-a-0.g1",), BEFORE)})
    assert [type(e) for e in _deleted(view, **BROKERS_STOPPED).events] == [facts.QuorumStopRequested]


def test_before_a_quorum_is_founded_nothing_runs_and_nothing_is_waited_for() -> None:
    young = [an_instance(i.node, 1, Phase.LAUNCHED) for i in a_view().alive()]
    decision = _deleted(_condemned(*young, founding=None), **dict.fromkeys(ALL_RUN, ""))
    assert [type(e) for e in decision.events] == [facts.DestroyRequested]


def test_a_cluster_that_is_retained_stops_nobody() -> None:
    view = _condemned(document=a_document(deletion="retain"))
    assert _deleted(view, **BROKERS_STOPPED).events == (facts.ClusterDeleted(retained=True),)


SERVER = facts.PlannedMember(101, "directory-of-server", 512)


def _with_server(host: InstanceView, broker: str, server: str) -> ReportSeen:
    """The last word of the agent of a broker's VM that has a ZooKeeper server, too."""
    seen = a_report(host, broker)
    beside = seen.report.services[0].model_copy(update={"name": "zookeeper", "state": server, "node_id": 101})
    return replace(seen, report=seen.report.model_copy(update={"services": (*seen.report.services, beside)}))


SERVERS_STOP = "3 ZooKeeper servers are still to stop, brokers-a-0.g1/zookeeper among them"


@pytest.mark.parametrize(
    ("broker", "server", "told_at", "said"),
    [
        ("running", "running", None, "deleting: 3 brokers are still to stop, brokers-a-0.g1 among them"),
        ("stopped", "running", None, "telling the ZooKeeper servers to stop: all brokers have stopped"),
        ("stopped", "stopping", NOW, f"deleting: {SERVERS_STOP}"),
        ("stopped", "stopped", NOW, "destroying 3 VMs"),
    ],
)
def test_a_server_beside_a_broker_stops_after_the_last_broker_though_they_share_a_vm(
    broker: str, server: str, told_at: datetime | None, said: str
) -> None:
    hosts = [an_instance(f"brokers-{rack}-0", member=SERVER) for rack in "abc"]
    view = _condemned(*hosts, without=[f"controllers-{rack}-0.g1" for rack in "abc"], quorum_stop_at=told_at)
    decision = deletion_step(a_situation(view, reports={i.key: _with_server(i, broker, server) for i in hosts}))
    assert decision is not None
    assert decision.sentence == said


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
