"""When certificates end that nodes show each other, and the CAs that signed them. Pure."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from cryptography import x509
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from agent.wire import CertificateReport
from controlplane.api.metrics.snapshot import ClusterSnapshot


def certificate_families(clusters: Iterable[ClusterSnapshot]) -> Iterator[Metric]:
    """Of clusters whose nodes speak TLS; of others there are no samples."""
    ends = GaugeMetricFamily(
        "kedge_certificate_end_timestamp_seconds",
        "When the certificate ends that a VM's service shows, the first one of its listeners.",
        labels=["cluster", "node", "seen"],
    )
    authorities = GaugeMetricFamily(
        "kedge_ca_end_timestamp_seconds",
        "When a CA of the cluster ends, or the first above it.",
        labels=["cluster", "kind"],
    )
    for cluster in clusters:
        view = cluster.view
        for instance in view.alive():
            issued = view.vms.certificates.get(instance.key)
            if issued is None or instance.lost:
                continue
            told = cluster.reports.get(instance.key)
            services = told[0].services if told is not None else ()
            service = next((one for one in services if one.name == instance.planned.service), None)
            seen = service.certificate if service is not None and service.state == "running" else None
            end, how = _end(seen) if seen is not None else (issued.until, "signed")
            ends.add_metric([view.name, instance.key, how], end.timestamp())
        for kind in ("cluster", "clients") if view.vms.authorities is not None else ():
            chain = x509.load_pem_x509_certificates(getattr(view.vms.authorities, kind).encode())
            ends_at = min(one.not_valid_after_utc for one in chain)
            authorities.add_metric([view.name, kind], ends_at.timestamp())
    yield from (ends, authorities)


def _end(seen: CertificateReport) -> tuple[datetime, str]:
    """The first end of what listeners show, or that of the file where nobody has looked; and which of the two it is."""
    shown = [one.until for one in seen.served if one.until is not None]
    return (min(shown), "served") if shown else (seen.until, "file")
