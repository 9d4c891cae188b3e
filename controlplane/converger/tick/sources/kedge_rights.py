"""Kedge's own rights in a cluster: looked at before anything else is asked, once a minute, and at each tick until all
are there. What Kedge may not see is not told it, so without them what it is told is no picture of the cluster."""

from datetime import datetime

from controlplane.cluster.kedge_rights import RightsLook, has_kedge_rights
from controlplane.cluster.node_names import names_of_kedge
from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.ports import Ports
from controlplane.converger.tick.sources.brokers import LOOK_EVERY, has_brokers
from controlplane.kafka.errors import KafkaFault, KafkaUnavailable

BLIND = "Kedge lacks ACLs it is to have, or has some by names of before. Nothing is done until that is put right"


class KedgeRightsReader:
    """Remembers the last look at each cluster."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._seen: dict[str, tuple[datetime, tuple[bool, bool], RightsLook]] = {}

    def read(self, view: ClusterView, missing: dict[str, str], *, dials: bool) -> RightsLook | None:
        """What is amiss, and `missing["kafka"]` where that makes Kafka's metadata no whole picture. `dials`: whether
        brokers are asked for it now; at rest nobody is dialled for this alone."""
        rights, now = self._ports.kedge_rights, self._ports.clock()
        if rights is None or not has_kedge_rights(view) or not has_brokers(view):
            return None
        known, names = self._seen.get(view.uid), names_of_kedge(view)
        is_fine = known is not None and known[1] == names and not known[2].seen
        if known is not None and is_fine and (not dials or now - known[0] < LOOK_EVERY):
            return known[2]
        try:
            look = rights.look(view)
        except KafkaFault as fault:
            self._seen.pop(view.uid, None)
            if view.settings.least_rights or isinstance(fault, KafkaUnavailable):
                missing["kafka"] = str(fault)
            return None
        self._seen[view.uid] = now, names, look
        if view.settings.least_rights and look.seen.is_blind:
            missing["kafka"] = BLIND
        return look

    def look_again(self, uid: str) -> None:
        """Something was refused, or is being put right."""
        self._seen.pop(uid, None)
