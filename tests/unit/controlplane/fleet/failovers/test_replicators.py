"""Which VM of a standby copies, what its agents are told of it, and when it is known that none does."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.wire import ReplicatorReport
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.fleet.failovers.fold import IllegalStep, after
from controlplane.fleet.failovers.pair_documents import door_of
from controlplane.fleet.failovers.replicators import end_id_of, replicator_part, replicators_seen, start_id_of
from controlplane.fleet.failovers.seen import CopySeen, PairSeen, ReplicatorsSeen, StandbyBuild
from controlplane.fleet.failovers.state import PairsView, RegisteredPair
from controlplane.fleet.failovers.steps import PairStep, PairWait, next_step
from controlplane.fleet.failovers.view import PairView
from events import failover_facts as facts
from tests.builders import BEFORE, NOW, a_report, an_instance
from tests.unit.controlplane.background.failovers.cold_pair import EU, NODES, US, a_cluster, a_topic
from tests.unit.controlplane.fleet.failovers.pair_world import declared

KEYS = tuple(f"{node}.g1" for node in NODES)
COPIED = (
    facts.FailoverDeclared("p", EU, US, "warm"),
    facts.DoorClosed(US, 1, "agents", "3 VMs"),
    facts.CopyRequested({}),
)
ENDING = (
    facts.StandbySeeded("lag 0.1 s"),
    facts.FailoverRequested("f1", False, "gone"),
    facts.StandbyReady("f1", ""),
    facts.NamesFlipRequested("f1", US),
    facts.NamesFlipped("f1", US),
    facts.DoorCloseRequested("f1", EU, 2),
    facts.DoorClosed(EU, 2, "inventory", "gone"),
    facts.ReplicatorStopRequested("f1"),
)


def pair_of(*story: object) -> RegisteredPair:
    view = PairView(uid="p1", declaration=declared("warm"))
    for fact in (*COPIED, *story):
        view = after(view, fact)
    return RegisteredPair("p1", "p", (EU, US), view)


def standby(*topics: str) -> ClusterView:
    return a_cluster(US, "us", *(a_topic(name) for name in topics or ("orders",)))


def said(vm: InstanceView, start_id: str, state: str = "stopped", **more: Any) -> ReportSeen:
    seen = a_report(vm, **more)
    report = ReplicatorReport.model_validate({"state": state, "start_id": start_id, "since": BEFORE})
    return replace(seen, report=seen.report.model_copy(update={"replicator": report}))


def all_said(view: ClusterView, start_id: str, **states: str) -> dict[str, ReportSeen]:
    return {vm.key: said(vm, start_id, states.get(vm.node.replace("-", "_"), "stopped")) for vm in view.brokers()}


def test_one_vm_is_told_to_copy_and_every_other_one_that_it_does_not() -> None:
    pair = pair_of(facts.ReplicatorPlaced(US, KEYS[1]))
    part = replicator_part(pair, standby("clicks", "orders"), a_cluster(EU, "eu"))
    assert part is not None
    host, other = part.of(KEYS[1], "4.2.0"), part.of(KEYS[0], "4.2.0")
    assert (host.state, other.state, host.start_id) == ("running", "stopped", other.start_id)
    assert (host.topics, host.kafka_version, host.heap_mib) == (("clicks", "orders"), "4.2.0", 512)
    assert (host.source.name, host.target.name) == (EU, US)
    assert host.source.bootstrap == ("10.0.1.4:9092", "10.0.1.5:9092", "10.0.1.6:9092")
    assert host.replication_factor == 3


def test_the_primary_and_a_pair_that_is_over_are_told_that_nothing_copies() -> None:
    """A VM that was away while the copy ended hears of it, wherever it was."""
    pair = pair_of(facts.ReplicatorPlaced(US, KEYS[0]))
    of_primary = replicator_part(pair, a_cluster(EU, "eu", a_topic()), standby())
    assert of_primary is not None
    assert (of_primary.host, of_primary.document.start_id) == ("", end_id_of(pair))
    withdrawn = pair_of(facts.ReplicatorPlaced(US, KEYS[0]), facts.PairWithdrawn("over"))
    of_standby = replicator_part(withdrawn, standby(), a_cluster(EU, "eu"))
    assert of_standby is not None
    assert of_standby.of(KEYS[0], "4.2.0").state == "stopped"
    cold = replace(pair, view=replace(pair.view, is_warm=False))
    assert replicator_part(cold, standby(), a_cluster(EU, "eu")) is None


def test_topics_that_are_not_there_yet_are_none_of_it_and_new_ones_are_another_start() -> None:
    pair, view = pair_of(facts.ReplicatorPlaced(US, KEYS[0])), standby("orders", "mm2-configs.eu.internal")
    view = replace(view, topics=replace(view.topics, by_name={**view.topics.by_name, "new": a_topic("new")}))
    pending = replace(view, topics=replace(view.topics, pending={"new": BEFORE}))
    parts = [replicator_part(pair, one, a_cluster(EU, "eu")) for one in (pending, view)]
    assert [part.document.topics for part in parts if part is not None] == [("orders",), ("new", "orders")]
    assert len({part.document.start_id for part in parts if part is not None}) == 2


def test_nobody_is_told_to_copy_nothing() -> None:
    pair = pair_of(facts.ReplicatorPlaced(US, KEYS[0]))
    part = replicator_part(pair, standby("mm2-configs.eu.internal"), a_cluster(EU, "eu"))
    assert part is not None
    assert (part.host, part.document.state) == ("", "stopped")
    away = replicator_part(pair, standby(), None)
    assert away is not None
    assert away.document.state == "stopped"


def test_who_copies_is_let_in_at_a_shut_primary() -> None:
    """And so are the other cluster's nodes at either: the way back is copied by them."""
    pair, eu, us = pair_of(), a_cluster(EU, "eu"), standby()
    pairs = PairsView(by_uid={"p1": pair})
    for view, other in ((eu, us), (us, eu)):
        door = door_of(pairs, view, lambda address: (), other)
        assert door is not None
        assert {f"{vm.address}/32" for vm in (*eu.brokers(), *us.brokers())} <= set(door.members)


