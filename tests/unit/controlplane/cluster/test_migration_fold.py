"""What is recorded of a migration from ZooKeeper to KRaft, folded: who votes, which nodes are wanted, who was told of
what."""

from dataclasses import replace

import pytest

from agent.wire import MIGRATION_WIRE_VERSION, TLS_WIRE_VERSION
from controlplane.cluster.folds.migration import RULES
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.quorum_config import awaits_first_step, has_stop_order, knows, quorum_status
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.security import SecurityView, at_rest
from controlplane.converger.questions.documents import document_for
from controlplane.kafka.zookeeper.migration import Knows
from events import facts
from planner.rollout.desired import desired_nodes
from planner.rollout.security_steps import FIRST, LAST
from tests.builders import NOW, a_document, a_zookeeper_document, an_instance, with_tls
from tests.changed_view import changed_view
from tests.unit.controlplane.migration_samples import CONTROLLER, ENDED, in_zookeeper_mode, migrating


def apply(view: ClusterView, event: object) -> ClusterView:
    return RULES[type(event)](view, event, NOW)


def started(*ids: int, knows: Knows, service: str = "broker", ends: bool = False) -> facts.MigrationServiceStarted:
    return facts.MigrationServiceStarted(service, ids, knows, ends, "a step")


def services(view: ClusterView) -> set[str]:
    spec = view.working_spec()
    return {n.service for n in desired_nodes(spec)} if spec else set()


def with_controller(view: ClusterView, phase: Phase = Phase.LAUNCHED) -> ClusterView:
    """A controller of the migration, beside who is there."""
    one = an_instance("controllers-a-0", phase=phase)
    planned = replace(one.planned, service_id=CONTROLLER.id)
    return replace(view, instances={**view.instances, one.key: replace(one, planned=planned)})


def secured(view: ClusterView, recorded: SecurityView | None = None) -> ClusterView:
    """The same with TLS between nodes, and their ports; by what is recorded, or from birth."""
    assert view.document is not None
    assert view.quorum.migration is not None
    assert view.quorum.migration.founding is not None
    founding = replace(view.quorum.migration.founding, voters=(replace(CONTROLLER, port=9090),))
    servers = {number: replace(server, port=2182) for number, server in view.quorum.voters.items()}
    migration = replace(view.quorum.migration, founding=founding)
    document = with_tls(view.document)
    return changed_view(view, document=document, migration=migration, voters=servers, security=recorded)


def test_metadata_stays_in_zookeeper_until_the_migration_has_ended_whatever_the_spec_says() -> None:
    assert in_zookeeper_mode().in_zookeeper_mode
    assert migrating().in_zookeeper_mode
    assert not apply(migrating(), ENDED).in_zookeeper_mode


def test_before_it_begins_the_nodes_of_the_spec_of_before_are_wanted() -> None:
    assert services(in_zookeeper_mode()) == {"broker", "zookeeper"}


def test_while_it_is_in_hand_the_nodes_of_both_quorums_are_wanted() -> None:
    assert services(migrating()) == {"broker", "zookeeper", "controller"}
    assert services(replace(migrating(goal="zookeeper"), document=a_zookeeper_document(version="3.9.1"))) == {
        "broker",
        "zookeeper",
        "controller",
    }


def test_after_the_end_the_nodes_of_the_spec_in_force_are_wanted() -> None:
    assert services(apply(migrating(), ENDED)) == {"broker", "controller"}
    back = replace(migrating(goal="zookeeper"), document=a_zookeeper_document(version="3.9.1"))
    assert services(apply(back, replace(ENDED, mode="zookeeper"))) == {"broker", "zookeeper"}


def test_the_end_in_kraft_makes_the_controllers_the_quorum_and_brokers_know_all_of_them() -> None:
    before = migrating()
    view = apply(before, ENDED)
    assert view.quorum.founding == before.quorum.migration.founding  # type: ignore[union-attr]
    assert dict(view.quorum.voters) == {CONTROLLER.id: CONTROLLER}
    assert {i.start.listed for i in view.brokers()} == {frozenset({CONTROLLER.id})}
    assert {i.start.protocol for i in view.brokers()} == {""}
    assert view.quorum.left_voters == tuple(before.quorum.voters[i] for i in sorted(before.quorum.voters))


