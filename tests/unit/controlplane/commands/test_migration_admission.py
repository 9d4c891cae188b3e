"""What may be asked of a cluster that is to migrate to KRaft, or does: the way there, the way back, nothing else."""

from dataclasses import replace

import pytest

from controlplane.cluster.view import ClusterView, empty_view
from controlplane.cluster.views.certificates import AuthorityPhase, AuthorityReplacementView
from controlplane.cluster.views.security import SecurityView, at_rest as security_at
from controlplane.commands.admission.migration import not_ready
from controlplane.commands.admission.spec import admission_problems
from controlplane.commands.previews.migration import migration_phases
from controlplane.commands.previews.plan import preview
from controlplane.kafka.zookeeper.migration import Knows
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from planner.rollout.desired import desired_nodes
from planner.rollout.security_steps import LAST
from tests.builders import NOW, a_document, a_zookeeper_document, with_tls
from tests.changed_view import changed_view
from tests.unit.controlplane.migration_samples import CONTROLLER, in_zookeeper_mode, migrating

ZOOKEEPER, KRAFT = a_zookeeper_document(version="3.9.1"), a_document(version="3.9.1")


def at_rest(**changes: object) -> ClusterView:
    """In ZooKeeper mode, each VM as its spec has it."""
    wanted = {n.node: n for n in desired_nodes(ZOOKEEPER)}
    instances = {}
    for one in in_zookeeper_mode().instances.values():
        node = one.node.replace("controllers", "zookeepers")
        want = wanted[node]
        told = {"node": node, "pool": want.pool, "service": want.service, "digest": want.digest}
        planned = replace(one.planned, **told, kafka_version="3.9.1", heap_mib=want.heap_mib)  # type: ignore[arg-type]
        instances[planned.key] = replace(
            one, planned=planned, start=replace(one.start, listed=frozenset({100, 101, 102}))
        )
    ids = {i.node: i.service_id for i in instances.values() if not i.is_broker}
    at_rest = in_zookeeper_mode(document=ZOOKEEPER, generation=1, converged=1, instances=instances, controller_ids=ids)
    return changed_view(at_rest, **changes)


def refused(view: ClusterView, document: KafkaClusterDocument) -> list[str]:
    found = admission_problems(view, document, positions=Positions(), snapshot=None)
    return [f"{p.code} {p.message}" for p in found if p.severity == "error"]


def test_a_cluster_at_rest_on_3_9_may_migrate() -> None:
    assert refused(at_rest(), KRAFT) == []


@pytest.mark.parametrize("recorded", [None, security_at(LAST, "zookeeper")], ids=["born so", "gone there"])
def test_one_whose_nodes_speak_tls_alone_may_too(recorded: SecurityView | None) -> None:
    before, after = with_tls(ZOOKEEPER), with_tls(KRAFT)
    view = at_rest(document=before, ensemble_spec=before, security=recorded)
    assert not_ready(view) == ""
    assert refused(view, after) == []


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"protocol": "3.8"}, "brokers speak protocol 3.8"),
        ({"converged": 0}, "not been founded"),
        ({"generation": 2}, "generation 2 is not reached"),
        ({"recycling": 1}, "other work in hand"),
        ({"security": SecurityView(2, 3, 3, quorum="zookeeper")}, "on its way between plaintext and TLS"),
        ({"security": security_at(3, "zookeeper")}, "on its way between plaintext and TLS"),
        (
            {"authority_change": AuthorityReplacementView("r", "clients", AuthorityPhase.TRUST_BOTH, NOW, "ann")},
            "a CA is being replaced",
        ),
    ],
)
def test_one_that_is_not_ready_is_told_why(changes: dict[str, object], why: str) -> None:
    assert why in not_ready(at_rest(**changes))
    [problem] = refused(at_rest(**changes), KRAFT)
    assert "KEDGE-SPEC-076" in problem
    assert why in problem


def test_one_with_a_lost_vm_does_not_migrate() -> None:
    view = at_rest()
    lost = {**view.instances, "brokers-a-0.g1": replace(view.instances["brokers-a-0.g1"], lost_at=NOW)}
    assert not_ready(replace(view, instances=lost)) == "brokers-a-0.g1 is lost"


def test_a_new_cluster_on_the_version_a_migration_ends_at_is_told_what_to_write() -> None:
    [problem] = admission_problems(empty_view("u"), KRAFT, positions=Positions(), snapshot=None)
    assert problem.code == "KEDGE-SPEC-040"
    assert "only what a migration from ZooKeeper leads to" in problem.message
    assert "Write `version: 4.3.0`" in problem.fix


def test_the_old_spec_is_accepted_again_while_there_is_a_way_back() -> None:
    assert refused(migrating(), ZOOKEEPER) == []
    assert refused(in_zookeeper_mode(), ZOOKEEPER) == [], "also before it has begun"


def test_after_the_point_of_no_return_the_old_spec_is_refused_with_the_reason() -> None:
    view = migrating(has_no_way_back=True, knows={CONTROLLER.id: Knows.QUORUM})
    [problem] = refused(view, ZOOKEEPER)
    assert f"controller {CONTROLLER.id} was started without ZooKeeper" in problem
    assert refused(view, KRAFT) == []


@pytest.mark.parametrize("document", [KRAFT, ZOOKEEPER], ids=["going on", "going back"])
def test_nothing_else_that_runs_changes_while_it_is_between_the_two(document: KafkaClusterDocument) -> None:
    kafka = document.spec.kafka.model_copy(update={"config": {"num.io.threads": "16"}})
    changed = document.model_copy(update={"spec": document.spec.model_copy(update={"kafka": kafka})})
    [problem] = refused(migrating(), changed)
    assert "would change while the cluster is between ZooKeeper and KRaft" in problem
    rollout = document.spec.rollout.model_copy(update={"soak_s": 60})
    slower = document.model_copy(update={"spec": document.spec.model_copy(update={"rollout": rollout})})
    assert refused(migrating(), slower) == []


def test_the_plan_names_the_phases_and_the_point_of_no_return() -> None:
    plan = preview(at_rest(), KRAFT, snapshot=None)
    names = [p.name for p in plan.rollout.phases]
    assert names == [
        "create 3 controllers",
        "start 3 controllers beside the ensemble",
        "restart 3 brokers, one at a time, told of both",
        "restart 3 brokers once more, one at a time, told of the quorum alone",
        "restart 3 controllers, one at a time, the leader last, told of the quorum alone "
        "(no way back from the first one on)",
        "remove 3 ZooKeeper servers, one at a time",
    ]
    assert any("point of no return" in w for w in plan.warnings)


def test_the_plan_of_what_is_left_counts_who_was_told() -> None:
    view = changed_view(at_rest(), document=KRAFT, generation=2, migration=migrating().quorum.migration)
    told = {1000: Knows.QUORUM, 1001: Knows.BOTH, 1002: Knows.BOTH}
    view = replace(view, quorum=replace(view.quorum, migration=replace(view.quorum.migration, knows=told)))  # type: ignore[type-var]
    names = [p.name for p in migration_phases(view, KRAFT)]
    assert "restart 2 brokers once more, one at a time, told of the quorum alone" in names
    assert not any(n.endswith("told of both") for n in names)
    back = [p.name for p in migration_phases(view, ZOOKEEPER)]
    assert back == [
        "restart 1 brokers, one at a time, told of both again",
        "restart 3 brokers, one at a time, told of the ensemble alone",
    ]
