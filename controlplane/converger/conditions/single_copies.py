"""The condition `SingleCopies`: topics with one replica that nobody declared so. Whoever made them may not know."""

from controlplane.converger.situation.situation import Situation
from events import facts
from events.spec.settings import DEFAULT_RF, broker_count
from planner.observed import KafkaSnapshot, once_a_reading

SINGLE_COPIES = "SingleCopies"

_OWN = "__kedge_"
_NAMED = 5


def single_copies(situation: Situation) -> facts.ConditionChanged | None:
    """By metadata young enough to act on; without it the condition stays as it is. A cluster of one broker, or whose
    spec asks for one replica, is to have such topics; so is a topic that was declared."""
    kafka, document = situation.seen.fresh_kafka(situation.now), situation.view.document
    if kafka is None or document is None:
        return None
    spec = document.spec
    asked = spec.kafka.config.get(DEFAULT_RF) == "1" or (spec.external is None and broker_count(spec.pools) < 2)
    # A declared topic that has fewer replicas than that is told by `TopicsDegraded`, or is being put right.
    declared = situation.view.topics.by_name
    alone = [] if asked else [name for name in _with_one_replica(kafka) if name not in declared]
    if not alone:
        return facts.ConditionChanged(SINGLE_COPIES, False, "Free", "")
    more = f" and {len(alone) - _NAMED} more" if len(alone) > _NAMED else ""
    verb = "has" if len(alone) == 1 else "have"
    message = (
        f"{', '.join(alone[:_NAMED])}{more} {verb} one replica, and nobody declared that: a disk that is lost takes "
        f"their records along, and each restart stops them. Next: kedge topics {situation.view.name}"
    )
    return facts.ConditionChanged(SINGLE_COPIES, True, "Undeclared", message)


@once_a_reading
def _with_one_replica(kafka: KafkaSnapshot) -> tuple[str, ...]:
    found = {p.name.topic for p in kafka.partitions if len(p.target) == 1}
    return tuple(sorted(name for name in found if not name.startswith(_OWN)))
