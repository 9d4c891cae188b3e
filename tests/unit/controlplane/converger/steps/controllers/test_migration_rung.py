"""What the converger decides of a migration from ZooKeeper to KRaft by what it sees: the next step, or what it waits
for. The order of the steps is `controlplane.kafka.zookeeper.migration`'s and tried with it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.background.anomalies.status import own_doing
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.certificates import AuthorityPhase, AuthorityReplacementView
from controlplane.cluster.views.security import SecurityView
from controlplane.converger.questions.quorum.migration_look import look
from controlplane.converger.situation.effects import ForgetMigration, ReleaseRestartLock, TakeRestartLock
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.controllers.migration import cut_step, migration_begin_step, migration_step
from controlplane.kafka.zookeeper.migration import Knows, MigrationState
from controlplane.kafka.zookeeper.registry import RegistrySeen
from events import facts
from planner.anomalies.judge import AnomalyFinding
from planner.anomalies.kinds import Kind
from planner.rollout.desired import desired_nodes
from tests.builders import (
    BEFORE,
    NOW,
    a_document,
    a_partition,
    a_report,
    a_situation,
    a_snapshot,
    a_zookeeper_document,
    an_instance,
    with_tls,
)
from tests.changed_view import changed_view
from tests.unit.controlplane.migration_samples import in_zookeeper_mode, migrating

CONTROLLERS = {103: "controllers-a-0", 104: "controllers-b-0", 105: "controllers-c-0"}
BROKERS = (1000, 1001, 1002)
TOLD_BOTH = dict.fromkeys(CONTROLLERS, Knows.BOTH)


def view_of(knows: Mapping[int, Knows], **changes: Any) -> ClusterView:
    """Three brokers, three servers of the ensemble, three controllers; told that."""
    made = migrating(knows=knows, **changes)
    wanted = {n.node: n for n in desired_nodes(made.working_spec())}  # type: ignore[arg-type]
    there = {}
    for one in made.instances.values():
        node = one.node.replace("controllers", "zookeepers")
        there[node] = replace(one.planned, node=node)
    for number, node in CONTROLLERS.items():
        there[node] = replace(an_instance(node).planned, service_id=number)
    instances = {}
    for node, old in there.items():
        want = wanted[node]
        planned = replace(
            old, pool=want.pool, service=want.service, digest=want.digest, kafka_version="3.9.1", heap_mib=want.heap_mib
        )
        one = an_instance(node if not node.startswith("zookeepers") else "controllers-a-0")
        instances[planned.key] = replace(
            one, planned=planned, start=replace(one.start, listed=frozenset({100, 101, 102}), protocol="3.9")
        )
    ids = {i.node: i.service_id for i in instances.values() if not i.is_broker}
    voters = tuple(
        facts.FoundingVoter(n, i, f"address-{n}", 9093, instances[f"{n}.g1"].planned.volumes[0].directory_id)
        for i, n in CONTROLLERS.items()
    )
    founding = facts.QuorumFounded("kafka-cluster", "3.9", voters)
    migration = replace(made.quorum.migration, founding=founding)  # type: ignore[type-var]
    return changed_view(
        made, instances=instances, recycling=2, quorum=replace(made.quorum, controller_ids=ids, migration=migration)
    )


def registry(kraft_epoch: int = -1, *, has_migration: bool = True) -> RegistrySeen:
    return RegistrySeen(NOW, "kafka-cluster", {}, 1000, 1, kraft_epoch=kraft_epoch, has_migration=has_migration)


def seen_by(
    view: ClusterView, *, state: int | None = 2, leader: int = 103, zk_brokers: int = 3, **seen: Any
) -> Situation:
    """All well, as agents, ZooKeeper and Kafka tell; `state` is the number of the controllers' metric."""
    migration = view.quorum.migration
    reports = {}
    for one in view.alive():
        told = migration.last_sent(one.planned.service, one.service_id) if migration else Knows.ENSEMBLE
        metrics: dict[str, float] = {}
        if one.planned.service == "controller":
            metrics = {"active_controllers": one.service_id == leader, "quorum_leader": leader}
            metrics |= {"quorum_high_watermark": 9, "zk_brokers": zk_brokers}
            metrics |= {"zk_migration_state": state} if state is not None else {}
        stopped = told is Knows.STOPPED and one.planned.service != "zookeeper"
        reports[one.key] = a_report(one, "stopped" if stopped else "running", metrics=metrics)
    usual = {"reports": reports, "kafka": a_snapshot(at=NOW), "registry": registry(), "restart_lock": "held"}
    return a_situation(view, **{**usual, **seen})


