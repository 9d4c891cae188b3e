"""A cluster at Hetzner whose VMs live: Terraform's own provider, servers that boot, and who gets in from outside.

Kedge's server, the mirror and all clients stand outside the networks of the VMs. What boots is a Debian 12 with what
the API was given as user data, by cloud-init's own source for Hetzner.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml

from controlplane.api.schemas.commands import DeleteIn
from controlplane.cli.cloud_verify.stages import VerifyStage
from controlplane.storage.home import Home
from tests.boot.debian_vm import unpacked
from tests.boot.hetzner_site import CLIENT, SERVER, STRANGER, HetznerSite, a_site
from tests.boot.knocking import let_in
from tests.boot.listening import listening
from tests.boot.records import read, through
from tests.boot.software_mirror import Mirror, filled
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.fakes.clouds.hetzner import TOKEN
from tests.marks import A_NETWORK_FOR_EACH_VM
from tests.terraform.hetznerlife import hcloud_plugins
from tests.tools.debian_root import root_archive
from tests.waiting import until

BEFORE, VERSION = "4.1.1", "4.2.0"
CACHE = Path(__file__).parents[2] / ".cache"
FOUNDED_WITHIN_S = 500.0
"""On a quiet machine a minute; nothing here is about how long it takes."""
ROLLED_WITHIN_S = 1500.0
NOBODY: dict[str, set[int]] = {CLIENT: set(), STRANGER: set()}
SETTINGS = {"KEDGE_AGENTS__HOST": SERVER, "KEDGE_AGENTS__PORT": "0"}

pytestmark = [
    A_NETWORK_FOR_EACH_VM,
    pytest.mark.kafka,
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("nft") is None, reason="a packet filter needs `nft`: install nftables"),
]


@dataclass(frozen=True)
class SpecAtHetzner(ClusterSpec):
    """The spec of the end-to-end tests, with its pools over Hetzner's locations."""

    def text(self) -> str:
        document = yaml.safe_load(super().text())
        for pool in document["spec"]["pools"]:
            pool["machine"] = "ccx13"
            pool["disk"]["sizeGib"] = 10
            zones = ["fsn1", "hel1", "nbg1"][: pool["size"]]
            pool["place"] = {"cloud": "hetzner", "account": "production", "region": "eu-central", "zones": zones}
        return yaml.safe_dump(document)


ALONE = {
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
}
SMALL = SpecAtHetzner(version=VERSION, brokers_in=("one",), config=ALONE, join_deadline_s=400)


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(root_archive(CACHE), tmp_path_factory.mktemp("debian") / "root")


@pytest.fixture
def site(debian: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HetznerSite]:
    monkeypatch.setenv("HCLOUD_TOKEN", TOKEN)
    with a_site(debian, tmp_path) as opened:
        yield opened


@pytest.fixture
def mirror(site: HetznerSite, tmp_path: Path) -> Iterator[Mirror]:
    running = Mirror(filled(tmp_path / "mirror", CACHE, BEFORE, VERSION), SERVER)
    yield running
    running.close()


