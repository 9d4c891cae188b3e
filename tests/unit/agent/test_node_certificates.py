"""A node's certificate on its VM: one before each start, looked at before it counts, and none waits for the network."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from agent.certification import NoSigningRequest, SigningRequest, signing_request
from agent.client import RetryLater
from agent.layout import AgentLayout
from agent.node_certificate import CertificateUnusable, NodeCertificates, check
from agent.secret_log import known_secrets
from agent.wire import CertificateRequest, NodeCertificateAnswer, ServiceDocument, ServiceTls
from controlplane.storage.certificates.building import requested_key
from controlplane.storage.certificates.cluster_authority import ClusterAuthorities, founded
from events.ids import ClusterUid
from tests.unit.agent.wanted import boot_data, broker

UID = ClusterUid("c1")
TLS = ServiceTls(super_users=("User:CN=kedge-node-1",))
ADDRESS = "10.0.0.9"


class ControlPlane:
    """Signs, or is away. `addresses` are those it knows the VM by."""

    def __init__(self) -> None:
        self.authorities: ClusterAuthorities = founded(UID, now=datetime.now(UTC))
        self.addresses: tuple[str, ...] = (ADDRESS,)
        self.asked: list[CertificateRequest] = []
        self.away = False
        self.now = datetime.now(UTC)

    def certify_node(self, request: CertificateRequest) -> NodeCertificateAnswer:
        if self.away:
            raise RetryLater("the server cannot be reached")
        self.asked.append(request)
        issued = self.authorities.certify_node(request.csr, self.addresses, now=self.now)
        return NodeCertificateAnswer(
            certificate=issued.pem, cluster_ca=self.authorities.cluster.pem, clients_ca=self.authorities.clients.pem
        )


class Vm:
    def __init__(self, root: Path) -> None:
        self.layout = AgentLayout(root)
        self.server = ControlPlane()
        self.now, self.seconds, self.woken = datetime.now(UTC), 0.0, 0
        self.work: list[Callable[[], None]] = []
        self.make: Callable[[], SigningRequest] = signing_request
        self.agent = self.begun()

    def begun(self) -> NodeCertificates:
        """An agent that starts."""
        return NodeCertificates(
            boot_data(),
            self.server,
            self.layout.tls_dir,
            monotonic_s=lambda: self.seconds,
            now=lambda: self.now,
            woken=self._wake,
            make=lambda: self.make(),
            begin=self.work.append,
        )

    def ready(self, start_id: str = "s-1", **changes: object) -> str:
        return self.agent.ready(wanted(start_id, **changes))

    def done(self) -> None:
        """What its thread does."""
        self.work.pop()()

    def _wake(self) -> None:
        self.woken += 1

    @property
    def node(self) -> Path:
        return self.layout.tls_dir("broker") / "node.pem"

    @property
    def believed(self) -> Path:
        return self.layout.tls_dir("broker") / "cluster-ca.pem"


def wanted(start_id: str = "s-1", **changes: object) -> ServiceDocument:
    return broker(start_id, port=9091, tls=TLS, **changes)


@pytest.fixture
def vm(tmp_path: Path) -> Vm:
    return Vm(tmp_path)


def test_a_service_that_speaks_plaintext_needs_none(vm: Vm) -> None:
    assert vm.agent.ready(broker()) == ""
    assert not vm.work


def test_it_is_asked_for_before_the_first_start_and_waited_for(vm: Vm) -> None:
    assert vm.ready() == "asking the control plane for this node's certificate"
    assert vm.ready() == "waiting for the control plane to sign this node's certificate"
    vm.done()
    assert (vm.ready(), vm.woken) == ("", 1)
    asked = vm.server.asked[0]
    assert (asked.cluster_uid, asked.node, asked.generation) == ("c1", "brokers-a-0", 2)
    parts = vm.node.read_text().split("-----BEGIN ")[1:]
    assert [part.partition("-----")[0] for part in parts] == ["PRIVATE KEY", "CERTIFICATE", "CERTIFICATE"]
    for name in ("node.pem", "cluster-ca.pem", "clients-ca.pem"):
        assert (vm.layout.tls_dir("broker") / name).stat().st_mode & 0o777 == 0o600
    check(vm.node, vm.believed, ADDRESS)
    assert not list(vm.layout.tls_dir("broker").glob("*.next"))


def test_its_key_is_in_no_line_of_the_agents_log(vm: Vm) -> None:
    vm.ready()
    vm.done()
    lines = vm.node.read_text().partition("-----END")[0].splitlines()[1:]
    assert lines
    assert set(lines) <= set(known_secrets())


def test_each_start_gets_another_one(vm: Vm) -> None:
    vm.ready()
    vm.done()
    first = vm.node.read_text()
    assert vm.ready("s-2") != ""
    vm.done()
    assert vm.ready("s-2") == ""
    assert vm.node.read_text() != first


def test_a_service_that_ends_again_and_again_asks_twice_a_day(vm: Vm) -> None:
    vm.ready()
    vm.done()
    vm.agent = vm.begun()
    assert vm.ready() == ""
    vm.now += timedelta(hours=13)
    assert vm.ready() != ""
    vm.done()
    assert len(vm.server.asked) == 2


def test_without_the_control_plane_it_starts_with_what_it_had(vm: Vm, caplog: pytest.LogCaptureFixture) -> None:
    """A reboot without Kedge brings Kafka back."""
    vm.ready()
    vm.done()
    vm.server.away = True
    assert vm.ready("s-2") != ""
    vm.done()
    assert vm.ready("s-2") == ""
    assert "starts with the certificate it had" in caplog.text
    vm.seconds += 5.0
    assert vm.ready("s-2") != "", "it is tried again for as long as the service has not started"


def test_without_the_control_plane_and_any_certificate_it_waits_and_says_for_what(vm: Vm) -> None:
    vm.server.away = True
    vm.ready()
    vm.done()
    assert vm.ready() == "no certificate for this node yet: the server cannot be reached"
    assert not vm.work, "not at once again"
    vm.seconds += 5.0
    vm.server.away = False
    vm.ready()
    vm.done()
    assert vm.ready() == ""


def test_one_that_is_over_is_no_way_back(vm: Vm) -> None:
    vm.server.now = datetime.now(UTC) - timedelta(days=366)
    vm.ready()
    vm.done()
    assert "certificate has expired" in vm.ready(), "and it never took a place"
    assert not vm.node.exists()


@pytest.mark.parametrize("addresses", [("10.0.0.8",), ("kafka.example.com",)])
def test_one_that_is_not_for_this_address_takes_no_place(vm: Vm, addresses: tuple[str, ...]) -> None:
    vm.ready()
    vm.done()
    kept = vm.node.read_text()
    vm.server.addresses = addresses
    vm.ready("s-2")
    vm.done()
    assert vm.node.read_text() == kept
    assert vm.ready("s-2") == "", "the one before counts"
    other = vm.ready("s-3", address="10.0.0.77")
    assert other != ""


def test_one_of_another_ca_or_for_another_key_is_refused(vm: Vm) -> None:
    theirs = founded(UID, now=datetime.now(UTC))
    honest = vm.server.certify_node
    vm.server.certify_node = lambda request: honest(request).model_copy(  # type: ignore[method-assign]
        update={"cluster_ca": theirs.cluster.pem}
    )
    vm.ready()
    vm.done()
    assert "cannot be used" in vm.ready()
    other = honest(CertificateRequest(cluster_uid="c1", node="n", generation=1, csr=signing_request().csr_pem))
    vm.server.certify_node = lambda request: other  # type: ignore[method-assign]
    vm.seconds += 5.0
    vm.ready()
    vm.done()
    assert "KEY_VALUES_MISMATCH" in vm.ready()
    assert not vm.node.exists()


def test_a_key_that_kafka_does_not_read_is_no_key(vm: Vm) -> None:
    vm.ready()
    vm.done()
    vm.node.write_text(vm.node.read_text().replace("PRIVATE KEY", "EC PRIVATE KEY"))
    with pytest.raises(CertificateUnusable, match="PKCS#8"):
        check(vm.node, vm.believed, ADDRESS)


def test_one_for_servers_alone_is_refused_as_kafka_would(vm: Vm) -> None:
    def for_servers(request: CertificateRequest) -> NodeCertificateAnswer:
        issued = vm.server.authorities.cluster.sign(
            requested_key(request.csr),
            "kedge-node-1",
            addresses=(ADDRESS,),
            uses=(ExtendedKeyUsageOID.SERVER_AUTH,),
            life=timedelta(days=1),
            now=datetime.now(UTC),
        )
        return NodeCertificateAnswer(
            certificate=issued.pem, cluster_ca=vm.server.authorities.cluster.pem, clients_ca=""
        )

    vm.server.certify_node = for_servers  # type: ignore[method-assign]
    vm.ready()
    vm.done()
    assert "cannot be used" in vm.ready()


def test_a_vm_on_which_no_key_can_be_made_says_so(vm: Vm) -> None:
    def fails() -> SigningRequest:
        raise NoSigningRequest("no room left")

    vm.make = fails
    vm.ready()
    vm.done()
    assert vm.ready() == "no key could be made for this node's certificate: no room left"


def test_a_damaged_note_has_another_one_asked_for(vm: Vm) -> None:
    vm.ready()
    vm.done()
    note = vm.layout.tls_dir("broker") / "made-for.json"
    assert json.loads(note.read_text())["start_id"] == "s-1"
    note.write_text("{")
    assert vm.ready() != ""
