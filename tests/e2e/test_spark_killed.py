"""The planning worker dies with a plan in its hands. Real Spark: its own session, its own JVM."""

import os
import signal

import psutil
import pytest

from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(400)]

SHARES_CLUSTER = True
SERVER_SETTINGS = {"KEDGE_SPARK_MASTER": "local[1]"}


def test_a_worker_killed_mid_plan_stops_no_roll_and_the_next_plan_is_sparks(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    with traffic(cluster.bootstrap):
        _wait_for_spark(cluster)
        worker = _worker(cluster)
        worker.suspend()  # the plan it is asked for is never answered
        before = cluster.roll("one")
        cluster.event("drain.requested", before)
        cluster.until(lambda: "drain-plan" in _running(cluster), "the plan to be asked for", timeout_s=20, every_s=0.02)
        os.kill(worker.pid, signal.SIGKILL)
        assert cluster.event("drain.planned", before).data["engine"] == "in-process"
        settled(cluster)

        _wait_for_spark(cluster)
        assert _worker(cluster).pid != worker.pid
        before = cluster.roll("two")
        assert cluster.event("drain.planned", before).data["engine"] == "spark"
        settled(cluster)


def _wait_for_spark(cluster: LivingCluster) -> None:
    cluster.until(lambda: cluster.client.version().planner == "spark", "Spark to be up", timeout_s=120)


def _worker(cluster: LivingCluster) -> psutil.Process:
    return next(p for p in cluster.server.children() if "spark.worker" in p.cmdline())


def _running(cluster: LivingCluster) -> list[str]:
    return [kind for kind, state in cluster.jobs().values() if state == "running"]
