"""`kedge doctor` asked of five clouds: what is right, what is wrong, what nobody tells, and what to do; and the limits
of an account, which a surge looks at before Terraform starts."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from controlplane.cli.main import app
from providers.base import Resources
from providers.catalog_file import sold_by
from providers.errors import CloudUnavailable, QuotaExceeded, RateLimited
from providers.quota import TellsQuotas, check_room
from providers.tf.mirror import own_platform
from providers.tf.modules import module_root, pinned_providers
from tests.contract.cloud_harnesses import HARNESSES, Harness
from tests.fakes.clouds.digitalocean_shapes import VPC
from tests.fakes.resources import instance, resources, volume

CLOUDS = ("azure", "digitalocean", "google", "hetzner", "upcloud")
WITH_QUOTAS = ("azure", "digitalocean", "google", "upcloud")
SECRETS = ("canary", "ya29")


@dataclass
class Scene:
    harness: Harness
    file: Path

    @property
    def cloud(self) -> str:
        return self.harness.cloud.name

    @property
    def fake(self) -> Any:
        return getattr(self.harness, "fake" if self.cloud == "digitalocean" else self.cloud)

    def doctor(self, *arguments: str) -> Result:
        return CliRunner().invoke(app, ["doctor", "--cloud", self.cloud, *arguments])

    def findings(self) -> dict[str, dict[str, Any]]:
        """What is told of the first region, by what it is about."""
        told = json.loads(self.doctor("-o", "json").stdout)["findings"]
        place = f"{self.harness.place}: "
        return {f["what"].removeprefix(place): f for f in told if f["what"].startswith(place)}

    def everything(self) -> dict[str, dict[str, Any]]:
        """All that is told, by what it is about."""
        return {found["what"]: found for found in json.loads(self.doctor("-o", "json").stdout)["findings"]}

    def edit(self, **changes: object) -> None:
        """Of the first region."""
        told = yaml.safe_load(self.file.read_text())
        told["accounts"]["production"]["regions"][self.harness.place.region].update(changes)
        self.file.write_text(yaml.safe_dump(told))


@contextmanager
def a_scene(cloud: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.setenv("KEDGE_HOME", str(home))
    with HARNESSES[cloud](home, monkeypatch) as harness:
        scene = Scene(harness, home / f"{cloud}.yaml")
        furnish(scene)
        yield scene


@pytest.fixture(params=CLOUDS)
def scene(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    with a_scene(request.param, tmp_path, monkeypatch) as opened:
        yield opened


@pytest.fixture(params=WITH_QUOTAS)
def quotas(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    with a_scene(request.param, tmp_path, monkeypatch) as opened:
        yield opened


def furnish(scene: Scene) -> None:
    """What the settings of a test name and its fake does not have by itself."""
    told = yaml.safe_load(scene.file.read_text())["accounts"]["production"]
    if scene.cloud == "google":
        for region in told["regions"]:
            scene.fake.world.insert(
                f"regions/{region}", "subnetworks", {"name": "kedge", "ipCidrRange": "10.20.0.0/24"}
            )
    if scene.cloud == "digitalocean":
        scene.fake.vpcs["760e09ef-dc84-11e8-981e-3cfdfeaae001"] = {"region": "fra1", "ip_range": "10.11.0.0/20"}
        file = yaml.safe_load(scene.file.read_text())
        file["accounts"]["production"]["regions"]["fra1"]["vpc"] = "760e09ef-dc84-11e8-981e-3cfdfeaae001"
        scene.file.write_text(yaml.safe_dump(file))
        assert VPC in scene.fake.vpcs


def test_a_cloud_that_is_ready_says_so_line_by_line(scene: Scene) -> None:
    ran = scene.doctor()
    assert ran.exit_code == 0, ran.output
    lines = ran.stdout.splitlines()
    assert [line for line in lines if line.startswith("WRONG")] == []
    assert any("credentials: they are of this account" in line for line in lines)
    assert sum(line.startswith("ok") for line in lines) >= 8
    assert not any(secret in ran.output for secret in SECRETS)


def test_a_mirror_that_terraforms_provider_is_to_come_from_alone_is_looked_into(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the settings of the home, as the server has them. Without the setting nothing is said of it."""
    what, (pinned,) = "Terraform's provider", pinned_providers(module_root() / scene.cloud)
    assert what not in scene.everything()
    monkeypatch.setenv("KEDGE_TERRAFORM_MIRROR", str(tmp_path / "mirror"))
    assert "is not there" in scene.everything()[what]["told"]

    (tmp_path / "mirror").mkdir()
    found = scene.everything()[what]
    assert (found["well"], f"has no {pinned} for {own_platform()}" in found["told"]) == (False, True)
    assert f"-chdir={module_root() / scene.cloud} providers mirror -platform={own_platform()}" in found["whatNext"]
    assert scene.doctor().exit_code == 1

    there = tmp_path / "mirror" / "registry.terraform.io" / pinned.source.lower()
    there.mkdir(parents=True)
    (there / f"terraform-provider-{pinned.name}_{pinned.version}_{own_platform()}.zip").touch()
    assert scene.everything()[what]["well"] is True
    monkeypatch.setenv("KEDGE_TERRAFORM_MIRROR", "https://mirror.example/")
    assert scene.everything()[what]["well"] is None


