"""One Kafka gateway per cluster, found by the brokers the fold knows; dialled anew when those have changed."""

import threading
from dataclasses import dataclass

from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import Dialer
from controlplane.kafka.gateway import KafkaGateway
from controlplane.replacement import SERVING
from controlplane.view import ClusterView
from events.ids import ClusterUid


@dataclass(frozen=True, slots=True)
class _Known:
    bootstrap: tuple[str, ...]
    gateway: AdminGateway


class Gateways:
    """Gateways by cluster. Thread-safe; one cluster is asked by one thread at a time (the dialer sees to it)."""

    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer
        self._lock = threading.Lock()
        self._known: dict[ClusterUid, _Known] = {}

    def of(self, view: ClusterView) -> KafkaGateway:
        """The gateway of a cluster. Its first call raises KafkaUnavailable when no broker has an address yet."""
        bootstrap = bootstrap_of(view)
        with self._lock:
            known = self._known.get(view.uid)
            if known is not None and known.bootstrap == bootstrap:
                return known.gateway
            self._known[view.uid] = fresh = _Known(bootstrap, AdminGateway(self._dialer, view.uid, bootstrap))
        if known is not None:
            # The connection may rest on brokers that are gone by now; their addresses may be somebody else's.
            self._dialer.hang_up(view.uid)
        return fresh.gateway

    def close(self) -> None:
        """Closes all connections."""
        self._dialer.close()


def bootstrap_of(view: ClusterView) -> tuple[str, ...]:
    """`host:port` of every broker that should serve, by broker id."""
    port = view.document.spec.listeners[0].port if view.document else 9092
    serving = [i for i in view.brokers() if i.phase in SERVING and i.address and not i.lost]
    return tuple(f"{view.address_of(i)}:{port}" for i in sorted(serving, key=lambda i: i.service_id))
