"""A real roll asked for at a portal and done by a loop, two processes of two Unix users on one PostgreSQL; each dies in
the middle of one, and the other goes on.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.apart import Houses, Part, houses_on
from tests.databases import APP, as_role, postgres_copy
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.kafka_topics import create_topic
from tests.postgres_server import PostgresServer

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.postgres,
    pytest.mark.soak,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.geteuid() != 0, reason="two Unix users need root"),
]

WITHIN_S = 300.0


@pytest.fixture
def houses(postgres_server: PostgresServer) -> Iterator[Houses]:
    database = postgres_copy(postgres_server)
    with houses_on(database) as built:
        yield built
    postgres_server.drop_database(database)


@pytest.fixture
def loop(houses: Houses, tmp_path: Path) -> Iterator[LivingCluster]:
    """The loop, which VMs of the `local` cloud are processes of: it runs as root, and nobody else reads its home."""
    settings = {"KEDGE_ONLY": "loop", "KEDGE_DATABASE_URL": as_role(houses.database, APP)}
    living = LivingCluster(tmp_path / "home", settings=settings)
    living.start_server()
    yield living
    assert living.close() == [], "something outlived its cluster"


def told(portal: Part) -> dict[str, str]:
    """What the portal says of the cluster."""
    answer = portal.client.get("/v1/clusters/living")
    return dict(answer.json()) if answer.status_code == 200 else {}


def converged(loop: LivingCluster, portal: Part, what: str) -> None:
    loop.until(lambda: told(portal).get("status") == "Converged", what, timeout_s=WITHIN_S, every_s=0.5)


def declare(portal: Part, spec: ClusterSpec) -> None:
    applied = portal.client.post("/v1/apply", json={"text": spec.text(), "file": "living.yaml"})
    assert applied.json().get("ok"), applied.text


def plan_of(portal: Part, spec: ClusterSpec) -> dict[str, Any]:
    """What the roll would do, as the portal says."""
    answer = portal.client.post("/v1/plan", json={"text": spec.text(), "file": "living.yaml"})
    (plan,) = answer.json()["plans"]
    return dict(plan)


def test_a_roll_is_asked_for_at_a_portal_and_done_by_the_loop_whichever_of_them_dies(
    loop: LivingCluster, houses: Houses
) -> None:
    portal = houses.portal().wait_until_it_listens()
    declare(portal, loop.spec)
    converged(loop, portal, "the cluster that was declared at the portal")
    loop.uid = str(told(portal)["uid"])
    create_topic(loop.bootstrap(), "ledger", partitions=6, rf=3, min_isr=2, bytes_per_partition=1 << 20)

    # The plan has sizes: a portal reads brokers itself.
    spec = loop.spec.rolled("one")
    loop.until(lambda: plan_of(portal, spec)["bytes"] > 0, "a plan that has seen the topic", timeout_s=90)
    assert plan_of(portal, spec)["sizes_age_s"] is not None

    # The portal dies in the middle of a roll.
    before = loop.head()
    declare(portal, spec)
    loop.event("surge.requested", before)
    portal.end()
    loop.event("replacement.completed", before, within_s=WITHIN_S)
    portal = houses.portal().wait_until_it_listens()
    converged(loop, portal, "the roll the portal did not live to see")

    # The loop dies in the middle of the next: brokers serve on, the portal says who is missing, the next loop goes on.
    before = loop.head()
    declare(portal, spec.rolled("two"))
    loop.event("surge.requested", before)
    loop.server.kill()
    is_told = "the loop has not been seen"
    loop.until(lambda: is_told in told(portal).get("sentence", ""), "the portal to say so", timeout_s=60)
    assert portal.client.get("/v1/clusters/living/events").json()["head"] > before
    loop.start_server()
    loop.event("replacement.completed", before, within_s=WITHIN_S)
    converged(loop, portal, "the roll the first loop did not live to end")
    assert "Traceback" not in portal.log
