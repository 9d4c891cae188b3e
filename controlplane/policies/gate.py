"""What the handler of commands asks before a fact is recorded: the policies in force, on the cluster as it is now."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from controlplane.policies.judge import (
    ClusterChange,
    TopicsChange,
    judge_cluster,
    judge_deletion,
    judge_rebalance,
    judge_topics,
)
from controlplane.policies.shelf import NoPolicies, Policies, PolicySet
from controlplane.policies.verdict import ALLOWED, Refusal, Verdict
from controlplane.view import ClusterView
from events.spec.model import KafkaClusterDocument
from events.spec.topic_model import KafkaTopicDocument
from planner.observed import KafkaSnapshot


@dataclass(frozen=True, slots=True)
class PolicyGate:
    """Pure over what `policies` says at the moment of the call. Facts of Kafka come from the snapshot."""

    policies: Policies = field(default_factory=NoPolicies)

    def cluster(self, view: ClusterView, document: KafkaClusterDocument, rolling: int) -> Verdict:
        """A declaration. One that changes nothing is always allowed."""
        if view.document == document:
            return ALLOWED
        known = self.policies.current()
        change = ClusterChange(view.document, document, rolling)
        return _closed(known) or judge_cluster(known.policies, change, self.policies.prices())

    def topics(
        self,
        view: ClusterView,
        cluster: KafkaClusterDocument,
        topics: Sequence[KafkaTopicDocument],
        snapshot: KafkaSnapshot | None,
    ) -> Verdict:
        """Topics in the cluster as it is, or is about to be."""
        known = self.policies.current()
        names = {topic.topic for topic in topics}
        owners = {n: t.declared.owner for n, t in view.topics.by_name.items()}
        beside = _partitions_beside(view, names, snapshot)
        return _closed(known) or judge_topics(known.policies, TopicsChange(cluster, topics, beside, owners))

    def deletion(self, view: ClusterView, topic: str = "") -> Verdict:
        """A tombstone."""
        known = self.policies.current()
        return _closed(known) or judge_deletion(known.policies, view.document, topic)

    def rebalance(self, view: ClusterView) -> Verdict:
        """A rebalance a person asks for. Repairs go on where policies cannot be read, and it changes no spec."""
        return judge_rebalance(self.policies.current().policies, view.document)


def _closed(known: PolicySet) -> Verdict | None:
    if known.is_good:
        return None
    fix = "Mend the files in `policies/` of the server's home: kedge policy test DIR"
    return Verdict((Refusal("?", (), f"the policies cannot be read: {known.fault}", fix),))


def _partitions_beside(view: ClusterView, names: set[str], snapshot: KafkaSnapshot | None) -> int | None:
    """Partitions of the topics not named: as Kafka has them, and as those are declared that it does not have yet."""
    declared = {n: t.declared.partitions for n, t in view.topics.by_name.items() if n not in names}
    if snapshot is None:
        return sum(declared.values()) if not view.alive() else None
    seen: dict[str, int] = {}
    for partition in snapshot.partitions:
        topic = partition.name.topic
        if topic not in names and not topic.startswith("__"):
            seen[topic] = seen.get(topic, 0) + 1
    return sum(max(seen.get(n, 0), declared.get(n, 0)) for n in {*seen, *declared})
