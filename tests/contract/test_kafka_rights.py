"""What a gateway promises about ACLs, quotas and credentials, asked of the fake and of real brokers with an authorizer.

The real broker lets users sign in at a listener of its own (SCRAM-SHA-512 without TLS: who listens here is the test),
where it says for each operation what its authorizer decides.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import pytest
from kafka import KafkaAdminClient
from kafka.errors import KafkaError
from kafka.protocol.admin import DescribeClusterRequest
from kafka.protocol.metadata import MetadataRequest

from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.admin_calls.acl_codes import OPERATION
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.gateway import KafkaGateway
from controlplane.kafka.scram import scram_credential
from planner.rights.acls import CLUSTER, OPERATIONS, Acl, AclRequest
from planner.rights.authorize import authorize
from planner.rights.difference import end_step, quota_changes, user_step
from planner.rights.seen import SCRAM_SHA_512, RightsSeen
from planner.rights.step import QuotaChange, RightsStep, UserStep
from planner.rights.wanted import QuotaEntity, UserRights, client_entity, user_entity
from tests.fakes.kafka import FakeKafka
from tests.fakes.kafka_rights import NO_SECRETS
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic
from tests.waiting import until

ALICE = "User:alice"
SIGN_IN = 9094
PASSWORD = frozenset({SCRAM_SHA_512})
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
LISTENER = {
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SCRAM:SASL_PLAINTEXT",
    "listeners": f"PLAINTEXT://127.0.163.1:9092,SCRAM://127.0.163.1:{SIGN_IN}",
    "advertised.listeners": f"PLAINTEXT://127.0.163.1:9092,SCRAM://127.0.163.1:{SIGN_IN}",
    "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "listener.name.scram.scram-sha-512.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    ),
}


class World(Protocol):
    """A gateway to a cluster with an authorizer, and a user who signs in there."""

    gateway: KafkaGateway

    def until(self, condition: Callable[[], object], what: str) -> None: ...
    def signs_in(self, user: str, password: str) -> bool: ...
    def topic_operations(self, user: str, password: str, topic: str) -> frozenset[str]:
        """What the authorizer lets this user do with a topic, by the broker's word."""
        ...

    def cluster_operations(self, user: str, password: str, cluster: str) -> frozenset[str]: ...


class FakeWorld:
    def __init__(self) -> None:
        self.kafka = FakeKafka()
        self.gateway: KafkaGateway = self.kafka
        self.kafka.add_controller(100)
        self.kafka.add_broker(1000, "az-1")

    def until(self, condition: Callable[[], object], what: str) -> None:
        assert condition(), what

    def signs_in(self, user: str, password: str) -> bool:
        given = self.kafka.users.given.get(user)
        known = user in self.kafka.users.credentials and given is not None
        return known and given == scram_credential(password, salt=given.salt if given else b"")

    def topic_operations(self, user: str, password: str, topic: str) -> frozenset[str]:
        return self._operations(user, "topic", topic)

    def cluster_operations(self, user: str, password: str, cluster: str) -> frozenset[str]:
        return self._operations(user, "cluster", cluster)

    def _operations(self, user: str, resource: str, name: str) -> frozenset[str]:
        asked = {o: AclRequest(f"User:{user}", resource, name, o, "127.0.0.1") for o in OPERATIONS[resource]}
        return frozenset(o for o, request in asked.items() if self.kafka.users.authorize(request).allowed)


class RealWorld:
    def __init__(self, root: Path) -> None:
        self.processes = KafkaProcesses(root, network="127.0.163", min_isr=1, replication=1, properties=AUTHORIZER)
        self.processes.add_broker(1000, "a", overrides=LISTENER)
        self.processes.found()
        self.dialer = DirectDialer()
        self.gateway: KafkaGateway = AdminGateway(self.dialer, "rights", lambda: self.processes.bootstrap)
        self._signed: dict[tuple[str, str], KafkaAdminClient] = {}

    def until(self, condition: Callable[[], object], what: str) -> None:
        until(condition, what, timeout_s=30)

    def signs_in(self, user: str, password: str) -> bool:
        try:
            self._client(user, password, patience_s=3.0)
        except KafkaError:
            return False
        return True

    def topic_operations(self, user: str, password: str, topic: str) -> frozenset[str]:
        asked = MetadataRequest(
            topics=[MetadataRequest.MetadataRequestTopic(name=topic)],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=True,
        )
        answer = self._ask(user, password, asked)
        return _decoded("topic", answer.topics[0].authorized_operations)

    def cluster_operations(self, user: str, password: str, cluster: str) -> frozenset[str]:
        asked = DescribeClusterRequest(include_cluster_authorized_operations=True)
        return _decoded("cluster", self._ask(user, password, asked).authorized_operations)

    def _ask(self, user: str, password: str, request: Any) -> Any:
        manager = self._client(user, password)._manager
        return manager.run(manager.send, request)

    def _client(self, user: str, password: str, *, patience_s: float = 10.0) -> KafkaAdminClient:
        known = self._signed.get((user, password))
        if known is None:
            known = self._signed[user, password] = KafkaAdminClient(
                bootstrap_servers=[f"127.0.163.1:{SIGN_IN}"],
                security_protocol="SASL_PLAINTEXT",
                sasl_mechanism="SCRAM-SHA-512",
                sasl_plain_username=user,
                sasl_plain_password=password,
                bootstrap_timeout_ms=int(patience_s * 1000),
            )
        return known

    def hang_up(self) -> None:
        for client in self._signed.values():
            client.close()
        self._signed.clear()

    def close(self) -> None:
        self.hang_up()
        self.dialer.close()
        self.processes.close()


