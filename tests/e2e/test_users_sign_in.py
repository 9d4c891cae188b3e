"""Declared users on real brokers: one gets a password of Kedge's, one a certificate, and one comes with tokens of an
OpenID provider. Each may do what its document says and nothing else, until the password is another one and the user is
gone. No token is a node or Kedge, whatever it says of itself."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from controlplane.api.schemas import kafka_users as user_api, specs as spec_api
from controlplane.cli.errors import CliError
from controlplane.storage.certificates.principals import principals_of
from events.ids import ClusterUid
from planner.rights.kedge import KEDGE_RIGHTS, kedge_acls
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.written_down import files_with
from tests.token_provider import TokenProvider, signing_key
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]

TLS = {"name": "TLS", "port": 9094, "security": "tls"}
SCRAM = {
    "name": "SCRAM",
    "port": 9096,
    "security": "tls",
    "authentication": {"type": "scram-sha-512", "reauthenticate": "30s"},
}
MTLS = {"name": "MTLS", "port": 9097, "security": "tls", "authentication": {"type": "tls"}}
TOKENS_PORT = 9098
SPEC = ClusterSpec(
    name="signed",
    tls=True,
    join_deadline_s=180,
    listeners=(TLS, SCRAM, MTLS),
    authorization={"anonymous": "full"},
)
TOPIC = "payments"
USERS = """\
apiVersion: kedge/v1alpha1
kind: KafkaUser
metadata: {name: writer}
spec:
  cluster: signed
  authentication: {type: scram-sha-512}
  authorization:
    acls: [{resource: {type: topic, name: payments}, operations: [Write, Describe]}]
  quotas: {producerByteRate: 10485760}
---
apiVersion: kedge/v1alpha1
kind: KafkaUser
metadata: {name: reader}
spec:
  cluster: signed
  authentication: {type: tls}
  authorization:
    acls:
      - {resource: {type: topic, name: payments}, operations: [Read, Describe]}
      - {resource: {type: group, name: reports-, patternType: prefix}, operations: [Read]}
---
apiVersion: kedge/v1alpha1
kind: KafkaUser
metadata: {name: robot}
spec:
  cluster: signed
  authentication: {type: oauth}
  authorization:
    acls: [{resource: {type: topic, name: payments}, operations: [Write, Describe]}]
