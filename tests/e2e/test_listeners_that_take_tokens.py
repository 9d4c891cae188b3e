"""A listener that takes tokens of an OpenID provider, added to a living cluster in place: clients of librdkafka and
Java fetch them by their credentials, brokers are started anew while the provider is away, its keys change, tokens end,
and nobody is what only a name makes them."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from controlplane.api.schemas import specs as spec_api
from controlplane.storage.certificates.principals import principals_of
from events.ids import ClusterUid
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import KAFKA_DIR, LivingCluster
from tests.e2e.test_listeners_that_ask import _JAVA_CLIENT, TLS, Writer, _changed, _client
from tests.e2e.test_users_sign_in import _gives_itself_rights, _outcome
from tests.token_provider import AUDIENCE, TokenProvider, signing_key
from tests.waiting import until

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(1500)]

PORT = 9098
SPEC = ClusterSpec(name="borne", tls=True, controllers=3, join_deadline_s=300, listeners=(TLS,))
TOPIC = "kept"
ROBOT = """\
apiVersion: kedge/v1alpha1
kind: KafkaUser
metadata: {name: robot}
spec:
  cluster: borne
  authentication: {type: oauth}
  authorization:
    acls: [{resource: {type: topic, name: kept}, operations: [Write, Read, Describe]}]
