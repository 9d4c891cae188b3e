"""VMs that could not read what the quorum has finalised since their spec was accepted."""

from controlplane.converger.verdict import Situation, Verdict, wait
from controlplane.kafka.features import METADATA, metadata_level_of
from planner.rollout.order import Work


def beyond_its_reach(situation: Situation, work: Work) -> Verdict | None:
    """Nobody makes a VM whose Kafka reads only up to a level below the one in force: it would not start, and a disk
    that was handed to it would be away until a person acts. `admission` asks the same of a spec; somebody may have
    raised the level after that (`kafka-features.sh upgrade`), or before a roll that waited for its window.

    An old look at Kafka counts, too: nobody can lower a level unseen but by giving up what was written.
    """
    kafka = situation.seen.kafka
    seen = kafka.features.get(METADATA) if kafka is not None else None
    if seen is None or situation.view.in_zookeeper_mode:
        return None
    for change in work.nodes:
        version = change.desired.kafka_version if change.desired is not None else ""
        if version and metadata_level_of(version) < seen.finalised:
            sentence = (
                f"not making {change.node} with Kafka {version}, which reads {METADATA} up to "
                f"{metadata_level_of(version)}: {seen.finalised} is finalised"
            )
            again = f"kedge apply, with the release that was finalised or a later one (cluster {situation.view.name})"
            return wait("DowngradeBlocked", sentence, next_command=again, patience_s=0)
    return None
