"""Living clusters for the end-to-end tests: the faults of a module share one, and each leaves it whole for the next.

Modules that say `SHARES_CLUSTER = True` share theirs with each other too, for as long as it stays whole; they run one
after the other. A module may set `SPEC`, what is declared, and `SERVER_SETTINGS`, with which the server runs.
"""

from collections.abc import Iterator, Mapping

import pytest

from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.kafka_topics import create_topic

LEDGER_MIB = 24
FOUNDED_WITHIN_S = 300.0
"""No test is about how long that takes; other work on the machine makes it longer."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that share come first."""
    items.sort(key=lambda item: not getattr(getattr(item, "module", None), "SHARES_CLUSTER", False))


class Household:
    """The one cluster that lives at a time."""

    def __init__(self, homes: pytest.TempPathFactory) -> None:
        self._homes = homes
        self._cluster: LivingCluster | None = None

    def cluster(self, spec: ClusterSpec, settings: Mapping[str, str], *, shared: bool) -> LivingCluster:
        """The cluster that is there, if it may be shared and is whole; else a new one, converged, with some data."""
        if self._cluster is not None and shared and self._cluster.is_whole():
            self._cluster.serve_with(settings)
            return self._cluster
        self.close()
        cluster = self._cluster = LivingCluster(self._homes.mktemp("living") / "home", spec=spec, settings=settings)
        cluster.open(within_s=FOUNDED_WITHIN_S)
        size = LEDGER_MIB * 1024 * 1024 // 12
        create_topic(cluster.bootstrap(), "ledger", partitions=12, rf=3, min_isr=2, bytes_per_partition=size)
        return cluster

    def close(self) -> None:
        """Ends the cluster that is there. Fails if anything of it is left running."""
        cluster, self._cluster = self._cluster, None
        strays = cluster.close() if cluster is not None else []
        assert strays == [], "something outlived its cluster"


@pytest.fixture(scope="session")
def _household(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Household]:
    household = Household(tmp_path_factory)
    try:
        yield household
    finally:
        household.close()


@pytest.fixture(scope="module")
def _cluster_of_the_module(request: pytest.FixtureRequest, _household: Household) -> Iterator[LivingCluster]:
    """Three brokers and their controllers, converged, with some data on them."""
    module = request.module
    shared = getattr(module, "SHARES_CLUSTER", False)
    spec, settings = getattr(module, "SPEC", ClusterSpec()), getattr(module, "SERVER_SETTINGS", {})
    yield _household.cluster(spec, settings, shared=shared)
    if not shared:
        _household.close()


@pytest.fixture
def living_cluster(_cluster_of_the_module: LivingCluster) -> LivingCluster:
    """The module's cluster. Fails at once where an earlier test left it broken: its log is the one to read."""
    cluster = _cluster_of_the_module
    assert cluster.server.is_up, "an earlier test left no server behind"
    assert cluster.detail().status == "Converged", f"an earlier test left it so: {cluster.detail().sentence}"
    return cluster
