"""What Kafka has of quotas that are of no single user."""

from datetime import datetime

from controlplane.cluster.client_quotas import quotas_wait
from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.observation import ClientQuotasSeen
from controlplane.converger.situation.ports import Ports
from controlplane.converger.tick.client_quotas import refusal_of
from controlplane.converger.tick.sources.brokers import LOOK_EVERY
from controlplane.kafka.errors import KafkaFault
from planner.observed import KafkaSnapshot


class ClientQuotasReader:
    """Remembers when those of a cluster were looked at."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._looked_at: dict[str, datetime] = {}

    def read(self, view: ClusterView, snapshot: KafkaSnapshot, missing: dict[str, str]) -> ClientQuotasSeen | None:
        """All there are, where the spec declares some, or did; None where it is not time, or they cannot be read."""
        known, waits = view.settings.client_quotas, quotas_wait(view)
        if not (known.owned or waits) or not view.roll.converged:
            return None
        looked = self._looked_at.get(view.uid)
        if looked is not None and snapshot.at - looked < LOOK_EVERY and not waits:
            return None
        try:
            quotas = self._ports.kafka(view).client_quotas()
        except KafkaFault as error:
            missing["quotas"] = str(error)
            return None
        self._looked_at[view.uid] = snapshot.at
        return ClientQuotasSeen(quotas, refusal_of(self._ports.latest, view))
