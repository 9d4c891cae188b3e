"""One sample of every event about topics, and a state of a cluster in which it may happen: part of `samples`."""

from types import MappingProxyType

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.topics import FactorView, ReplicationView, TopicChangeView, TopicsView, TopicView
from events import topic_facts as facts
from tests.builders import BEFORE, a_view

PAYMENTS = facts.TopicDeclaration(
    "payments", 6, 3, {"retention.ms": "60000"}, "critical", "payments", "delete", "tell", {"tier": "one"}
)
MOVE = facts.ReplicaMove("payments", 0, (1000,), (1000, 1001))

TOPIC_SAMPLES: tuple[object, ...] = (
    facts.TopicsDeclared((PAYMENTS,), "git:teams", "kafka/topics.yaml", "ab" * 20),
    facts.TopicsUndeclared(("payments",), "git:teams", "ab" * 20),
    facts.TopicsAdopted(("payments",), "asked by anna: ours"),
    facts.TopicsChangeRequested(
        "topics-1", (), {"payments": 6}, {"payments": {"retention.ms": "60000", "cleanup.policy": None}}, (), "growing"
    ),
    facts.TopicsChanged("topics-1", (), ("payments",), (), ()),
    facts.TopicsTroubled((facts.TopicTrouble("payments", "Missing", "it was deleted outside Kedge"),)),
    facts.ReplicationRequested("batch-1", (MOVE,), "1 partitions of payments, 600 B to copy"),
    facts.ReplicationEnded("batch-1", 1, "1 of 1 moves done"),
    facts.ReplicationFactorRequested(("clicks", "views"), 3, "asked by anna: they matter"),
    facts.ReplicationFactorEnded(("clicks",), "every partition has 3 replicas"),
    facts.TopicDeletionRequested("payments", "delete", "asked by anna: done"),
    facts.TopicReleased("payments"),
)


def topic_states() -> dict[type, ClusterView]:
    """For each of them a view it may happen in."""
    known = TopicView(PAYMENTS, "git:teams", "kafka/topics.yaml", "ab" * 20, BEFORE)
    topics = TopicsView(MappingProxyType({"payments": known}))
    change = TopicChangeView("topics-1", (), {"payments": 6}, {}, (), BEFORE)
    moving = ReplicationView("batch-1", (MOVE,), BEFORE)
    there = a_view(topics=topics)
    return {
        facts.TopicsDeclared: a_view(),
        facts.TopicsUndeclared: there,
        facts.TopicsAdopted: there,
        facts.TopicsChangeRequested: there,
        facts.TopicsChanged: a_view(topics=TopicsView(topics.by_name, frozenset({"payments"}), change)),
        facts.TopicsTroubled: there,
        facts.ReplicationRequested: there,
        facts.ReplicationEnded: a_view(topics=TopicsView(topics.by_name, replication=moving)),
        facts.ReplicationFactorRequested: there,
        facts.ReplicationFactorEnded: a_view(topics=TopicsView(factors={"clicks": FactorView(3, "asked", BEFORE)})),
        facts.TopicDeletionRequested: there,
        facts.TopicReleased: there,
    }
