"""What the control plane itself stands on gives way: Terraform, the database, the leading server."""

import os
import shutil
import signal
import sqlite3
import time
from contextlib import closing

import psutil
import pytest
from pydantic import SecretStr

from controlplane.cli.address import ServerAddress
from controlplane.cli.client import Client
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.living_server import LivingServer
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400)]

SHARES_CLUSTER = True

LOCKED_S = 13.0
"""Longer than a writer waits for SQLite's lock (10 s), shorter than a lease."""


def test_terraform_killed_mid_apply_with_its_group_makes_no_second_vm(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    new = cluster.next_instance("one-a-0")
    with traffic(cluster.bootstrap):
        cluster.faults.set_vm("slow_create_s", {new: 10})
        before = cluster.roll("one")
        cluster.until(lambda: new in cluster.vms(), "the VM to be on the cloud's record", timeout_s=30)
        os.killpg(_terraform(cluster.server).pid, signal.SIGKILL)
        cluster.faults.clear()
        failed = cluster.event("run.failed", before)
        assert failed.data["retryable"]
        cluster.event("replacement.completed", before)
        settled(cluster)
    assert [e.type for e in cluster.events(before)].count("surge.requested") == 1


def test_nothing_is_done_while_the_database_takes_no_writes(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    with traffic(cluster.bootstrap):
        before = cluster.roll("two")
        cluster.event("instance.joined", before)
        with closing(sqlite3.connect(cluster.home / "kedge.db", timeout=20, isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            head, vms = cluster.head(), cluster.vms()
            drains = [e for e in cluster.events(before) if e.type == "drain.batch_started"]
            deadline = time.monotonic() + LOCKED_S
            while time.monotonic() < deadline:
                assert cluster.head() == head
                assert cluster.vms() == vms
                assert drains or not cluster.snapshot().moving()
                time.sleep(1)
            database.execute("ROLLBACK")
        cluster.event("replacement.completed", before)
        settled(cluster)


def test_a_server_without_its_database_touches_nothing(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    with traffic(cluster.bootstrap):
        cluster.roll_slowly("three")
        wanted = {i.key for i in cluster.detail().instances}
        cluster.server.kill()
        vms, aside = cluster.vms(), cluster.home / "aside"
        assert wanted <= vms
        aside.mkdir()
        for file in cluster.home.glob("kedge.db*"):
            shutil.move(file, aside / file.name)

        cluster.start_server()
        time.sleep(6)
        assert cluster.client.clusters() == []
        assert cluster.vms() == vms
        assert all(cluster.pids(key) for key in wanted), "agents that nobody knows keep running what runs"
        assert len(cluster.snapshot().live_brokers()) == 4
        cluster.server.stop()

        for file in cluster.home.glob("kedge.db*"):
            file.unlink()
        for file in aside.iterdir():
            shutil.move(file, cluster.home / file.name)
        cluster.start_server()
        settled(cluster)


def test_of_two_servers_one_acts_and_the_other_takes_over(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    first, second = cluster.server, cluster.another_server()
    with traffic(cluster.bootstrap):
        reader = _client_of(cluster, second)
        assert not reader.version().leader
        assert reader.cluster(cluster.spec.name).converged_generation == cluster.detail().generation

        before = cluster.roll_slowly("one")
        assert cluster.leads(first)
        assert not reader.version().leader
        assert reader.events(cluster.spec.name, tail=1).head >= before
        killed_at = cluster.head()
        first.kill()
        cluster.server = second
        cluster.others.remove(second)
        cluster.until(lambda: cluster.leads(second), "the second server to lead", timeout_s=60)
        cluster.event("replacement.completed", before)
        settled(cluster)
        reader.close()
    epochs = _epochs(cluster)
    assert [epoch for _, epoch in epochs] == sorted(epoch for _, epoch in epochs), "nobody acts under an older epoch"
    assert {e for p, e in epochs if before < p <= killed_at} != {e for p, e in epochs if p > killed_at}


def _terraform(server: LivingServer) -> psutil.Process:
    """The `terraform apply` of the server, by its place below it."""
    return next(p for p in server.children() if p.name() == "terraform" and "apply" in p.cmdline())


def _client_of(cluster: LivingCluster, server: LivingServer) -> Client:
    """Talks to this very server, whoever leads: its log says where it listens."""
    said = cluster.until(
        lambda: next((x for x in server.tail(200).splitlines() if "listening on http" in x), None),
        "the second server to listen",
        timeout_s=60,
    )
    url = said.split("listening on ")[1].split(",")[0]
    token = (cluster.home / "token").read_text().strip()
    return Client(lambda: ServerAddress(url, SecretStr(token), "its log"), actor="e2e", sleep=time.sleep)


def _epochs(cluster: LivingCluster) -> list[tuple[int, int]]:
    """(position, epoch) of everything the converger recorded, in order."""
    with closing(sqlite3.connect(f"file:{cluster.home / 'kedge.db'}?mode=ro", uri=True)) as database:
        rows = database.execute("SELECT position, epoch FROM event WHERE actor = 'converger' ORDER BY position")
        return [(int(position), int(epoch)) for position, epoch in rows]