def started(situation: Situation) -> facts.MigrationServiceStarted:
    decision = migration_step(situation)
    assert decision is not None
    [event] = decision.events
    assert isinstance(event, facts.MigrationServiceStarted), decision
    return event


def waits(situation: Situation) -> tuple[str, str]:
    decision = migration_step(situation)
    assert decision is not None
    assert decision.wait is not None, decision
    assert decision.events == ()
    return decision.wait.reason, decision.sentence


def test_controllers_start_together_beside_the_ensemble() -> None:
    event = started(seen_by(view_of({}), state=None, leader=-1))
    assert (event.service, event.ids, event.knows) == ("controller", (103, 104, 105), "both")


def test_the_next_broker_is_told_of_both_under_the_restart_lock() -> None:
    view = view_of({**TOLD_BOTH, 1000: Knows.BOTH})
    decision = migration_step(seen_by(view, restart_lock="lost"))
    assert decision is not None
    assert isinstance(decision.effects[0], TakeRestartLock)
    assert decision.events == ()
    event = started(seen_by(view))
    assert (event.ids, event.knows, event.ends_way_back) == ((1001,), "both", False)


def test_the_lock_is_given_back_once_the_quorum_leads() -> None:
    view = view_of({**TOLD_BOTH, **dict.fromkeys(BROKERS, Knows.BOTH)})
    decision = migration_step(seen_by(view, state=1, registry=registry(3)))
    assert decision is not None
    assert decision.effects == (ReleaseRestartLock(),)
    assert started(seen_by(view, state=1, registry=registry(3), restart_lock="lost")).knows == "the quorum"


def test_nothing_is_done_while_zookeeper_does_not_say_who_leads() -> None:
    assert waits(seen_by(view_of(TOLD_BOTH), registry=None))[0] == "EnsembleUnknown"


def test_past_the_point_of_no_return_nobody_waits_for_zookeeper() -> None:
    knows = {**TOLD_BOTH, **dict.fromkeys(BROKERS, Knows.QUORUM), 104: Knows.QUORUM}
    view = view_of(knows, has_no_way_back=True)
    event = started(seen_by(view, state=1, registry=None, restart_lock="lost"))
    assert (event.service, event.ids, event.ends_way_back) == ("controller", (105,), False)


@pytest.mark.parametrize("hidden", [{"kafka": None}, {"kafka": a_snapshot(at=BEFORE)}], ids=["unread", "old"])
def test_no_step_is_taken_on_metadata_nobody_has_read_since_the_last_one(hidden: dict[str, Any]) -> None:
    reason, sentence = waits(seen_by(view_of(TOLD_BOTH), **hidden))
    assert reason == "Migration"
    assert "to be back in sync" in sentence


def test_a_broker_out_of_sync_holds_the_next_step() -> None:
    behind = a_snapshot(a_partition(isr=(1000, 1001)))
    assert "waiting for 1002 to be back in sync" in waits(seen_by(view_of(TOLD_BOTH), kafka=behind))[1]


def test_what_takes_longer_than_its_deadline_is_told_and_nothing_is_undone() -> None:
    view = view_of(TOLD_BOTH, since=NOW - timedelta(seconds=500))
    decision = migration_step(seen_by(view, leader=-1))
    assert decision is not None
    assert decision.wait is not None
    assert (decision.wait.reason, decision.events, decision.effects) == ("MigrationStuck", (), ())
    assert "kedge apply with the spec of before" in decision.wait.next_command


def test_two_controllers_that_both_call_themselves_leader_are_believed_by_nobody() -> None:
    view = view_of(TOLD_BOTH)
    situation = seen_by(view)
    other = view.instances["controllers-b-0.g1"]
    both = {**situation.seen.reports, other.key: a_report(other, metrics={"active_controllers": 1})}
    seen = look(seen_by(view, reports=both), view.quorum.migration)  # type: ignore[arg-type]
    assert seen is not None
    assert (seen.leader, seen.state) == (-1, None)


