"""What the converger decides of a cluster in ZooKeeper mode alone: its founding, its protocol, its documents."""

from dataclasses import replace

import pytest

from agent.wire import ENSEMBLE_STEP_WIRE_VERSION, TLS_WIRE_VERSION
from controlplane.cluster.gateways import Gateways, roll_of
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.server_identities import ServerIdentities
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.security import at_rest
from controlplane.commands.admission.spec import admission_problems
from controlplane.commands.previews.plan import preview
from controlplane.converger.questions.documents import document_for
from controlplane.converger.questions.quorum.protocol import old_protocol
from controlplane.converger.questions.quorum.quorum_ports import member_port
from controlplane.converger.situation.effects import FixClusterId
from controlplane.converger.situation.observation import ZooKeeperSeen
from controlplane.converger.steps.quorum.ensemble import ensemble_step
from controlplane.converger.steps.rolls.finalisation import raise_step
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import KafkaUnavailable
from events import facts
from events.ids import ClusterUid
from events.spec.client_security import ClientSecurity, client_security
from events.spec.positions import NOWHERE
from events.spec.security import Authorization
from tests.builders import NOW, a_situation, a_snapshot, a_view, a_zookeeper_document, with_tls
from tests.changed_view import changed_view

SERVER, BROKER = "controllers-a-0.g1", "brokers-a-0.g1"


def _view(**changes: object) -> ClusterView:
    """At rest on 3.8.1; its servers are the builder's controllers under another service."""
    view = changed_view(a_view(), document=a_zookeeper_document(), protocol="3.8", cluster_id_fixed=True)
    told = {
        k: replace(
            i,
            planned=replace(i.planned, service="broker" if i.is_broker else "zookeeper", kafka_version="3.8.1"),
            start=replace(i.start, protocol="3.8"),
        )
        for k, i in view.instances.items()
    }
    return changed_view(view, **{"instances": told, **changes})


def test_no_broker_is_told_to_start_before_the_ensemble_holds_the_cluster_id() -> None:
    view = _view(cluster_id_fixed=False)
    broker, server = document_for(view, BROKER, epoch=1), document_for(view, SERVER, epoch=1)
    assert broker is not None
    assert broker.services == ()
    assert server is not None
    assert [s.name for s in server.services] == ["zookeeper"]


def test_an_ensemble_is_founded_with_the_protocol_that_is_pinned() -> None:
    """Founded with that of 3.9 its brokers would have no way back to the one the pin names."""
    pinned = a_zookeeper_document(version="3.9.1", config=', metadataVersion: "3.8"')
    young = {k: replace(i, phase=Phase.LAUNCHED) for k, i in _view().instances.items()}
    decision = ensemble_step(a_situation(_view(founding=None, document=pinned, instances=young)))
    assert decision is not None
    [founded] = decision.events
    assert isinstance(founded, facts.EnsembleFounded)
    assert founded.protocol_version == "3.8"


def test_a_cluster_born_with_tls_has_an_ensemble_that_listens_for_nodes_alone() -> None:
    """Its port in plaintext is in no document, so nobody ever opens it."""
    spec = with_tls(a_zookeeper_document())
    young = {k: replace(i, phase=Phase.LAUNCHED) for k, i in _view().instances.items()}
    decision = ensemble_step(a_situation(_view(founding=None, document=spec, instances=young)))
    assert decision is not None
    [founded] = decision.events
    assert isinstance(founded, facts.EnsembleFounded)
    assert {server.port for server in founded.servers} == {2182}
    view = _view(document=spec)
    assert {member.port for member in roll_of(view).members} == {2182}
    for key, port in ((SERVER, 2182), (BROKER, 9091)):
        document = document_for(view, key, epoch=1)
        assert document is not None
        (service,) = document.services
        assert (document.wire, service.port, service.tls is not None) == (TLS_WIRE_VERSION, port, True)


@pytest.mark.parametrize(
    ("position", "server", "broker", "kedge", "named"),
    [
        (0, "", "", 2181, 2181),
        (1, "Z1", "", 2181, 2181),
        (2, "Z1", "B1", 2182, 2181),
        (3, "Z2", "B1", 2182, 2182),
        (4, "Z2", "B2", 2182, 2182),
        (5, "Z2", "tls", 2182, 2182),
        (6, "tls", "tls", 2182, 2182),
    ],
)
def test_on_the_way_to_tls_each_comes_to_the_ensemble_where_all_servers_listen(
    position: int, server: str, broker: str, kedge: int, named: int
) -> None:
    """`named` is the port a newcomer's membership has; 2182 stands for none in plaintext."""
    spec, steps = with_tls(a_zookeeper_document()), {SERVER: server, BROKER: broker}
    view = _view(document=spec, security=at_rest(position, "zookeeper"))
    told = {k: replace(i, start=replace(i.start, tls_step=steps.get(k, ""))) for k, i in view.instances.items()}
    view = changed_view(view, instances=told)
    assert {member.port for member in roll_of(view).members} == {kedge}
    assert member_port(view, "zookeeper") == named
    for key, step in steps.items():
        document = document_for(view, key, epoch=1)
        assert document is not None
        (service,) = document.services
        assert (service.tls.step or "tls" if service.tls is not None else "") == step
        assert document.wire == (ENSEMBLE_STEP_WIRE_VERSION if step not in ("", "tls") else document.wire)
        if key == BROKER:
            assert {m.port for m in service.ensemble} == {2181 if step == "" else 2182}
        else:
            assert service.port == (2181 if step == "" else 2182)


