"""What one pool has for itself on real brokers: options of its JVM by a restart of it, Kafka settings live."""

from collections.abc import Mapping
from dataclasses import replace

import psutil
import pytest

from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import java_process, types_told
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(700)]

SPEC = ClusterSpec(name="pooled", join_deadline_s=120)

PARALLEL = "-XX:+UseParallelGC"
IO = "num.io.threads"


def test_an_option_of_the_jvm_restarts_its_pool_alone_and_takes_the_place_of_the_collector(
    living_cluster: LivingCluster,
) -> None:
    cluster = living_cluster
    before, vms, processes = cluster.head(), cluster.vms(), _processes(cluster)
    with traffic(cluster.bootstrap):
        cluster.declare(replace(cluster.spec, jvm_options={"two": (PARALLEL, "-Xlog:gc*")}))
        settled(cluster, within_s=400)
    assert cluster.vms() == vms
    again = _processes(cluster)
    assert [pool for pool in again if again[pool] != processes[pool]] == ["two"]
    words = {pool: psutil.Process(pid).cmdline() for pool, pid in again.items()}
    assert [w for w in words["two"] if w.endswith("GC")] == [PARALLEL]
    assert {"-Xmx160m", "-Xlog:gc*"} <= set(words["two"])
    assert [w for w in words["one"] if w.endswith("GC")] == ["-XX:+UseSerialGC"]
    assert [e.data["key"].split("-")[0] for e in cluster.events(before) if e.type == "restart.requested"] == ["two"]


def test_a_setting_of_a_pool_is_set_live_on_its_broker_alone_and_leaves_again(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    before, spec, processes = cluster.head(), cluster.spec, _processes(cluster)
    with traffic(cluster.bootstrap):
        cluster.declare(replace(spec, pool_config={"two": {IO: 4}}))
        settled(cluster, within_s=200)
        assert _running(cluster) == {"one": ("2", False), "two": ("4", True), "three": ("2", False)}
        # The cluster's own value goes elsewhere meanwhile, and the pool keeps its own.
        cluster.declare(replace(spec, pool_config={"two": {IO: 4}}, config={**spec.config, IO: 3}))
        settled(cluster, within_s=200)
        assert _running(cluster) == {"one": ("3", False), "two": ("4", True), "three": ("3", False)}
        cluster.declare(replace(spec, config={**spec.config, IO: 3}))
        settled(cluster, within_s=200)
        assert _running(cluster) == {"one": ("3", False), "two": ("3", False), "three": ("3", False)}
    assert _processes(cluster) == processes
    told = [t for t in types_told(cluster, before) if not t.startswith("recycle.")]
    assert told.count("settings.changed") == 3
    assert "restart.requested" not in told


def test_an_option_the_jvm_does_not_know_is_taken_back_with_its_words(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    before, spec = cluster.head(), cluster.spec
    with traffic(cluster.bootstrap):
        cluster.declare(replace(spec, jvm_options={**spec.jvm_options, "one": ("-XX:+UseFooGC",)}))
        blocked = cluster.blocked("RestartReverted", within_s=300)
        assert "Unrecognized VM option 'UseFooGC'" in blocked.message
        assert "old settings back" in blocked.message
        assert len(cluster.snapshot().live_brokers()) == 3
        cluster.declare(spec)
        settled(cluster, within_s=300)
    assert len([e for e in cluster.events(before) if e.type == "restart.revert_requested"]) == 1


def _processes(cluster: LivingCluster) -> Mapping[str, int]:
    """By pool, the id of its broker's process."""
    brokers = [i.key for i in cluster.detail().instances if i.service == "broker"]
    return {key.split("-")[0]: java_process(cluster, key) for key in sorted(brokers)}


def _running(cluster: LivingCluster) -> Mapping[str, tuple[str | None, bool]]:
    """By pool, what its broker runs with, and whether that is its own."""
    pools = {i.service_id: i.key.split("-")[0] for i in cluster.detail().instances if i.service == "broker"}
    seen = cluster.kafka().running_settings({IO}).brokers
    return {pools[broker]: (found[IO].value, found[IO].is_own) for broker, found in seen.items()}
