"""An image that Kedge built: made twice it has the same bytes; its root boots to an enrolled agent without a mirror."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from agent.wire import BootData
from controlplane.server.machine_images.architecture import architecture_named
from controlplane.server.machine_images.build import BuiltImage, ImageOrder, build
from controlplane.server.machine_images.disk import layout
from controlplane.server.machine_images.release import SUITE
from controlplane.server.machine_images.root import DEBIAN
from providers.cloud_init import user_data
from tests.agent.control_server import ControlServer
from tests.boot.debian_vm import DebianVm, LoopbackAddress, LoopDisk, Root, ran
from tests.boot.test_debian_boots import ADDRESS, CACHE, CONTROLLER, NODE, UID, VERSION, wanting
from tests.waiting import until

pytestmark = [
    pytest.mark.soak,
    pytest.mark.kafka,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting an image and booting it needs root"),
]

EPOCH = 1764000000


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuiltImage:
    """Run by `python -m pytest -m soak tests/boot/test_built_image.py`: soak's networks of their own have no mirror."""
    try:
        httpx.head(f"{DEBIAN.main}/dists/{SUITE}/InRelease", timeout=20.0)
    except httpx.TransportError:
        pytest.skip("does not apply: Debian's mirror is not reached from this network")
    order = ImageOrder(
        kafka=VERSION, kafka_files=CACHE / "kafka" / VERSION, out=tmp_path_factory.mktemp("one"), epoch=EPOCH
    )
    return build(order, tell=print)


@pytest.fixture
def vm(built: BuiltImage, tmp_path: Path) -> Iterator[DebianVm]:
    """The image's own filesystem, mounted as it is, with what a VM writes over it."""
    below = tmp_path / "image"
    below.mkdir()
    offset = layout(architecture_named("amd64"), built.manifest.inputs.size_mib, "").root.offset
    ran("mount", "-t", "ext4", "-o", f"loop,ro,noload,offset={offset}", str(built.image), str(below))
    root = Root(below, tmp_path / "vm").mount()
    machine = DebianVm(root.path, f"kedge-{os.getpid()}")
    yield machine
    machine.end()
    root.unmount()
    ran("umount", str(below))


def test_the_same_inputs_make_the_same_image_byte_by_byte(built: BuiltImage, tmp_path: Path) -> None:
    inputs = built.manifest.inputs
    order = ImageOrder(
        kafka=VERSION, kafka_files=CACHE / "kafka" / VERSION, out=tmp_path, epoch=EPOCH, lock=built.manifest
    )
    again = build(order, tell=print)
    assert again.manifest.inputs == inputs
    assert again.manifest == built.manifest


def test_a_vm_of_it_enrols_and_runs_kafka_and_fetches_nothing(tmp_path: Path, vm: DebianVm) -> None:
    """No `software` in its user data, no mirror anywhere: what it runs is what the image has."""
    server, address = ControlServer(), LoopbackAddress(ADDRESS).bind()
    disk = LoopDisk(tmp_path / "data.img", 1).attach()
    boot = BootData(
        server_url=server.url,
        installation_id="image-test",
        cluster_uid=UID,
        node=NODE,
        generation=1,
        intent_id="intent-1",
        token=SecretStr("ab" * 32),
    )
    try:
        for secret in ("etc/machine-id", "etc/ssh/ssh_host_ed25519_key", "var/lib/cloud/instance"):
            found = vm.root / secret
            assert not found.exists() or found.read_bytes() == b"", f"/{secret} is of the machine that built it"
        server.serve(wanting(CONTROLLER))
        vm.give(user_data(boot.model_dump_json(), kafka_version=VERSION, software=None))
        began = time.monotonic()
        vm.boot(disk.device)
        until(lambda: server.enrolments or not vm.is_on, timeout_s=300, told=vm.words)
        print(f"power on to enrolled: {time.monotonic() - began:.1f} s")
        told = server.wait_for_service(
            f"{UID}/{NODE}.g1", "controller", lambda s: s.metrics.get("quorum_leader") == 100, timeout_s=300
        )
        assert told.kafka_version == VERSION
        assert not (vm.root / "etc/kedge/software.json").exists()
    finally:
        vm.end()
        disk.detach()
        address.release()
        server.close()
