"""A real broker takes other levels of its loggers while it runs, and loses them again."""

from collections.abc import Iterator

import pytest

from tests.agent.small_cluster import Cluster, document, serving
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.soak, pytest.mark.timeout(180)]

TALKATIVE = {"org.apache.kafka.clients.NetworkClient": "DEBUG"}


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with serving(Cluster(tmp_path_factory.mktemp("vms"))) as cluster:
        yield cluster


def test_levels_count_within_half_a_minute_and_restart_nothing(cluster: Cluster) -> None:
    started = cluster.broker_running("b-1")
    log = cluster.broker.root / "logs" / "broker.log"

    def talks() -> int:
        return log.read_text().count(" DEBUG ")

    def serve(levels: dict[str, str], epoch: int) -> None:
        service = cluster.service("broker", "b-1", state="running").model_copy(update={"log_levels": levels})
        cluster.server.serve(document("brokers-0", service, epoch=epoch))

    assert talks() == 0
    serve(TALKATIVE, 2)
    until(lambda: talks() > 10, "the broker to say more", timeout_s=60)
    serve({}, 3)

    seen = [talks()]

    def is_quiet() -> bool:
        """For three looks in a row: it says some every second while it is talkative."""
        seen.append(talks())
        return len(set(seen[-3:])) == 1

    until(is_quiet, "the broker to be quiet again", timeout_s=90, every_s=3)
    after = cluster.server.count(cluster.broker.instance)
    assert cluster.broker_running("b-1", after=after).pid == started.pid