def test_a_vm_is_placed_once_every_one_says_that_it_copies_nothing() -> None:
    pair, view = pair_of(), standby()
    start = start_id_of(pair, ("orders",))
    reports = all_said(view, start)
    found = replicators_seen(pair, view, reports, NOW)
    assert (found.eligible, found.lacking, found.is_running) == (KEYS, {}, False)
    step = next_step(pair.view, PairSeen(replicators=found), 3)
    assert step == PairStep(facts.ReplicatorPlaced(US, KEYS[0]))
    del reports[KEYS[2]]
    missing = replicators_seen(pair, view, reports, NOW)
    waits = next_step(pair.view, PairSeen(replicators=missing), 3)
    assert isinstance(waits, PairWait)
    assert f"{KEYS[2]}: its agent has said nothing yet" in waits.reason


@pytest.mark.parametrize(
    ("report", "why"),
    [
        ({"state": "running"}, "its replicator is running"),
        ({"state": "stopping"}, "its replicator is stopping"),
        ({"state": "failed"}, "its replicator is failed"),
        ({"start_id": "p1-0-end"}, "has not heard of this flow yet"),
        ({"start_id": "p2-1-abc"}, "has not heard of this flow yet"),
        ({"received_at": NOW - timedelta(hours=1)}, "has been silent for"),
    ],
)
def test_any_other_word_is_no_proof(report: dict[str, Any], why: str) -> None:
    pair, view = pair_of(), standby()
    said_of = {"start_id": start_id_of(pair, ("orders",)), **report}
    vm = view.brokers()[0]
    assert why in replicators_seen(pair, view, {vm.key: said(vm, **said_of)}, NOW).lacking[vm.key]


def test_an_agent_of_a_release_before_is_asked_for_nothing() -> None:
    pair, view = pair_of(), standby()
    found = replicators_seen(pair, view, {vm.key: a_report(vm) for vm in view.brokers()}, NOW)
    assert (found.eligible, set(found.lacking)) == ((), set(KEYS))
    assert "of a release before" in found.lacking[KEYS[0]]


def test_what_was_said_before_the_end_was_asked_for_proves_no_end() -> None:
    """It may have begun since: a document may be on its way."""
    pair, view = pair_of(facts.ReplicatorPlaced(US, KEYS[0]), *ENDING), standby()
    found = replicators_seen(pair, view, all_said(view, "p1-1-0badcafe"), NOW)
    assert set(found.lacking) == set(KEYS)
    waits = next_step(pair.view, PairSeen(replicators=found), 3)
    assert isinstance(waits, PairWait)
    assert "is not known to have ended" in waits.reason
    ended = replicators_seen(pair, view, all_said(view, end_id_of(pair)), NOW)
    step = next_step(pair.view, PairSeen(replicators=ended, ends={}), 3)
    assert isinstance(step, PairStep)
    assert isinstance(step.fact, facts.ReplicatorStopped)


def test_of_a_vm_that_the_cloud_has_no_more_nothing_is_waited_for() -> None:
    pair, view = pair_of(), standby()
    gone = an_instance(NODES[0], lost_at=NOW, address="10.0.2.4")
    view = replace(view, instances={**view.instances, gone.key: gone})
    reports = {key: one for key, one in all_said(view, start_id_of(pair, ("orders",))).items() if key != gone.key}
    found = replicators_seen(pair, view, reports, NOW)
    assert (found.eligible, found.lacking) == (KEYS[1:], {})


