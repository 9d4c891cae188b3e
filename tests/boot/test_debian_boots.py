"""A plain Debian with our user data, booted for real: software by checksum, a disk, the agent's enrolment, Kafka."""

import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from agent.disks.choice import filesystem_uuid
from agent.wire import BootData, Document, LogDir, ServiceDocument, Voter
from providers.cloud_init import PROMETHEUS, SERVICE_USER, user_data
from providers.software import Software
from tests.agent.control_server import ControlServer
from tests.boot.debian_vm import DebianVm, LoopbackAddress, LoopDisk, Root, ran, unpacked
from tests.boot.software_mirror import Mirror, filled
from tests.tools.debian_root import root_archive
from tests.waiting import until

VERSION, ADDRESS, MIRROR = "4.2.0", "127.0.77.5", "127.0.77.2"
UID, NODE = "b00700000000000000000000000b0070", "controllers-a-0"
CACHE = Path(__file__).parents[2] / ".cache"

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.timeout(400),
    pytest.mark.skipif(
        os.geteuid() != 0,
        reason="booting a machine needs root: namespaces, loop devices and mounts",
    ),
]

DIRECTORY_ID = "Ym9vdGVkLWRpci0wMDAwMA"
DISK = LogDir(name="data", volume=f"{NODE}.data.v1", directory_id=DIRECTORY_ID, fresh=True, size_gib=1)
CONTROLLER = ServiceDocument(
    name="controller",
    state="running",
    start_id="c-1",
    kafka_version=VERSION,
    cluster_id="kedgeBootTestClusterAA",
    node_id=100,
    address=ADDRESS,
    port=9093,
    rack="a",
    log_dirs=(DISK,),
    voters=(Voter(id=100, address=ADDRESS, port=9093, directory_id=DIRECTORY_ID),),
    founder=True,
    metadata_level="4.2",
    heap_mib=128,
)


def wanting(service: ServiceDocument, epoch: int = 1) -> Document:
    return Document(epoch=epoch, cluster_uid=UID, node=NODE, generation=1, services=(service,))


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirror]:
    running = Mirror(filled(tmp_path / "mirror", CACHE, VERSION), MIRROR)
    yield running
    running.close()


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(root_archive(CACHE), tmp_path_factory.mktemp("debian") / "root")


@pytest.fixture
def vm(debian: Path, tmp_path: Path) -> Iterator[DebianVm]:
    root = Root(debian, tmp_path / "vm").mount()
    machine = DebianVm(root.path, f"kedge-{os.getpid()}")
    yield machine
    machine.end()
    root.unmount()


def born(server: ControlServer, wanted: Software) -> str:
    boot = BootData(
        server_url=server.url,
        installation_id="boot-test",
        cluster_uid=UID,
        node=NODE,
        generation=1,
        intent_id="intent-1",
        token=SecretStr("ab" * 32),
    )
    return user_data(boot.model_dump_json(), kafka_version=VERSION, software=wanted)


