"""Kedge's own rights on a real broker whose nodes speak TLS: made by a certificate of a node, enough for every call of
the gateway, and each of them needed."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition as Position

from agent.certification import signing_request
from controlplane.background.log_reader.lines import LogQuery
from controlplane.background.log_reader.reading import read_page
from controlplane.cluster.gateways import Gateways
from controlplane.cluster.kedge_rights import AclReconciler
from controlplane.cluster.server_identities import ServerIdentities
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import AUTHORIZATION, KafkaFault, KafkaRefused
from controlplane.kafka.gateway import KafkaGateway
from controlplane.kafka.scram import scram_credential
from controlplane.kafka.throttle import ThrottlePlan
from controlplane.storage.certificates.principals import Member, principals_of
from planner.observed import TopicPartition
from planner.rights.acls import Acl, AclRequest, user_of
from planner.rights.authorize import authorize
from planner.rights.kedge import KEDGE_RIGHTS, KedgeRight
from planner.rights.step import RightsStep, UserStep
from planner.rights.wanted import user_entity
from planner.rollout.live_step import LiveStep
from planner.topics.step import Growth, NewTopic, TopicStep
from tests.builders import a_tls_document, a_view, an_instance
from tests.fakes.cluster_authorities import MemoryClusterAuthorities
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400)]

NETWORK = "127.0.37"
HOST = f"{NETWORK}.1"
BROKER = an_instance("brokers-a-0", address=HOST, service_id=1000)
BORN = a_view(BROKER, without=("brokers-b-0.g1", "brokers-c-0.g1"), document=a_tls_document(), least_rights=True)
OWN = principals_of(BORN.uid)
ALICE = Acl("User:alice", "topic", "pay", "literal", "Read")
PAY, LOGS, METRICS, GROUP = "pay", "__kedge_logs", "__kedge_metrics", "readers"
FIRST = TopicPartition(PAY, 0)


@dataclass(frozen=True)
class Secured:
    kafka: KafkaProcesses
    authorities: MemoryClusterAuthorities

    def identities(self, member: Member = "server") -> ServerIdentities:
        shown = ServerIdentities(self.authorities, member=member)
        shown.know(BORN)
        return shown

    def gateways(self, member: Member = "server") -> Gateways:
        shown = self.identities(member)
        return Gateways(DirectDialer(tls=shown), identities=shown)


@pytest.fixture(scope="module", params=["4.1.1", pytest.param("4.2.0", marks=pytest.mark.soak)])
def secured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """A broker that lets nobody do anything between nodes but its own kind; at 9092 who comes may do everything."""
    root, authorities = tmp_path_factory.mktemp("kedge-rights"), MemoryClusterAuthorities()
    begun, made = signing_request(), authorities.found(BORN.uid)
    issued = made.certify_node(begun.csr_pem, (HOST,), now=datetime.now(UTC))
    node, ca = _written(root / "node.pem", f"{begun.key_pem}{issued.pem}"), _written(root / "ca.pem", made.cluster.pem)
    super_users = ";".join((*OWN.super_users(least_rights=True), "User:ANONYMOUS"))
    kafka = KafkaProcesses(
        root,
        network=NETWORK,
        version=request.param,
        replication=1,
        min_isr=1,
        properties={
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": super_users,
        },
    )
    try:
        kafka.add_broker(1000, "a", overrides=_between_nodes(node, ca))
        kafka.found()
        for topic in (PAY, LOGS, METRICS):
            create_topic(kafka.bootstrap, topic, partitions=1, rf=1, bytes_per_partition=50_000)
        _committed(kafka)
        yield Secured(kafka, authorities)
    finally:
        kafka.close()


def _between_nodes(node: Path, ca: Path) -> Mapping[str, str]:
    door = f"PLAINTEXT://{HOST}:9092,REPLICATION://{HOST}:9091"
    keys = "listener.name.replication.ssl"
    return {
        "listeners": door,
        "advertised.listeners": door,
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,REPLICATION:SSL",
        f"{keys}.keystore.type": "PEM",
        f"{keys}.keystore.location": str(node),
        f"{keys}.truststore.type": "PEM",
        f"{keys}.truststore.location": str(ca),
        f"{keys}.client.auth": "required",
    }


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


def _committed(kafka: KafkaProcesses) -> None:
    """A group that has read something, and is away."""
    consumer = Consumer({"bootstrap.servers": ",".join(kafka.bootstrap), "group.id": GROUP, "log_level": 0})
    consumer.commit(offsets=[Position(PAY, 0, 1)], asynchronous=False)
    consumer.close()


# --- what Kedge asks ------------------------------------------------------------------------------------------------

Needs = tuple[tuple[str, str, str], ...]
"""(resource, name, operation) of each right a call needs."""
_CLUSTER, _TOPIC = ("cluster", "kafka-cluster"), ("topic", PAY)


@dataclass(frozen=True)
class Probe:
    """One call of the gateway, that ends with "" where it was let do all of it, else with the words of the refusal."""

    needs: Needs
    ask: Callable[[KafkaGateway, str], str]


def _said(refused: Mapping[str, str] | Mapping[TopicPartition, str]) -> str:
    return "; ".join(refused.values())


def _sees(gateway: KafkaGateway, _: str) -> str:
    topics = {seen.name.topic for seen in gateway.snapshot().partitions}
    return "" if PAY in topics else "Describe on that topic"


def _groups(gateway: KafkaGateway, _: str) -> str:
    return "" if GROUP in {group.name for group in gateway.groups().groups} else "Describe on that group"


def _offsets(gateway: KafkaGateway, _: str) -> str:
    seen = gateway.group_offsets(GROUP, [PAY], None)
    if seen is None:
        return "Describe on that group"
    return "" if FIRST in seen.spans else "Describe on that topic"


def _values(gateway: KafkaGateway, _: str) -> str:
    return "" if gateway.topic_values(PAY) else "DescribeConfigs on that topic"


def _rights(step: UserStep) -> Callable[[KafkaGateway, str], str]:
    secrets = {"alice": scram_credential("of a test")}
    return lambda gateway, _: _said(gateway.change_user_rights(RightsStep({"alice": step}), secrets))


def _topics(step: Callable[[str], TopicStep]) -> Callable[[KafkaGateway, str], str]:
    return lambda gateway, name: _said(gateway.change_topics(step(name)))


def _done(call: Callable[[KafkaGateway], object]) -> Callable[[KafkaGateway, str], str]:
    def ask(gateway: KafkaGateway, _: str) -> str:
        call(gateway)
        return ""

    return ask


ALTER, TOPIC_SEEN = (*_CLUSTER, "Alter"), (*_TOPIC, "Describe")
NEW = NewTopic(((1000,),), {"retention.ms": "1000"})
TOPIC_CONFIG_SEEN = (*_TOPIC, "DescribeConfigs")
CONFIGURES, CONFIG_SEEN = (*_CLUSTER, "AlterConfigs"), (*_CLUSTER, "DescribeConfigs")
PROBES: Mapping[str, Probe] = {
    "snapshot": Probe(((*_CLUSTER, "Describe"), CONFIG_SEEN, TOPIC_SEEN, (*_TOPIC, "DescribeConfigs")), _sees),
    "user_rights": Probe(((*_CLUSTER, "Describe"), CONFIG_SEEN), _done(lambda g: g.user_rights())),
    "groups": Probe((("group", GROUP, "Describe"),), _groups),
    "group_offsets": Probe((("group", GROUP, "Describe"), TOPIC_SEEN), _offsets),
    "topic_values": Probe(((*_TOPIC, "DescribeConfigs"),), _values),
    "broker_values": Probe((CONFIG_SEEN,), _done(lambda g: g.broker_values(1000))),
    "elect_preferred": Probe((ALTER,), _done(lambda g: g.elect_preferred([FIRST]))),
    "reassign": Probe((ALTER,), lambda g, _: _said(g.reassign({FIRST: (1000,)}))),
    "cancel": Probe((ALTER,), lambda g, _: _said(g.cancel([FIRST]))),
    "unregister_broker": Probe((ALTER,), _done(lambda g: g.unregister_broker(999))),
    "update_feature": Probe((ALTER,), _done(lambda g: g.update_feature("kraft.version", 1, validate_only=True))),
    "an ACL of a user": Probe((ALTER,), _rights(UserStep("alice", create=(ALICE,)))),
    "a password of a user": Probe((ALTER,), _rights(UserStep("alice", credential="set"))),
    "a quota of a user": Probe(
        (CONFIGURES,), _rights(UserStep("alice", quotas={user_entity("alice"): {"request_percentage": 50.0}}))
    ),
    "the quota of all users": Probe((CONFIGURES,), _done(lambda g: g.set_producer_quota(1e9))),
    "settings of brokers": Probe(
        (CONFIGURES,), _done(lambda g: g.change_settings(LiveStep({"log.cleaner.threads": "1"})))
    ),
    "throttles": Probe(
        (CONFIGURES, CONFIG_SEEN, TOPIC_CONFIG_SEEN),
        _done(lambda g: (g.set_throttle(ThrottlePlan({1000: 10**9})), g.set_throttle(ThrottlePlan()))),
    ),
    "a new topic": Probe(
        ((*_CLUSTER, "Create"),),
        _topics(lambda name: TopicStep({name: NEW})),
    ),
    "settings of a topic": Probe(
        ((*_TOPIC, "AlterConfigs"),), _topics(lambda _: TopicStep(configure={PAY: {"retention.ms": "900000"}}))
    ),
    "more partitions": Probe(
        ((*_TOPIC, "Alter"), TOPIC_SEEN), _topics(lambda name: TopicStep(grow={name: Growth(2, ((1000,),))}))
    ),
    "deletion": Probe(((*_TOPIC, "Delete"), TOPIC_SEEN), _topics(lambda name: TopicStep(delete=(name,)))),
}


def _outcome(probe: Probe, gateway: KafkaGateway, name: str) -> str:
    try:
        return probe.ask(gateway, name)
    except KafkaRefused as refused:
        return f"{refused.words} ({refused.error})"


def _is_let(needs: Needs, acls: frozenset[Acl]) -> bool:
    principal = OWN.principal("server")
    return all(authorize(AclRequest(principal, *need), acls).allowed for need in needs)


# --- tests ----------------------------------------------------------------------------------------------------------


def test_they_are_made_without_any_right_and_put_right_by_whoever_took_one(secured: Secured) -> None:
    gateways = secured.gateways()
    keeper = AclReconciler(gateways.of, gateways.as_node)
    try:
        born = keeper.look(BORN).seen
        assert len(born.lacking) == sum(map(len, KEDGE_RIGHTS.values()))
        assert born.is_blind
        with pytest.raises(KafkaRefused, match="Kedge lacks the right Describe on the cluster"):
            gateways.of(BORN).snapshot()
        assert keeper.put_right(BORN) == ""
        until(lambda: not keeper.look(BORN).seen, "all of Kedge's own ACLs")
        assert keeper.put_right(BORN) == "", "again is fine"
        assert not keeper.look(BORN).seen
        assert {seen.name.topic for seen in gateways.of(BORN).snapshot().partitions} >= {PAY, LOGS}

        deny = Acl(OWN.principal("server"), "topic", "*", "literal", "Describe", "deny")
        more = Acl(OWN.principal("server"), "topic", "*", "literal", "Read")
        _changed(secured, UserStep(user_of(deny.principal) or "", create=(deny, more)))
        until(lambda: keeper.look(BORN).seen.surplus == tuple(sorted((deny, more))), "what others added")
        assert keeper.look(BORN).seen.is_blind
        assert keeper.put_right(BORN) == ""
        until(lambda: not keeper.look(BORN).seen, "nothing too much")

        everybody = Acl("User:*", "topic", "pa", "prefix", "Describe", "deny")
        _changed(secured, UserStep("*", create=(everybody,)))
        until(lambda: keeper.look(BORN).seen.denied == (everybody,), "what everybody is denied")
        assert keeper.look(BORN).seen.is_blind
        assert str(everybody) in keeper.put_right(BORN), "it is somebody else's, and named"
        _changed(secured, UserStep("*", delete=(everybody,)))
        until(lambda: not keeper.look(BORN).seen, "nothing denied")
    finally:
        gateways.close()


def test_records_are_not_read_and_offsets_are_put_as_a_node_alone(secured: Secured) -> None:
    gateways = secured.gateways()
    try:
        _put_right(secured)
        refused = gateways.of(BORN).commit_offsets(GROUP, {FIRST: 0})
        assert "AuthorizationFailed" in _said(refused)
        with gateways.as_node(BORN) as kafka:
            assert kafka.commit_offsets(GROUP, {FIRST: 0}) == {}
        shown = secured.identities().properties(BORN.uid)
        query = LogQuery(datetime(2026, 1, 1, tzinfo=UTC))
        page = read_page(f"{HOST}:9091", query, after={}, limit=1, where="orders", secured=shown)
        assert page.is_end, "of logs it reads what agents send"
        assert _first_error(shown, PAY) == "TOPIC_AUTHORIZATION_FAILED"
    finally:
        gateways.close()


def test_a_portal_apart_looks_and_changes_nothing_and_the_pipeline_reads_samples_alone(secured: Secured) -> None:
    _put_right(secured)
    portal = secured.gateways("portal")
    try:
        gateway = portal.of(BORN)
        for name in ("snapshot", "user_rights", "groups", "group_offsets", "topic_values", "broker_values"):
            assert _outcome(PROBES[name], gateway, "new-by-portal") == "", name
        for name, probe in PROBES.items():
            if any(operation not in ("Describe", "DescribeConfigs") for *_, operation in probe.needs):
                said = _outcome(probe, gateway, PAY if name == "deletion" else "new-by-portal")
                assert any(f"Kedge lacks the right {need}" in said for need in map(_words, probe.needs)), (name, said)
    finally:
        portal.close()
    metrics = secured.identities("metrics").properties(BORN.uid)
    assert _first_error(metrics, METRICS) == ""
    reader = Consumer({**metrics, "bootstrap.servers": f"{HOST}:9091", "group.id": "x", "log_level": 0})
    told = reader.list_topics(PAY, timeout=10).topics[PAY].error
    reader.close()
    assert told is not None
    assert told.name() == "TOPIC_AUTHORIZATION_FAILED"


@pytest.mark.soak
def test_all_calls_work_with_the_table_and_without_a_row_those_break_that_need_it(secured: Secured) -> None:
    gateways, round_ = secured.gateways(), 0
    try:
        gateway = gateways.of(BORN)
        every = _put_right(secured)
        for left_out in (None, *KEDGE_RIGHTS["server"]):
            gone = _giving(left_out, every) if left_out is not None else frozenset()
            _changed(secured, UserStep(user_of(OWN.principal("server")) or "", delete=tuple(gone)))
            left = every - gone
            for name, probe in PROBES.items():
                round_ += 1
                topic = _prepared(secured, name, round_)
                expected = _is_let(probe.needs, left)
                said = until(
                    lambda p=probe, t=topic, e=expected: (  # type: ignore[misc]
                        (found,) if ((found := _outcome(p, gateway, t)) == "") is e else ()
                    ),
                    f"{name} without {left_out}: {'let' if expected else 'refused'}",
                    timeout_s=20,
                )[0]
                if not expected:
                    lacking = [_words(need) for need in probe.needs if not _is_let((need,), left)]
                    assert any(words in said for words in lacking), (name, left_out, said)
            _put_right(secured)
    finally:
        gateways.close()


def _giving(right: KedgeRight, acls: frozenset[Acl]) -> frozenset[Acl]:
    """The ACLs of Kedge's server by which it has this right: its own, and those that imply it."""
    request = AclRequest(OWN.principal("server"), right.resource, right.name, right.operation)
    return frozenset(authorize(request, acls).acls)


