"""What of TLS is refused, and in which words. Fixed digests: no cluster is rolled for what it never asked for."""

import pytest

from events.spec.change_rules import change_problems
from events.spec.document import LoadResult
from events.spec.model import KafkaClusterDocument
from events.spec.positions import NOWHERE
from events.spec.rules import check
from events.spec.security import Authentication, Listener, Security
from planner.rollout.desired import desired_nodes
from tests.builders import a_cohosted_document, a_document, a_tls_document, a_zookeeper_document
from tests.unit.events.spec_texts import load

TLS = "    strategy: migrate\n  security: {internal: tls}\n"


def told(result: LoadResult) -> list[tuple[str, str]]:
    return [(one.code, one.message) for one in result.problems]


def secured(document: KafkaClusterDocument, *listeners: Listener) -> KafkaClusterDocument:
    spec = {"security": Security(internal="tls"), "listeners": listeners or (Listener(name="TLS", security="tls"),)}
    return document.model_copy(update={"spec": document.spec.model_copy(update=spec)})


def messages(document: KafkaClusterDocument) -> list[str]:
    return [one.message for one in check(document) if one.is_error]


@pytest.mark.parametrize(
    ("listeners", "said"),
    [
        ("[{name: TLS}, {name: TLS, port: 9094}]", "listener `TLS` is there twice"),
        ("[{name: TLS}, {name: OTHER}]", "port 9092 is there twice"),
        ("[{name: REPLICATION}]", "the name `REPLICATION` belongs to nodes among themselves"),
        ("[{name: CONTROLPLANE}]", "the name `CONTROLPLANE` belongs to nodes among themselves"),
        ("[{name: CONTROLLER}]", "the name `CONTROLLER` belongs to the quorum's own listener"),
        (
            "[{port: 9091, security: tls}]",
            "port 9091 is one of nodes among themselves: firewalls let in members alone",
        ),
        (
            "[{authentication: {type: tls}}]",
            "listener `PLAINTEXT` is to ask clients who they are, and is plaintext: anybody could listen",
        ),
        (
            "[{port: 9092, authentication: {type: scram-sha-512}}]",
            "listener `PLAINTEXT` is to ask clients who they are, and is plaintext: anybody could listen",
        ),
        (
            "[{security: tls, authentication: {type: tls, reauthenticate: 60s}}]",
            "`tls` knows no reauthentication: Kafka asks for passwords and tokens again, and for nothing else",
        ),
    ],
)
def test_listeners_that_cannot_be(listeners: str, said: str) -> None:
    assert said in [message for _, message in told(load({24: f"{TLS}  listeners: {listeners}"}))]


@pytest.mark.parametrize("port", [9090, 9091])
def test_ports_of_nodes_that_speak_tls_are_a_plaintext_clusters_own(port: int) -> None:
    assert load({24: f"    strategy: migrate\n  listeners: [{{port: {port}}}]"}).ok


def test_several_listeners_may_be_where_nodes_speak_tls() -> None:
    several = (Listener(name="TLS", port=9094, security="tls"), Listener(name="PLAINTEXT", port=9092))
    assert not [m for m in messages(secured(a_document(), *several)) if "listener" in m]


def test_a_listener_with_a_dot_breaks_properties_and_is_refused() -> None:
    assert told(load({24: f"{TLS}  listeners: [{{name: A.B}}]"}))


def test_where_tls_cannot_be_kept_it_is_refused_with_the_reason() -> None:
    cohosted = [one for one in check(secured(a_cohosted_document())) if one.is_error]
    assert [(one.code, "share the VMs of brokers" in one.message) for one in cohosted] == [("KEDGE-SPEC-145", True)]


def test_a_cluster_that_has_migrated_keeps_tls_and_goes_there_on_kafka_4_alone() -> None:
    migrated = a_document(version="3.9.1")
    assert messages(secured(migrated)) == []
    new = secured(migrated, Listener(), Listener(name="TLS", port=9094, security="tls"))
    [problem] = [one for one in change_problems(migrated, new, None, NOWHERE) if one.is_error]
    assert (problem.code, "migrated clusters roll on first" in problem.message) == ("KEDGE-SPEC-110", True)


def test_an_ensemble_in_a_pool_of_its_own_speaks_tls_with_its_brokers() -> None:
    assert messages(secured(a_zookeeper_document())) == []
    taken = messages(secured(a_zookeeper_document(), Listener(name="TLS", port=2182, security="tls")))
    assert taken == ["port 2182 is one of nodes among themselves: firewalls let in members alone"]
    assert messages(secured(a_document(), Listener(name="TLS", port=2182, security="tls"))) == []


