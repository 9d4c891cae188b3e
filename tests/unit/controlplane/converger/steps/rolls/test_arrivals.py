"""Instances that come and instances that vanish: situation -> decision."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.services.service_reports import start_id
from controlplane.converger.situation.effects import ReadConsole
from controlplane.converger.steps.rolls.arrivals import arrival_step, founding_step, loss_step
from events import facts
from planner.observed import QuorumSeen, VoterSeen
from tests.builders import (
    BEFORE,
    NODES,
    NOW,
    a_document,
    a_report,
    a_situation,
    a_snapshot,
    a_view,
    a_volume,
    an_instance,
    an_inventory,
)
from tests.changed_view import changed_view

NEW = an_instance("brokers-a-0", 2, Phase.LAUNCHED)
ALL_BROKERS = (1000, 1001, 1002, NEW.service_id)


# --- lost -------------------------------------------------------------------------------------------------------------


def test_a_vm_the_cloud_declares_gone_is_lost() -> None:
    view = a_view()
    decision = loss_step(a_situation(view, inventory=an_inventory(view, gone={"brokers-a-0.g1"})))
    assert decision is not None
    assert decision.events == (facts.InstanceLost("brokers-a-0.g1", "the cloud says it is gone"),)


def test_a_vm_that_is_only_missing_from_the_list_is_unknown_and_not_lost() -> None:
    view = a_view()
    listed = an_inventory(view)
    without = {k: v for k, v in listed.instances.items() if k != "brokers-a-0.g1"}
    assert loss_step(a_situation(view, inventory=an_inventory(view, instances=without))) is None


def test_without_an_inventory_nobody_is_lost() -> None:
    assert loss_step(a_situation(a_view(), inventory=None)) is None


@pytest.mark.parametrize(
    ("instance", "recorded"),
    [
        (an_instance("brokers-a-0", 1), [facts.InstanceLost]),
        (NEW, [facts.InstanceLost, facts.JoinFailed]),
        (an_instance("brokers-a-0", 1, Phase.FENCING), [facts.InstanceLost, facts.NodeFenced]),
        (an_instance("brokers-a-0", 1, Phase.DRAINING), [facts.InstanceLost]),
        (an_instance("brokers-a-0", 1, Phase.RETIRING), []),
        (an_instance("brokers-a-0", 2, Phase.REQUESTED), []),
        (an_instance("brokers-a-0", 1, lost_at=BEFORE), []),
    ],
    ids=lambda x: f"{x.phase}{'-lost' if x.lost else ''}" if isinstance(x, InstanceView) else "",
)
def test_what_a_vanished_vm_means_depends_on_its_phase(instance: InstanceView, recorded: list[type]) -> None:
    view = a_view(instance)
    decision = loss_step(a_situation(view, inventory=an_inventory(view, gone={instance.key})))
    assert [type(e) for e in (decision.events if decision else ())] == recorded


def test_a_rack_that_burns_down_is_believed() -> None:
    view = a_view()
    decision = loss_step(a_situation(view, inventory=an_inventory(view, gone={"brokers-a-0.g1", "controllers-a-0.g1"})))
    assert decision is not None
    assert [type(e) for e in decision.events] == [facts.InstanceLost, facts.InstanceLost]


def test_vms_of_two_racks_with_one_left_in_each_are_lost_as_usual() -> None:
    view = a_view()
    decision = loss_step(a_situation(view, inventory=an_inventory(view, gone={"brokers-a-0.g1", "brokers-b-0.g1"})))
    assert decision is not None
    assert len(decision.events) == 2


def test_vms_that_all_die_at_birth_are_believed() -> None:
    """A bad image: they have failed to join, which is counted; there is nothing yet that could be lost."""
    view = a_view(*(an_instance(n, 1, Phase.LAUNCHED) for n in NODES), founding=None, converged=0)
    decision = loss_step(
        a_situation(view, inventory=an_inventory(view, gone={i.key for i in view.alive()}), kafka=None)
    )
    assert decision is not None
    assert [type(e) for e in decision.events] == [facts.InstanceLost, facts.JoinFailed] * 6


# --- founding ---------------------------------------------------------------------------------------------------------


def _unfounded(*phases: Phase, addresses: int = 3) -> object:
    controllers = [an_instance(n, 1, p) for n, p in zip(NODES[3:], phases, strict=True)]
    known = {n: f"10.0.0.{k}" for k, n in enumerate(NODES[3 : 3 + addresses])}
    view = a_view(*controllers, founding=None, node_addresses=known)
    return founding_step(a_situation(view))


def test_the_quorum_is_founded_once_all_controllers_have_their_address() -> None:
    decision = _unfounded(Phase.LAUNCHED, Phase.LAUNCHED, Phase.LAUNCHED)
    founded = decision.events[0]  # type: ignore[attr-defined]
    assert isinstance(founded, facts.QuorumFounded)
    assert [v.id for v in founded.voters] == [100, 101, 102]
    assert founded.metadata_level == "4.1"
    assert founded.voters[0].directory_id == a_volume("controllers-a-0").directory_id


def test_a_cluster_is_founded_with_a_range_of_producer_ids_that_no_other_has() -> None:
    """Acknowledged records of a producer that moves between clusters with the same ids are in no log."""
    controllers = [an_instance(n, 1, Phase.LAUNCHED) for n in NODES[3:]]
    known = {n: f"10.0.0.{k}" for k, n in enumerate(NODES[3:])}
    view = a_view(*controllers, founding=None, node_addresses=known)
    first, taken = None, frozenset[int]()
    for _ in range(2):
        decision = founding_step(replace(a_situation(view), taken_producer_ids=taken))
        assert decision is not None
        founded = decision.events[0]
        assert isinstance(founded, facts.QuorumFounded)
        assert founded.first_producer_id not in {None, 0, first}
        first = founded.first_producer_id
        taken = frozenset({first}) if first is not None else taken


@pytest.mark.parametrize("level", ["3.9", "4.0", "4.1"])
def test_a_quorum_is_founded_at_the_level_that_is_pinned(level: str) -> None:
    """Founded at its version's, the cluster would have no way back to the one the pin names."""
    controllers = [an_instance(n, 1, Phase.LAUNCHED) for n in NODES[3:]]
    known = {n: f"10.0.0.{k}" for k, n in enumerate(NODES[3:])}
    pinned = a_document(version="4.2.0", config=f', metadataVersion: "{level}"')
    view = a_view(*controllers, founding=None, node_addresses=known, document=pinned)
    decision = founding_step(a_situation(view))
    assert decision is not None
    founded = decision.events[0]
    assert isinstance(founded, facts.QuorumFounded)
    assert founded.metadata_level == level


