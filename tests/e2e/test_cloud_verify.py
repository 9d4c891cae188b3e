"""`kedge cloud verify` as a person types it: real Terraform, agents and a broker at the local cloud; nothing left."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.cli.cloud_verify.stages import VerifyStage
from controlplane.cli.errors import CliError
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.waiting import until

NAME = "verify-local"
WHERE = ("--cloud", "local", "--region", "local-1", "--zone", "a", "-y", "-o", "json")
WITHIN_S = 900.0

pytestmark = [pytest.mark.kafka, pytest.mark.soak, pytest.mark.timeout(1800)]


@pytest.fixture
def living(tmp_path: Path) -> Iterator[LivingCluster]:
    """A server without a cluster."""
    cluster = LivingCluster(tmp_path / "home", spec=ClusterSpec(name=NAME))
    try:
        cluster.start_server()
        yield cluster
    finally:
        assert cluster.close() == []


def verify(living: LivingCluster) -> "subprocess.Popen[str]":
    environ = {**os.environ, "KEDGE_HOME": str(living.home)}
    command = [sys.executable, "-m", "controlplane.cli", "cloud", "verify", *WHERE]
    return subprocess.Popen(
        command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_walk_at_the_local_cloud_passes_and_leaves_no_vm_and_no_disk(living: LivingCluster) -> None:
    out, told = verify(living).communicate(timeout=WITHIN_S)
    endings = {one["stage"]: one["ended"] for one in json.loads(out)["stages"]}
    assert endings == {str(stage): "passed" for stage in VerifyStage} | {"network": "left out"}, told
    assert left(living) == []


@pytest.mark.parametrize("stage", [VerifyStage.VMS, VerifyStage.BROKER, VerifyStage.REPLACEMENT, VerifyStage.DELETION])
def test_a_walk_and_its_server_killed_on_the_way_leave_what_the_next_one_deletes(
    living: LivingCluster, stage: VerifyStage
) -> None:
    first = verify(living)
    before = list(VerifyStage)[list(VerifyStage).index(stage) - 1]
    assert first.stderr is not None
    for line in first.stderr:
        if f" {before} (" in line:
            break
    until(lambda: is_there(living) or stage is VerifyStage.DELETION, "the cluster", timeout_s=60, every_s=0.2)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert left(living) or stage in (VerifyStage.VMS, VerifyStage.DELETION)
    living.restart_server()
    out, told = verify(living).communicate(timeout=WITHIN_S)
    found = json.loads(out)
    assert found["passed"], told
    if stage is not VerifyStage.DELETION:
        assert "deleted" in next(one["told"] for one in found["stages"] if one["stage"] == str(VerifyStage.EARLIER_RUN))
    assert left(living) == []


def is_there(living: LivingCluster) -> bool:
    try:
        return bool(living.detail().uid)
    except CliError:
        return False


def left(living: LivingCluster) -> list[str]:
    """VMs, disks and addresses in the folder of the local cloud (`providers/local/layout.py`)."""
    kinds = ("instances", "volumes", "addresses")
    return sorted(str(p.relative_to(living.cloud)) for kind in kinds for p in living.cloud.glob(f"*/{kind}/*/*"))