"""

Client = dict[str, Any]


@pytest.fixture(scope="module")
def provider() -> Iterator[TokenProvider]:
    provider = TokenProvider({"robot": "a secret of the tests"})
    with provider.running():
        yield provider


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, provider: TokenProvider) -> Iterator[LivingCluster]:
    spec = replace(SPEC, listeners=(*SPEC.listeners, provider.listener("TOKENS", TOKENS_PORT)))
    living = LivingCluster(tmp_path_factory.mktemp("signed") / "home", spec=spec)
    try:
        living.open(within_s=300)
        yield living
    finally:
        assert living.close() == [], "something outlived its cluster"


@pytest.fixture(scope="module")
def given() -> dict[str, str]:
    """The passwords that were given away, by name."""
    return {}


def _client(cluster: LivingCluster, port: object) -> Client:
    told = cluster.client.endpoints(cluster.spec.name)
    hosts = [address.rpartition(":")[0] for address in told.bootstrap]
    servers = ",".join(f"{host}:{port}" for host in hosts)
    return {"bootstrap.servers": servers, "security.protocol": "ssl", "ssl.ca.pem": told.ca, "log_level": 0}


def _writer(cluster: LivingCluster, password: str) -> Client:
    signed = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "writer", "sasl.password": password}
    return {**_client(cluster, SCRAM["port"]), "security.protocol": "sasl_ssl", **signed}


def _bearer(cluster: LivingCluster, token: str) -> Client:
    """Whoever shows this token."""
    signed = {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": lambda _: (token, time.time() + 300)}
    return {**_client(cluster, TOKENS_PORT), "security.protocol": "sasl_ssl", **signed}


def _outcome(client: Client, topic: str) -> str:
    """What came of one record: OK, or the name of the error; "" where no broker let it in."""
    outcomes: list[str] = []
    refused: list[str] = []
    producer = Producer({**client, "message.timeout.ms": 20_000, "error_cb": lambda e: refused.append(e.name())})
    producer.produce(topic, b"x", on_delivery=lambda error, _: outcomes.append(error.name() if error else "OK"))
    until(lambda: producer.poll(0.2) or outcomes or "_AUTHENTICATION" in refused, "an outcome", timeout_s=60)
    return outcomes[0] if outcomes else "_AUTHENTICATION"


def _state(cluster: LivingCluster, name: str) -> user_api.KafkaUserOut:
    return cluster.client.kafka_user(cluster.spec.name, name)


def test_nodes_alone_are_super_users_and_kedge_makes_its_own_acls_anew(cluster: LivingCluster) -> None:
    """Who is not asked may do everything in this cluster: a stranger who takes Kedge's ACLs away, for one."""
    own = principals_of(ClusterUid(cluster.uid))
    wanted = len(kedge_acls(own.marked_kedge))
    for instance in cluster.detail().instances:
        (file,) = cluster.vm(instance.key).glob("agent/services/*/server.properties")
        assert f"super.users={own.marked('node')};User:ANONYMOUS" in file.read_text().splitlines()

    def theirs() -> int:
        return [acl.declared for acl in cluster.client.acls(cluster.spec.name).acls].count("kedge")

    assert theirs() == wanted
    stranger = AdminClient(_client(cluster, TLS["port"]))
    every: Any = AclBindingFilter(
        ResourceType.ANY,
        None,  # type: ignore[arg-type]
        ResourcePatternType.ANY,
        own.marked("server"),
        None,  # type: ignore[arg-type]
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    (gone,) = stranger.delete_acls([every]).values()
    assert len(gone.result(30)) == len(KEDGE_RIGHTS["server"])

    def are_back() -> bool | None:
        with suppress(CliError):
            return theirs() == wanted or None
        return None

    cluster.until(are_back, "Kedge's own ACLs to be there again", timeout_s=180)


def test_users_of_a_file_come_to_be_as_declared(cluster: LivingCluster) -> None:
    open_to_all = AdminClient(_client(cluster, TLS["port"]))
    open_to_all.create_topics([NewTopic(TOPIC, 3, 3)])[TOPIC].result(30)
    answer = cluster.client.apply(spec_api.ApplyIn(text=USERS, file="users.yaml"))
    assert [one.sentence for one in answer.users] == ["3 users of signed declared: writer, reader, robot"]
    for name in ("writer", "reader", "robot"):
        cluster.until(lambda n=name: _state(cluster, n).state == "InSync" or None, f"{name} as declared", timeout_s=180)  # type: ignore[misc]
    assert _state(cluster, "writer").password == "collectable"


def test_a_password_that_is_collected_once_lets_its_user_do_what_it_may(
    cluster: LivingCluster, given: dict[str, str]
) -> None:
    given["first"] = cluster.client.collect_password(cluster.spec.name, "writer").password
    client = _writer(cluster, given["first"])
    assert _outcome(client, TOPIC) == "OK"
    assert _outcome(client, "ledger-of-others") == "TOPIC_AUTHORIZATION_FAILED"
    assert _state(cluster, "writer").password == "collected"


def test_a_certificate_lets_its_user_read_and_no_more(cluster: LivingCluster) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "somebody-else")])
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    order = user_api.CertificateIn(request=request.public_bytes(serialization.Encoding.PEM).decode())
    signed = cluster.client.sign_certificate(cluster.spec.name, "reader", order)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    shown = {"ssl.certificate.pem": signed.certificate, "ssl.key.pem": private.decode()}
    client: Client = {**_client(cluster, MTLS["port"]), **shown}
    consumer = Consumer({**client, "group.id": "reports-1", "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    found = until(lambda: (m := consumer.poll(0.5)) and m.error() is None and m.value(), "the record", timeout_s=60)
    assert found == b"x"
    consumer.close()
    assert _outcome(client, TOPIC) == "TOPIC_AUTHORIZATION_FAILED"


def test_a_token_lets_its_user_do_what_it_may(cluster: LivingCluster, provider: TokenProvider) -> None:
    client = _bearer(cluster, provider.token("robot"))
    assert _outcome(client, TOPIC) == "OK"
    assert _outcome(client, "ledger-of-others") == "TOPIC_AUTHORIZATION_FAILED"


def test_what_its_provider_has_not_signed_for_these_brokers_opens_nothing(
    cluster: LivingCluster, provider: TokenProvider
) -> None:
    told = {
        "another audience": provider.signed("robot", aud="another"),
        "another issuer": provider.signed("robot", iss="https://login.example"),
        "over": provider.signed("robot", ends_in_s=-120),
        "unsigned": provider.unsigned("robot"),
        "signed by another key": provider.signed("robot", key=signing_key(provider.key.kid or "")),
        "signed by its public key": provider.signed_by_its_public_key("robot"),
    }
    outcomes = {why: _outcome(_bearer(cluster, token), TOPIC) for why, token in told.items()}
    assert outcomes == dict.fromkeys(told, "_AUTHENTICATION")


def test_no_token_is_a_node_or_kedge(cluster: LivingCluster, provider: TokenProvider) -> None:
    names = principals_of(ClusterUid(cluster.detail().uid))
    for name in (names.node, names.server, names.portal):
        for said in (name, f"CN={name}", f" CN={name}", f"\tCN={name}", f"\u00a0CN={name}", f"User: CN={name}"):
            assert _gives_itself_rights(_bearer(cluster, provider.signed(said))) == "CLUSTER_AUTHORIZATION_FAILED", said


def _gives_itself_rights(client: Client) -> str:
    literal, allow = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
    rule = AclBinding(ResourceType.TOPIC, TOPIC, literal, "User:robot", "*", AclOperation.ALL, allow)
    admin = AdminClient(client)
    admin.poll(0.1)  # by it the token is asked for
    try:
        admin.create_acls([rule])[rule].result(30)
    except KafkaException as error:
        return str(error.args[0].name())
    return "OK"


def test_a_rotated_password_replaces_the_first_one(cluster: LivingCluster, given: dict[str, str]) -> None:
    cluster.client.rotate_password(cluster.spec.name, "writer", user_api.RotatePasswordIn(reason="a drill"))
    cluster.until(
        lambda: _state(cluster, "writer").password == "collectable" or None, "the other password", timeout_s=180
    )
    given["second"] = cluster.client.collect_password(cluster.spec.name, "writer").password
    assert _outcome(_writer(cluster, given["second"]), TOPIC) == "OK"
    assert _outcome(_writer(cluster, given["first"]), TOPIC) == "_AUTHENTICATION"


def test_a_user_that_is_deleted_is_let_in_no_more(cluster: LivingCluster, given: dict[str, str]) -> None:
    order = user_api.DeleteKafkaUserIn(confirm="writer", reason="a drill")
    cluster.client.delete_kafka_user(cluster.spec.name, "writer", order)

    def is_gone() -> bool | None:
        return all(one.name != "writer" for one in cluster.client.kafka_users(cluster.spec.name).users) or None

    cluster.until(is_gone, "writer to be gone", timeout_s=180)
    assert _outcome(_writer(cluster, given["second"]), TOPIC) == "_AUTHENTICATION"


def test_no_password_is_in_the_database_the_history_or_a_log(cluster: LivingCluster, given: dict[str, str]) -> None:
    assert set(given) == {"first", "second"}
    assert files_with(cluster.home, "SQLite format 3"), "the database is looked into"
    for secret in given.values():
        assert files_with(cluster.home, secret) == []