def test_a_vm_that_leaves_is_relieved_before_another_one_begins() -> None:
    pair = pair_of(facts.ReplicatorPlaced(US, KEYS[0]))
    others = ReplicatorsSeen(KEYS[1:], {KEYS[0]: "its replicator is running"}, True)
    assert next_step(pair.view, PairSeen(replicators=others), 3) == PairStep(facts.ReplicatorPlaced(US, ""))
    view = after(pair.view, facts.ReplicatorPlaced(US, ""))
    assert isinstance(next_step(view, PairSeen(replicators=others), 3), PairWait)
    ended = replace(others, lacking={})
    assert next_step(view, PairSeen(replicators=ended), 3) == PairStep(facts.ReplicatorPlaced(US, KEYS[1]))


def test_two_are_never_placed_at_once() -> None:
    pair = pair_of(facts.ReplicatorPlaced(US, KEYS[0]))
    with pytest.raises(IllegalStep, match="is to copy"):
        after(pair.view, facts.ReplicatorPlaced(US, KEYS[1]))
    with pytest.raises(IllegalStep, match="nothing is copied to that cluster"):
        after(pair.view, facts.ReplicatorPlaced(EU, KEYS[1]))


def test_nothing_is_copied_before_the_topics_are_there() -> None:
    view = PairView(uid="p1", declaration=declared("warm"))
    for fact in COPIED[:2]:
        view = after(view, fact)
    build = StandbyBuild(3, 2, ("clicks",), True)
    waits = next_step(view, PairSeen(standby=build, seeds={}), 3)
    assert isinstance(waits, PairWait)
    assert waits.reason == "1 topics of the primary are not on the standby as they are there"
    built = PairSeen(standby=replace(build, topics_left=()), replicators=ReplicatorsSeen(), seeds={})
    assert next_step(view, built, 3) == PairStep(facts.CopyRequested({}))
    ending = replace(built, replicators=ReplicatorsSeen(lacking={KEYS[0]: "its replicator is stopping"}))
    waits = next_step(view, ending, 3)
    assert isinstance(waits, PairWait), "of an earlier pair: it writes down how far it came as it ends"
    assert "is not known to have ended" in waits.reason


def test_a_silent_agent_keeps_what_copies_beside_it() -> None:
    """As after a restart of the server: nobody has spoken yet, and it copies on."""
    pair, view = pair_of(facts.ReplicatorPlaced(US, KEYS[0])), standby()
    reports = all_said(view, start_id_of(pair, ("orders",)))
    del reports[KEYS[0]]
    found = replicators_seen(pair, view, reports, NOW)
    assert found.eligible == KEYS
    assert isinstance(next_step(pair.view, PairSeen(replicators=found), 3), PairWait)


def test_behind_an_abort_that_waits_for_a_dead_primary_the_standby_takes_over_all_the_same() -> None:
    """Though its replicator was to end already: it is not begun anew."""
    story = (*ENDING[:1], facts.FailoverRequested("f0", True, "drill"), *(replace_order(f) for f in ENDING[2:7]))
    view = pair_of(*story, facts.PairDrained("f0", 2), facts.OffsetsAlignRequested("f0")).view
    for fact in (
        facts.OffsetsAligned("f0", {}),
        facts.ReplicatorStopRequested("f0"),
        facts.FailoverAbortRequested("f0", 3, "second thoughts"),
        facts.FailoverRequested("f2", False, "it is gone"),
    ):
        view = after(view, fact)
    assert view.order is not None
    assert (view.order.id, view.order.replicator_stops, view.copies) == ("f2", True, None)


def replace_order(fact: Any) -> Any:
    return replace(fact, order="f0") if hasattr(fact, "order") else fact


def test_a_standby_is_seeded_by_a_copy_that_runs_and_keeps_up() -> None:
    view = pair_of(facts.ReplicatorPlaced(US, KEYS[0])).view

    def wait(copy: CopySeen | None, *, runs: bool = True) -> str:
        found = next_step(view, PairSeen(replicators=ReplicatorsSeen(KEYS, {}, runs), copy=copy), 3)
        assert isinstance(found, PairWait)
        return found.reason

    assert wait(None) == f"how far the copy is behind is not known; the replicator at {KEYS[0]} runs"
    assert wait(CopySeen(31.0)).startswith("the copy is 31.0 s behind, and 30 s are allowed")
    assert wait(CopySeen(0.2), runs=False) == f"the replicator at {KEYS[0]} does not run"
    seen = PairSeen(replicators=ReplicatorsSeen(KEYS, {}, True), copy=CopySeen(0.2))
    assert next_step(view, seen, 3) == PairStep(facts.StandbySeeded("the copy is 0.2 s behind"))


def test_instances_on_their_way_or_retired_copy_nothing() -> None:
    pair = pair_of()
    view = standby()
    coming = an_instance("brokers-a-1", phase=Phase.REQUESTED)
    retired = an_instance("brokers-b-1", phase=Phase.RETIRED)
    view = replace(view, instances={**view.instances, coming.key: coming, retired.key: retired})
    found = replicators_seen(pair, view, all_said(standby(), start_id_of(pair, ("orders",))), NOW)
    assert (found.eligible, found.lacking) == (KEYS, {})