def _decoded(resource: str, told: Collection[int] | None) -> frozenset[str]:
    """Numbers of operations; `All` is never among them, and of what may not be described nothing is told."""
    return frozenset(o for o in OPERATIONS[resource] if OPERATION.code(o) in (told or ()))


@pytest.fixture(scope="module", params=["fake", pytest.param("real", marks=pytest.mark.kafka)])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    if request.param == "fake":
        yield FakeWorld()
        return
    real = RealWorld(tmp_path_factory.mktemp("kafka-rights"))
    try:
        yield real
    finally:
        real.close()


def _made_so(world: World, wanted: UserRights, password: str = "") -> None:
    """Asked for until it is seen: brokers tell of it a moment later."""

    def is_so() -> bool:
        seen = world.gateway.user_rights()
        step = user_step(wanted, seen)
        there = all(m in seen.credentials.get(wanted.name, {}) for m in wanted.mechanisms or ())
        return there and not (step.create or step.delete or step.quotas or step.credential == "remove")

    step = user_step(wanted, world.gateway.user_rights())
    secrets = {wanted.name: scram_credential(password)} if wanted.pending else NO_SECRETS
    assert world.gateway.change_user_rights(RightsStep({wanted.name: step}), secrets) == {}
    world.until(is_so, f"{wanted.name} as it is wanted")


def test_a_user_is_made_changed_and_deleted_and_of_others_nothing_is_touched(world: World) -> None:
    gateway = world.gateway
    reads = Acl(ALICE, "topic", "pay-", "prefix", "Read")
    others = UserRights("bob", frozenset({reads._replace(principal="User:bob")}), {"request_percentage": 50})
    _made_so(world, others)
    everything = frozenset(
        {
            reads,
            Acl(ALICE, "topic", "*", "literal", "Write", "deny", "10.0.0.7"),
            Acl(ALICE, "group", "alice-", "prefix", "Read"),
            Acl(ALICE, "transactional-id", "alice-1", "literal", "Write"),
            Acl(ALICE, "cluster", "kafka-cluster", "literal", "IdempotentWrite"),
        }
    )
    quotas = {
        "producer_byte_rate": 1048576,
        "consumer_byte_rate": 2097152,
        "request_percentage": 55.5,
        "controller_mutation_rate": 10,
    }
    _made_so(world, UserRights("alice", everything, quotas, mechanisms=PASSWORD, pending=True), "first of all")
    seen = gateway.user_rights()
    assert seen.acls_of("alice") == everything
    assert seen.quotas_of("alice") == {user_entity("alice"): quotas}
    assert seen.credentials["alice"] == {"SCRAM-SHA-512": 8192}
    world.until(lambda: world.signs_in("alice", "first of all"), "alice to be let in")
    assert not world.signs_in("alice", "a guess")

    writes = reads._replace(operation="Write")
    fewer = UserRights("alice", frozenset({reads, writes}), {"producer_byte_rate": 5}, mechanisms=PASSWORD)
    _made_so(world, fewer)
    assert gateway.user_rights().acls_of("alice") == {reads, writes}
    assert gateway.user_rights().quotas_of("alice") == {user_entity("alice"): {"producer_byte_rate": 5.0}}

    ends = end_step("alice", gateway.user_rights())
    assert gateway.change_user_rights(RightsStep({"alice": ends}), NO_SECRETS) == {}
    world.until(lambda: "alice" not in gateway.user_rights().users, "nothing of alice")
    assert gateway.change_user_rights(RightsStep({"alice": ends}), NO_SECRETS) == {}, "again is fine"
    assert not user_step(others, gateway.user_rights())