def test_an_old_report_tells_nothing_of_who_leads() -> None:
    view = view_of(TOLD_BOTH)
    one = view.instances["controllers-a-0.g1"]
    metrics = {"active_controllers": 1, "zk_migration_state": 2, "quorum_leader": 103, "quorum_high_watermark": 9}
    young = a_report(one, metrics=metrics)
    old = a_report(one, metrics=metrics, received_at=NOW - timedelta(seconds=60))
    for report, leader, state in ((young, 103, MigrationState.WAITING), (old, -1, None)):
        seen = look(seen_by(view, leader=-1, reports={one.key: report}), view.quorum.migration)  # type: ignore[arg-type]
        assert seen is not None
        assert (seen.leader, seen.state) == (leader, state)


def test_the_way_back_ends_in_an_event_that_says_so() -> None:
    view = view_of({**TOLD_BOTH, **dict.fromkeys(BROKERS, Knows.QUORUM)}, krafts_since=NOW - timedelta(hours=1))
    event = started(seen_by(view, state=1, zk_brokers=0, registry=registry(3), restart_lock="lost"))
    assert (event.service, len(event.ids), event.knows, event.ends_way_back) == ("controller", 1, "the quorum", True)
    assert event.ids != (103,), "the leader is the last"


def test_another_mode_of_the_spec_turns_it_around() -> None:
    view = replace(view_of(TOLD_BOTH), document=a_zookeeper_document(version="3.9.1"), generation=3)
    decision = migration_step(seen_by(view))
    assert decision is not None
    assert decision.events == (
        facts.MigrationTurned("zookeeper", 3, "the spec of generation 3 asks for mode zookeeper"),
    )


def test_who_has_stopped_its_controllers_goes_all_the_way_back_first() -> None:
    knows = {**dict.fromkeys(CONTROLLERS, Knows.STOPPED), **dict.fromkeys(BROKERS, Knows.ENSEMBLE)}
    view = view_of(knows, goal="zookeeper", has_stopped_controllers=True)
    decision = migration_step(seen_by(view))
    assert decision is not None
    assert decision.effects == (ForgetMigration(),)
    decision = migration_step(seen_by(view, registry=registry(has_migration=False)))
    assert decision is not None
    [event] = decision.events
    assert isinstance(event, facts.MigrationEnded)
    assert event.mode == "zookeeper"


def test_the_cut_goes_on_though_the_cluster_is_paused_and_nobody_can_be_asked() -> None:
    """A broker is stopped, and no controller runs: nobody leads until it has started again."""
    knows = {**dict.fromkeys(CONTROLLERS, Knows.STOPPED), **dict.fromkeys(BROKERS, Knows.BOTH), 1000: Knows.STOPPED}
    view = changed_view(view_of(knows, goal="zookeeper", has_stopped_controllers=True), paused="lunch")
    decision = cut_step(seen_by(view, kafka=None, registry=registry(3), restart_lock="lost"))
    assert decision is not None
    assert decision.effects == (ForgetMigration(),)
    decision = cut_step(seen_by(view, kafka=None, restart_lock="lost"))
    assert decision is not None
    [event] = decision.events
    assert isinstance(event, facts.MigrationServiceStarted)
    assert (event.ids, event.knows) == ((1000,), "the ensemble")
    assert cut_step(seen_by(view_of(TOLD_BOTH))) is None


def test_a_stop_that_nobody_has_proved_is_waited_for() -> None:
    knows = {**TOLD_BOTH, **dict.fromkeys(BROKERS, Knows.BOTH), 1000: Knows.STOPPED}
    view = view_of(knows, goal="zookeeper")
    view = replace(view, document=a_zookeeper_document(version="3.9.1"))
    situation = seen_by(view, state=1, registry=registry(3))
    broker = view.instances["brokers-a-0.g1"]
    runs = {**situation.seen.reports, broker.key: a_report(broker)}
    assert (
        "waiting for proof that brokers-a-0.g1 (running) stopped"
        in waits(seen_by(view, state=1, registry=registry(3), reports=runs))[1]
    )


