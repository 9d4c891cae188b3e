"""Heartbeats through every broker: who looks at whom."""

from collections import defaultdict

from agent.wire import Heartbeats, HeartbeatTarget
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.runtime.once import once
from planner.heartbeats import HEARTBEAT_TOPIC


def heartbeats_for(view: ClusterView, watcher: InstanceView) -> Heartbeats | None:
    """The brokers the agent on `watcher`'s VM looks at: some of the next rack. None where there are none for it."""
    if not watcher.is_broker or not has_heartbeats(view):
        return None
    targets = tuple(
        HeartbeatTarget(broker=i.service_id, address=view.address_of(i), port=view.port_of(i))
        for i in _watching(view).get(watcher.key, ())
    )
    secured = view.nodes_speak_tls
    return Heartbeats(topic=HEARTBEAT_TOPIC, targets=targets, secured=secured) if targets else None


def has_heartbeats(view: ClusterView) -> bool:
    return view.document is not None and view.document.spec.health.heartbeats


@once
def _watching(view: ClusterView) -> dict[str, tuple[InstanceView, ...]]:
    """Key of the VM that looks -> brokers it looks at. Each broker is looked at from the next rack, in turn; with one
    rack alone, by the next broker; a broker that is alone is looked at by nobody."""
    there = sorted((i for i in view.receivers() if view.address_of(i)), key=lambda i: (i.planned.rack, i.service_id))
    racks: dict[str, list[InstanceView]] = defaultdict(list)
    for i in there:
        racks[i.planned.rack].append(i)
    found: dict[str, list[InstanceView]] = defaultdict(list)
    names = list(racks)
    for n, rack in enumerate(names):
        watchers = racks[names[(n + 1) % len(names)]]
        shift = 0 if len(names) > 1 else 1
        for k, broker in enumerate(racks[rack]):
            watcher = watchers[(k + shift) % len(watchers)]
            if watcher.key != broker.key and watcher.phase is Phase.JOINED:
                found[watcher.key].append(broker)
    return {key: tuple(brokers) for key, brokers in found.items()}
