"""Which gateway a cluster is read by: it changes when a migration begins and ends, though the brokers stay."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType

import pytest

from controlplane.cluster.gateways import Gateways, controllers_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.migration import MigrationView
from controlplane.cluster.views.quorum import QuorumView
from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.migrating_gateway import MigratingGateway
from controlplane.kafka.zookeeper_gateway import ZooKeeperGateway
from events import facts
from events.ids import ClusterUid
from tests.builders import a_document

VOTERS = tuple(facts.FoundingVoter(f"controllers-{i}", 103 + i, f"10.0.0.{i}", 9093, f"dir-{i}") for i in range(3))
FOUNDED = facts.QuorumFounded("kafka-id", "3.9", VOTERS)
MIGRATION = MigrationView("kraft", 2, datetime(2026, 1, 1, tzinfo=UTC), a_document())
IN_KRAFT = ClusterView(uid=ClusterUid("a" * 32), quorum=QuorumView(founding=FOUNDED))
IN_ZOOKEEPER = replace(IN_KRAFT, quorum=replace(IN_KRAFT.quorum, protocol="3.9"))
BEGUN = replace(IN_ZOOKEEPER, quorum=replace(IN_ZOOKEEPER.quorum, migration=MIGRATION))
MIGRATING = replace(BEGUN, quorum=replace(BEGUN.quorum, migration=replace(MIGRATION, founding=FOUNDED)))


class NoDialer:
    """Nobody is dialled; who was hung up on is noted."""

    def __init__(self) -> None:
        self.hung_up: list[str] = []

    @contextmanager
    def dial(self, cluster: str, bootstrap: object, deadline: object) -> Iterator[object]:
        raise KafkaUnavailable(what="dialling", where=cluster, why="nobody is dialled here")
        yield

    def hang_up(self, cluster: str) -> None:
        self.hung_up.append(cluster)

    def close(self) -> None:
        return None


@pytest.mark.parametrize(
    ("view", "kind"),
    [
        pytest.param(IN_KRAFT, AdminGateway, id="in KRaft"),
        pytest.param(IN_ZOOKEEPER, ZooKeeperGateway, id="in ZooKeeper"),
        pytest.param(BEGUN, ZooKeeperGateway, id="begun, without controllers"),
        pytest.param(MIGRATING, MigratingGateway, id="with controllers to take over"),
    ],
)
def test_where_the_metadata_is_says_by_which_gateway_a_cluster_is_read(view: ClusterView, kind: type) -> None:
    assert type(Gateways(NoDialer()).of(view)) is kind


def test_a_gateway_stays_until_the_migration_is_over_and_its_connection_ends_with_it() -> None:
    dialer = NoDialer()
    gateways = Gateways(dialer)
    first = gateways.of(MIGRATING)
    assert gateways.of(replace(MIGRATING, conditions=MappingProxyType({}))) is first
    assert dialer.hung_up == []
    assert gateways.of(IN_KRAFT) is not first
    assert dialer.hung_up == [MIGRATING.uid]


def test_controllers_are_asked_where_they_were_founded() -> None:
    assert controllers_of(MIGRATING) == ("10.0.0.0:9093", "10.0.0.1:9093", "10.0.0.2:9093")
    assert controllers_of(BEGUN) == ()