def _words(need: tuple[str, str, str]) -> str:
    resource, _, operation = need
    return f"{operation} on {'the cluster' if resource == 'cluster' else f'that {resource}'}"


def _prepared(secured: Secured, name: str, number: int) -> str:
    """The topic that a call is about, made where it has to be there."""
    topic = f"made-{number}"
    if name in ("more partitions", "deletion"):
        create_topic(secured.kafka.bootstrap, topic, partitions=1, rf=1)
    return topic


def _put_right(secured: Secured) -> frozenset[Acl]:
    """All of Kedge's own ACLs, as a node sees them."""
    gateways = secured.gateways()
    keeper = AclReconciler(gateways.of, gateways.as_node)

    def is_right() -> bool:
        with suppress(KafkaFault):
            return not keeper.look(BORN).seen
        return False

    try:
        assert keeper.put_right(BORN) == ""
        until(is_right, "all of Kedge's own ACLs")
        with gateways.as_node(BORN) as kafka:
            return frozenset(kafka.acls_of([OWN.principal("server")]) or ())
    finally:
        gateways.close()


def _changed(secured: Secured, step: UserStep) -> None:
    """As a stranger who may do everything."""
    gateways = secured.gateways()
    try:
        with gateways.as_node(BORN) as kafka:
            assert kafka.change_user_rights(RightsStep({step.name: step} if step else {}), {}) == {}
    finally:
        gateways.close()


def _first_error(shown: Mapping[str, str], topic: str) -> str:
    """By which error a consumer with these properties gets no record; "" where it gets one. librdkafka looks for its
    group's coordinator, too, which it needs for nothing here."""
    settings: dict[str, str | int] = {**shown, "bootstrap.servers": f"{HOST}:9091", "group.id": "x", "log_level": 0}
    consumer = Consumer(settings)
    consumer.assign([Position(topic, 0, 0)])
    try:
        return until(lambda: _told(consumer), "a record, or why there is none")[0]
    finally:
        consumer.close()


def _told(consumer: Consumer) -> tuple[str, ...]:
    message = consumer.poll(0.5)
    error = message.error() if message is not None else None
    if message is None or (error is not None and error.name() == "GROUP_AUTHORIZATION_FAILED"):
        return ()
    return (error.name() if error is not None else "",)


def test_the_errors_that_are_taken_for_missing_rights_are_kafkas_own() -> None:
    from kafka import errors

    assert all(hasattr(errors, name) for name in AUTHORIZATION)
