"""The fold of certificates that nodes show each other, and of their CAs: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds import nodes as nodefold
from controlplane.cluster.folds.steps import Rules, frozen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.certificates import AuthorityPhase, AuthorityReplacementView, CertificateView
from controlplane.cluster.views.instances import vm_of
from controlplane.cluster.views.running_settings import RollingRestartView
from events import facts


def _made(view: ClusterView, e: facts.AuthoritiesMade, at: datetime) -> ClusterView:
    if view.vms.authorities is not None:
        raise ValueError("the cluster has its CAs: its nodes would not believe others")
    return replace(view, vms=replace(view.vms, authorities=e))


def _issued(view: ClusterView, e: facts.CertificateIssued, at: datetime) -> ClusterView:
    there = {i.key for i in view.alive()}
    kept = {key: one for key, one in view.vms.certificates.items() if key in there}
    issued = {**kept, e.key: CertificateView(e.serial, e.since, e.until)}
    return replace(view, vms=replace(view.vms, certificates=frozen(issued)))


def _revoked(view: ClusterView, e: facts.CertificatesRevoked, at: datetime) -> ClusterView:
    """Asked again it is the first time that counts. It is started anew no more: its agent would not hear that."""
    if e.key not in view.instances:
        raise ValueError(f"instance {e.key} is not known")
    revoked = frozen({e.key: at, **view.vms.revoked})
    view = nodefold.started_anew(replace(view, vms=replace(view.vms, revoked=revoked)), e.key)
    return nodefold.replace_requested(view, facts.NodeReplaceRequested(e.key, e.reason), at) if e.replaces else view


def _restart_requested(view: ClusterView, e: facts.CertificateRestartRequested, at: datetime) -> ClusterView:
    """One rolling restart a cluster at a time; who has to be started anew at once takes those along that wait."""
    running = view.requests.rolling_restart
    if running is not None and not (e.at_once and set(running.left) <= set(e.keys)):
        raise ValueError(f"the rolling restart {running.id} is not over")
    unknown = [key for key in e.keys if vm_of(key) not in view.instances]
    if unknown:
        raise ValueError(f"instance {unknown[0]} is not known")
    rolling = RollingRestartView(e.request, e.keys, e.keys, e.reason, at, for_certificates=True, at_once=e.at_once)
    view = replace(view, requests=replace(view.requests, rolling_restart=rolling))
    if not e.replacement:
        return replace(view, vms=replace(view.vms, certificates_renewed_at=at))
    there = _in_hand(view, e.replacement)
    return _with(view, replace(there, restarts=there.restarts + 1))


def _replace_requested(view: ClusterView, e: facts.AuthorityReplaceRequested, at: datetime) -> ClusterView:
    if view.vms.authorities is None:
        raise ValueError("the cluster has no CA that could be replaced")
    if view.vms.authority_change is not None:
        raise ValueError(f"the replacement {view.vms.authority_change.id} of a CA is not over")
    return _with(view, AuthorityReplacementView(e.request, e.kind, AuthorityPhase.TRUST_BOTH, at, e.reason))


def _next_made(view: ClusterView, e: facts.NextAuthorityMade, at: datetime) -> ClusterView:
    there = _in_hand(view, e.request)
    if there.certificate:
        raise ValueError(f"the replacement {there.id} has its CA: nodes may believe it already")
    return _with(view, replace(there, certificate=e.certificate, own=e.own))


def _phase_requested(view: ClusterView, e: facts.AuthorityPhaseRequested, at: datetime) -> ClusterView:
    there, phase = _in_hand(view, e.request), AuthorityPhase(e.phase)
    if phase not in _AFTER[there.phase]:
        raise ValueError(f"the replacement {there.id} does not go from {there.phase} to {phase}")
    has_signed = there.has_signed or phase is AuthorityPhase.REISSUE
    return _with(view, replace(there, phase=phase, since=at, is_reached=False, restarts=0, has_signed=has_signed))


def _phase_reached(view: ClusterView, e: facts.AuthorityPhaseReached, at: datetime) -> ClusterView:
    there, authorities = _in_hand(view, e.request), view.vms.authorities
    if there.phase != e.phase or authorities is None:
        raise ValueError(f"the replacement {there.id} is at {there.phase}, not at {e.phase}")
    if not there.phase.is_last:
        has_signed = there.phase is not AuthorityPhase.TRUST_BOTH
        return _with(view, replace(there, is_reached=True, has_signed=has_signed))
    if there.phase is AuthorityPhase.NEW_ALONE:
        new = {there.kind: there.certificate, f"own_{there.kind}": there.own}
        authorities = replace(authorities, **new)
    return replace(view, vms=replace(view.vms, authorities=authorities, authority_change=None))


def _in_hand(view: ClusterView, request: str) -> AuthorityReplacementView:
    there = view.vms.authority_change
    if there is None or there.id != request:
        raise ValueError(f"the replacement {request} of a CA is not the one in hand")
    return there


def _with(view: ClusterView, there: AuthorityReplacementView) -> ClusterView:
    return replace(view, vms=replace(view.vms, authority_change=there))


_AFTER = {
    AuthorityPhase.TRUST_BOTH: (AuthorityPhase.REISSUE, AuthorityPhase.OLD_ALONE),
    AuthorityPhase.REISSUE: (AuthorityPhase.NEW_ALONE, AuthorityPhase.TRUST_BOTH),
    AuthorityPhase.NEW_ALONE: (),
    AuthorityPhase.OLD_ALONE: (),
}
"""Where a phase may lead to: on, or back. After the last one nothing believes the other CA any more."""

RULES: Rules = {
    facts.AuthoritiesMade: _made,
    facts.CertificateIssued: _issued,
    facts.CertificatesRevoked: _revoked,
    facts.CertificateRestartRequested: _restart_requested,
    facts.AuthorityReplaceRequested: _replace_requested,
    facts.NextAuthorityMade: _next_made,
    facts.AuthorityPhaseRequested: _phase_requested,
    facts.AuthorityPhaseReached: _phase_reached,
}
