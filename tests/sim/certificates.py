"""Certificates of nodes in the simulator: signed by the control plane's own code, before each start of a service whose
document speaks TLS. Keys are real, and few: nobody shakes hands here."""

from collections.abc import Callable
from datetime import datetime, timedelta

from cryptography import x509

from agent.certification import signing_request
from agent.wire import CertificateReport, ServiceDocument
from agent.wire_tls import ServedCertificate
from controlplane.api.node_certificates import NodeCertificates, NotYet
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.running.certificates import fingerprint
from events.ids import Epoch
from events.store import EventStore
from tests.fakes.cluster_authorities import MemoryClusterAuthorities
from tests.sim.failpoints import Crash
from tests.sim.vms import Vm

_END = "-----END CERTIFICATE-----"


class SimCertificates:
    """What VMs' services were started with, by instance key. `is_away`: the control plane signs nothing, and agents
    start with what they have. `mute`: agents of VMs that say nothing of certificates."""

    def __init__(
        self,
        store: EventStore,
        view: Callable[[], ClusterView],
        clock: Callable[[], datetime],
        epoch: Callable[[], Epoch],
        died: Callable[[Crash], None],
    ) -> None:
        """`died`: the server does, in the middle of an answer; its agent hears nothing, and asks again."""
        self.authorities = MemoryClusterAuthorities(clock)
        self._signs = NodeCertificates(store, self.authorities, clock)
        self._view, self._clock, self._epoch, self._died = view, clock, epoch, died
        self.held: dict[str, CertificateReport] = {}
        self.starts: list[tuple[str, str]] = []
        """(instance key, serial it was started with), in order."""
        self.is_away = False
        self.mute: set[str] = set()
        self._csr = signing_request().csr_pem

    def obtain(self, vm: Vm, service: ServiceDocument) -> bool:
        """Before a start; False while the service has to wait for its first one."""
        if not self.is_away:
            view = self._view()
            try:
                answer = self._signs.certify(view, view.instances[vm.key], self._csr, epoch=self._epoch())
            except NotYet:
                return False
            except Crash as crash:
                self._died(crash)
                return False
            leaf = x509.load_pem_x509_certificate(answer.certificate.encode())
            serial, until = f"{leaf.serial_number:x}", leaf.not_valid_after_utc
            self.held[vm.key] = CertificateReport(
                serial=serial,
                until=until,
                issuer=fingerprint(answer.issuer or answer.cluster_ca),
                believes=_fingerprints(answer.cluster_ca),
                clients=_fingerprints(answer.clients_ca),
                served=(
                    ServedCertificate(listener="REPLICATION", port=9091, serial=serial, until=until, at=self._clock()),
                ),
            )
        if vm.key not in self.held:
            return False
        self.starts.append((vm.key, self.held[vm.key].serial))
        return True

    def report(self, vm: Vm) -> CertificateReport | None:
        """What its agent says of it."""
        return None if vm.key in self.mute else self.held.get(vm.key)

    def ages(self, now: datetime) -> tuple[tuple[str, int], ...]:
        """By instance key, how many twelfths of its certificate's life are over: with these changes what is done."""
        life = timedelta(days=365)
        return tuple(sorted((key, int((now - one.until + life) * 12 / life)) for key, one in self.held.items()))

    def over(self, now: datetime) -> list[str]:
        """VMs whose certificate is over: others refuse them from their next connection on."""
        return sorted(key for key, one in self.held.items() if now >= one.until)


def _fingerprints(bundle: str) -> tuple[str, ...]:
    return tuple(fingerprint(part + _END) for part in bundle.split(_END) if part.strip())
