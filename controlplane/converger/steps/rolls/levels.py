"""VMs that could not read what is in force since their spec was accepted: the level the quorum has finalised, in
ZooKeeper mode the protocol its brokers run with."""

from collections.abc import Mapping

from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.quorum.protocol import PROTOCOL, brokers_after, knows_protocol
from controlplane.converger.situation.decision import Decision, wait
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.features import METADATA, metadata_level_of
from events.spec.releases import metadata_level_of as protocol_of
from planner.rollout.order import Work


def beyond_its_reach(situation: Situation, work: Work) -> Decision | None:
    """Nobody makes a VM whose Kafka reads only up to a level below the one in force: it would not start, and a disk
    that was handed to it would be away until a person acts. `admission` asks the same of a spec; somebody may have
    raised the level after that (`kafka-features.sh upgrade`), or before a roll that waited for its window.

    An old look at Kafka counts, too: nobody can lower a level unseen but by giving up what was written.
    """
    wanted = ((c.node, c.service, c.desired.kafka_version) for c in work.nodes if c.desired is not None)
    decisions = (_beyond(situation, f"not making {node}", service, version) for node, service, version in wanted)
    return next((decision for decision in decisions if decision is not None), None)


def successor_is_beyond_its_reach(situation: Situation, successor: InstanceView) -> Decision | None:
    """The same of a VM that is there, before who it stands by for is stopped: it was made while it could have read it.
    Until then nothing is lost, and its predecessor serves."""
    return _beyond(
        situation, f"not handing over to {successor.key}", successor.planned.service, successor.planned.kafka_version
    )


def _beyond(situation: Situation, refused: str, service: str, version: str) -> Decision | None:
    if not version:
        return None
    if situation.view.in_zookeeper_mode:
        return _beyond_protocol(situation, refused, service, version)
    kafka = situation.seen.kafka
    seen = kafka.features.get(METADATA) if kafka is not None else None
    if seen is None or metadata_level_of(version) >= seen.finalised:
        return None
    reads = f"which reads {METADATA} up to {metadata_level_of(version)}"
    return _blocked(situation, f"{refused} with Kafka {version}, {reads}: {seen.finalised} is finalised", "finalised")


def _beyond_protocol(situation: Situation, refused: str, service: str, version: str) -> Decision | None:
    """Asked anew before each broker of an older release than others: the protocol is in a file of each of them, which
    somebody may have changed, and started it anew, since the last one."""
    if service != "broker" or not brokers_after(situation.view, version):
        return None
    spoken = _spoken(situation, version)
    if isinstance(spoken, str):
        sentence = f"{refused} with Kafka {version}: {spoken}"
        return wait(WaitReason.KAFKA_UNKNOWN, sentence, next_command=f"kedge describe {situation.view.name}")
    beyond = {broker: p for broker, p in sorted(spoken.items()) if not knows_protocol(version, p)}
    if not beyond:
        return None
    who = ", ".join(f"broker {broker} runs with {p}" for broker, p in beyond.items())
    known = f"which knows {PROTOCOL} up to {protocol_of(version)}"
    return _blocked(situation, f"{refused} with Kafka {version}, {known}: {who}", "reached")


def _spoken(situation: Situation, version: str) -> Mapping[int, str] | str:
    """The protocol of each broker that counts, by id, or why it is not known: as the live ones say, and what the last
    start of those was told that do not serve. A broker that serves and does not say is unknown."""
    view, seen, kafka = situation.view, situation.seen, situation.seen.fresh_kafka(situation.now)
    unknown = "which protocol the brokers run with is unknown"
    if kafka is None:
        return f"{unknown}: {seen.missing.get('protocols', seen.why_no_kafka)}"
    if seen.zookeeper.protocols is None:
        return f"{unknown}: {seen.missing.get('protocols', 'they have not been asked yet')}"
    later, live = brokers_after(view, version), kafka.live_brokers()
    silent = [str(i.service_id) for i in later if i.service_id in live and i.service_id not in seen.zookeeper.protocols]
    if silent:
        return f"{unknown}: no answer from {', '.join(silent)}"
    spoken = {i.service_id: i.start.protocol for i in later if i.start.protocol and i.service_id not in live}
    return {**spoken, **seen.zookeeper.protocols}


def _blocked(situation: Situation, sentence: str, how: str) -> Decision:
    again = f"kedge apply, with the release that was {how} or a later one (cluster {situation.view.name})"
    return wait(WaitReason.DOWNGRADE_BLOCKED, sentence, next_command=again, patience_s=0)