"""


@pytest.fixture(scope="module")
def provider() -> TokenProvider:
    return TokenProvider({"robot": "a secret of the tests"})


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivingCluster]:
    living = LivingCluster(tmp_path_factory.mktemp("borne") / "home", spec=SPEC)
    try:
        living.open(within_s=400)
        yield living
    finally:
        assert living.close() == [], "something outlived its cluster"


def _bearer(cluster: LivingCluster, token: str, *, ends_in_s: float = 300.0) -> dict[str, Any]:
    signed = {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": lambda _: (token, time.time() + ends_in_s)}
    return {**_client(cluster, PORT), "security.protocol": "sasl_ssl", **signed}


def _takes(cluster: LivingCluster, token: str) -> bool:
    return _outcome(_bearer(cluster, token), TOPIC) == "OK"


def test_it_is_added_in_place_once_nodes_have_names_that_no_token_can_have(
    cluster: LivingCluster, provider: TokenProvider
) -> None:
    open_to_all = AdminClient(_client(cluster, TLS["port"]))
    open_to_all.create_topics([NewTopic(TOPIC, 6, 3, config={"min.insync.replicas": "2"})])[TOPIC].result(30)
    listeners = (TLS, provider.listener("TOKENS", PORT, clockSkew="1s"))
    with provider.running(), Writer("before", _client(cluster, TLS["port"])) as writer:
        restarted = _changed(cluster, listeners=listeners, authorization={"anonymous": "full"}, within_s=900)
        assert (writer.failed, writer.fatal) == ([], "")
        brokers = ["one", "three", "two"]
        rounds = [sorted(restarted[n : n + 3]) for n in range(0, len(restarted), 3)]
        assert rounds == [["controllers"] * 3, brokers, ["controllers"] * 3, brokers]
        cluster.client.apply(spec_api.ApplyIn(text=ROBOT, file="robot.yaml"))
        until(lambda: _takes(cluster, provider.token("robot")), "a token to be taken", timeout_s=120, every_s=2.0)


def test_the_example_configurations_fetch_tokens(
    cluster: LivingCluster, provider: TokenProvider, tmp_path: Path
) -> None:
    told = cluster.client.endpoints(cluster.spec.name)
    (tokens,) = [one for one in told.listeners if one.name == "TOKENS"]
    assert (tokens.protocol, tokens.missing) == ("SASL_SSL", 0)
    for name, text in (("borne-ca.pem", told.ca), ("provider.pem", provider.ca)):
        (tmp_path / name).write_text(text)
    (tmp_path / "robot.secret").write_text(f"{provider.clients['robot']}\n")
    (tmp_path / "robot.properties").write_text(f"secret={provider.clients['robot']}\n")
    filled = {
        "/PATH/CLIENT_ID": str(tmp_path / "robot"),
        "CLIENT_ID": "robot",
        "TOKEN_ENDPOINT": provider.token_endpoint,
        "PROVIDER_CA": str(tmp_path / "provider.pem"),
        "SCOPE": "kafka",
        "borne-ca.pem": str(tmp_path / "borne-ca.pem"),
    }

    def filled_in(kind: str) -> str:
        text = tokens.examples[kind]
        for stands, value in filled.items():
            text = text.replace(stands, value)
        return text

    with provider.running():
        made: dict[str, Any] = {}
        exec(filled_in("python"), made)  # as a person runs it
        assert TOPIC in made["producer"].list_topics(timeout=30).topics
        (tmp_path / "client.properties").write_text(filled_in("java"))
        (tmp_path / "Topics.java").write_text(_JAVA_CLIENT)
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={provider.token_endpoint}"
        tool = ["java", allowed, "-cp", f"{KAFKA_DIR / SPEC.version / 'libs'}/*", str(tmp_path / "Topics.java")]
        asked = [*tool, str(tmp_path / "client.properties")]
        found = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=False)
        assert TOPIC in found.stdout.split(), found.stdout + found.stderr


def test_brokers_start_and_take_tokens_while_the_provider_is_away(
    cluster: LivingCluster, provider: TokenProvider
) -> None:
    assert _takes(cluster, provider.signed("robot"))
    listeners = (TLS, provider.listener("TOKENS", PORT, clockSkew="1s", audience="another"))
    restarted = _changed(cluster, listeners=listeners, authorization={"anonymous": "full"})
    assert sorted(restarted) == ["one", "three", "two"]
    assert _takes(cluster, provider.signed("robot", aud="another"))
    assert not _takes(cluster, provider.signed("robot", aud=AUDIENCE))


def test_another_key_of_the_provider_takes_the_place_of_the_one_before(
    cluster: LivingCluster, provider: TokenProvider
) -> None:
    before = provider.key
    provider.key = signing_key("second")
    assert not _takes(cluster, provider.signed("robot", aud="another"))
    with provider.running():
        until(
            lambda: _takes(cluster, provider.signed("robot", aud="another")),
            "the new key",
            timeout_s=150,
            every_s=5.0,
        )
        until(
            lambda: not _takes(cluster, provider.signed("robot", key=before, aud="another")),
            "the old key to be forgotten",
            timeout_s=150,
            every_s=5.0,
        )


def test_a_connection_ends_with_its_token(cluster: LivingCluster, provider: TokenProvider) -> None:
    """Though its client says that it has more time, and has no other one."""
    token, begun = provider.signed("robot", aud="another", ends_in_s=20), time.monotonic()
    admin = AdminClient({**_bearer(cluster, token), "reconnect.backoff.max.ms": 500})
    admin.poll(0.1)
    assert TOPIC in admin.list_topics(timeout=15).topics

    def is_cut() -> bool:
        try:
            admin.list_topics(timeout=3)
        except KafkaException:
            return True
        return False

    until(is_cut, "the connection to be cut", timeout_s=60, every_s=1.0)
    assert 18 <= time.monotonic() - begun < 45


def test_nobody_is_what_only_a_name_makes_them(cluster: LivingCluster, provider: TokenProvider) -> None:
    tokens = provider.listener("TOKENS", PORT, audience="another")
    _changed(cluster, listeners=(tokens,), authorization={"anonymous": "refuse"})
    names = principals_of(ClusterUid(cluster.detail().uid))
    for said in ("ANONYMOUS", f"CN={names.node}", f" CN={names.node}", f" CN={names.server}", names.server):
        client = _bearer(cluster, provider.signed(said, aud="another"))
        assert _outcome(client, TOPIC) == "TOPIC_AUTHORIZATION_FAILED", said
        assert _gives_itself_rights(client) == "CLUSTER_AUTHORIZATION_FAILED", said
    assert _takes(cluster, provider.signed("robot", aud="another"))
