"""A cluster that is given a range of producer ids hands out ids of it, of every release and level it may be founded at.

A release that ignored the record would begin at 0, as it did where nothing was told.
"""

from pathlib import Path

import pytest

from agent.wire import ServiceDocument
from tests.agent.small_cluster import BROKER, Cluster, serving
from tests.begun_producers import begun_producer

BOOTSTRAP = (f"{BROKER}:9092",)
pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]

FIRST = 2**63 - 2**44
"""Of the last range."""

BLOCK = 1000
"""Ids that a broker takes at once, and loses when it is started anew."""


class Founded(Cluster):
    """Of one release, at one level."""

    release, level, first = "4.1.1", "4.1", 0

    def service(self, name: str, start_id: str, *, state: str, fresh: bool = True) -> ServiceDocument:
        told = {"kafka_version": self.release, "metadata_level": self.level}
        own = {"first_producer_id": self.first} if name == "controller" else {}
        return super().service(name, start_id, state=state, fresh=fresh).model_copy(update={**told, **own})


@pytest.mark.parametrize(("release", "level"), [("4.1.1", "3.9"), ("4.2.0", "4.2"), ("4.3.0", "4.3")])
def test_producers_get_ids_of_the_clusters_own_range(tmp_path: Path, release: str, level: str) -> None:
    cluster = Founded(tmp_path)
    cluster.release, cluster.level, cluster.first = release, level, FIRST
    with serving(cluster):
        assert [begun_producer(BOOTSTRAP) for _ in range(2)] == [FIRST, FIRST + 1]
        cluster.serve_broker("b-2")
        cluster.broker_running("b-2")
        assert begun_producer(BOOTSTRAP) == FIRST + BLOCK
