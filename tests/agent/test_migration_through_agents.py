"""Kafka 3.9 from ZooKeeper to KRaft, half of the way and back, and all of it after that, under traffic.

Real agents, real Kafka; each step is `controlplane.kafka.zookeeper.migration`'s, decided on what agents and ZooKeeper
say.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.services.storage import read_meta
from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.zookeeper.migration import (
    ForgetClaim,
    Knows,
    MigrationDone,
    MigrationPhase,
    MigrationState,
    StartServices,
    Step,
    Stop,
    may_go_back,
    phase_of,
)
from tests.agent.migrating_cluster import MigratingCluster
from tests.agent.migrating_documents import BROKERS, CLUSTER_ID, CONTROLLERS
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.kafka, pytest.mark.soak, pytest.mark.timeout(460)]

METADATA_3_9, DYNAMIC_QUORUM = 21, 1


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MigratingCluster]:
    made = MigratingCluster(tmp_path)
    try:
        made.found()
        yield made
    finally:
        made.close()


def brokers_started(steps: list[Step], knows: Knows) -> list[int]:
    return [
        i for s in steps if isinstance(s, StartServices) and s.service == "broker" and s.knows is knows for i in s.ids
    ]


def test_a_cluster_turns_back_half_way_and_migrates_after_that_and_loses_no_record(cluster: MigratingCluster) -> None:
    with traffic(cluster.bootstrap) as workload:
        _goes_until_two_brokers_are_krafts(cluster)
        _goes_back(cluster)
        cluster.renew_controllers()
        _migrates(cluster)
        acknowledged = workload.acknowledged
        cluster.lose_zookeeper()
        cluster.make_topic("without-zookeeper")
        assert workload.acknowledged > acknowledged
    _is_krafts(cluster)
    metas = [read_meta(cluster.base / "disks" / f"brokers-{b}.data.v1" / "kafka") for b in BROKERS]
    assert [(m or {}).get("broker.id") for m in metas] == [str(b) for b in BROKERS], "KRaft left the old file as it was"


def _goes_until_two_brokers_are_krafts(cluster: MigratingCluster) -> None:
    for _ in cluster.steps("kraft"):
        if list(cluster.knows.values()).count(Knows.QUORUM) == 2:
            break
    seen = cluster.look()
    assert (phase_of(seen), seen.state) == (MigrationPhase.WRITTEN_TWICE, MigrationState.BOTH_WRITTEN)
    assert seen.registry.controller in CONTROLLERS
    assert may_go_back(seen) == ""
    cluster.make_topic("made-half-way")


def _goes_back(cluster: MigratingCluster) -> None:
    taken = list(cluster.steps("zookeeper"))
    assert isinstance(taken[-1], MigrationDone)
    acts = [type(s) for s in taken if isinstance(s, Stop | ForgetClaim)]
    assert acts == [Stop, Stop, ForgetClaim]
    assert sorted(brokers_started(taken, Knows.ENSEMBLE)) == list(BROKERS)
    seen = cluster.look()
    assert seen.registry.controller in BROKERS
    assert (seen.registry.kraft_epoch, seen.registry.has_migration) == (-1, False)
    assert "made-half-way" in cluster.topics(), "what was made while the quorum led was written to ZooKeeper, too"
    cluster.make_topic("made-after-turning-back")


def _migrates(cluster: MigratingCluster) -> None:
    taken = list(cluster.steps("kraft"))
    assert isinstance(taken[-1], MigrationDone)
    assert brokers_started(taken, Knows.QUORUM) == list(BROKERS)
    assert [s.service for s in taken if isinstance(s, StartServices) and s.ends_way_back] == ["controller"]
    assert phase_of(cluster.look()) is MigrationPhase.FINALISED


def _is_krafts(cluster: MigratingCluster) -> None:
    assert {"made-half-way", "made-after-turning-back", "without-zookeeper"} <= cluster.topics()
    dialer = DirectDialer()
    try:
        snapshot = AdminGateway(dialer, "migrated", cluster.bootstrap).snapshot()
    finally:
        dialer.close()
    assert (snapshot.mode, snapshot.cluster_id, snapshot.live_brokers()) == ("kraft", CLUSTER_ID, frozenset(BROKERS))
    assert {m.id for m in snapshot.quorum.members if m.is_voter} == set(CONTROLLERS)
    levels = (snapshot.features["metadata.version"].finalised, snapshot.features["kraft.version"].finalised)
    assert levels == (METADATA_3_9, DYNAMIC_QUORUM)