def test_it_begins_once_every_vm_is_as_declared_and_speaks_the_protocol() -> None:
    view = in_zookeeper_mode()
    decision = migration_begin_step(a_situation(view))
    assert decision is not None
    assert [type(e) for e in decision.events] == [facts.MigrationBegun]
    for other, reason in (
        (replace(view, quorum=replace(view.quorum, protocol="3.8")), "MigrationBlocked"),
        (replace(view, instances={**view.instances, **_late(view)}), "NotSettled"),
    ):
        decision = migration_begin_step(a_situation(other))
        assert decision is not None
        assert decision.wait is not None
        assert decision.wait.reason == reason
    assert migration_begin_step(a_situation(migrating())) is None
    at_rest = in_zookeeper_mode(document=a_zookeeper_document(version="3.9.1"))
    assert migration_begin_step(a_situation(at_rest)) is None


def _late(view: ClusterView) -> dict[str, Any]:
    return {"brokers-a-0.g1": replace(view.instances["brokers-a-0.g1"], phase=Phase.LAUNCHED)}


@pytest.mark.parametrize(("documents", "begins"), [(5, False), (6, True), (7, True)])
def test_one_that_speaks_tls_waits_for_agents_that_know_of_it(documents: int, begins: bool) -> None:
    before = with_tls(a_zookeeper_document(version="3.9.1"))
    view = changed_view(in_zookeeper_mode(), document=with_tls(a_document(version="3.9.1")), ensemble_spec=before)
    reports = {i.key: with_documents(a_report(i), documents) for i in view.alive()}
    decision = migration_begin_step(a_situation(view, reports=reports))
    assert decision is not None
    assert [type(e) for e in decision.events] == ([facts.MigrationBegun] if begins else [])
    if not begins:
        assert decision.wait is not None
        assert decision.wait.reason == "MigrationBlocked"
        assert "the agent of brokers-a-0.g1 and 2 more knows of no migration with TLS" in decision.sentence


@pytest.mark.parametrize(
    "changes",
    [
        {"security": SecurityView(2, 3, 3, quorum="zookeeper")},
        {"authority_change": AuthorityReplacementView("r", "clients", AuthorityPhase.TRUST_BOTH, NOW, "ann")},
    ],
)
def test_one_whose_security_is_being_changed_does_not_begin(changes: dict[str, Any]) -> None:
    decision = migration_begin_step(a_situation(in_zookeeper_mode(**changes)))
    assert decision is not None
    assert decision.wait is not None
    assert (decision.events, decision.wait.reason) == ((), "NotSettled")


@pytest.mark.parametrize(("is_tls", "port"), [(False, 9093), (True, 9090)])
def test_controllers_are_founded_where_they_listen_once_their_agents_know_of_it(is_tls: bool, port: int) -> None:
    view = view_of({})
    assert view.document is not None
    assert view.quorum.migration is not None
    arrived = {k: replace(i, phase=Phase.LAUNCHED) for k, i in view.instances.items() if k.startswith("controllers-")}
    view = changed_view(
        view,
        document=with_tls(view.document) if is_tls else view.document,
        instances={**view.instances, **arrived},
        migration=replace(view.quorum.migration, founding=None),
    )
    for documents in (5, 6):
        reports = {i.key: with_documents(a_report(i), documents) for i in view.alive()}
        decision = migration_step(a_situation(view, reports=reports))
        assert decision is not None
        if documents == 5 and is_tls:
            assert decision.wait is not None
            assert (decision.events, decision.wait.reason) == ((), "MigrationBlocked")
            continue
        [founded] = decision.events
        assert isinstance(founded, facts.MigrationQuorumFounded)
        assert {voter.port for voter in founded.voters} == {port}


def with_documents(seen: ReportSeen, documents: int) -> ReportSeen:
    return replace(seen, report=seen.report.model_copy(update={"documents": documents}))


def test_a_broker_the_migration_starts_anew_is_none_that_failed() -> None:
    view = view_of({**TOLD_BOTH, 1000: Knows.BOTH}, last=(1000,))
    down = AnomalyFinding(Kind.BROKER_FAILURE, "brokers-a-0", "not registered")
    assert own_doing(view, down, NOW) == "brokers-a-0.g1 is started anew by the migration to KRaft"
    assert own_doing(view, replace(down, subject="brokers-b-0"), NOW) == ""