@pytest.fixture
def cluster(
    site: HetznerSite, mirror: Mirror, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[LivingCluster]:
    """What a test names as its parameter, converged; `SMALL` unless it does."""
    home = tmp_path / "home"
    home.mkdir()
    site.write_settings(home / "hetzner.yaml", hcloud_plugins(), mirror.software(BEFORE, VERSION))
    living = LivingCluster(home, spec=getattr(request, "param", SMALL), settings=SETTINGS)
    try:
        living.open(within_s=FOUNDED_WITHIN_S)
        yield living
    except TimeoutError as late:
        late.add_note(site.living.words())
        raise
    finally:
        assert living.close() == []


def test_vms_boot_by_themselves_serve_who_is_let_in_and_nobody_else_before_and_after_a_change(
    site: HetznerSite, mirror: Mirror, cluster: LivingCluster
) -> None:
    broker, controller = site.living.vm("-one-"), site.living.vm("-controllers-")
    for vm in (broker, controller):
        _came_by_hetzners_own_ways(vm.machine.root, cluster)
        assert len(vm.disks) == 1
    (bootstrap,) = cluster.bootstrap()
    assert through(site.outside, bootstrap, "orders", "the first record") == "the first record"

    meant = NOBODY | {CLIENT: {9092}}
    assert _gets_in(site, "one", meant) == meant
    assert _gets_in(site, "controllers", NOBODY) == NOBODY
    assert _gets_in(site, "one", {SERVER: {9092}}, site.server) == {SERVER: {9092}}

    # Other clients from now on: the settings of a network of one's own count from the next start of the server.
    software = mirror.software(BEFORE, VERSION)
    others = "192.168.70.0/24"
    site.write_settings(cluster.home / "hetzner.yaml", hcloud_plugins(), software, clients=others)
    booted = (broker.machine.init_pid(), controller.machine.init_pid())
    cluster.server.stop()
    cluster.start_server()
    changed = NOBODY | {STRANGER: {9092}}
    until(
        lambda: _gets_in(site, "one", changed) == changed,
        "the VM's packet filter to let others in",
        timeout_s=FOUNDED_WITHIN_S,
        every_s=2.0,
        told=site.living.words,
    )
    assert _gets_in(site, "controllers", NOBODY) == NOBODY
    assert _gets_in(site, "one", {SERVER: {9092}}, site.server) == {SERVER: {9092}}
    assert (broker.machine.init_pid(), controller.machine.init_pid()) == booted, "no VM was touched for it"


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("cluster", [pytest.param(replace(SMALL, version=BEFORE), id=BEFORE)], indirect=True)
def test_a_new_version_comes_by_new_vms_that_get_address_and_volume_while_they_run_and_nothing_is_left(
    site: HetznerSite, cluster: LivingCluster
) -> None:
    """The controller's: a network card and a disk more in a VM that booted without them, and its agent sees both."""
    project = site.living.hetzner.project
    (bootstrap,) = cluster.bootstrap()
    assert through(site.outside, bootstrap, "orders", "of before") == "of before"
    before, voters = cluster.head(), cluster.voters()
    old = {i.node: i.address for i in cluster.detail().instances}

    cluster.declare(replace(SMALL, version=VERSION))
    cluster.event("feature.finalised", before, within_s=ROLLED_WITHIN_S)
    cluster.converged(within_s=ROLLED_WITHIN_S)
    assert [e.type for e in cluster.events(before)].count("replacement.completed") == 2
    assert {i.kafka_version for i in cluster.detail().instances} == {VERSION}
    assert cluster.voters() == voters, "the disk it votes from"
    new = {i.node: i.address for i in cluster.detail().instances}
    assert new["controllers-fsn1-0"] == old["controllers-fsn1-0"]
    assert new["one-fsn1-0"] != old["one-fsn1-0"]
    (bootstrap,) = cluster.bootstrap()
    assert read(site.outside, bootstrap, "orders") == "of before"
    meant = NOBODY | {CLIENT: {9092}}
    assert _gets_in(site, "one", meant) == meant
    assert _gets_in(site, "controllers", NOBODY) == NOBODY

    cluster.client.delete(SMALL.name, DeleteIn(confirm=SMALL.name, reason="the story is over"))
    until(
        # The last ones are switched off after the call that deletes them.
        lambda: not (project.servers or project.volumes or site.living.servers),
        "all servers and volumes to be gone",
        timeout_s=ROLLED_WITHIN_S,
        told=site.living.words,
    )


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_one_command_verifies_hetzner_and_leaves_nothing(site: HetznerSite, mirror: Mirror, tmp_path: Path) -> None:
    """`kedge cloud verify`: VMs that boot, disks that grow, a controller's that passes on, each in a VM that runs."""
    home, told = tmp_path / "home", tmp_path / "report.md"
    home.mkdir()
    site.write_settings(home / "hetzner.yaml", hcloud_plugins(), mirror.software(VERSION))
    living = LivingCluster(home, settings=SETTINGS)
    try:
        living.start_server()
        where = ["--cloud", "hetzner", "--account", "production", "--region", "eu-central", "--zone", "fsn1"]
        what = ["--machine", "ccx13", "--kafka", VERSION, "--timeout", f"{ROLLED_WITHIN_S:.0f}s", "-y", "-o", "json"]
        ran = subprocess.run(
            [sys.executable, "-m", "controlplane.cli", "cloud", "verify", *where, *what, "--report", str(told)],
            env={**os.environ, "KEDGE_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        words = f"{ran.stderr}\n{site.living.words()}"
        assert ran.returncode == 0, words
        endings = {one["stage"]: one["ended"] for one in json.loads(ran.stdout)["stages"]}
        assert endings == {str(stage): "passed" for stage in VerifyStage} | {str(VerifyStage.NETWORK): "left out"}, (
            words
        )
        project = site.living.hetzner.project
        gone = lambda: not (project.servers or project.volumes or site.living.servers)  # noqa: E731
        until(gone, "all servers and volumes to be gone", timeout_s=60, told=site.living.words)
        assert "production" not in told.read_text()
    finally:
        assert living.close() == []


def _came_by_hetzners_own_ways(root: Path, cluster: LivingCluster) -> None:
    """Its user data from Hetzner's metadata service, its agent by TLS, pinned to the server's own CA."""
    found = json.loads((root / "var/lib/cloud/data/status.json").read_text())["v1"]["datasource"]
    assert found == "DataSourceHetzner"
    home = Home(cluster.home)
    born = json.loads((root / "var/lib/kedge-agent/boot.json").read_text())
    assert (born["server_url"], born["ca_sha256"]) == (home.agent_url(), home.agent_ca())
    assert born["server_url"].startswith(f"https://{SERVER}:")
    assert (root / "var/lib/kedge-agent/agent/certificate.pem").stat().st_mode & 0o777 == 0o600


def _gets_in(site: HetznerSite, pool: str, meant: dict[str, set[int]], namespace: str = "") -> dict[str, set[int]]:
    """Who gets a connection to the VM of that pool, of all ports that something listens at there, and Kafka's."""
    vm = site.living.vm(f"-{pool}-")
    ports = listening(vm.machine.init_pid()) | {22, 111, 2181, 9092, 9093}
    return let_in(namespace or site.outside, meant, site.living.address(f"-{pool}-"), ports)
