"""What a service's listeners show is looked at by a handshake, slowly; a certificate's serial and end are read as
`cryptography` reads them."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from agent.node_certificate import NodeCertificates
from agent.shown_certificate import AGAIN_S, LOOK_EVERY_S, NoCertificate, ServedCertificates, leaf_of, listeners_of
from agent.wire import CertificateReport, NodeCertificateAnswer, ServiceDocument, TlsListener
from controlplane.converger.questions.running.certificates import fingerprint
from controlplane.storage.certificates.cluster_authority import ClusterAuthority, founded
from tests.unit.agent.test_node_certificates import TLS, UID, ControlPlane
from tests.unit.agent.wanted import boot_data, broker, server

HERE = "127.0.0.1"


class Vm:
    def __init__(self, root: Path, port: int) -> None:
        self.seconds, self.work = 0.0, list[Callable[[], None]]()
        self.server = ControlPlane()
        self.server.addresses = (HERE,)
        self.port = port
        self.root = root
        self.shown = ServedCertificates(self.folder, monotonic_s=lambda: self.seconds, begin=self.work.append)

    def folder(self, name: str) -> Path:
        return self.root / name

    def starts(self) -> str:
        """The service gets another certificate. Returns its serial."""
        keeps = NodeCertificates(
            boot_data(), self.server, self.folder, monotonic_s=lambda: self.seconds, begin=lambda work: work()
        )
        keeps.ready(self.service(f"s-{len(self.server.asked)}"))
        leaf = x509.load_pem_x509_certificate(self.node.read_bytes().partition(b"-----END PRIVATE KEY-----")[2])
        return f"{leaf.serial_number:x}"

    @property
    def node(self) -> Path:
        return self.folder("broker") / "node.pem"

    def service(self, start_id: str = "s-1") -> ServiceDocument:
        return broker(start_id=start_id, address=HERE, port=self.port, tls=TLS)

    def report(self, start_id: str = "s-1") -> CertificateReport | None:
        return self.shown.report(self.service(start_id), start_id)

    def looked(self, start_id: str = "s-1") -> CertificateReport:
        for _ in range(2):  # one that was begun before may be of other files
            self.report(start_id)
            while self.work:
                self.work.pop()()
        found = self.report(start_id)
        assert found is not None
        return found


@contextmanager
def listening(port_of: socket.socket, node: Callable[[], Path]) -> Iterator[None]:
    """Somebody who shows the certificate of that file, as it is when he is asked, and asks for one."""
    leaving = threading.Event()

    def serve() -> None:
        while not leaving.is_set():
            try:
                there, _ = port_of.accept()
            except TimeoutError:
                continue
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(node())
            with there:
                context.wrap_socket(there, server_side=True).close()

    port_of.settimeout(0.05)
    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        leaving.set()
        thread.join()


@pytest.fixture
def door() -> Iterator[socket.socket]:
    with socket.socket() as found:
        found.bind((HERE, 0))
        found.listen()
        yield found


@pytest.fixture
def vm(tmp_path: Path, door: socket.socket) -> Vm:
    return Vm(tmp_path, door.getsockname()[1])


def test_a_plaintext_service_and_one_without_a_certificate_say_nothing(vm: Vm) -> None:
    assert vm.shown.report(broker(), "s-1") is None
    assert vm.report() is None


def test_it_is_said_what_the_files_hold_and_what_is_shown(vm: Vm, door: socket.socket) -> None:
    serial = vm.starts()
    first = vm.report()
    assert first is not None
    assert (first.serial, first.served) == (serial, ()), "nobody has looked yet"
    with listening(door, lambda: vm.node):
        found = vm.looked()
    authorities = vm.server.authorities
    assert (found.issuer, found.believes) == (fingerprint(authorities.cluster.pem), (found.issuer,))
    assert found.clients == (fingerprint(authorities.clients.pem),)
    (shown,) = found.served
    assert (shown.listener, shown.serial, shown.until, shown.problem) == ("REPLICATION", serial, found.until, "")


def test_another_certificate_than_that_of_the_file_is_seen(vm: Vm, door: socket.socket, tmp_path: Path) -> None:
    old = vm.starts()
    kept = tmp_path / "old.pem"
    kept.write_bytes(vm.node.read_bytes())
    new = vm.starts()
    with listening(door, lambda: kept):
        found = vm.looked()
    assert (found.serial, found.served[0].serial) == (new, old)


def test_who_does_not_answer_is_unknown_and_asked_again(vm: Vm, door: socket.socket) -> None:
    vm.starts()
    vm.port = 1
    found = vm.looked()
    assert (found.served[0].serial, found.served[0].until) == ("", None)
    assert "refused" in found.served[0].problem
    vm.report()
    assert not vm.work
    vm.seconds += AGAIN_S
    vm.report()
    assert len(vm.work) == 1
    vm.report()
    assert len(vm.work) == 1, "one look at a time"


def test_it_is_looked_at_slowly_and_anew_after_a_start(vm: Vm, door: socket.socket) -> None:
    vm.starts()
    with listening(door, lambda: vm.node):
        vm.looked()
        vm.seconds += LOOK_EVERY_S - 1
        vm.report()
        assert not vm.work
        vm.seconds += 1
        vm.report()
        assert len(vm.work) == 1
        vm.work.pop()()
        vm.report("s-2")
        assert len(vm.work) == 1
        second = vm.starts()
        assert vm.looked("s-2").served[0].serial == second


def test_while_a_ca_is_replaced_the_chain_has_the_one_that_signed_alone(vm: Vm) -> None:
    """Kafka refuses a chain of two CAs."""
    new, sign = ClusterAuthority.founded(UID, "cluster", now=vm.server.now, successor="ca-1"), vm.server.certify_node

    def signed(request: object) -> NodeCertificateAnswer:
        answer = sign(request)  # type: ignore[arg-type]
        both = new.pem + answer.cluster_ca
        return answer.model_copy(update={"cluster_ca": both, "issuer": answer.cluster_ca})

    vm.server.certify_node = signed  # type: ignore[method-assign]
    vm.starts()
    assert vm.node.read_text().count("BEGIN CERTIFICATE") == 2
    found = vm.report()
    assert found is not None
    assert found.issuer == fingerprint(vm.server.authorities.cluster.pem)
    assert set(found.believes) == {found.issuer, fingerprint(new.pem)}


def test_listeners_that_ask_users_for_a_certificate_are_left_out() -> None:
    told = (
        TlsListener(name="TLS", port=9094, security="tls"),
        TlsListener(name="MTLS", port=9095, security="tls", authentication="tls"),
        TlsListener(name="PLAINTEXT", port=9092, security="plaintext"),
    )
    wanted = broker(port=9091, tls=TLS.model_copy(update={"listeners": told}))
    assert listeners_of(wanted) == (("REPLICATION", 9091), ("TLS", 9094))


def test_a_zookeeper_server_shows_its_certificate_where_brokers_come() -> None:
    assert listeners_of(server(port=2182, tls=TLS)) == (("secureClientPort", 2182),)


@pytest.mark.parametrize("days", [365, 365 * 40])
def test_serial_and_end_are_read_as_others_read_them(days: int) -> None:
    """Ends from 2050 on are written in another way."""
    now = datetime.now(UTC).replace(microsecond=0)
    authority = founded(UID, now=now).cluster
    certificate = x509.load_pem_x509_certificate(authority.pem.encode())
    authority = ClusterAuthority(
        certificate if days == 365 else _until(authority, now + timedelta(days=days)), authority._key
    )
    der = x509.load_pem_x509_certificate(authority.pem.encode()).public_bytes(serialization.Encoding.DER)
    found = leaf_of(der)
    known = x509.load_der_x509_certificate(der)
    assert (found.serial, found.until) == (f"{known.serial_number:x}", known.not_valid_after_utc)
    for cut in (0, 1, 5, 60):
        with pytest.raises(NoCertificate):
            leaf_of(der[:cut])


def _until(authority: ClusterAuthority, until: datetime) -> x509.Certificate:
    from cryptography.hazmat.primitives import hashes

    from controlplane.storage.certificates.building import common_name, signed_by

    name = common_name("a CA")
    builder = signed_by(name, authority._key.public_key(), now=until - timedelta(days=9), not_after=until)
    return builder.subject_name(name).sign(authority._key, hashes.SHA256())
