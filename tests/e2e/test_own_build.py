"""A cluster rolls to a build of Kafka of its own on real brokers, under traffic, and a wrong checksum makes no VM."""

import hashlib
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from controlplane.api.schemas import commands as command_api
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import KAFKA_DIR, LivingCluster
from tests.e2e.running import java_processes
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(600)]

SPEC = ClusterSpec(name="built", join_deadline_s=60)
WITHIN_S = 300.0


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """The release as Apache has it, and room for builds of one's own."""
    folder = tmp_path / "images"
    folder.mkdir()
    (folder / SPEC.version).symlink_to((KAFKA_DIR / SPEC.version).absolute())
    return folder


@pytest.fixture
def cluster(tmp_path: Path, images: Path) -> Iterator[LivingCluster]:
    cluster = LivingCluster(tmp_path / "home", spec=SPEC, settings={"KEDGE_KAFKA_DIR": str(images)})
    try:
        cluster.open(within_s=WITHIN_S)
        yield cluster
    finally:
        strays = cluster.close()
    assert strays == []


def test_every_vm_is_made_anew_from_the_build_and_none_from_another_file(
    cluster: LivingCluster, images: Path, tmp_path: Path
) -> None:
    archive = tmp_path / f"kafka_2.13-{SPEC.version}-patched.tgz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        tar.add(KAFKA_DIR / SPEC.version / "libs", f"{archive.stem}/libs")
    sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
    born = cluster.vms()
    with traffic(cluster.bootstrap):
        cluster.declare(replace(SPEC, distribution={"url": archive.as_uri(), "sha256": "0" * 64}))
        cluster.says("is not the build that the spec names", within_s=WITHIN_S)
        assert cluster.vms() == born
        cluster.client.command(SPEC.name, "abort", command_api.ReasonIn(reason="another checksum"))
        cluster.declare(replace(SPEC, distribution={"url": archive.as_uri(), "sha256": sha256}))
        cluster.client.command(SPEC.name, "resume", command_api.ReasonIn(reason="the right one"))
        settled(cluster, within_s=WITHIN_S)
    assert not cluster.vms() & born, "controllers, too"
    build = images / "distributions" / sha256 / SPEC.version / "libs"
    for key, processes in java_processes(cluster).items():
        assert processes, key
        assert all(str(build) in " ".join(psutil.Process(pid).cmdline()) for pid in processes), key
