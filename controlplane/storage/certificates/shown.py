"""When the certificate ends that the agent of each VM showed last: an agent that renews it no more is known before."""

import threading
from datetime import datetime

from controlplane.storage.certificates.agents import AgentCertificate
from controlplane.storage.latest_values import LatestStore, LatestValue, Subject
from events.clock import Clock
from events.ids import ClusterUid

AGENT_CERTIFICATE = "agent-certificate"
"""Kind of the latest-value row, one a VM, that holds it."""


class ShownCertificates:
    """Thread-safe. A row is written when another certificate is shown, once in some days, not with each report."""

    def __init__(self, latest: LatestStore, clock: Clock) -> None:
        self._latest, self._clock = latest, clock
        self._lock = threading.Lock()
        self._known: dict[tuple[ClusterUid, str], datetime] = {}

    def is_noted(self, uid: ClusterUid, key: str, certificate: AgentCertificate) -> bool:
        """Whether that is the one the agent showed last, and its row is written. Waits for nobody."""
        return self._known.get((uid, key)) == certificate.until

    def note(self, uid: ClusterUid, key: str, certificate: AgentCertificate) -> None:
        """What the agent of an instance has just shown. Raises StoreUnavailable."""
        if self.is_noted(uid, key, certificate):
            return
        value = {"until": certificate.until.isoformat()}
        self._latest.put(LatestValue(Subject(AGENT_CERTIFICATE, uid, key), value, "agent", self._clock()))
        with self._lock:
            self._known[uid, key] = certificate.until


def certificate_ends(latest: LatestStore, uid: ClusterUid) -> dict[str, datetime]:
    """By instance key; one that has shown none is missing. Raises StoreUnavailable."""
    rows = latest.of_cluster(uid, AGENT_CERTIFICATE)
    return {row.subject.name: datetime.fromisoformat(str(row.value["until"])) for row in rows}
