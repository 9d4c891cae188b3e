"""What may be asked of a cluster by how far it is between plaintext and TLS, and what a plan says of the way."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.security import BORN_TLS, SecurityView, at_rest
from controlplane.commands.admission.security import security_admission
from controlplane.commands.previews.plan import preview
from controlplane.commands.previews.tls_way import BACK_IN_STEPS, IN_SIX_STEPS
from events.spec.model import KafkaClusterDocument
from events.spec.positions import NOWHERE
from planner.rollout.desired import desired_nodes, listeners_in_digest
from planner.rollout.diff import Change
from tests.builders import NODES, a_document, a_tls_document, a_view, an_instance

PLAIN, TLS = a_document(), a_tls_document()


def _living(**values: Any) -> ClusterView:
    """Born in plaintext, as its digests say."""
    digests, config = {n.node: n.digest for n in desired_nodes(PLAIN)}, dict(PLAIN.spec.kafka.config)
    born = {"born_with": config, "config": config, "born_listeners": listeners_in_digest(PLAIN)}
    steps = values.pop("steps", {})
    there = (an_instance(n, digest=digests[n], tls_step=steps.get(n.partition("-")[0]), **born) for n in NODES)
    return a_view(*there, **values)


def _refused(view: ClusterView, document: KafkaClusterDocument) -> list[str]:
    return [f"{one.code}: {one.message}" for one in security_admission(view, document, NOWHERE)]


def _only_tls() -> KafkaClusterDocument:
    one = tuple(listener for listener in TLS.spec.listeners if listener.security == "tls")
    return TLS.model_copy(update={"spec": TLS.spec.model_copy(update={"listeners": one})})


@pytest.mark.parametrize("security", [None, BORN_TLS])
def test_who_speaks_tls_alone_does_not_go_back(security: SecurityView | None) -> None:
    (said,) = _refused(a_view(document=TLS, security=security), PLAIN)
    assert said == "KEDGE-SPEC-111: nodes speak TLS alone: there is no way back to plaintext between them any more"


@pytest.mark.parametrize("security", [at_rest(0), at_rest(4), SecurityView(5, 6, 6)])
def test_until_the_last_step_is_over_the_spec_of_before_is_taken(security: SecurityView) -> None:
    assert _refused(a_view(document=TLS, security=security), PLAIN) == []


def test_the_listener_brokers_know_one_another_by_stays_until_the_way_is_over() -> None:
    (said,) = _refused(a_view(document=TLS, security=at_rest(4)), _only_tls())
    assert said.startswith(
        "KEDGE-SPEC-110: the cluster is on its way to TLS, and brokers know one another by the listener `PLAINTEXT`"
    )
    assert _refused(a_view(document=TLS, security=at_rest(6)), _only_tls()) == []


def test_it_begins_where_the_quorum_is_whole() -> None:
    assert _refused(a_view(document=PLAIN), TLS) == []
    moving = an_instance("controllers-b-0", 2, Phase.LAUNCHED)
    (said,) = _refused(a_view(moving, document=PLAIN), TLS)
    assert said == "KEDGE-SPEC-110: the way to TLS cannot begin now: controllers-b-0.g2 is launched"
    assert _refused(a_view(document=PLAIN, converged=0), TLS) == [
        "KEDGE-SPEC-110: the way to TLS cannot begin now: the cluster has not been founded yet"
    ]


def test_a_plan_of_the_way_of_an_ensemble_names_its_steps_and_its_point_of_no_return() -> None:
    way = replace(at_rest(0, "zookeeper"), high=1, to=1)
    found = preview(_living(document=TLS, security=way), TLS, snapshot=None)
    titles = [phase.name.partition(":")[0] for phase in found.rollout.phases]
    assert titles == ["B1", "B2", "B3"], "no server of an ensemble is in this view"
    assert any("once Z3 is over" in warning for warning in found.warnings)


def test_a_plan_of_the_way_shows_each_step_and_what_clients_do() -> None:
    found = preview(_living(document=PLAIN), TLS, snapshot=None)
    titles = [phase.name for phase in found.rollout.phases]
    assert [title.partition(":")[0] for title in titles] == ["C1", "B1", "C2", "B2", "B3", "C3"]
    assert "listeners that the spec adds are open from here on" in titles[1]
    assert "there is no way back" in titles[-1]
    assert {step.change for phase in found.rollout.phases for step in phase.steps} == {Change.RESTART}
    assert found.effects["spec.security.internal"] == IN_SIX_STEPS
    assert any("clients are left where they are" in warning for warning in found.warnings)
    assert any("point of no return" in warning for warning in found.warnings)


def test_a_plan_from_the_middle_shows_what_is_left_and_the_way_back_what_is_undone() -> None:
    stands = _living(document=TLS, security=SecurityView(2, 3, 3), steps={"brokers": "B1", "controllers": "C1"})
    left = [phase.name.partition(":")[0] for phase in preview(stands, TLS, snapshot=None).rollout.phases]
    assert left == ["C2", "B2", "B3", "C3"]
    back = preview(stands, PLAIN, snapshot=None)
    assert [phase.name.partition(":")[0] for phase in back.rollout.phases] == ["C2", "B1", "C1"]
    assert back.effects["spec.security.internal"] == BACK_IN_STEPS
    assert not back.warnings
