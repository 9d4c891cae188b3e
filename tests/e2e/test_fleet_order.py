"""Two clusters of one server, staging and production, that wait for each other, for windows, freezes and the fleet's
budgets, in either mode on real brokers under traffic.

The tests of a mode run in order: each goes on with the clusters the one before it has left.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from controlplane.api.schemas import (
    commands as command_api,
    conditions as condition_api,
    freezes as freeze_api,
    nodes as node_api,
)
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import declare_settings, java_processes, running_values, types_told
from tests.e2e.traffic import traffic
from tests.kafka_topics import create_topic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(580)]

_TWO_REPLICAS = {
    "default.replication.factor": 2,
    "min.insync.replicas": 1,
    "offsets.topic.replication.factor": 2,
    "transaction.state.log.replication.factor": 2,
    "transaction.state.log.min.isr": 1,
}
_SHARED = {"share.coordinator.state.topic.replication.factor": 2, "share.coordinator.state.topic.min.isr": 1}
KRAFT = ClusterSpec(
    name="trial",
    labels={"stage": "staging"},
    brokers_in=("one", "two"),
    config={**_TWO_REPLICAS, **_SHARED},
    soak_s=8,
    join_deadline_s=180,
)
ZOOKEEPER = replace(KRAFT, version="3.9.1", quorum="zookeeper", config=_TWO_REPLICAS)
WITHIN_S = 300.0


@dataclass
class Fleet:
    """`earnest` is the production cluster on the same server and cloud."""

    trial: LivingCluster
    earnest: LivingCluster

    def serve_with(self, **settings: str) -> None:
        self.trial.serve_with(settings)
        self.earnest.server = self.trial.server

    def restart_server(self) -> None:
        self.trial.restart_server()

    @contextmanager
    def busy(self, *, excused: tuple[str, ...] = ()) -> Iterator[None]:
        """Clients on both."""
        with traffic(self.trial.bootstrap, rf=2), traffic(self.earnest.bootstrap, rf=2, excused=excused):
            yield

    def settled(self) -> None:
        for cluster in (self.trial, self.earnest):
            cluster.converged(within_s=WITHIN_S)
        for cluster in (self.trial, self.earnest):
            settled(cluster, within_s=WITHIN_S)


@pytest.fixture(scope="module", params=[KRAFT, ZOOKEEPER], ids=["kraft", "zookeeper"])
def fleet(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    spec: ClusterSpec = request.param
    home: Path = tmp_path_factory.mktemp("fleet") / "home"
    trial = LivingCluster(home, spec=spec)
    earnest = LivingCluster(home, spec=replace(spec, name="earnest", labels={"stage": "production"}))
    earnest.server = trial.server
    try:
        trial.open(within_s=WITHIN_S)
        earnest.uid = earnest.declare(earnest.spec).uid
        earnest.converged(within_s=WITHIN_S)
        for cluster in (trial, earnest):
            create_topic(cluster.bootstrap(), "ledger", partitions=6, rf=2, min_isr=1, bytes_per_partition=512 * 1024)
        yield Fleet(trial, earnest)
    finally:
        earnest.client.close()
        strays = trial.close()
    assert strays == []


def test_the_same_change_reaches_production_once_staging_has_soaked_and_the_freeze_is_over(fleet: Fleet) -> None:
    trial, earnest = fleet.trial, fleet.earnest
    begun, before, processes = trial.head(), earnest.head(), java_processes(earnest)
    with fleet.busy():
        declare_settings(trial, **{"num.partitions": 3})
        declare_settings(earnest, **{"num.partitions": 3})
        told = earnest.until(lambda: _told(earnest, "WaitsForStage"), "production to wait", timeout_s=WITHIN_S)
        assert "kafka.config[num.partitions] 3 waits for trial (staging)" in told.message, told
        fleet.restart_server()
        until = datetime.now(UTC) + timedelta(hours=1)
        freeze = earnest.client.freeze(
            freeze_api.FreezeIn(until=until, reason="the end of the year", clusters=[earnest.spec.name])
        )
        reached = trial.event("recycle.completed", begun, within_s=WITHIN_S)
        frozen = earnest.until(lambda: _told(earnest, "WaitsForWindow"), "the freeze to hold", timeout_s=WITHIN_S)
        assert (frozen.reason, freeze.id in frozen.message) == ("Freeze", True), frozen
        assert "restart.requested" not in types_told(earnest, before)
        assert java_processes(earnest) == processes
        earnest.client.thaw(freeze.id, freeze_api.ThawIn(reason="it is over"))
        first = earnest.event("restart.requested", before, within_s=WITHIN_S)
        assert first.position > reached.position
        assert first.at - reached.at >= timedelta(seconds=KRAFT.soak_s)
        fleet.settled()
    assert running_values(trial, "num.partitions") == running_values(earnest, "num.partitions") == {"3"}
    assert _told(earnest, "WaitsForStage") is None
    assert _told(earnest, "WaitsForWindow") is None


def test_restarts_wait_for_their_window_and_a_person_may_let_them_go_before_it(fleet: Fleet) -> None:
    trial, earnest = fleet.trial, fleet.earnest
    before, usual = earnest.head(), earnest.spec
    with fleet.busy():
        earnest.declare(replace(usual, windows=(_window(opens_in_h=48),)))
        declare_settings(earnest, **{"num.partitions": 4})
        told = earnest.until(lambda: _told(earnest, "WaitsForWindow"), "it to wait", timeout_s=WITHIN_S)
        assert (told.reason, "waits for its window, which opens at" in told.message) == ("Window", True), told
        # What is no restart is set all the same, and a server that was killed waits as its predecessor did.
        fleet.restart_server()
        declare_settings(earnest, **{"message.max.bytes": 2000000})
        earnest.event("settings.changed", before, within_s=WITHIN_S)
        assert "restart.requested" not in types_told(earnest, before)
        earnest.client.command(earnest.spec.name, "roll-now", command_api.ReasonIn(reason="it cannot wait"))
        earnest.event("restart.requested", before, within_s=WITHIN_S)
        fleet.settled()
        assert running_values(earnest, "num.partitions") == {"4"}

        # In an open one it begins by itself.
        before = earnest.head()
        earnest.declare(replace(earnest.spec, windows=(_window(opens_in_h=-1),)))
        declare_settings(earnest, **{"num.partitions": 5})
        earnest.event("restart.requested", before, within_s=WITHIN_S)
        fleet.settled()
    assert _told(earnest, "WaitsForWindow") is None
    assert running_values(earnest, "num.partitions") == {"5"}
    assert running_values(trial, "num.partitions") == {"3"}, "nobody else's"
    earnest.declare(replace(earnest.spec, windows=()))
    fleet.settled()


def test_of_two_clusters_one_rolls_at_a_time_where_no_more_may(fleet: Fleet) -> None:
    trial, earnest = fleet.trial, fleet.earnest
    fleet.serve_with(KEDGE_MAX_ROLLING="1")
    begun, before = trial.head(), earnest.head()
    with fleet.busy():
        # Other values: it is not the same change, so no stage waits for the other.
        declare_settings(trial, **{"num.partitions": 7})
        trial.event("restart.requested", begun, within_s=WITHIN_S)
        declare_settings(earnest, **{"num.partitions": 8})
        said = earnest.says("clusters are rolling", within_s=WITHIN_S)
        assert "1 clusters are rolling (trial), at most 1 may" in said
        fleet.restart_server()
        fleet.settled()
    ended = trial.event("recycle.completed", begun).position
    assert earnest.event("restart.requested", before).position > ended
    assert running_values(earnest, "num.partitions") == {"8"}


def test_of_two_clusters_one_has_a_surge_vm_at_a_time_where_an_account_may_have_one(fleet: Fleet) -> None:
    trial, earnest = fleet.trial, fleet.earnest
    fleet.serve_with(KEDGE_MAX_SURGE_PER_ACCOUNT="1")
    begun, before = trial.head(), earnest.head()
    with fleet.busy():
        _replace(trial)
        trial.event("surge.requested", begun, within_s=WITHIN_S)
        _replace(earnest)
        said = earnest.says("surge VMs of account", within_s=WITHIN_S)
        assert "1 of 1 surge VMs of account" in said
        assert "(trial 1)" in said
        fleet.restart_server()
        fleet.settled()
    gone = trial.event("replacement.completed", begun).position
    assert earnest.event("surge.requested", before).position > gone


def test_a_topic_with_one_replica_holds_a_restart_up_until_the_spec_says_that_it_may_be_away(fleet: Fleet) -> None:
    earnest = fleet.earnest
    fleet.serve_with()
    before, processes = earnest.head(), java_processes(earnest)
    create_topic(earnest.bootstrap(), "thin", partitions=4, rf=1, min_isr=1, bytes_per_partition=128 * 1024)
    with fleet.busy(excused=("thin",)):
        declare_settings(earnest, **{"num.partitions": 9})
        blocked = earnest.blocked("MinIsrGate", within_s=WITHIN_S)
        assert "list thin under rollout.allowUnavailable" in blocked.message, blocked
        assert "restart.requested" not in types_told(earnest, before)
        assert java_processes(earnest) == processes
        earnest.declare(replace(earnest.spec, allow_unavailable=("thin",)))
        earnest.event("restart.requested", before, within_s=WITHIN_S)
        fleet.settled()
    assert running_values(earnest, "num.partitions") == {"9"}
    thin = [p for p in earnest.snapshot().partitions if p.name.topic == "thin"]
    assert [len(p.isr) for p in thin] == [1] * 4


def _told(cluster: LivingCluster, condition: str) -> condition_api.ConditionOut | None:
    return next((c for c in cluster.detail().conditions if c.type == condition and c.status), None)


def _window(*, opens_in_h: int) -> Mapping[str, object]:
    """A weekly one of six hours, in UTC."""
    opens = datetime.now(UTC) + timedelta(hours=opens_in_h)
    return {"days": [f"{opens:%a}".lower()], "start": f"{opens:%H:%M}", "duration": "6h", "zone": "UTC"}


def _replace(cluster: LivingCluster) -> None:
    """Asks for another VM of one broker."""
    order = node_api.ReplaceIn(broker=cluster.instance("one-a-0").service_id, reason="slow disk")
    cluster.client.replace(cluster.spec.name, order)
