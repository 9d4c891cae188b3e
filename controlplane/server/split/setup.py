"""Builds what a server tells processes beside it by; called by `controlplane.server.bootstrap` alone."""

import threading
from functools import partial

from controlplane.api.document_offers import telemetry_of
from controlplane.api.services import PortalServices
from controlplane.converger.tick.status import ServerLoop
from controlplane.runtime.polling import Polled, Poller
from controlplane.server.assembly.git_sync import Sources
from controlplane.server.sections.process import LOOP
from controlplane.server.settings import Settings
from controlplane.server.split.config_parity import files_alike
from controlplane.server.split.message import PUBLISHED_EVERY_S
from controlplane.server.split.portal_certificates import PortalCertifier
from controlplane.server.split.publisher import LoopTeller, TelemetryTeller
from controlplane.storage.certificates.cluster_authorities import ClusterAuthorityStore
from controlplane.storage.latest_values import LatestStore

_TELLER, _CERTIFIER, _TELEMETRY = "portals", "certificates of portals", "what agents send"
_EVERY_S = {_TELLER: PUBLISHED_EVERY_S, _CERTIFIER: PUBLISHED_EVERY_S, _TELEMETRY: 5.0}


def teller_of(
    settings: Settings,
    portal: PortalServices,
    loop: ServerLoop,
    latest: LatestStore,
    sources: Sources,
    authorities: ClusterAuthorityStore,
) -> Poller:
    """Portals are told nothing by a whole server, which is its own. Nothing is started."""
    polled: dict[str, Polled] = {}
    if settings.database_url.startswith("postgresql"):
        polled[_TELEMETRY] = TelemetryTeller(latest, telemetry_of(portal.brokers), portal.clock)
    if settings.process.only == LOOP:
        polled[_CERTIFIER] = PortalCertifier(portal.fleet.clusters, latest, authorities, portal.clock)
        polled[_TELLER] = LoopTeller(
            loop,
            portal.fleet.clusters,
            latest,
            portal.operations.leadership,
            sources.service.polled,
            portal.operations.examinations,
            sources.poller.ring,
            portal.operations.planner_state,
            partial(files_alike, settings),
            portal.access.ca_pem,
            portal.clock,
        )
    return Poller(
        polled,
        {name: _EVERY_S[name] for name in polled},
        leadership=portal.operations.leadership,
        stop=threading.Event(),
    )
