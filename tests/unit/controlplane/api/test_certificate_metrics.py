"""When certificates end, as Prometheus is told: of what listeners show where that was seen."""

from datetime import datetime, timedelta

from agent.wire import CertificateReport
from agent.wire_tls import ServedCertificate
from controlplane.api.metrics.certificate_families import certificate_families
from controlplane.api.metrics.snapshot import ClusterSnapshot
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.certificates import CertificateView
from controlplane.storage.certificates.cluster_authority import founded
from events import facts
from tests.builders import NOW, a_report, a_view
from tests.own_ca import Pki

A, B, C = "brokers-a-0.g1", "brokers-b-0.g1", "brokers-c-0.g1"
SIGNED, IN_FILE, SHOWN = (NOW + timedelta(days=days) for days in (365, 200, 100))


def _report(view: ClusterView, key: str, *shown: datetime) -> tuple[object, datetime]:
    served = tuple(ServedCertificate(listener="L", port=1, serial="1", until=one, at=NOW) for one in shown)
    told = CertificateReport(serial="1", until=IN_FILE, issuer="a", believes=("a",), served=served)
    return a_report(view.instances[key], certificate=told).report, NOW


def _samples(view: ClusterView, **reports: object) -> dict[tuple[str, ...], float]:
    told = {key.replace("_", "-").replace("-g1", ".g1"): one for key, one in reports.items()}
    cluster = ClusterSnapshot(view, "Converged", None, None, told, {}, "")  # type: ignore[arg-type]
    return {(s.name, *s.labels.values()): s.value for family in certificate_families([cluster]) for s in family.samples}


def test_each_node_tells_the_first_end_that_is_known_and_how() -> None:
    cas = founded(a_view().uid, now=NOW)
    held = {key: CertificateView("1", NOW, SIGNED) for key in (A, B, C)}
    made = facts.AuthoritiesMade(cas.cluster.pem, cas.clients.pem)
    view = a_view(certificates=held, authorities=made)
    found = _samples(view, brokers_a_0_g1=_report(view, A, SIGNED, SHOWN), brokers_b_0_g1=_report(view, B))
    name = "kedge_certificate_end_timestamp_seconds"
    assert {key: value for key, value in found.items() if key[0] == name} == {
        (name, "orders", A, "served"): SHOWN.timestamp(),
        (name, "orders", B, "file"): IN_FILE.timestamp(),
        (name, "orders", C, "signed"): SIGNED.timestamp(),
    }
    for kind, authority in (("cluster", cas.cluster), ("clients", cas.clients)):
        assert found["kedge_ca_end_timestamp_seconds", "orders", kind] == authority.until.timestamp()


def test_a_ca_below_a_root_that_ends_before_it_ends_with_that_root() -> None:
    short = Pki.root(days=100).below(days=3650)
    made = facts.AuthoritiesMade(short.pem, founded(a_view().uid, now=NOW).clients.pem, "corporate")
    found = _samples(a_view(authorities=made))
    assert found["kedge_ca_end_timestamp_seconds", "orders", "cluster"] == short.authority.until.timestamp()


def test_a_cluster_in_plaintext_has_no_samples() -> None:
    assert not _samples(a_view())