def test_the_end_in_zookeeper_leaves_the_ensemble_as_it_was() -> None:
    before = migrating()
    view = apply(before, replace(ENDED, mode="zookeeper"))
    assert (view.quorum.voters, view.quorum.founding, view.quorum.protocol) == (
        before.quorum.voters,
        before.quorum.founding,
        "3.9",
    )
    assert view.quorum.left_voters == (CONTROLLER,)


def test_a_step_gives_a_broker_another_start_and_a_new_controller_the_one_it_was_made_for() -> None:
    view = with_controller(migrating())
    view = apply(view, started(CONTROLLER.id, knows=Knows.BOTH, service="controller"))
    assert view.instances["controllers-a-0.g1"].start.count == 1
    view = apply(view, started(1000, knows=Knows.BOTH))
    assert view.instances["brokers-a-0.g1"].start.count == 2
    view = apply(view, started(CONTROLLER.id, knows=Knows.QUORUM, service="controller", ends=True))
    assert view.instances["controllers-a-0.g1"].start.count == 2
    assert view.quorum.migration is not None
    assert view.quorum.migration.has_no_way_back


def test_the_soak_counts_from_the_last_broker_that_was_told_of_the_quorum_alone() -> None:
    view = migrating()
    for broker in (1000, 1001):
        view = apply(view, started(broker, knows=Knows.QUORUM))
        assert view.quorum.migration is not None
        assert view.quorum.migration.krafts_since is None
    view = apply(view, started(1002, knows=Knows.QUORUM))
    assert view.quorum.migration is not None
    assert view.quorum.migration.krafts_since == NOW


def test_there_is_no_turning_back_after_the_point_of_no_return() -> None:
    view = migrating(has_no_way_back=True)
    with pytest.raises(ValueError, match="no way back"):
        apply(view, facts.MigrationTurned("zookeeper", 3, "the spec"))


def test_only_a_cluster_in_zookeeper_mode_whose_spec_asks_for_it_migrates() -> None:
    begun = facts.MigrationBegun(2, "the spec")
    with pytest.raises(ValueError, match="once at a time"):
        apply(migrating(), begun)
    with pytest.raises(ValueError, match="does not ask"):
        apply(in_zookeeper_mode(document=a_zookeeper_document(version="3.9.1")), begun)


@pytest.mark.parametrize(
    ("told", "ensemble", "voters", "protocol"),
    [
        (Knows.ENSEMBLE, True, False, "3.9"),
        (Knows.BOTH, True, True, "3.9"),
        (Knows.QUORUM, False, True, ""),
    ],
)
def test_a_broker_is_told_of_the_ensemble_of_the_quorum_or_of_both(
    told: Knows, ensemble: bool, voters: bool, protocol: str
) -> None:
    view = migrating(knows={1000: told})
    document = document_for(view, "brokers-a-0.g1", epoch=1)
    assert document is not None
    [service] = document.services
    assert (bool(service.ensemble), bool(service.voters), service.protocol_version) == (ensemble, voters, protocol)
    assert service.state == "running"


@pytest.mark.parametrize(
    ("told", "wire"),
    [(Knows.ENSEMBLE, TLS_WIRE_VERSION), (Knows.BOTH, MIGRATION_WIRE_VERSION), (Knows.QUORUM, TLS_WIRE_VERSION)],
)
@pytest.mark.parametrize("recorded", [None, at_rest(LAST, "zookeeper")], ids=["born so", "gone there"])
def test_a_broker_that_speaks_tls_is_told_of_both_by_their_ports_with_tls(
    told: Knows, wire: int, recorded: SecurityView | None
) -> None:
    document = document_for(secured(migrating(knows={1000: told}), recorded), "brokers-a-0.g1", epoch=1)
    assert document is not None
    [service] = document.services
    assert (document.wire, service.port, service.tls is not None) == (wire, 9091, True)
    assert {member.port for member in service.ensemble} <= {2182}
    assert {voter.port for voter in service.voters} <= {9090}


