"""The agents of the fleet: one line a VM, the silent ones first."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from fastapi import APIRouter, Request
from starlette.responses import Response

from controlplane.api.presenters import instances as instance_answers
from controlplane.api.presenters.instances import AgentSeen
from controlplane.api.services import PortalServices, Services
from controlplane.background.agent_upgrades.status import UpgradingVm
from controlplane.cluster.observed.agent_reports import AGENT_REPORT
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.portal.frame import page
from controlplane.storage.certificates.shown import certificate_ends

router = APIRouter(tags=["pages"], include_in_schema=False)

SILENT = timedelta(seconds=30)
"""Agents report every few seconds; older than this nobody destroys anything on it either."""

ENDS_SOON = timedelta(days=3)


@dataclass(frozen=True, slots=True)
class AgentRow:
    """One VM and its agent."""

    cluster: str
    instance: InstanceView
    seen: AgentSeen
    age_s: float | None
    left: timedelta | None = None
    """Of its certificate."""
    upgrade: UpgradingVm | None = None
    """How it stands to the agent it is to run, None where none was published."""

    @property
    def word(self) -> str:
        """silent, overdue, or well; unheard where it never spoke."""
        if self.age_s is None:
            return "unheard"
        if self.age_s > SILENT.total_seconds():
            return "silent"
        return "overdue" if self.seen.is_overdue else "well"

    @property
    def certificate_tone(self) -> str:
        """It is renewed when two of its seven days are over: with three left somebody has not for days."""
        if self.seen.certificate_until is None or self.left is None:
            return "mute"
        return "bad" if self.left <= timedelta(0) else "warn" if self.left < ENDS_SOON else "good"

    @property
    def tone(self) -> str:
        return {"unheard": "mute", "silent": "bad", "overdue": "warn", "well": "good"}[self.word]


@dataclass(frozen=True, slots=True)
class CertificateStatus:
    """The CA that agents trust this server by; `sha256` is that of boot data."""

    name: str
    ends_at: datetime
    sha256: str


@cache
def certificate_status(pem: str) -> CertificateStatus:
    """What a person compares and plans by. Pure."""
    found = x509.load_pem_x509_certificate(pem.encode())
    sha256 = found.fingerprint(hashes.SHA256()).hex()
    return CertificateStatus(found.subject.rfc4514_string(), found.not_valid_after_utc, sha256)


@router.get("/agents")
def agents(request: Request, services: Services) -> Response:
    """Every VM of the clusters a caller may read."""
    release_status = services.fleet.agents.status()
    upgrades = {(c.name, vm.key): vm for c in release_status.clusters for vm in c.vms}
    rows = [row for v in services.fleet.clusters.views() if not v.deleted for row in _rows(services, v)]
    rows = [replace(row, upgrade=upgrades.get((row.cluster, row.instance.key))) for row in rows]
    ranks = {"silent": 0, "overdue": 1, "unheard": 2, "well": 3}
    rows.sort(key=lambda r: (ranks[r.word], r.cluster, r.instance.key))
    tally = {word: sum(r.word == word for r in rows) for word in ranks}
    shown = {w: n for w, n in tally.items() if n}
    authority = certificate_status(services.access.ca_pem) if services.access.ca_pem else None
    return page(request, "agents.html", rows=rows, tally=shown, release_status=release_status, authority=authority)


def _rows(services: PortalServices, view: ClusterView) -> list[AgentRow]:
    now = services.clock()
    seen = instance_answers.agents_seen(
        services.cluster.latest.of_cluster(view.uid, AGENT_REPORT),
        services.access.credentials.of_cluster(view.uid).values(),
        credential_life=services.access.credential_life,
        asks_certificates=bool(services.access.ca_pem),
        now=now,
        certificates=certificate_ends(services.cluster.latest, view.uid),
    )
    return [_row(view, i, seen.get(i.key, AgentSeen()), services) for i in view.alive()]


def _row(view: ClusterView, instance: InstanceView, seen: AgentSeen, services: PortalServices) -> AgentRow:
    heard = seen.report.received_at if seen.report else None
    age_s = max(0.0, (services.clock() - heard).total_seconds()) if heard else None
    left = seen.certificate_until - services.clock() if seen.certificate_until else None
    return AgentRow(view.name, instance, seen, age_s, left)
