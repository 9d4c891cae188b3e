"""The database is gone and there is no backup: `kedge rebuild` from what runs, on real VMs, agents and brokers."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from controlplane.api.schemas import clusters as api, commands as command_api
from controlplane.storage.backup import EPOCH_LEAP
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(400)]

AGENTS_WITHIN_S = 60.0
"""An agent whose credential is not known asks again every 15 s."""


def test_a_lost_database_is_rebuilt_held_and_resumed_without_any_effect(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    with traffic(cluster.bootstrap):
        before, vms, epoch = cluster.detail(), cluster.vms(), cluster.client.version().epoch
        lose_database(cluster)
        _look(cluster)
        assert not (cluster.home / "kedge.db").exists(), "a look writes nothing"
        _write(cluster)

        cluster.start_server()
        assert cluster.client.version().epoch > epoch + EPOCH_LEAP
        cluster.until(lambda: cluster.detail().status == "Held", "the cluster to be held", timeout_s=30)
        _agents_are_back(cluster)
        head = cluster.head()
        time.sleep(5)
        assert (cluster.head(), cluster.vms(), cluster.jobs()) == (head, vms, {})

        cluster.client.command(cluster.spec.name, "resume", command_api.ReasonIn(reason="looked at it"))
        settled(cluster)
        assert cluster.jobs() == {}, "no effect"
        assert cluster.vms() == vms
        after = cluster.detail()
        assert _what_runs(after) == _what_runs(before)
        starts = [e for e in cluster.events() if e.type not in ("condition.changed", "cluster.resumed")]
        assert {e.type.split(".")[1] for e in starts} <= {"declared", "adopted", "founded", "finalised"}


def test_a_roll_after_the_rebuild_makes_terraforms_state_anew_and_spends_new_ids(
    living_cluster: LivingCluster,
) -> None:
    cluster = living_cluster
    spent = max(i.service_id for i in cluster.detail().instances if i.service == "broker")
    with traffic(cluster.bootstrap):
        lose_database(cluster)
        rebuild(cluster, "--write", "-y")
        assert not list((cluster.home / "terraform").glob("*/*/terraform.tfstate")), "set aside"
        cluster.start_server()
        cluster.client.command(cluster.spec.name, "resume", command_api.ReasonIn(reason="looked at it"))
        before = cluster.roll("one")
        cluster.event("replacement.completed", before)
        settled(cluster)
    new = cluster.instance("one-a-0")
    assert new.service_id > spent
    assert new.generation == 2
    assert "one-a-0.g1" not in cluster.vms()


@pytest.mark.soak
def test_a_home_that_is_lost_too_gets_its_agents_back_with_its_key(living_cluster: LivingCluster) -> None:
    cluster, home = living_cluster, living_cluster.home
    aside = home / "aside"
    with traffic(cluster.bootstrap):
        vms, identity = cluster.vms(), (home / "installation-id").read_text().strip()
        cluster.server.stop()
        aside.mkdir()
        for name in ("installation-id", "server-key", "token", "agent-url", "home-id", "terraform"):
            shutil.move(home / name, aside / name)
        for file in home.glob("kedge.db*"):
            shutil.move(file, aside / file.name)

        refused = rebuild(cluster, expect=1)
        assert identity in refused.stderr, "the VMs themselves say whose they are"
        report = json.loads(rebuild(cluster, "--installation", identity, "-o", "json").stdout)
        assert "server-key" in {f["subject"] for f in report["findings"]}
        rebuild(cluster, "--installation", identity, "--write", "-y")
        assert (home / "agent-url").read_text() == (aside / "agent-url").read_text(), "as the VMs were told"

        cluster.start_server()
        time.sleep(20)
        assert not any(i.reported_state for i in cluster.detail().instances), "an agent of another key is not trusted"
        cluster.client.command(cluster.spec.name, "resume", command_api.ReasonIn(reason="looked at it"))
        cluster.converged()
        assert cluster.vms() == vms
        cluster.server.stop()
        shutil.copy(aside / "server-key", home / "server-key")
        cluster.start_server()
        _agents_are_back(cluster)
        settled(cluster)
        assert cluster.jobs() == {}


def lose_database(cluster: LivingCluster) -> None:
    cluster.server.kill()
    for file in cluster.home.glob("kedge.db*"):
        file.unlink()


def _look(cluster: LivingCluster) -> None:
    report = json.loads(rebuild(cluster, "-o", "json").stdout)
    (found,) = report["clusters"]
    assert (found["name"], found["uid"], found["refused"], report["written"]) == (
        cluster.spec.name,
        cluster.uid,
        False,
        False,
    )
    assert [f for f in found["findings"] if f["weight"] != "noted"] == []


def _write(cluster: LivingCluster) -> None:
    rebuild(cluster, "--write", expect=1)
    told = rebuild(cluster, "--write", "-y")
    assert f"kedge resume {cluster.spec.name}" in told.stderr
    again = rebuild(cluster, "--write", "-y", expect=1)
    assert "there is a history" in again.stderr


def rebuild(cluster: LivingCluster, *arguments: str, expect: int = 0) -> "subprocess.CompletedProcess[str]":
    """`kedge rebuild` as a person types it, without a terminal."""
    spec = Path(cluster.home) / "specs" / "living.yaml"
    spec.parent.mkdir(exist_ok=True)
    spec.write_text(cluster.spec.text())
    environ = {k: v for k, v in os.environ.items() if not k.startswith("KEDGE_")}
    done = subprocess.run(
        [sys.executable, "-m", "controlplane.cli", "rebuild", "-f", str(spec.parent), *arguments],
        env={**environ, **cluster.settings, "KEDGE_HOME": str(cluster.home)},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=300,
        check=False,
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return done


def _agents_are_back(cluster: LivingCluster) -> None:
    def all_have_spoken() -> bool:
        return all(i.reported_state for i in cluster.detail().instances)

    cluster.until(all_have_spoken, "every agent to report", timeout_s=AGENTS_WITHIN_S)


def _what_runs(detail: api.ClusterDetailOut) -> list[tuple[object, ...]]:
    return [(i.key, i.service_id, i.kafka_version, i.address, i.phase) for i in detail.instances]