def test_an_ensemble_that_speaks_tls_is_asked_so_before_there_is_a_broker() -> None:
    """The cluster id is read, and written, before a broker starts: nobody has asked for its gateway yet."""
    asked: list[str] = []

    class NobodySignsYet:
        def of(self, uid: ClusterUid, *, cluster: str = "") -> None:
            asked.append(uid)

    view = _view(document=with_tls(a_zookeeper_document()))
    gateways = Gateways(DirectDialer(), identities=ServerIdentities(NobodySignsYet()))
    for call in (lambda: gateways.registered_id(view), lambda: gateways.take(view, "a restart")):
        with pytest.raises(KafkaUnavailable, match="none was made yet"):
            call()
    assert asked == [view.uid] * 2


def test_what_a_spec_says_of_users_starts_no_server_anew() -> None:
    """A ZooKeeper server knows none of Kafka's users."""
    one, more = (with_tls(a_zookeeper_document()) for _ in range(2))
    users = Authorization(super_users=("root",), anonymous="full")
    more = more.model_copy(update={"spec": more.spec.model_copy(update={"authorization": users})})
    assert client_security(one, "zookeeper") == client_security(more, "zookeeper") == ClientSecurity()
    assert client_security(one, "broker") != client_security(more, "broker")


def test_a_server_is_told_its_ensemble_and_nothing_of_kraft() -> None:
    document = document_for(_view(), SERVER, epoch=1)
    assert document is not None
    [service] = document.services
    assert (service.port, service.voters, service.metadata_level, service.protocol_version) == (2181, (), "", "")
    assert [m.id for m in service.ensemble] == [100, 101, 102]
    assert service.is_zookeeper_mode


def test_a_broker_is_told_where_zookeeper_is_and_which_protocol_it_speaks() -> None:
    document = document_for(_view(), BROKER, epoch=1)
    assert document is not None
    [service] = document.services
    assert (service.name, service.port, service.protocol_version) == ("broker", 9092, "3.8")
    assert len(service.ensemble) == 3


def test_a_raised_protocol_reaches_a_broker_with_its_next_start_only() -> None:
    view = _view(protocol="3.9")
    document = document_for(view, BROKER, epoch=1)
    assert document is not None
    assert document.services[0].protocol_version == "3.8"
    assert old_protocol(view, view.instances[BROKER]) == "inter.broker.protocol.version 3.8 -> 3.9"
    assert old_protocol(view, view.instances[SERVER]) == ""


@pytest.mark.parametrize(
    ("registered", "fact", "effect", "waits"),
    [
        (None, None, None, "EnsembleForms"),
        ("", None, FixClusterId("kafka-cluster"), ""),
        ("kafka-cluster", facts.ClusterIdFixed("kafka-cluster"), None, ""),
        ("somebody-elses", None, None, "StrangeEnsemble"),
    ],
)
def test_the_cluster_id_is_written_read_back_and_never_taken_from_another(
    registered: str | None, fact: object, effect: object, waits: str
) -> None:
    situation = a_situation(_view(cluster_id_fixed=False))
    situation = replace(situation, seen=replace(situation.seen, zookeeper=ZooKeeperSeen(registered_id=registered)))
    decision = ensemble_step(situation)
    assert decision is not None
    assert decision.events == ((fact,) if fact else ())
    assert decision.effects == ((effect,) if effect else ())
    assert (decision.wait.reason if decision.wait else "") == waits


def test_the_protocol_is_raised_after_the_soak_and_not_before() -> None:
    rolled = _view(replaced_at=NOW)
    rolled = replace(rolled, document=a_zookeeper_document(version="3.9.1"))
    soaking = raise_step(a_situation(rolled))
    assert soaking is not None
    assert soaking.wait is not None
    assert soaking.wait.reason == "Soak"
    raised = raise_step(a_situation(changed_view(rolled, replaced_at=None)))
    assert raised is not None
    assert raised.events == (facts.ProtocolRaised("3.8", "3.9", "all brokers run Kafka 3.9.1"),)


def test_a_pinned_protocol_is_not_raised() -> None:
    pinned = a_zookeeper_document(version="3.9.1", config=', metadataVersion: "3.8"')
    assert raise_step(a_situation(replace(_view(), document=pinned))) is None


def test_the_plan_shows_three_rolls_and_the_one_it_skips() -> None:
    plan = preview(_view(), a_zookeeper_document(version="3.9.1"), snapshot=a_snapshot())
    last = plan.rollout.phases[-1]
    assert last.name == "restart 3 brokers with protocol 3.9, one at a time (no way back after this step)"
    assert [s.how[0] for s in last.steps] == ["soak", "stop", "stop"]
    assert any("log.message.format.version is skipped" in w for w in plan.warnings)


def test_a_protocol_in_force_is_a_door_that_opens_one_way() -> None:
    view = replace(_view(protocol="3.9"), document=a_zookeeper_document(version="3.9.1"))
    found = admission_problems(view, a_zookeeper_document(), positions=NOWHERE, snapshot=None)
    assert [p.message for p in found] == ["protocol 3.9 is in force, and Kafka 3.8.1 would end at protocol 3.8"]
    assert admission_problems(_view(), a_zookeeper_document(), positions=NOWHERE, snapshot=None) == []
