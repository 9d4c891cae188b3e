"""Certificates of a cluster as the API says them: what is recorded, beside what agents see."""

from collections.abc import Mapping
from typing import get_args

from cryptography import x509

from agent.wire import CertificateReport, ServiceReport
from controlplane.api.schemas import certificates as api
from controlplane.cluster.believed_authorities import believed
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.running.certificates import fingerprint, phase_progress
from controlplane.converger.situation.observation import BackgroundSeen, Observation
from controlplane.converger.situation.situation import Situation
from events.certificate_facts import ReplacedAuthority
from events.clock import Clock


def certificates_out(view: ClusterView, reports: Mapping[str, ServiceReport], clock: Clock) -> api.CertificatesOut:
    """`reports` are the last ones of VMs' services, by key."""
    situation = Situation(view, Observation(background=BackgroundSeen(certificates=reports)), clock())
    return api.CertificatesOut(
        cluster=view.name,
        authorities=[out for kind in get_args(ReplacedAuthority) for out in _authorities(view, kind)],
        replacement=_replacement(situation),
        nodes=[_node(view, key, reports.get(key)) for key in sorted(view.vms.certificates) if _is_there(view, key)],
    )


def _is_there(view: ClusterView, key: str) -> bool:
    return any(i.key == key for i in view.alive())


def _authorities(view: ClusterView, kind: ReplacedAuthority) -> list[api.AuthorityOut]:
    """The one that signs first; and one that nobody believes yet, or any more, while it is replaced."""
    now = believed(view, kind)
    if now is None or view.vms.authorities is None:
        return []
    change = view.vms.authority_change
    other = change.certificate if change is not None and change.kind == kind else ""
    known = dict.fromkeys(pem for pem in (*now.all, getattr(view.vms.authorities, kind), other) if pem)
    return [_authority(kind, pem, signs=pem == now.signer, is_believed=pem in now.all) for pem in known]


def _authority(kind: ReplacedAuthority, pem: str, *, signs: bool, is_believed: bool) -> api.AuthorityOut:
    certificate = x509.load_pem_x509_certificate(pem.encode())
    return api.AuthorityOut(
        kind=kind,
        fingerprint=fingerprint(pem),
        since=certificate.not_valid_before_utc,
        until=certificate.not_valid_after_utc,
        signs=signs,
        believed=is_believed,
    )


def _replacement(situation: Situation) -> api.AuthorityReplacementOut | None:
    change = situation.view.vms.authority_change
    if change is None:
        return None
    progress = phase_progress(situation)
    return api.AuthorityReplacementOut(
        kind=change.kind,
        phase=change.phase.value,
        since=change.since,
        reached=change.is_reached,
        reason=change.reason,
        there=list(progress.there),
        behind=list(progress.behind),
        unknown=list(progress.unknown),
    )


def _node(view: ClusterView, key: str, report: ServiceReport | None) -> api.NodeCertificateOut:
    issued, instance = view.vms.certificates[key], view.instances[key]
    seen = report.certificate if report is not None and report.state == "running" else None
    return api.NodeCertificateOut(
        key=key,
        service=instance.planned.service,
        service_id=instance.service_id,
        revoked_at=view.vms.revoked.get(key),
        serial=issued.serial,
        since=issued.since,
        until=issued.until,
        renewed_from=issued.due_at,
        started_with=seen.serial if seen else "",
        issuer=seen.issuer if seen else "",
        believes=list(seen.believes) if seen else [],
        served=_served(seen) if seen else [],
    )


def _served(seen: CertificateReport) -> list[api.ServedOut]:
    return [
        api.ServedOut(
            listener=one.listener,
            port=one.port,
            serial=one.serial,
            until=one.until,
            seen_at=one.at,
            problem=one.problem,
        )
        for one in seen.served
    ]
