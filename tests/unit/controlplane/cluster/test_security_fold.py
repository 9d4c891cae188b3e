"""How far a cluster is between plaintext and TLS, as its history tells, and who was told what."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controlplane.cluster.fold import evolve
from controlplane.cluster.gateways import bootstrap_of
from controlplane.cluster.tls_steps import tls_step_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.security import BORN_PLAIN, BORN_TLS, SecurityView
from controlplane.converger.questions.documents import document_for
from events import codec, facts
from events.envelope import Recorded
from events.spec.conversion import to_data
from tests.builders import BEFORE, a_document, a_tls_document, a_view

TLS = a_tls_document()
B1, C1 = "brokers-b-0.g1", "controllers-a-0.g1"


def after(view: ClusterView, *told: object) -> ClusterView:
    for fact in told:
        new = codec.encode(fact, f"event-{view.version}")
        recorded = Recorded(
            position=view.version + 1,
            stream="cluster-c0ffee",
            version=view.version + 1,
            event_id=new.event_id,
            type=new.type,
            schema=new.schema,
            data=new.data,
            actor="test",
            cause=None,
            command_id=None,
            epoch=1,
            recorded_at=BEFORE,
        )
        view = evolve(view, recorded)
        assert not view.history.unreadable, view.history.unreadable
    return view


def declared(document: object = TLS, generation: int = 2) -> facts.ClusterDeclared:
    return facts.ClusterDeclared("c0ffee", "orders", generation, to_data(document), "file")  # type: ignore[arg-type]


def requested(step: str, position: int) -> facts.SecurityStepRequested:
    return facts.SecurityStepRequested(step, position, 2, "next")


def completed(step: str, position: int) -> facts.SecurityStepCompleted:
    return facts.SecurityStepCompleted(step, position, "all serve")


def restarted(view: ClusterView, key: str) -> tuple[object, ...]:
    start = view.instances[key].start.count + 1
    return (facts.RestartRequested(key, 2, start, {}, {}, False, "next"), facts.RestartCompleted(key))


def test_a_cluster_keeps_what_it_was_born_with_until_a_spec_says_otherwise() -> None:
    assert a_view().security == BORN_PLAIN
    assert a_view(document=TLS).security == BORN_TLS
    assert after(a_view(), declared(a_document())).settings.security is None
    view = after(a_view(), declared())
    assert view.security == BORN_PLAIN
    assert not view.nodes_speak_tls
    assert {i.start.tls_step for i in view.alive()} == {""}
    assert all(address.endswith(":9092") for address in bootstrap_of(view))


def test_a_service_is_told_the_step_with_its_next_start_and_not_before() -> None:
    view = after(a_view(), declared(), requested("C1", 1))
    assert tls_step_of(view, view.instances[C1]) == ""
    before = document_for(view, C1, epoch=1)
    assert before is not None
    assert (before.wire, before.services[0].tls) == (1, None)
    view = after(view, *restarted(view, C1))
    told = document_for(view, C1, epoch=1)
    assert told is not None
    (service,) = told.services
    assert service.tls is not None
    assert (told.wire, service.tls.step, service.port, service.tls.plain_port) == (3, "C1", 9090, 9093)
    assert {voter.port for voter in service.voters} == {9093}
    broker = document_for(view, B1, epoch=1)
    assert broker is not None
    assert (broker.wire, broker.services[0].tls, broker.services[0].port) == (1, None, 9092)


def test_kedge_dials_by_tls_once_every_broker_listens_so() -> None:
    view = after(a_view(), declared(), requested("C1", 1), completed("C1", 1), requested("B1", 2))
    view = after(view, *restarted(view, B1))
    assert all(address.endswith(":9092") for address in bootstrap_of(view))
    broker = document_for(view, B1, epoch=1)
    assert broker is not None
    assert broker.services[0].tls is not None
    assert [one.name for one in broker.services[0].tls.listeners] == ["TLS", "PLAINTEXT"]
    assert {voter.port for voter in broker.services[0].voters} == {9090}
    view = after(view, completed("B1", 2))
    assert all(address.endswith(":9091") for address in bootstrap_of(view))
    back = after(view, declared(a_document(), 3), requested("B1", 1))
    assert all(address.endswith(":9092") for address in bootstrap_of(back)), "some listen there no more"
    assert all(address.endswith(":9092") for address in bootstrap_of(after(back, requested("B1", 2))))


def test_a_restart_that_is_taken_back_is_told_the_step_before() -> None:
    view = after(a_view(), declared(), requested("C1", 1))
    view = after(view, restarted(view, C1)[0], facts.RestartRevertRequested(C1, 3, "not back"))
    assert view.instances[C1].start.tls_step == ""
    assert view.settings.restarts[C1].new_settings
    view = after(view, facts.RestartReverted(C1))
    assert view.settings.restart_refusal is not None
    assert view.security == SecurityView(0, 1, 1, BEFORE)


@pytest.mark.parametrize(
    ("at", "event"),
    [
        (BORN_PLAIN, requested("C3", 6)),
        (BORN_PLAIN, requested("B1", 2)),
        (SecurityView(2, 2, 2), requested("C3", 6)),
        (SecurityView(2, 3, 3), requested("B2", 4)),
        (SecurityView(2, 3, 3), requested("C2", 3)),
        (SecurityView(2, 3, 3), completed("C2", 2)),
        (BORN_PLAIN, completed("C1", 1)),
        (None, requested("C1", 1)),
    ],
)
def test_no_history_can_tell_of_a_step_that_was_skipped(at: SecurityView | None, event: object) -> None:
    view = a_view(security=at)
    with pytest.raises(AssertionError, match=r"security\.step_"):
        after(view, event)


def test_a_step_in_hand_may_be_turned_both_ways() -> None:
    view = after(a_view(security=SecurityView(2, 2, 2)), requested("C2", 3), requested("C2", 2))
    assert (view.security.to, view.security.is_undone) == (2, True)
    assert after(view, requested("C2", 3), completed("C2", 3)).security == replace(SecurityView(3, 3, 3), since=BEFORE)


def test_who_speaks_plaintext_again_has_no_certificate_that_could_end() -> None:
    """Else it would be started anew for one that it does not show, each day, and outside of windows in the end."""
    signed = [facts.CertificateIssued(key, "1f", BEFORE, BEFORE + timedelta(days=365)) for key in (B1, C1)]
    way = (declared(), requested("C1", 1), completed("C1", 1), requested("B1", 2), completed("B1", 2), *signed)
    view = after(a_view(), *way, requested("B1", 1))
    assert set(view.vms.certificates) == {B1, C1}, "it may still be shown"
    view = after(view, completed("B1", 1))
    assert set(view.vms.certificates) == {C1}
    assert not after(view, requested("C1", 0), completed("C1", 0)).vms.certificates


# --- without Kedge's server among the super users -----------------------------------------------------------------

BEGUN = facts.LeastRightsBegun("the ACLs are there")


def test_who_runs_is_told_with_its_next_start_and_one_that_is_given_back_what_it_had_has_that_too() -> None:
    view = after(a_view(document=TLS), BEGUN)
    assert not [i.key for i in view.alive() if i.start.least_rights], "nobody is told anything new"
    view = after(view, *restarted(view, B1))
    assert [i.key for i in view.alive() if i.start.least_rights] == [B1]
    view = after(view, facts.RestartRequested(C1, 2, 2, {}, {}, False, "next"))
    assert view.instances[C1].start.least_rights
    view = after(view, facts.RestartRevertRequested(C1, 3, "it did not come back"))
    assert not view.instances[C1].start.least_rights


def test_whose_quorum_is_not_founded_yet_is_born_so() -> None:
    view = after(a_view(document=TLS, founding=None), BEGUN)
    assert all(i.start.least_rights for i in view.alive())


def test_who_goes_back_to_where_nobody_takes_acls_has_a_super_user_again() -> None:
    view = a_view(document=a_document(), security=SecurityView(2, 3, 2, BEFORE), least_rights=True)
    assert not after(view, completed("C2", 2)).settings.least_rights
    view = a_view(document=a_document(), security=SecurityView(3, 4, 3, BEFORE), least_rights=True)
    assert after(view, completed("B2", 3)).settings.least_rights
