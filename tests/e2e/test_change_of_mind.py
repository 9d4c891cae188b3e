"""People change their mind in the middle of an upgrade, in either mode on real brokers under traffic: they pause it,
take it back, abort it, and go back while that is possible, which ends with the levels.

The tests of a mode run in order: each goes on with the cluster the one before it has left, on the old release.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from controlplane.api.schemas import commands as command_api, specs as spec_api
from controlplane.kafka.features import METADATA, metadata_level_of
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import types_told
from tests.e2e.traffic import traffic
from tests.kafka_topics import create_topic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(1100)]

WITHIN_S = 400.0
STANDS_STILL_S = 15.0


@dataclass(frozen=True)
class Upgrade:
    """From a release to the next; `old` is what the levels are pinned at."""

    old: ClusterSpec
    new: ClusterSpec
    raised: str
    """Type of the event after which there is no way back."""

    @property
    def pinned(self) -> ClusterSpec:
        """The new release on the old one's level."""
        return replace(self.new, metadata_version=".".join(self.old.version.split(".")[:2]))


_KRAFT = ClusterSpec(name="minded", version="4.1.1", disk_gib=2, join_deadline_s=180)
_ZOOKEEPER = replace(_KRAFT, version="3.8.1", quorum="zookeeper")
KRAFT = Upgrade(_KRAFT, replace(_KRAFT, version="4.2.0"), "finalisation.requested")
ZOOKEEPER = Upgrade(_ZOOKEEPER, replace(_ZOOKEEPER, version="3.9.1"), "protocol.raised")


@pytest.fixture(scope="module", params=[KRAFT, ZOOKEEPER], ids=["kraft", "zookeeper"])
def upgrade(request: pytest.FixtureRequest) -> Upgrade:
    upgrade: Upgrade = request.param
    return upgrade


@pytest.fixture(scope="module")
def cluster(upgrade: Upgrade, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivingCluster]:
    made = LivingCluster(tmp_path_factory.mktemp("minded") / "home", spec=upgrade.old)
    try:
        made.open(within_s=WITHIN_S)
        create_topic(made.bootstrap(), "ledger", partitions=12, rf=3, min_isr=2, bytes_per_partition=1024 * 1024)
        yield made
    finally:
        strays = made.close()
    assert strays == []


def test_a_paused_upgrade_serves_as_long_as_it_takes_and_is_then_taken_back(
    cluster: LivingCluster, upgrade: Upgrade
) -> None:
    before, old = cluster.head(), _vms_by_release(cluster)
    with traffic(cluster.bootstrap) as workload:
        cluster.declare(upgrade.pinned)
        cluster.event("replacement.completed", before, within_s=WITHIN_S)
        _say(cluster, "pause", "the night is over")
        _stands_still(cluster, "paused: the night is over")
        cluster.restart_server()
        acknowledged = workload.acknowledged
        _stands_still(cluster, "paused: the night is over")
        assert workload.acknowledged > acknowledged, "it serves in its mixed state"
        assert len(_vms_by_release(cluster)) == 2, "and that it is"
        _say(cluster, "resume", "the next night")
        head = cluster.head()
        cluster.event("replacement.completed", head, within_s=WITHIN_S)
        cluster.declare(upgrade.old)
        settled(cluster, within_s=WITHIN_S)
    assert set(_vms_by_release(cluster)) == {upgrade.old.version}
    assert _vms_by_release(cluster)[upgrade.old.version] & old[upgrade.old.version], "what had not begun stayed"
    assert upgrade.raised not in types_told(cluster, before)
    _is_on_the_old_level(cluster, upgrade)
    back, forth = cluster.client.rolls(cluster.spec.name).rolls[:2]
    assert (back.state, forth.state) == ("done", "superseded")