def test_a_plain_debian_boots_installs_enrols_makes_its_disk_and_runs_kafka_also_after_a_reboot(
    tmp_path: Path, mirror: Mirror, vm: DebianVm
) -> None:
    """Two boots: the second finds its disk under another device name, fetches nothing and starts the same quorum."""
    server, address = ControlServer(), LoopbackAddress(ADDRESS).bind()
    disk, other = LoopDisk(tmp_path / "data.img", 1).attach(), LoopDisk(tmp_path / "other.img", 1)
    instance = f"{UID}/{NODE}.g1"
    try:
        server.serve(wanting(CONTROLLER))
        vm.give(born(server, mirror.software(VERSION)))
        vm.boot(disk.device)
        until(lambda: server.enrolments or not vm.is_on, timeout_s=120, told=vm.words)
        first = server.wait_for_service(instance, "controller", lambda s: s.metrics.get("quorum_leader") == 100)
        assert first.kafka_version == VERSION
        assert server.reports[instance][-1].attachments == (DISK.volume,)
        assert ADDRESS in server.reports[instance][-1].addresses
        (log_dir,) = first.log_dirs
        assert log_dir.write_bytes_per_s is not None
        assert log_dir.read_bytes_per_s is not None
        _runs_as_its_own_user(vm)
        scraped = httpx.get(f"http://{PROMETHEUS}/metrics", trust_env=False).text
        assert 'kedge_service_quorum_leader{service="controller"} 100.0' in scraped
        assert (vm.root / "var/lib/kedge-agent/boot.json").stat().st_mode & 0o777 == 0o600

        mirror.close()  # a VM that has its software needs no mirror
        vm.power_button()
        assert "is over for good" not in vm.text("/var/lib/kedge-agent/logs/agent.log"), "a reboot is not a stop"
        found = ran("blkid", "--probe", "--output", "export", disk.device)
        assert f"UUID={filesystem_uuid(UID, DISK.volume)}" in found
        assert "TYPE=xfs" in found

        disk.detach()
        other.attach()  # takes the device that was ours
        disk.attach()
        seen = server.count(instance)
        vm.boot(other.device, disk.device)
        again = server.wait_for_service(
            instance, "controller", lambda s: s.metrics.get("quorum_leader") == 100, after=seen, timeout_s=120
        )
        assert again.start_id == first.start_id
        assert again.log_dirs[0].write_bytes_per_s == log_dir.write_bytes_per_s, "it is measured once in its life"
        reports = server.reports[instance]
        assert reports[-1].boot_id > reports[0].boot_id
        assert len(server.enrolments) == 1

        gone = CONTROLLER.model_copy(update={"state": "stopped", "gives_volumes": True})
        server.serve(wanting(gone, epoch=2))
        server.wait_for_service(instance, "controller", lambda s: s.state == "stopped", after=seen)
        until(lambda: server.reports[instance][-1].attachments == (), timeout_s=30, told=vm.words)
        assert disk.device not in Path("/proc/mounts").read_text()

        # Its stop is taken back: the disk is mounted again, and what is on it serves. Then it is retired after all.
        restarted, seen = CONTROLLER.model_copy(update={"start_id": "start-2"}), server.count(instance)
        server.serve(wanting(restarted, epoch=3))
        server.wait_for_service(instance, "controller", lambda s: s.metrics.get("quorum_leader") == 100, after=seen)
        assert server.reports[instance][-1].attachments == (DISK.volume,)
        server.serve(wanting(restarted.model_copy(update={"state": "stopped", "gives_volumes": True}), epoch=4))
        until(lambda: server.reports[instance][-1].attachments == (), timeout_s=60, told=vm.words)
        assert disk.device not in Path("/proc/mounts").read_text()
    finally:
        vm.end()
        disk.detach()
        other.detach()
        address.release()
        server.close()


def _runs_as_its_own_user(vm: DebianVm) -> None:
    """Kafka is nobody's but `kedge-kafka`'s; the agent, which is root's, has what is its own for itself."""
    account = next(a.split(":") for a in vm.text("/etc/passwd").splitlines() if a.startswith(f"{SERVICE_USER}:"))
    uid, gid = int(account[2]), int(account[3])
    mark = b"-Dkedge.service=/var/lib/kedge-agent/controller"
    (status,) = [proc / "status" for proc in vm.processes() if mark in (proc / "cmdline").read_bytes()]
    ids = {
        name: fields.split() for name, _, fields in (line.partition(":") for line in status.read_text().splitlines())
    }
    assert (ids["Uid"], ids["Gid"], ids["Groups"]) == ([str(uid)] * 4, [str(gid)] * 4, [])
    root = vm.root / "var/lib/kedge-agent"
    log = root / "logs/services/controller.log"
    assert (log.stat().st_uid, "kafka" in log.read_text()) == (uid, True)
    assert (root / "services/controller").stat().st_mode & 0o777 == 0o750
    assert (root / "agent").stat().st_mode & 0o777 == 0o700


def test_a_mirror_with_another_file_than_the_one_that_was_meant_gets_nothing_run(
    tmp_path: Path, mirror: Mirror, vm: DebianVm
) -> None:
    server = ControlServer()
    wanted = mirror.software(VERSION)
    try:
        (agent,) = mirror.folder.glob("kedge-agent-*.tar.gz")
        agent.write_bytes(agent.read_bytes() + b"more")
        vm.give(born(server, wanted))
        vm.boot()
        until(lambda: "its SHA-256 is" in vm.console.read_text(errors="replace"), timeout_s=90, told=vm.words)
        assert not (vm.root / "opt/kedge/agent/current").exists()
        assert server.enrolments == []
    finally:
        server.close()