def test_a_controller_that_speaks_tls_is_told_of_both_by_their_ports_with_tls() -> None:
    view = apply(secured(with_controller(migrating())), started(CONTROLLER.id, knows=Knows.BOTH, service="controller"))
    document = document_for(view, "controllers-a-0.g1", epoch=1)
    assert document is not None
    [service] = document.services
    assert (document.wire, service.port, service.tls is not None) == (MIGRATION_WIRE_VERSION, 9090, True)
    assert ({m.port for m in service.ensemble}, {v.port for v in service.voters}) == ({2182}, {9090})


@pytest.mark.parametrize("position", [FIRST, LAST])
def test_what_is_recorded_of_the_way_to_tls_is_of_the_controllers_in_the_end(position: int) -> None:
    """The next way, to TLS or back, is theirs: the ensemble whose steps those were is gone."""
    view = apply(secured(migrating(), at_rest(position, "zookeeper")), ENDED)
    assert view.security == at_rest(position, "controller")
    assert apply(migrating(), ENDED).settings.security is None


@pytest.mark.parametrize("is_tls", [False, True])
def test_a_broker_of_the_quorum_is_told_the_same_after_the_end(is_tls: bool) -> None:
    view = migrating(knows={1000: Knows.QUORUM, 1001: Knows.QUORUM, 1002: Knows.QUORUM, CONTROLLER.id: Knows.QUORUM})
    view = secured(view) if is_tls else view
    assert document_for(apply(view, ENDED), "brokers-a-0.g1", epoch=1) == document_for(view, "brokers-a-0.g1", epoch=1)


def test_a_broker_that_is_stopped_for_the_cut_is_told_so() -> None:
    view = migrating(knows={1000: Knows.STOPPED})
    document = document_for(view, "brokers-a-0.g1", epoch=1)
    assert document is not None
    assert [s.state for s in document.services] == ["stopped"]
    assert has_stop_order(view, view.instances["brokers-a-0.g1"])


def test_a_controller_is_told_nothing_before_its_first_step_and_stays_stopped_after_going_back() -> None:
    """An agent never runs a start again that it was told is stopped."""
    view = with_controller(migrating())
    one = view.instances["controllers-a-0.g1"]
    assert awaits_first_step(view, one)
    document = document_for(view, one.key, epoch=1)
    assert document is not None
    assert document.services == ()
    back = apply(view, replace(ENDED, mode="zookeeper"))
    document = document_for(back, one.key, epoch=1)
    assert document is not None
    assert [s.state for s in document.services] == ["stopped"]


def test_a_controller_that_takes_over_a_disk_is_no_founder_of_it() -> None:
    view = apply(with_controller(migrating()), started(CONTROLLER.id, knows=Knows.BOTH, service="controller"))
    one = view.instances["controllers-a-0.g1"]
    directory = one.planned.volumes[0].directory_id
    founding = facts.QuorumFounded("k-id", "3.9", (replace(CONTROLLER, directory_id=directory),))
    view = replace(view, quorum=replace(view.quorum, migration=replace(view.quorum.migration, founding=founding)))  # type: ignore[type-var]
    assert quorum_status(view, one).founder
    successor = replace(one, planned=replace(one.planned, handover=True))
    assert not quorum_status(view, successor).founder


def test_what_nobody_of_a_migration_was_told_follows_from_the_mode() -> None:
    ensemble = in_zookeeper_mode(document=a_zookeeper_document(version="3.9.1"))
    assert knows(ensemble, ensemble.instances["brokers-a-0.g1"]) is Knows.ENSEMBLE
    krafts = apply(migrating(), ENDED)
    assert knows(krafts, krafts.instances["brokers-a-0.g1"]) is Knows.QUORUM
    assert krafts.document == a_document(version="3.9.1")
