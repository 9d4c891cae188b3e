"""Who leads records the names of topics when they change; who does not, searches what is recorded."""

from datetime import UTC, datetime, timedelta

import pytest

from controlplane.background.topic_names.index import TopicIndex
from controlplane.background.topic_names.record import NAMES, keep_names, kept_names
from controlplane.cluster.view import ClusterView
from controlplane.storage.latest_values import LatestValue, Subject
from events.ids import ClusterUid
from planner.observed import KafkaSnapshot
from tests.builders import a_partition, a_snapshot
from tests.fakes.latest_values import MemoryLatestStore

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
ORDERS, LEDGER = ClusterUid("u1"), ClusterUid("u2")


class CountingLatest(MemoryLatestStore):
    """Counts what is written and read."""

    def __init__(self) -> None:
        super().__init__()
        self.puts = self.reads = 0

    def put_all(self, observations: list[LatestValue]) -> int:  # type: ignore[override]
        self.puts += len(observations)
        return super().put_all(observations)

    def get(self, subject: Subject) -> LatestValue | None:
        self.reads += 1
        return super().get(subject)


class TwoClusters:
    """A fleet with what this server has read of Kafka."""

    def __init__(self) -> None:
        self.snapshots: dict[ClusterUid, KafkaSnapshot] = {}
        self.clusters = [ClusterView(uid=ORDERS, name="orders"), ClusterView(uid=LEDGER, name="ledger")]

    def views(self) -> list[ClusterView]:
        return self.clusters

    def last_snapshot(self, uid: ClusterUid) -> KafkaSnapshot | None:
        return self.snapshots.get(uid)


class Servers:
    """A leader that reads Kafka and a server beside it that does not, over one database."""

    def __init__(self) -> None:
        self.now = START
        self.latest = CountingLatest()
        self.fleet, self.idle = TwoClusters(), TwoClusters()
        self.leader = TopicIndex(self.fleet, self.latest, lambda: self.now)
        self.other = TopicIndex(self.idle, self.latest, lambda: self.now)

    def sees(self, *partitions: str) -> None:
        self.fleet.snapshots[ORDERS] = a_snapshot(*(a_partition(p) for p in partitions))

    def found(self, index: TopicIndex, text: str) -> list[str]:
        return [hit.topic for hit in index.search(self.idle.views(), text, most=50).found.hits]


@pytest.fixture
def servers() -> Servers:
    return Servers()


def test_names_are_written_when_one_comes_or_goes_and_never_else(servers: Servers) -> None:
    servers.sees("payments-0")
    servers.leader.poll()
    assert servers.latest.puts == 2
    servers.sees("payments-0", "payments-1")
    servers.leader.poll()
    servers.leader.poll()
    assert servers.latest.puts == 2, "a partition more is not a name more"
    servers.sees("payments-0", "refunds-0")
    servers.leader.poll()
    assert (servers.latest.puts, kept_names(servers.latest, ORDERS)) == (4, ("payments", "refunds"))


def test_a_server_that_does_not_lead_finds_what_the_leader_recorded(servers: Servers) -> None:
    servers.sees("payments-0")
    servers.leader.poll()
    searched = servers.other.search(servers.idle.views(), "pay", most=50)
    assert ([h.topic for h in searched.found.hits], searched.recorded, searched.unread) == (["payments"], 1, 1)
    reads = servers.latest.reads
    servers.sees("refunds-0")
    servers.leader.poll()
    assert servers.found(servers.other, "refunds") == [], "it looks every five seconds"
    servers.now += timedelta(seconds=5)
    assert servers.found(servers.other, "refunds") == ["refunds"]
    servers.now += timedelta(seconds=5)
    assert servers.found(servers.other, "refunds") == ["refunds"]
    assert servers.latest.reads == reads + 1, "names that have not changed are not read again"


def test_only_the_clusters_handed_in_are_searched(servers: Servers) -> None:
    servers.sees("payments-0")
    servers.fleet.snapshots[LEDGER] = a_snapshot(a_partition("payroll-0"))
    searched = servers.leader.search(servers.fleet.views()[:1], "pay", most=50)
    assert ([h.topic for h in searched.found.hits], searched.found.count) == (["payments"], 1)


def test_a_cluster_without_topics_is_known_to_have_none(servers: Servers) -> None:
    keep_names(servers.latest, ORDERS, (), START)
    assert kept_names(servers.latest, ORDERS) == ()
    assert servers.other.search(servers.idle.views(), "pay", most=50).unread == 1


def test_what_another_release_wrote_is_no_answer(servers: Servers) -> None:
    for value in ({}, {"names": "?"}, {"names": "aGVsbG8="}):
        servers.latest.put(LatestValue(Subject(NAMES, ORDERS, "topics"), value, "kafka", START))
        assert kept_names(servers.latest, ORDERS) is None


def test_a_cluster_that_is_gone_is_forgotten(servers: Servers) -> None:
    servers.sees("payments-0")
    servers.leader.poll()
    servers.fleet.clusters = servers.fleet.clusters[1:]
    servers.leader.poll()
    assert not servers.leader._known
