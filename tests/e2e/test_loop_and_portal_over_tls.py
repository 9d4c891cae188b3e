"""A portal apart from its loop reads brokers that speak TLS: by certificates that the loop signs for it, as it may read
no key of a CA itself."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.apart import Houses, houses_on
from tests.databases import APP, as_role, postgres_copy
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.test_loop_and_portal import converged, declare, plan_of, told
from tests.kafka_topics import create_topic
from tests.postgres_server import PostgresServer

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.postgres,
    pytest.mark.soak,
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.geteuid() != 0, reason="two Unix users need root"),
]

SPEC = ClusterSpec(tls=True, join_deadline_s=180)


@pytest.fixture
def houses(postgres_server: PostgresServer) -> Iterator[Houses]:
    database = postgres_copy(postgres_server)
    with houses_on(database) as built:
        yield built
    postgres_server.drop_database(database)


@pytest.fixture
def loop(houses: Houses, tmp_path: Path) -> Iterator[LivingCluster]:
    settings = {
        "KEDGE_ONLY": "loop",
        "KEDGE_DATABASE_URL": as_role(houses.database, APP),
        "KEDGE_TELEMETRY__LOGS": "true",
    }
    living = LivingCluster(tmp_path / "home", spec=SPEC, settings=settings)
    living.start_server()
    yield living
    assert living.close() == [], "something outlived its cluster"


def test_a_portal_apart_reads_brokers_that_speak_tls(loop: LivingCluster, houses: Houses) -> None:
    portal = houses.begun("portal", 61002, as_role(houses.database, "kedge_portal"), KEDGE_TELEMETRY__LOGS="true")
    portal.wait_until_it_listens()
    declare(portal, loop.spec)
    converged(loop, portal, "the cluster that was declared at the portal")
    loop.uid = str(told(portal)["uid"])
    create_topic(loop.bootstrap(), "ledger", partitions=6, rf=3, min_isr=2, bytes_per_partition=1 << 20)

    # What it looks at by itself, settings, consumer groups and lines of logs: each by another of its clients.
    spec = loop.spec.rolled("one")
    loop.until(lambda: plan_of(portal, spec)["bytes"] > 0, "a plan that has seen the topic", timeout_s=150)
    settings = portal.client.get("/v1/clusters/living/topics/ledger/settings")
    assert settings.status_code == 200, settings.text
    groups = portal.client.get("/v1/clusters/living/groups")
    assert groups.status_code == 200, groups.text

    def lines() -> bool:
        answer = portal.client.get("/v1/clusters/living/logs")
        return answer.status_code == 200 and bool(answer.json()["lines"])

    loop.until(lines, "lines of logs", timeout_s=120, every_s=2)
    assert "PRIVATE KEY" not in portal.log
    assert "Traceback" not in portal.log
    assert not [p for p in portal.home.rglob("*") if p.is_file() and b"PRIVATE KEY" in p.read_bytes()]