def test_a_living_cluster_in_mode_zookeeper_may_go_to_tls_beside_the_listener_it_has() -> None:
    old = a_zookeeper_document()
    new = secured(old, Listener(), Listener(name="TLS", port=9094, security="tls"))
    assert not [one for one in change_problems(old, new, None, NOWHERE) if one.is_error]
    alone = secured(old, Listener(name="TLS", port=9094, security="tls"))
    assert [one.code for one in change_problems(old, alone, None, NOWHERE) if one.is_error] == ["KEDGE-SPEC-110"]


def _going(**spec: object) -> KafkaClusterDocument:
    """As `a_document()`, on its way to TLS."""
    update = {"security": Security(internal="tls"), "listeners": (Listener(), Listener(name="TLS", port=9094)), **spec}
    return a_document().model_copy(update={"spec": a_document().spec.model_copy(update=update)})


def test_a_living_plaintext_cluster_may_go_to_tls_beside_the_listener_it_has() -> None:
    assert not list(change_problems(a_document(), _going(), None, NOWHERE))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            a_document(),
            _going(listeners=(Listener(name="TLS", port=9094, security="tls"),)),
            "listener `PLAINTEXT` (port 9092) would go while its clients are at it",
        ),
        (
            a_document(),
            _going(listeners=(Listener(port=9192),)),
            "listener `PLAINTEXT` (port 9092) would go while its clients are at it",
        ),
        (
            a_document(),
            _going(listeners=(Listener(), Listener(name="TLS", port=9093, security="tls"))),
            "port 9093 is where controllers listen on the way to TLS",
        ),
        (
            a_document().model_copy(
                update={"spec": a_document().spec.model_copy(update={"listeners": (Listener(name="CLIENTS"),)})}
            ),
            _going(listeners=(Listener(name="CLIENTS"),)),
            "the listener is called `CLIENTS`, and brokers that speak plaintext know one another by `PLAINTEXT`",
        ),
        (
            a_document(version="4.1.1"),
            _going(kafka=a_document(version="4.2.0").spec.kafka),
            "Kafka 4.1.1 -> 4.2.0 and the way to TLS cannot be asked for together",
        ),
    ],
)
def test_the_way_to_tls_is_refused(old: KafkaClusterDocument, new: KafkaClusterDocument, said: str) -> None:
    found = [one for one in change_problems(old, new, None, NOWHERE) if one.code == "KEDGE-SPEC-110"]
    assert [one.message for one in found] == [said]
    assert all(one.fix for one in found)


def test_a_listener_of_a_tls_cluster_does_not_become_another_under_its_name() -> None:
    old, new = secured(a_document()), secured(a_document(), Listener(name="TLS", port=9095, security="tls"))
    assert any("under its clients' feet" in one.message for one in change_problems(old, new, None, NOWHERE))
    more = secured(a_document(), *old.spec.listeners, Listener(name="MORE", port=9095, security="tls"))
    assert not [one for one in change_problems(old, more, None, NOWHERE) if "feet" in one.message]


def test_no_listener_takes_the_port_of_one_that_its_clients_know() -> None:
    old = secured(a_document(), Listener(name="TLS", security="tls"))
    scram = Listener(name="SCRAM", security="tls", authentication=Authentication(type="scram-sha-512"))
    found = list(change_problems(old, secured(a_document(), scram), None, NOWHERE))
    assert [one.message for one in found] == ["port 9092 is that of listener `TLS`, whose clients would meet `SCRAM`"]


def test_how_long_a_password_lasts_may_change() -> None:
    def of(seconds: int) -> KafkaClusterDocument:
        asked = Authentication(type="scram-sha-512", reauthenticate=seconds)
        return secured(a_document(), Listener(name="SCRAM", port=9094, security="tls", authentication=asked))

    assert not list(change_problems(of(3600), of(60), None, NOWHERE))


def test_the_digests_of_plaintext_clusters_are_what_they_were() -> None:
    """Their text is in events: another one would roll every fleet."""
    assert repr((Listener(),)) == "(Listener(name='PLAINTEXT', port=9092, security='plaintext'),)"
    digests = {node.digest for node in desired_nodes(a_document())}
    proved = Listener(name="TLS", security="tls", authentication=Authentication(type="tls"))
    mtls = secured(a_document(), proved)
    assert digests != {node.digest for node in desired_nodes(secured(a_document()))}
    assert {n.digest for n in desired_nodes(mtls)} != {n.digest for n in desired_nodes(secured(a_document()))}
    assert a_tls_document().spec.security.internal == "tls"
