"""A cluster whose nodes an operator's own CA signs, an intermediate, is born so and lives under traffic: the clients CA
is replaced while a user writes with an old certificate and then with a new one; an intermediate of another root takes
the first one's place; and what one node was given is revoked. Nothing that was acknowledged is lost or there twice."""

from collections.abc import Iterator

import pytest

from agent.client import CredentialLost, ServerClient
from agent.identity import identity_of
from agent.trust import PinnedCa
from agent.wire import BootData
from controlplane.api.schemas import certificates as api, specs as spec_api
from controlplane.kafka.workload import Workload
from tests.e2e.authorities import WITHIN_S, Replacement, certified, is_let_in, over_tls
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.operators_ca import LEDGER, MTLS, TLS, Operator, living, nodes_are_of, root_of, traffic_of
from tests.e2e.written_down import files_with
from tests.waiting import until

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(1800)]

USERS = """\
apiVersion: kedge/v1alpha1
kind: KafkaUser
metadata: {name: writer}
spec:
  cluster: corporate
  authentication: {type: tls}
  authorization:
    acls:
      - {resource: {type: topic, name: traffic-, patternType: prefix}, operations: [Read, Write, Describe]}
      - {resource: {type: group, name: traffic-, patternType: prefix}, operations: [Read, Describe]}
"""


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Operator:
    return Operator.at(tmp_path_factory.mktemp("corporate"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, operator: Operator) -> Iterator[LivingCluster]:
    with living(tmp_path_factory.mktemp("living") / "home", operator) as cluster:
        yield cluster


def _writes_on(workload: Workload) -> None:
    was = workload.acknowledged
    until(lambda: workload.acknowledged > was + 200, "more records", timeout_s=60)


def test_it_is_born_of_the_operators_own_ca_and_serves(cluster: LivingCluster, operator: Operator) -> None:
    nodes_are_of(cluster, operator.first)
    with traffic_of(cluster, over_tls(root_of(operator.first)), TLS) as workload:
        _writes_on(workload)
    assert not is_let_in(cluster, over_tls(root_of(operator.second)), LEDGER, TLS)
    key = operator.first.key_text().splitlines()[1]
    assert files_with(operator.folder, key) == [str(operator.folder / "first-key.pem")]
    assert files_with(cluster.home, key) == [], "its key is the operator's alone"


def test_the_clients_ca_is_replaced_while_a_user_writes_with_an_old_certificate_and_a_new_one(
    cluster: LivingCluster, operator: Operator
) -> None:
    name, replacement = cluster.spec.name, Replacement(cluster, "clients")
    assert cluster.client.apply(spec_api.ApplyIn(text=USERS, file="users.yaml")).ok
    cluster.until(
        lambda: cluster.client.kafka_user(name, "writer").state == "InSync" or None, "the writer", timeout_s=180
    )
    trusting = over_tls(root_of(operator.first))
    old = {**trusting, **certified(cluster, "writer")}
    with traffic_of(cluster, old, MTLS) as workload:
        at = replacement.begin()
        replacement.reaches("trust-both", at)
        _writes_on(workload)
        at = replacement.go_on()
        replacement.reaches("reissue", at)
        new = {**trusting, **certified(cluster, "writer")}
        _writes_on(workload)
    with traffic_of(cluster, new, MTLS) as workload:
        _writes_on(workload)
        at = replacement.go_on()
        replacement.reaches("new-alone", at)
        settled(cluster, within_s=300)
        _writes_on(workload)
    restarted = {e.data["key"] for e in cluster.events(at) if e.type == "restart.completed"}
    assert restarted == {i.key for i in cluster.detail().instances if i.service == "broker"}
    with traffic_of(cluster, trusting, TLS):
        topic = next(t.name.topic for t in cluster.snapshot().partitions if t.name.topic.startswith("traffic-"))
        assert is_let_in(cluster, new, topic, MTLS)
        assert not is_let_in(cluster, old, topic, MTLS)
    nodes_are_of(cluster, operator.first)


def test_another_ca_of_the_operators_takes_its_place_though_the_server_is_killed(
    cluster: LivingCluster, operator: Operator
) -> None:
    operator.brings_the_second()
    replacement = Replacement(cluster)
    with traffic_of(cluster, over_tls(operator.believed), TLS):
        at = replacement.begin()
        replacement.reaches("trust-both", at)
        at = replacement.go_on()
        cluster.event("restart.completed", at, within_s=WITHIN_S)
        cluster.restart_server()
        replacement.reaches("reissue", at)
        assert not is_let_in(cluster, over_tls(root_of(operator.first)), LEDGER, TLS)
        replacement.reaches("new-alone", at)
        settled(cluster, within_s=300)
    nodes_are_of(cluster, operator.second)
    assert is_let_in(cluster, over_tls(root_of(operator.second)), LEDGER, TLS)


def test_who_has_the_vm_of_a_revoked_node_is_nobody_and_the_others_serve_on(
    cluster: LivingCluster, operator: Operator
) -> None:
    revoked = cluster.instance("two-b-0")
    order = api.RevokeCertificatesIn(node=revoked.node, reason="stolen", confirm=cluster.spec.name)
    others = {i.key for i in cluster.detail().instances} - {revoked.key}
    with traffic_of(cluster, over_tls(operator.believed), TLS) as workload:
        assert _agents_call(cluster, revoked.key) == "heard"
        at = cluster.head()
        assert cluster.client.revoke_certificates(cluster.spec.name, order).changed
        assert _agents_call(cluster, revoked.key) == "nobody"
        cluster.event("instance.fence_requested", at, where=revoked.key, within_s=WITHIN_S)
        cluster.says("power its VM off", within_s=120)
        _writes_on(workload)
        cluster.power_cut(revoked.key)
        cluster.event("replacement.completed", at, where=revoked.node, within_s=WITHIN_S)
        settled(cluster, within_s=300)
    told = cluster.events(at)
    assert not [e for e in told if e.type == "certificate.issued" and e.data["key"] == revoked.key]
    assert not [e for e in told if e.type == "restart.requested"]
    assert others < {i.key for i in cluster.detail().instances}
    nodes_are_of(cluster, operator.second)


def _agents_call(cluster: LivingCluster, key: str) -> str:
    """What comes of a call with all that the agent of this VM has."""
    vm = cluster.vm(key)
    boot = BootData.model_validate_json((vm / "boot.json").read_bytes())
    trust = PinnedCa(boot.server_url, boot.ca_sha256, kept=vm / "agent" / "ca.pem") if boot.ca_sha256 else None
    identity = identity_of(boot, (vm / "agent" / "credential").read_text().strip())
    agent = ServerClient(boot.server_url, identity, trust=trust)
    try:
        agent.document(etag="", wait_s=0)
    except CredentialLost:
        return "nobody"
    finally:
        agent.close()
    return "heard"