@pytest.mark.parametrize(
    ("phases", "addresses"),
    [
        ((Phase.LAUNCHED, Phase.LAUNCHED, Phase.REQUESTED), 3),
        ((Phase.LAUNCHED, Phase.LAUNCHED, Phase.FAILED), 3),
        ((Phase.LAUNCHED, Phase.LAUNCHED, Phase.LAUNCHED), 2),
    ],
)
def test_the_quorum_waits_for_the_last_founder(phases: tuple[Phase, ...], addresses: int) -> None:
    assert _unfounded(*phases, addresses=addresses) is None


def test_a_founded_quorum_is_founded_for_ever() -> None:
    assert founding_step(a_situation(a_view(an_instance("controllers-a-0", 1, Phase.LAUNCHED)))) is None


# --- joining ----------------------------------------------------------------------------------------------------------


def test_a_broker_that_runs_and_is_unfenced_has_joined() -> None:
    decision = arrival_step(a_situation(a_view(NEW), kafka=a_snapshot(brokers=ALL_BROKERS)))
    assert decision is not None
    assert decision.events == (facts.InstanceJoined(NEW.key, NEW.service_id),)


def test_what_its_agent_measured_of_its_volumes_is_recorded_once() -> None:
    (volume,) = NEW.planned.volumes
    used = {"name": volume.dir, "total_bytes": 10, "free_bytes": 5, "partitions": 0}
    told = a_report(NEW, log_dirs=[{**used, "write_bytes_per_s": 80e6, "read_bytes_per_s": 90e6}])
    seen = {"kafka": a_snapshot(brokers=ALL_BROKERS), "reports": {NEW.key: told}}
    decision = arrival_step(a_situation(a_view(NEW), **seen))
    assert decision is not None
    rate = facts.MeasuredVolume(80e6, 90e6)
    assert decision.events == (facts.InstanceJoined(NEW.key, NEW.service_id, {volume.key: rate}),)
    # Its next VM has the same disk, which holds data by then: what is known of it stays.
    known = changed_view(a_view(NEW), measured_volumes={volume.key: rate})
    decision = arrival_step(a_situation(known, **seen))
    assert decision is not None
    assert decision.events == (facts.InstanceJoined(NEW.key, NEW.service_id),)


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        ({"kafka": None}, "metadata unknown"),
        ({"kafka": a_snapshot(brokers=ALL_BROKERS, at=NOW - timedelta(seconds=31))}, "metadata stale"),
        ({"kafka": a_snapshot(fenced=(NEW.service_id,))}, "still fenced"),
        ({"kafka": a_snapshot()}, "not registered"),
        ({"kafka": a_snapshot(brokers=ALL_BROKERS), "reports": {}}, "its agent is silent"),
        ({"kafka": a_snapshot(brokers=ALL_BROKERS), "reports": {NEW.key: a_report(NEW, "starting")}}, "starting"),
        (
            {"kafka": a_snapshot(brokers=ALL_BROKERS), "reports": {NEW.key: a_report(NEW, start_id="another")}},
            "an earlier start",
        ),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_until_everything_says_so_it_has_not_joined(seen: dict[str, object], why: str) -> None:
    decision = arrival_step(a_situation(a_view(NEW), **seen))
    assert decision is not None
    assert (decision.events, decision.wait and decision.wait.reason) == ((), "InstanceJoins")


