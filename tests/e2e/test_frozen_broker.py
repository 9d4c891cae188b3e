"""A broker whose process stands still while its VM and its agent are well: everything that is said of it, and its end.

One freeze of five minutes and a half: the controllers fence the broker after seconds, that it runs and is fenced is
told after one minute, that writes have no replica to spare after five.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from rich.console import Console

from controlplane.api.schemas import anomalies as anomaly_api, clusters as api, conditions as condition_api
from controlplane.cli.describe_view import description
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.frozen import standing_still
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import java_process
from tests.kafka_topics import create_topic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(600)]

FROZEN = "two-b-0"
SPEC = ClusterSpec(name="frozen", heal_after_s=3600, healing={"grace": {"broker-failure": "20s"}})
"""It is told here, and cured in `test_broken_brokers`."""


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivingCluster]:
    settings = {"KEDGE_ANOMALIES_POLL_S": "2"}
    made = LivingCluster(tmp_path_factory.mktemp("frozen") / "home", spec=SPEC, settings=settings)
    try:
        made.open()
        create_topic(made.bootstrap(), "orders", partitions=6, rf=3, min_isr=2)
        yield made
    finally:
        strays = made.close()
    assert strays == []


def test_a_broker_that_stands_still_is_fenced_told_explained_and_forgotten_once_it_goes_on(
    cluster: LivingCluster,
) -> None:
    said = cluster.detail()
    assert not _told(said) & {"RegistrationWrong", "AtMinIsr", "Blocked"}, "nothing is said of a cluster that is well"
    assert "Why:" not in _described(said)
    unhealthy, before = cluster.instance(FROZEN), cluster.head()
    with standing_still([java_process(cluster, unhealthy.key)]):
        wrong = _condition(cluster, "RegistrationWrong", within_s=180)
        assert wrong.reason == "Fenced"
        assert f"{unhealthy.key} runs, and the controllers hold broker {unhealthy.service_id} fenced" in wrong.message
        failed = cluster.until(lambda: _failure(cluster), "the anomaly broker-failure", timeout_s=60)
        assert (failed.subject, failed.state) == (FROZEN, "waiting")
        assert f"broker {unhealthy.service_id} ({unhealthy.key}) is fenced" in failed.reason
        assert "Why:" in _described(cluster.detail())
        lacking = _condition(cluster, "AtMinIsr", within_s=400)
        assert "6 partitions have no replica in sync to spare" in lacking.message
        assert f"Broker {unhealthy.service_id} is missing in 6 of them" in lacking.message
    gone = {"RegistrationWrong", "AtMinIsr", "Blocked"}
    cluster.until(lambda: not _told(cluster.detail()) & gone or None, "nothing to tell any more", timeout_s=130)
    assert "Why:" not in _described(cluster.detail())
    assert not [e for e in cluster.events(before) if e.type in ("instance.lost", "surge.requested", "retire.requested")]


def _told(said: api.ClusterDetailOut) -> set[str]:
    return {c.type for c in said.conditions if c.status}


def _condition(cluster: LivingCluster, kind: str, *, within_s: float) -> condition_api.ConditionOut:
    def look() -> condition_api.ConditionOut | None:
        return next((c for c in cluster.detail().conditions if c.type == kind and c.status), None)

    return cluster.until(look, f"the condition {kind}", timeout_s=within_s, every_s=1)


def _failure(cluster: LivingCluster) -> anomaly_api.AnomalyOut | None:
    found = cluster.client.anomalies(cluster.spec.name).anomalies
    return next((a for a in found if a.kind == "broker-failure" and a.state == "waiting"), None)


def _described(said: api.ClusterDetailOut) -> str:
    """What `kedge describe` shows."""
    console = Console(width=400, no_color=True)
    with console.capture() as seen:
        for part in description(said, now=datetime.now(UTC)):
            console.print(part)
    return seen.get()