def test_refusals_come_back_by_user_and_the_others_are_served(world: World) -> None:
    odd = Acl("User:odd", "cluster", "some-cluster", "literal", "Alter")
    fine = Acl("User:fine", "cluster", "kafka-cluster", "literal", "Describe")
    kept = Acl("User:odd", "topic", "kept", "literal", "Read")
    _made_so(world, UserRights("odd", frozenset({kept})))
    step = RightsStep(
        {
            "fine": UserStep("fine", create=(fine,)),
            "odd": UserStep("odd", create=(odd,), delete=(kept,)),
            "strange": UserStep("strange", quotas={user_entity("strange"): {"nonsense": 5.0}}),
        }
    )
    refused = world.gateway.change_user_rights(step, NO_SECRETS)
    assert set(refused) == {"odd", "strange"}
    assert "kafka-cluster" in refused["odd"]
    assert "nonsense" in refused["strange"]
    world.until(lambda: fine in world.gateway.user_rights().acls_of("fine"), "the ACL that was taken")
    assert world.gateway.user_rights().acls_of("odd") == {kept}, "what was to replace it is not there"


def test_the_default_quota_of_users_is_nobodys(world: World) -> None:
    world.gateway.set_producer_quota(1e6)
    world.until(lambda: world.gateway.producer_quota() == 1e6, "the default quota")
    assert all(dict(entity)["user"] is not None for entity in world.gateway.user_rights().quotas)
    assert world.gateway.client_quotas() == {user_entity(None): {"producer_byte_rate": 1e6}}
    world.gateway.set_producer_quota(None)
    world.until(lambda: world.gateway.producer_quota() is None, "none")


APP, ANY_CLIENT, ANYBODY = client_entity("app 1"), client_entity(None), user_entity(None)
RATES = {
    "producer_byte_rate": 5e6,
    "consumer_byte_rate": 6e6,
    "request_percentage": 55.0,
    "controller_mutation_rate": 10.0,
}


def test_quotas_of_client_ids_and_of_everybody_are_set_changed_and_taken_away(
    world: World,
) -> None:
    gateway = world.gateway
    _made_so(world, UserRights("erin", frozenset(), {"request_percentage": 5}))
    wanted = {APP: RATES, ANY_CLIENT: {"producer_byte_rate": 7e6}, ANYBODY: {"consumer_byte_rate": 8e6}}
    wanted[client_entity("app 1", ANYBODY)] = {"producer_byte_rate": 9e6}
    assert gateway.change_client_quotas(quota_changes(wanted, gateway.client_quotas())) == {}
    world.until(lambda: gateway.client_quotas() == wanted, "what was asked for, and no user's")
    assert gateway.user_rights().quotas_of("erin") == {user_entity("erin"): {"request_percentage": 5.0}}
    assert gateway.producer_quota() is None, "of users in all, another value of theirs is set"

    changed = {APP: {"producer_byte_rate": 1e6}, ANY_CLIENT: wanted[ANY_CLIENT]}
    assert gateway.change_client_quotas(quota_changes(changed, gateway.client_quotas())) == {}
    world.until(lambda: gateway.client_quotas() == changed, "less than before")

    odd: dict[QuotaEntity, QuotaChange] = {APP: {"nonsense": 5.0}, ANYBODY: {"producer_byte_rate": 2e6}}
    refused = gateway.change_client_quotas(odd)
    assert set(refused) == {APP}
    assert "nonsense" in refused[APP]
    world.until(lambda: gateway.producer_quota() == 2e6, "the other one")
    assert gateway.change_client_quotas(quota_changes({}, gateway.client_quotas())) == {}
    world.until(lambda: not gateway.client_quotas(), "nothing")
    assert gateway.change_client_quotas({APP: {"producer_byte_rate": None}}) == {}, "again is fine"


def test_a_user_has_quotas_by_client_id_and_others_of_it_go(world: World) -> None:
    clients = {"fast": {"producer_byte_rate": 9e6}, None: {"producer_byte_rate": 3e6, "controller_mutation_rate": 2.0}}
    wanted = UserRights("frank", quotas={"producer_byte_rate": 1e6}, client_quotas=clients)
    other = {client_entity("slow", user_entity("frank")): {"consumer_byte_rate": 1.0}}
    strange = UserStep("frank", quotas=other)
    assert world.gateway.change_user_rights(RightsStep({"frank": strange}), NO_SECRETS) == {}
    world.until(lambda: "frank" in world.gateway.user_rights().users, "what somebody else set")
    _made_so(world, wanted)
    assert world.gateway.user_rights().quotas_of("frank") == wanted.entities
    ends = end_step("frank", world.gateway.user_rights())
    assert world.gateway.change_user_rights(RightsStep({"frank": ends}), NO_SECRETS) == {}
    world.until(lambda: "frank" not in world.gateway.user_rights().users, "nothing of frank")