def test_a_controller_joins_as_a_caught_up_voter_of_its_own_directory() -> None:
    successor = an_instance("controllers-a-0", 2, Phase.LAUNCHED, bound=True)
    view = a_view(successor, an_instance("controllers-a-0", 1, Phase.RELEASED))
    decision = arrival_step(a_situation(view, reports={successor.key: a_report(successor)}))
    assert decision is not None
    assert decision.events == (facts.InstanceJoined(successor.key, 100),)
    for broken in (
        VoterSeen(100, "another", 0, True),
        VoterSeen(100, successor.planned.volumes[0].directory_id, 9999, True),
    ):
        members = (broken, *a_snapshot().quorum.members[1:])
        lagging = a_snapshot(quorum=QuorumSeen(101, 1, members))
        decision = arrival_step(a_situation(view, kafka=lagging, reports={successor.key: a_report(successor)}))
        assert decision is not None
        assert not decision.events


def test_after_its_deadline_it_has_failed_to_join_and_the_agent_says_why() -> None:
    late = an_instance("brokers-a-0", 2, Phase.LAUNCHED, since=NOW - timedelta(seconds=121))
    report = a_report(late, "failed", message="no space left")
    decision = arrival_step(a_situation(a_view(late), reports={late.key: report}))
    assert decision is not None
    assert decision.events == (facts.JoinFailed(late.key, "failed: no space left after 120 s"),)
    assert decision.effects == (ReadConsole(late.key),)


def test_a_successor_that_reports_and_waits_for_its_volume_is_never_late() -> None:
    waiting = an_instance("controllers-a-0", 2, Phase.LAUNCHED, since=NOW - timedelta(hours=2))
    assert arrival_step(a_situation(a_view(waiting), reports={waiting.key: a_report(waiting, "")})) is None
    decision = arrival_step(a_situation(a_view(waiting), reports={}))
    assert decision is not None
    assert decision.events == (facts.JoinFailed(waiting.key, "its agent has not reported after 120 s"),)


def test_a_report_from_before_the_launch_is_another_vms() -> None:
    late = an_instance("brokers-a-0", 2, Phase.LAUNCHED, since=NOW - timedelta(seconds=121), launched_at=NOW)
    report = a_report(late, "starting", received_at=BEFORE)
    decision = arrival_step(a_situation(a_view(late), reports={late.key: report}))
    assert decision is not None
    assert decision.events == (facts.JoinFailed(late.key, "its agent has not reported after 120 s"),)


def test_lost_ones_and_settled_ones_are_not_waited_for() -> None:
    lost = an_instance("brokers-a-0", 2, Phase.LAUNCHED, lost_at=BEFORE)
    assert arrival_step(a_situation(a_view(lost))) is None


def test_each_start_has_an_id_of_its_own() -> None:
    assert start_id(an_instance(starts=1)) != start_id(an_instance(starts=2))
    assert a_document().spec.rollout.join_deadline_s == 120
