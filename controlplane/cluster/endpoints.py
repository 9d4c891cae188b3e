"""How clients find a cluster: which of its brokers are named to them, and at what addresses. Pure."""

from controlplane.cluster.lifecycle import SERVING, Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from events.spec.security import Listener


def listed_brokers(view: ClusterView) -> tuple[InstanceView, ...]:
    """The brokers that are to stay, by id; while there are none of those, all that serve."""
    serving = [i for i in view.brokers() if i.phase in SERVING and i.launched_at and i.address and not i.lost]
    listed = [i for i in serving if i.phase is Phase.JOINED] or [i for i in serving if i.phase is not Phase.LAUNCHED]
    return tuple(sorted(listed, key=lambda i: i.service_id))


def has_listener(broker: InstanceView, listener: Listener) -> bool:
    """Whether a broker was last started with it. In plaintext a broker has one, which is the spec's by another port."""
    told = broker.start.security
    if told is None:
        return listener.security == "plaintext"  # on its way to TLS it has no other one yet
    return any(one.name == listener.name for one in told.listeners)