def test_an_upgrade_that_is_aborted_gives_its_successor_up_or_ends_the_broker_in_hand_and_waits_for_a_person(
    cluster: LivingCluster, upgrade: Upgrade
) -> None:
    before, old = cluster.head(), _vms_by_release(cluster)[upgrade.old.version]
    with traffic(cluster.bootstrap):
        cluster.declare(upgrade.pinned)
        cluster.event("surge.completed", before, within_s=WITHIN_S)
        _say(cluster, "abort", "second thoughts")
        assert "drain.requested" not in types_told(cluster, before), "nothing was drained for it yet"
        cluster.event("retire.completed", before, within_s=WITHIN_S)
        _stands_still(cluster, "aborted: second thoughts")
        assert _vms_by_release(cluster) == {upgrade.old.version: old}, "the successor was taken back"
        assert cluster.client.rolls(cluster.spec.name).rolls[0].state == "aborted"

        _say(cluster, "resume", "it goes on after all")
        head = cluster.head()
        cluster.event("drain.batch_started", head, within_s=WITHIN_S)
        _say(cluster, "abort", "third thoughts")
        cluster.restart_server()
        cluster.event("retire.completed", head, within_s=WITHIN_S)
        _stands_still(cluster, "aborted: third thoughts")
        there = _vms_by_release(cluster)
        assert (len(there[upgrade.new.version]), len(there[upgrade.old.version] & old)) == (1, len(old) - 1), there

        cluster.declare(upgrade.old)
        _say(cluster, "resume", "the old release it is")
        settled(cluster, within_s=WITHIN_S)
    assert set(_vms_by_release(cluster)) == {upgrade.old.version}
    assert upgrade.raised not in types_told(cluster, before)
    _is_on_the_old_level(cluster, upgrade)


def test_a_whole_cluster_goes_back_as_long_as_its_level_is_pinned(cluster: LivingCluster, upgrade: Upgrade) -> None:
    before = cluster.head()
    with traffic(cluster.bootstrap):
        cluster.declare(upgrade.pinned)
        settled(cluster, within_s=WITHIN_S)
        assert set(_vms_by_release(cluster)) == {upgrade.new.version}
        _is_on_the_old_level(cluster, upgrade)
        cluster.declare(upgrade.old)
        settled(cluster, within_s=WITHIN_S)
    assert set(_vms_by_release(cluster)) == {upgrade.old.version}
    assert upgrade.raised not in types_told(cluster, before)
    _is_on_the_old_level(cluster, upgrade)


def test_there_is_no_way_back_once_the_level_is_raised_and_that_is_said(
    cluster: LivingCluster, upgrade: Upgrade
) -> None:
    before = cluster.head()
    with traffic(cluster.bootstrap):
        cluster.declare(upgrade.new)
        settled(cluster, within_s=WITHIN_S)
    assert upgrade.raised in types_told(cluster, before)
    head = cluster.head()
    order = spec_api.ApplyIn(text=upgrade.old.text(), file="living.yaml", message="e2e")
    refused = cluster.client.apply(order)
    assert not refused.ok
    assert any("is finalised and Kafka" in p.message or "is in force, and Kafka" in p.message for p in refused.problems)
    assert cluster.events(head) == []


def _say(cluster: LivingCluster, verb: str, reason: str) -> None:
    cluster.client.command(cluster.spec.name, verb, command_api.ReasonIn(reason=reason))


def _stands_still(cluster: LivingCluster, words: str) -> None:
    """Nothing happens any more, and every replica is in sync."""
    last = {"head": -1, "since": time.monotonic()}

    def look() -> bool | None:
        head = cluster.head()
        if head != last["head"] or words not in cluster.detail().sentence:
            last["head"], last["since"] = head, time.monotonic()
        return time.monotonic() - last["since"] > STANDS_STILL_S or None

    cluster.until(look, f"it to stand still, {words!r}", timeout_s=WITHIN_S, every_s=0.5)
    snapshot = cluster.snapshot()
    assert not snapshot.moving()
    assert not snapshot.under_replicated()


def _vms_by_release(cluster: LivingCluster) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for i in cluster.detail().instances:
        found.setdefault(i.kafka_version, set()).add(i.key)
    return found


def _is_on_the_old_level(cluster: LivingCluster, upgrade: Upgrade) -> None:
    if upgrade.old.quorum == "controller":
        assert cluster.snapshot().features[METADATA].finalised == metadata_level_of(upgrade.old.version)
        return
    for i in cluster.detail().instances:
        if i.service == "broker":
            properties = next(cluster.vm(i.key).rglob("server.properties")).read_text()
            assert "inter.broker.protocol.version=3.8\n" in properties
