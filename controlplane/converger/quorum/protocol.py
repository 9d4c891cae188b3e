"""The protocol version of a cluster in ZooKeeper mode (`inter.broker.protocol.version`), which is pinned while binaries
roll and raised after the soak by one more start of each broker. What feature levels are to KRaft. Pure.

`log.message.format.version` is not set in between: brokers of 3.x ignore it from protocol 3.0 on and always write the
format of 3.0 (KIP-724), so the roll that older guides ask for would change nothing.
"""

from controlplane.converger.verdict import Situation, Verdict, record, wait
from controlplane.view import ClusterView, InstanceView
from events import facts
from events.spec.model import KafkaClusterDocument
from events.spec.releases import as_numbers, metadata_level_of

NO_FORMAT_ROLL = (
    "log.message.format.version is skipped: from protocol 3.0 on Kafka ignores it and writes the format of 3.0, so no "
    "roll is needed for it"
)


def target_of(document: KafkaClusterDocument) -> str:
    """The protocol version a cluster is founded with or ends at, in KRaft mode the metadata level: the pin, or that of
    its release, as in `3.9`."""
    return document.spec.kafka.metadata_version or metadata_level_of(document.spec.kafka.version)


def old_protocol(view: ClusterView, instance: InstanceView) -> str:
    """Why a broker is to be started anew, "" while it runs the protocol version of the cluster."""
    if not view.protocol or not instance.is_broker or instance.protocol in ("", view.protocol):
        return ""
    return f"inter.broker.protocol.version {instance.protocol} -> {view.protocol}"


def has_old_protocol(view: ClusterView) -> bool:
    """A cheap look, asked of every cluster at every tick."""
    return bool(view.protocol) and any(old_protocol(view, i) for i in view.brokers())


def raise_step(situation: Situation) -> Verdict | None:
    """Raises the protocol version once every binary is new and the soak is over. None when it is where it should be.

    Asked only while every VM is as declared. The brokers' restarts follow, by the same gates as any other.
    """
    view = situation.view
    target = target_of(view.document) if view.document else view.protocol
    if as_numbers(target) <= as_numbers(view.protocol):
        return None
    soak_s = view.document.spec.rollout.soak_s if view.document else 0.0
    left = soak_s - situation.seconds_since(view.replaced_at) if view.replaced_at else 0.0
    if left > 0:
        sentence = f"every VM is as declared; soaking {left:.0f} s more before protocol {target} is set for good"
        return wait("Soak", sentence, patience_s=soak_s + 30)
    reason = f"all brokers run Kafka {view.document.spec.kafka.version}" if view.document else ""
    raised = facts.ProtocolRaised(view.protocol, target, reason)
    return record(f"protocol {view.protocol} -> {target}: brokers are started anew with it", raised)