CASES: Mapping[str, tuple[Acl, ...]] = {
    "nothing": (),
    "literal": (Acl(ALICE, "topic", "pay-in", "literal", "Read"),),
    "prefix": (Acl(ALICE, "topic", "pay-", "prefix", "Write"),),
    "another prefix": (Acl(ALICE, "topic", "pay-out", "prefix", "Write"),),
    "wildcard": (Acl(ALICE, "topic", "*", "literal", "Delete"),),
    "everybody": (Acl("User:*", "topic", "pay-in", "literal", "Alter"),),
    "all": (Acl(ALICE, "topic", "pay-in", "literal", "All"),),
    "all but": (
        Acl(ALICE, "topic", "pay-in", "literal", "All"),
        Acl(ALICE, "topic", "pay-", "prefix", "Read", "deny"),
    ),
    "denied in full": (
        Acl(ALICE, "topic", "pay-in", "literal", "Read"),
        Acl(ALICE, "topic", "*", "literal", "All", "deny"),
    ),
    "configs": (
        Acl(ALICE, "topic", "pay-in", "literal", "AlterConfigs"),
        Acl(ALICE, "topic", "pay-in", "literal", "Describe"),
    ),
    "this host": (Acl(ALICE, "topic", "pay-in", "literal", "Read", host="127.0.0.1"),),
    "another host": (Acl(ALICE, "topic", "pay-in", "literal", "Read", host="10.0.0.7"),),
    "denied elsewhere": (
        Acl(ALICE, "topic", "pay-in", "literal", "Read"),
        Acl(ALICE, "topic", "pay-in", "literal", "Read", "deny", "10.0.0.7"),
    ),
    "the cluster": (
        Acl(ALICE, "cluster", CLUSTER, "literal", "Alter"),
        Acl(ALICE, "cluster", CLUSTER, "literal", "AlterConfigs"),
        Acl("User:*", "cluster", CLUSTER, "literal", "Create", "deny"),
        Acl(ALICE, "cluster", CLUSTER, "literal", "Create"),
    ),
}


def test_the_broker_decides_as_we_explain_it(world: World) -> None:
    if isinstance(world, RealWorld):
        create_topic(world.processes.bootstrap, "pay-in", partitions=1, rf=1)
    gateway, password = world.gateway, "for the table"
    _made_so(world, UserRights("alice", mechanisms=PASSWORD, pending=True), password)
    world.until(lambda: world.signs_in("alice", password), "alice to be let in")
    for case, acls in CASES.items():
        # `User:*` is nobody's document: such a one is made beside, as a stranger would.
        for user in ("alice", "*"):
            has, own = gateway.user_rights().acls_of(user), {a for a in acls if a.principal == f"User:{user}"}
            step = UserStep(user, create=tuple(own - has), delete=tuple(has - own))
            assert gateway.change_user_rights(RightsStep({user: step} if step else {}), NO_SECRETS) == {}
        world.until(lambda acls=acls: set(gateway.user_rights().acls or ()) >= set(acls), case)  # type: ignore[misc]
        for (resource, name), ask in (
            (("topic", "pay-in"), world.topic_operations),
            (("cluster", CLUSTER), world.cluster_operations),
        ):
            told = {
                operation
                for operation in OPERATIONS[resource]
                if authorize(AclRequest(ALICE, resource, name, operation, "127.0.0.1"), acls).allowed
            } - {"All"}
            if "Describe" not in told:
                told = set()  # a broker tells nothing of what may not even be described
            world.until(
                lambda ask=ask, name=name, told=told: ask("alice", password, name) - {"All"} == told,  # type: ignore[misc]
                f"{case}: {resource} {name}: {sorted(told)}",
            )


def test_brokers_without_an_authorizer_say_so() -> None:
    world = FakeWorld()
    world.kafka.users.acls = None
    seen = world.gateway.user_rights()
    assert seen == RightsSeen(acls=None)
    create = (Acl(ALICE, "topic", "pay-in", "literal", "Read"),)
    refused = world.gateway.change_user_rights(RightsStep({"alice": UserStep("alice", create=create)}), NO_SECRETS)
    assert "No Authorizer" in refused["alice"]
