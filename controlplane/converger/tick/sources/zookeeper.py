"""What is asked of a cluster's ZooKeeper, each only while something waits for it."""

from collections.abc import Mapping

from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.quorum.ensemble_content import content_wanted
from controlplane.converger.questions.quorum.protocol import PROTOCOL, goes_back
from controlplane.converger.questions.quorum.security_steps import has_late_step
from controlplane.converger.situation.observation import ZooKeeperSeen
from controlplane.converger.situation.ports import Ports, ZooKeeperPorts
from controlplane.kafka.errors import KafkaFault
from controlplane.kafka.zookeeper.registry import RegistrySeen


def zookeeper_of(view: ClusterView, ports: Ports, missing: dict[str, str], *, kafka_was_read: bool) -> ZooKeeperSeen:
    """Nothing of it of a cluster without one."""
    return ZooKeeperSeen(
        registered_id=_registered_id(view, ports.zookeeper, missing),
        registry=_registry(view, ports.zookeeper, missing),
        content_is_right=_content_is_right(view, ports.zookeeper, missing),
        restart_lock=ports.zookeeper.restart_lock.status(view) if view.in_zookeeper_mode else "lost",
        protocols=_protocols(view, ports, missing) if kafka_was_read else None,
    )


def _registered_id(view: ClusterView, ports: ZooKeeperPorts, missing: dict[str, str]) -> str | None:
    if not view.in_zookeeper_mode or view.quorum.founding is None or view.quorum.cluster_id_fixed:
        return None
    try:
        return ports.registered_id(view)
    except KafkaFault as error:
        missing["ensemble"] = str(error)
        return None


def _registry(view: ClusterView, ports: ZooKeeperPorts, missing: dict[str, str]) -> RegistrySeen | None:
    if view.quorum.migration is None:
        return None
    try:
        return ports.registry(view)
    except KafkaFault as error:
        missing["ensemble"] = str(error)
        return None


def _content_is_right(view: ClusterView, ports: ZooKeeperPorts, missing: dict[str, str]) -> bool | None:
    """Once every service has made the step that ends with it."""
    wanted = content_wanted(view)
    if wanted is None or view.settings.restarts or has_late_step(view):
        return None
    try:
        return ports.content_is_right(view, wanted)
    except KafkaFault as error:
        missing["ensemble"] = str(error)
        return None


def _protocols(view: ClusterView, ports: Ports, missing: dict[str, str]) -> Mapping[int, str] | None:
    if not goes_back(view):
        return None
    try:
        running = ports.kafka(view).running_settings(frozenset({PROTOCOL})).brokers
    except KafkaFault as error:
        missing["protocols"] = str(error)
        return None
    protocols = {broker: values[PROTOCOL].value for broker, values in running.items() if PROTOCOL in values}
    return {broker: value for broker, value in protocols.items() if value}
