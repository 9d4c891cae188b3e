"""What the handler of commands asks before a fact is recorded: the policies in force, on the cluster as it is now."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from controlplane.cluster.view import ClusterView
from controlplane.commands.policies import decision, judge, model, quota, store
from events.ids import ClusterUid
from events.spec.model import KafkaClusterDocument
from events.spec.storage_rules import with_grown_disks
from events.spec.topic_model import KafkaTopicDocument
from events.spec.user_model import KafkaUserDocument
from planner.observed import KafkaSnapshot


class LivingFleet(Protocol):
    """Every living cluster, whoever may see it: a quota is of the team, not of who asks."""

    def views(self) -> list[ClusterView]: ...

    def last_snapshot(self, uid: ClusterUid) -> KafkaSnapshot | None: ...

    def catch_up(self) -> None: ...


class NoFleet:
    """A `Fleet` where there is no other cluster."""

    def views(self) -> list[ClusterView]:
        return []

    def last_snapshot(self, uid: ClusterUid) -> KafkaSnapshot | None:
        return None

    def catch_up(self) -> None:
        """See Fleet."""


@dataclass(frozen=True, slots=True)
class PolicyGate:
    """Pure over what `policies` says at the moment of the call. Facts of Kafka come from the snapshot.

    `fleet` is looked at where a policy has a quota. Of two changes that are judged at the same moment neither sees the
    other.
    """

    policies: store.Policies = field(default_factory=store.NoPolicies)
    fleet: LivingFleet = field(default_factory=NoFleet)

    def cluster(
        self,
        view: ClusterView,
        document: KafkaClusterDocument,
        rolling: int,
        beside: Iterable[KafkaClusterDocument] = (),
    ) -> decision.PolicyDecision:
        """A declaration, with the other documents of the same change. One that changes nothing is always allowed.

        Raises StoreUnavailable where a quota asks for the fleet.
        """
        if view.document == document:
            return decision.ALLOWED
        known = self.policies.current()
        if (closed := _closed(known)) is not None:
            return closed
        grown = with_grown_disks(document, view.vms.grown_pools)
        change, prices = judge.ClusterChange(view.grown(view.document), grown, rolling), self.policies.prices()
        verdict = judge.judge_cluster(known.policies, change, prices)
        others = self._others(known, view.uid, document.metadata.name, beside)
        return verdict.beside(quota.judge_cluster_quotas(known.policies, change, others, prices))

    def topics(
        self,
        view: ClusterView,
        cluster: KafkaClusterDocument,
        topics: Sequence[KafkaTopicDocument],
        snapshot: KafkaSnapshot | None,
    ) -> decision.PolicyDecision:
        """Topics in the cluster as it is, or is about to be. Raises as `cluster`."""
        known = self.policies.current()
        if (closed := _closed(known)) is not None:
            return closed
        names = {topic.topic for topic in topics}
        owners = {n: t.declared.owner for n, t in view.topics.by_name.items()}
        beside, whole = _partitions_beside(view, names, snapshot), _partitions_beside(view, set(), snapshot)
        now = whole - beside if whole is not None and beside is not None else None
        change = judge.TopicsChange(cluster, topics, beside, owners, now)
        others = self._others(known, view.uid, cluster.metadata.name)
        return judge.judge_topics(known.policies, change).beside(
            quota.judge_topic_quotas(known.policies, change, others)
        )

    def users(
        self, view: ClusterView, cluster: KafkaClusterDocument, users: Sequence[KafkaUserDocument]
    ) -> decision.PolicyDecision:
        """Users in the cluster as it is, or is about to be."""
        known = self.policies.current()
        owners = {n: u.declared.owner for n, u in view.users.by_name.items()}
        return _closed(known) or judge.judge_users(known.policies, judge.UsersChange(cluster, users, owners))

    def _others(
        self, known: store.PolicySet, uid: ClusterUid | str, name: str, beside: Iterable[KafkaClusterDocument] = ()
    ) -> Sequence[quota.OtherCluster]:
        """Every other cluster, as it would be once the change is done: `uid` is that of the one that changes.

        One of the same name counts too where `uid` is none: who asks is not to find it out by a sum that is less.
        """
        if all(policy.quota == model.NO_QUOTA for policy in known.policies):
            return ()
        self.fleet.catch_up()
        living = [v for v in self.fleet.views() if not v.deleted and v.document is not None and v.uid != uid]
        partitions = {v.name: _partitions_beside(v, set(), self.fleet.last_snapshot(v.uid)) for v in living}
        documents = {v.name: v.grown(v.document) for v in living}
        documents |= {d.metadata.name: d for d in beside if d.metadata.name != name}
        return [
            quota.OtherCluster(document, partitions.get(n, 0))
            for n, document in sorted(documents.items())
            if document is not None
        ]

    def deletion(self, view: ClusterView, topic: str = "") -> decision.PolicyDecision:
        """A tombstone."""
        known = self.policies.current()
        return _closed(known) or judge.judge_deletion(known.policies, view.document, topic)

    def rebalance(self, view: ClusterView) -> decision.PolicyDecision:
        """A rebalance a person asks for. Repairs go on where policies cannot be read, and it changes no spec."""
        return judge.judge_rebalance(self.policies.current().policies, view.document)


def _closed(known: store.PolicySet) -> decision.PolicyDecision | None:
    if known.is_good:
        return None
    fix = "Fix the files in `policies/` of the server's home: kedge policy test DIR"
    return decision.PolicyDecision((decision.Refusal("?", (), f"the policies cannot be read: {known.fault}", fix),))


def _partitions_beside(view: ClusterView, names: set[str], snapshot: KafkaSnapshot | None) -> int | None:
    """Partitions of the topics not named: as Kafka has them, and as those are declared that it does not have yet."""
    declared = {n: t.declared.partitions for n, t in view.topics.by_name.items() if n not in names}
    if snapshot is None:
        return sum(declared.values()) if not view.alive() else None
    seen: dict[str, int] = {}
    for partition in snapshot.partitions:
        topic = partition.name.topic
        if topic not in names and not snapshot.owner_of(topic):
            seen[topic] = seen.get(topic, 0) + 1
    return sum(max(seen.get(n, 0), declared.get(n, 0)) for n in {*seen, *declared})
