"""The protocol version of a cluster in ZooKeeper mode (`inter.broker.protocol.version`), which is pinned while binaries
roll and raised after the soak by one more start of each broker. What feature levels are to KRaft. Pure.

`log.message.format.version` is not set in between: brokers of 3.x ignore it from protocol 3.0 on and always write the
format of 3.0 (KIP-724), so the roll that older guides ask for would change nothing.
"""

import re

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from events.spec.model import KafkaClusterDocument
from events.spec.releases import as_numbers, metadata_level_of

PROTOCOL = "inter.broker.protocol.version"

_RELEASE = re.compile(r"[0-9]+\.[0-9]+")

NO_FORMAT_ROLL = (
    "log.message.format.version is skipped: from protocol 3.0 on Kafka ignores it and writes the format of 3.0, so no "
    "roll is needed for it"
)


def target_of(document: KafkaClusterDocument) -> str:
    """The protocol version a cluster is founded with or ends at, in KRaft mode the metadata level: the pin, or that of
    its release, as in `3.9`."""
    return document.spec.kafka.metadata_version or metadata_level_of(document.spec.kafka.version)


def goes_back(view: ClusterView) -> bool:
    """ZooKeeper mode: whether a broker is of a later release than the spec is at, so that older binaries may be started
    beside it. A cheap look, asked of every cluster at every tick."""
    if not view.in_zookeeper_mode or view.document is None:
        return False
    return bool(brokers_after(view, view.document.spec.kafka.version))


def brokers_after(view: ClusterView, version: str) -> tuple[InstanceView, ...]:
    """Brokers of a later release than this, whose VM is not gone."""
    there = (i for i in view.brokers() if not i.lost and i.planned.kafka_version)
    return tuple(i for i in there if as_numbers(i.planned.kafka_version) > as_numbers(version))


def knows_protocol(version: str, protocol: str) -> bool:
    """Whether brokers of this release can speak this `inter.broker.protocol.version`: Kafka names its own release as
    the latest one (`MetadataVersion`), as `3.9`, or `3.9-IV0` where nobody has set it.

    A protocol that is not written as numbers is known to nobody: it is of a release this code has never seen.
    """
    release = _RELEASE.match(protocol)
    return release is not None and as_numbers(release.group()) <= as_numbers(metadata_level_of(version))


def old_protocol(view: ClusterView, instance: InstanceView) -> str:
    """Why a broker is to be started anew, "" while it runs the protocol version of the cluster."""
    if not view.quorum.protocol or not instance.is_broker or instance.start.protocol in ("", view.quorum.protocol):
        return ""
    return f"{PROTOCOL} {instance.start.protocol} -> {view.quorum.protocol}"


def has_old_protocol(view: ClusterView) -> bool:
    """A cheap look, asked of every cluster at every tick."""
    return bool(view.quorum.protocol) and any(old_protocol(view, i) for i in view.brokers())