def test_what_nobody_can_tell_is_said_and_not_guessed(scene: Scene) -> None:
    unknown = {what for what, f in scene.findings().items() if f["well"] is None}
    assert (
        unknown
        == {
            "azure": set(),
            "digitalocean": {"permissions", "addresses"},
            "google": set(),
            "hetzner": {"quota"},
            "upcloud": {"permissions"},
        }[scene.cloud]
    )


def test_vms_of_another_installation_are_told_by_its_name_and_number(scene: Scene) -> None:
    assert "other installations" not in scene.findings()
    scene.harness.create(resources(instance("n-0"), instance("n-1")))  # of "test"; this home has no id yet
    found = scene.findings()["other installations"]
    assert (found["well"], "2 of test" in found["told"]) == (True, True)


def test_asking_changes_nothing(scene: Scene) -> None:
    before = scene.harness.cloud.list_place(scene.harness.place)
    scene.doctor()
    after = scene.harness.cloud.list_place(scene.harness.place)
    assert (after.instances, after.volumes) == (before.instances, before.volumes)
    if scene.cloud == "hetzner":
        assert scene.fake.project.volumes == {}


SPOIL: dict[str, tuple[Callable[[Scene], object], str]] = {
    "azure": (lambda d: d.fake.no_images.add("4.2.0"), "image of 4.2.0 for x86_64"),
    "digitalocean": (lambda d: d.fake.no_images.add(163663981), "image of 4.2.0"),
    "google": (lambda d: d.fake.no_images.add("kafka-1"), "image of 4.2.0 for x86_64"),
    "hetzner": (lambda d: d.edit(images={"4.2.0": {"x86_64": 4711}}), "image of 4.2.0 for x86_64"),
    "upcloud": (lambda d: d.edit(images={"4.2.0": "01000000-0000-4000-8000-000000004711"}), "template of 4.2.0"),
}


def test_an_image_that_is_not_there_is_told_with_what_to_do(scene: Scene) -> None:
    spoil, what = SPOIL[scene.cloud]
    spoil(scene)
    assert scene.doctor().exit_code == 1
    finding = scene.findings()[what]
    assert finding["well"] is False
    assert finding["whatNext"]


