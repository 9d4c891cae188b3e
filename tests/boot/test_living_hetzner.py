"""A cluster at Hetzner whose VMs live: Terraform's own provider, servers that boot, and who gets in from outside.

Kedge's server, the mirror and all clients stand outside the networks of the VMs. What boots is a Debian 12 with what
the API was given as user data, by cloud-init's own source for Hetzner.
"""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from controlplane.storage.home import Home
from tests.boot.debian_vm import unpacked
from tests.boot.hetzner_site import CLIENT, SERVER, STRANGER, HetznerSite, a_site
from tests.boot.knocking import let_in
from tests.boot.listening import listening
from tests.boot.records import through
from tests.boot.software_mirror import Mirror, filled
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.fakes.clouds.hetzner import TOKEN
from tests.marks import A_NETWORK_FOR_EACH_VM
from tests.terraform.hetznerlife import hcloud_plugins
from tests.tools.debian_root import root_archive
from tests.waiting import until

VERSION = "4.2.0"
CACHE = Path(__file__).parents[2] / ".cache"
FOUNDED_WITHIN_S = 500.0
"""On a quiet machine a minute; nothing here is about how long it takes."""
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
    """The spec of the end-to-end tests, with its pools in Hetzner's first location."""

    def text(self) -> str:
        document = yaml.safe_load(super().text())
        for pool in document["spec"]["pools"]:
            pool["machine"] = "ccx13"
            pool["disk"]["sizeGib"] = 10
            pool["place"] = {"cloud": "hetzner", "account": "production", "region": "eu-central", "zones": ["fsn1"]}
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
    running = Mirror(filled(tmp_path / "mirror", CACHE, VERSION), SERVER)
    yield running
    running.close()


@pytest.fixture
def cluster(site: HetznerSite, mirror: Mirror, tmp_path: Path) -> Iterator[LivingCluster]:
    home = tmp_path / "home"
    home.mkdir()
    site.write_settings(home / "hetzner.yaml", hcloud_plugins(), mirror.software(VERSION))
    living = LivingCluster(home, spec=SMALL, settings=SETTINGS)
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
    software = mirror.software(VERSION)
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
