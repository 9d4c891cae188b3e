"""The chain of metrics where nodes speak TLS: agents send with their nodes' certificates, the pipeline reads with one
of Kedge's own, through a drain onto a VM whose agent nobody has heard before. It takes some eight minutes, as minutes
have to be measured and closed."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from spark.metrics.rates import read_rates
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.test_metric_chain import SETTINGS
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(1800)]

SPEC = ClusterSpec(name="measured", tls=True, controllers=1, join_deadline_s=180)


def test_figures_of_a_cluster_that_speaks_tls_are_in_the_lake_and_no_key_is_written_down(tmp_path: Path) -> None:
    cluster = LivingCluster(tmp_path / "home", spec=SPEC, settings=SETTINGS)
    lake = tmp_path / "home" / "metrics" / "lake"
    try:
        cluster.open(within_s=300)
        with traffic(cluster.bootstrap) as workload:
            cluster.until(lambda: _brokers_read(lake, cluster), "rates over TLS", timeout_s=900, every_s=2)
            before = cluster.roll("one")
            cluster.event("replacement.completed", before, within_s=400)
            settled(cluster, within_s=300)
            cluster.until(
                lambda: len({b.broker for b in cluster.client.figures(SPEC.name).brokers}) == 3,
                "figures of the broker that came",
                timeout_s=600,
                every_s=5,
            )
            assert workload.error == ""
        told = cluster.client.loop().metrics
        assert told is not None
        assert [(s.name, s.state, s.error) for s in told.streams] == [(SPEC.name, "reading", "")]
        _nobody_wrote_a_key(cluster)
    finally:
        strays = cluster.close()
    assert strays == [], "the reader ends with its server"


def _brokers_read(lake: Path, cluster: LivingCluster) -> bool:
    rates = read_rates(str(lake), cluster.uid, now=datetime.now(UTC))
    return len([name for name in rates.by_partition if name[0].startswith("traffic-")]) == 6


def _nobody_wrote_a_key(cluster: LivingCluster) -> None:
    """Nor any file of the home's own: nodes' keys are on their VMs alone, in one file each."""
    found = [path for path, text in _written(cluster) if re.search(rb"BEGIN (EC )?PRIVATE KEY", text)]
    assert {Path(path).name for path in found} <= {"ca-key.pem", "node.pem"}, found


def _written(cluster: LivingCluster) -> Iterator[tuple[str, bytes]]:
    for path in cluster.home.rglob("*"):
        if path.is_file() and path.stat().st_size < 2**26 and "data" not in path.parts:
            yield str(path), path.read_bytes()
    for process in psutil.process_iter():
        for name in ("cmdline", "environ"):
            path = Path("/proc") / str(process.pid) / name
            try:
                yield str(path), path.read_bytes()
            except OSError:
                continue
