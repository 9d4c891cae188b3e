"""What a service was told of listeners and authorization: at its birth, by a restart, by its revert, and by restarts
that are about something else."""

from dataclasses import replace

from controlplane.cluster.fold import evolve
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.documents import document_for
from events import facts
from events.codec import encode
from events.envelope import Recorded
from events.spec.client_security import ClientSecurity, client_security
from events.spec.model import KafkaClusterDocument
from events.spec.security import Authentication, Authorization, Listener
from tests.builders import NOW, a_document, a_planned, a_tls_document, a_view, an_instance

A = "brokers-a-0.g1"
SCRAM = Listener(name="SCRAM", port=9095, security="tls", authentication=Authentication(type="scram-sha-512"))
OLD = client_security(a_tls_document(), "broker")
DONE = facts.RestartCompleted(A)


def _declared() -> KafkaClusterDocument:
    document = a_tls_document()
    update = {"listeners": (SCRAM,), "authorization": Authorization(anonymous="refuse")}
    return document.model_copy(update={"spec": document.spec.model_copy(update=update)})


def _after(*told: object, document: KafkaClusterDocument | None = None) -> ClusterView:
    """`document` is in force, by default one that says something else than what the broker was born with."""
    view = a_view(an_instance("brokers-a-0", security=OLD), document=document or _declared())
    for number, fact in enumerate(told, start=1):
        new = encode(fact, f"e{number}")
        version = view.version + 1
        at = Recorded(number, "c", version, new.event_id, new.type, new.schema, new.data, "c", None, None, 1, NOW)
        view = evolve(view, at)
        assert not view.history.unreadable
    return view


def _restart(start: int, *, security: str = "") -> facts.RestartRequested:
    return facts.RestartRequested(A, 1, start, {}, {}, False, "because", security=security)


def _told(view: ClusterView) -> tuple[list[str], bool]:
    document = document_for(view, A, epoch=1)
    assert document is not None
    tls = document.services[0].tls
    assert tls is not None
    return [one.name for one in tls.listeners], "User:ANONYMOUS" in tls.super_users


BEFORE, AFTER = (["TLS", "PLAINTEXT"], True), (["SCRAM"], False)


def test_what_was_declared_since_is_told_with_the_restart_that_says_so() -> None:
    assert _told(_after()) == BEFORE
    view = _after(_restart(2, security="listener SCRAM added"))
    assert _told(view) == AFTER
    assert view.settings.restarts[A].new_settings


def test_a_restart_about_something_else_keeps_the_listeners() -> None:
    assert _told(_after(_restart(2))) == BEFORE
    assert _told(_after(_restart(2, security="more"), DONE, _restart(3), DONE)) == AFTER


def test_who_does_not_come_back_gets_the_listeners_its_clients_know() -> None:
    reverted = facts.RestartRevertRequested(A, 3, "not back")
    assert _told(_after(_restart(2, security="more"), reverted)) == BEFORE
    watched = facts.RestartRequested(A, 1, 2, {}, {}, True, "because", security="more")
    assert _told(_after(watched, DONE, reverted)) == BEFORE, "a canary that falls while it is watched"


def test_a_vm_is_born_with_what_was_in_force_at_its_intent() -> None:
    planned = a_planned("brokers-a-0", 2)
    view = _after(facts.SurgeRequested("i", (replace(planned, service_id=1200),), "because"))
    assert view.instances["brokers-a-0.g2"].start.security == client_security(_declared(), "broker")
    assert "SCRAM" in view.instances["brokers-a-0.g2"].start.born_listeners


def test_where_nodes_speak_plaintext_nothing_is_told() -> None:
    planned = replace(a_planned("brokers-a-0", 2), service_id=1200)
    view = _after(facts.SurgeRequested("i", (planned,), "because"), document=a_document())
    assert view.instances["brokers-a-0.g2"].start.security is None
    document = document_for(view, A, epoch=1)
    assert document is not None
    assert document.services[0].tls is None


def test_rights_of_a_controller_have_no_listeners() -> None:
    assert client_security(_declared(), "controller") == ClientSecurity()