@pytest.mark.parametrize("wrong", ["10.20.0.0/16", "10.20.8.0/21"], ids=["strangers-get-in", "members-are-kept-out"])
def test_a_range_that_is_not_the_networks_is_told(wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with a_scene("upcloud", tmp_path, monkeypatch) as scene:
        assert scene.findings()["who gets in"]["told"] == "VMs let in 10.20.0.0/20, and to brokers no clients"
        scene.edit(network_range=wrong)
        found = scene.findings()["who gets in"]
        assert found["well"] is False
        assert found["told"] == f"`network_range` is {wrong}, the network has 10.20.0.0/20"
        scene.edit(network_range=None)
        found = scene.findings()["who gets in"]
        assert found["well"] is None
        assert "reaches every port" in found["told"]


def test_a_network_at_hetzner_that_leads_to_no_server_of_kedges_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by VMs that live: they sent what was for Kedge to their gateway, which knew no way."""
    with a_scene("hetzner", tmp_path, monkeypatch) as scene:
        what = "way to Kedge's servers"
        assert what not in scene.findings(), "nobody said where they are"
        scene.edit(servers=["10.0.0.5/32"])
        assert scene.findings()[what]["well"] is True, "in the network itself"
        scene.edit(servers=["10.0.0.5/32", "192.168.50.5/32"])
        found = scene.findings()[what]
        assert (found["well"], "no route to 192.168.50.5/32" in found["told"]) == (False, True)
        assert "Give the network a route" in found["whatNext"]
        (network, *_) = scene.fake.project.networks
        route = {"destination": "192.168.0.0/16", "gateway": "10.0.0.2"}
        scene.fake.project.act("POST", ["networks", str(network), "actions", "add_route"], {}, route)
        assert scene.findings()[what]["well"] is True


def test_credentials_that_may_too_little_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with a_scene("google", tmp_path, monkeypatch) as scene:
        scene.fake.denied = {"compute.instances.create"}
        assert "lack compute.instances.create" in scene.findings()["permissions"]["told"]
    with a_scene("azure", tmp_path, monkeypatch) as scene:
        scene.fake.permissions = [{"actions": ["Microsoft.Compute/*", "*/read"], "notActions": ["*/delete"]}]
        told = scene.findings()["permissions"]["told"]
        assert "Microsoft.Compute/disks/delete" in told
        assert "Microsoft.Network/networkInterfaces/write" in told
        assert "Microsoft.Compute/disks/write" not in told
    with a_scene("hetzner", tmp_path, monkeypatch) as scene:
        scene.fake.read_only = set(scene.fake.projects)
        assert scene.findings()["permissions"]["told"] == "the token may only read"


def fill(scene: Scene) -> str:
    """Leaves room for less than one VM; the limit's name."""
    match scene.cloud:
        case "azure":
            scene.fake.limits = {"standardDSv5Family": 1}
            return "standardDSv5Family"
        case "digitalocean":
            scene.fake.droplet_limit = 0
            return "droplet_limit"
        case "google":
            scene.fake.used = {"N2D_CPUS": 23.0}
            return "N2D_CPUS"
        case _:
            scene.fake.limits = {"memory": 2048}
            return "memory"


def wanted(scene: Scene, *keys: str) -> Resources:
    return resources(*(instance(key) for key in keys), volume(keys[0]), place=scene.harness.place)


def test_a_limit_without_room_for_one_vm_more_is_wrong(quotas: Scene) -> None:
    name = fill(quotas)
    finding = quotas.findings()[f"quota {name}"]
    assert finding["well"] is False
    assert "no room for one VM" in finding["told"]
    assert "Raise the quota" in finding["whatNext"]


def test_a_surge_without_room_is_refused_before_terraform_starts_and_says_what_is_missing(quotas: Scene) -> None:
    cloud, sold = quotas.harness.cloud, sold_by(quotas.cloud)
    assert isinstance(cloud, TellsQuotas)
    new = frozenset({"instance/b-0.g1", "volume/b-0.data.v1"})
    check_room(cloud, wanted(quotas, "b-0"), new, sold)
    name = fill(quotas)
    with pytest.raises(QuotaExceeded, match=rf"no room for instance/b-0.g1, .*{name}: .* more are needed"):
        check_room(cloud, wanted(quotas, "b-0"), new, sold)


def test_what_stands_already_needs_no_room(quotas: Scene) -> None:
    cloud = quotas.harness.cloud
    assert isinstance(cloud, TellsQuotas)
    fill(quotas)
    check_room(cloud, wanted(quotas, "b-0"), frozenset(), sold_by(quotas.cloud))


def test_limits_nobody_may_read_stand_in_nobodys_way_and_a_throttle_is_waited_out(quotas: Scene) -> None:
    cloud = quotas.harness.cloud
    assert isinstance(cloud, TellsQuotas)
    new = frozenset({"instance/b-0.g1"})
    cloud.list_place(quotas.harness.place)
    fill(quotas)
    quotas.harness.fail_once(CloudUnavailable)
    check_room(cloud, wanted(quotas, "b-0"), new, sold_by(quotas.cloud))
    quotas.harness.fail_once(RateLimited)
    with pytest.raises(RateLimited):
        check_room(cloud, wanted(quotas, "b-0"), new, sold_by(quotas.cloud))
