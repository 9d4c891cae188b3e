"""One living cluster per module: the faults of a module share it, and each leaves it whole for the next."""

from collections.abc import Iterator

import pytest

from tests.e2e.living_cluster import LivingCluster
from tests.kafka_topics import create_topic

LEDGER_MIB = 24


@pytest.fixture(scope="module")
def _cluster_of_the_module(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LivingCluster]:
    """Three brokers and a controller, converged, with some data on them. A module may set `SERVER_SETTINGS`."""
    settings = getattr(request.module, "SERVER_SETTINGS", None)
    cluster = LivingCluster(tmp_path_factory.mktemp("living") / "home", settings=settings)
    try:
        cluster.open()
        create_topic(
            cluster.bootstrap(),
            "ledger",
            partitions=12,
            rf=3,
            min_isr=2,
            bytes_per_partition=LEDGER_MIB * 1024 * 1024 // 12,
        )
        yield cluster
    finally:
        strays = cluster.close()
    assert strays == [], "something outlived its cluster"


@pytest.fixture
def living_cluster(_cluster_of_the_module: LivingCluster) -> LivingCluster:
    """The module's cluster. Fails at once where an earlier test left it broken: its log is the one to read."""
    cluster = _cluster_of_the_module
    assert cluster.server.is_up, "an earlier test left no server behind"
    assert cluster.detail().status == "Converged", f"an earlier test left it so: {cluster.detail().sentence}"
    return cluster
