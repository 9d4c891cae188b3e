"""The planning worker dies with a plan in its hands. Real Spark: its own session, its own JVM."""

import os
import signal

import psutil
import pytest

from tests.e2e.frozen import standing_still
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(700)]

SHARES_CLUSTER = True
SERVER_SETTINGS = {"KEDGE_PLANNER__SPARK_MASTER": "local[1]"}


def test_a_worker_killed_mid_plan_stops_no_roll_and_the_next_plan_is_sparks(living_cluster: LivingCluster) -> None:
    """Its JVM stands still, so that the plan is in its hands from when it is asked for until it dies, however long the
    new VM boots. The worker itself goes on to say that it lives: a silent one would be given up by itself."""
    cluster = living_cluster
    with traffic(cluster.bootstrap):
        _wait_for_spark(cluster)
        worker = _worker(cluster)
        with standing_still([_jvm(worker).pid]):
            before = cluster.roll("one")
            # The plan is asked for while the new VM boots, ahead of the drain.
            cluster.until(lambda: "drain-plan" in _running(cluster), "a plan to be asked for", timeout_s=150)
            assert worker.is_running(), "it was given up before it was killed"
            os.kill(worker.pid, signal.SIGKILL)
        assert cluster.event("drain.planned", before).data["engine"] == "in-process"
        settled(cluster)

        _wait_for_spark(cluster)
        assert _worker(cluster).pid != worker.pid
        before = cluster.roll("two")
        assert cluster.event("drain.planned", before).data["engine"] == "spark"
        settled(cluster)


def _wait_for_spark(cluster: LivingCluster) -> None:
    cluster.until(lambda: cluster.client.version().planner == "spark", "Spark to be up", timeout_s=240)


def _jvm(worker: psutil.Process) -> psutil.Process:
    return next(p for p in worker.children(recursive=True) if p.name() == "java")


def _worker(cluster: LivingCluster) -> psutil.Process:
    return next(p for p in cluster.server.children() if "spark.worker" in p.cmdline())


def _running(cluster: LivingCluster) -> list[str]:
    return [kind for kind, state in cluster.jobs().values() if state == "running"]
