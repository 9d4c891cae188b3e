"""The fold of the certificates of a cluster's nodes: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules, frozen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.certificates import CertificateView
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


RULES: Rules = {facts.AuthoritiesMade: _made, facts.CertificateIssued: _issued}
