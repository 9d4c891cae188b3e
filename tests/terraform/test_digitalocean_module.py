"""The modules for DigitalOcean under a stand-in for the provider they pin: held to its schema, bad values refused."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from providers.digitalocean.settings import DigitaloceanSettings
from providers.digitalocean.tags import tag
from tests.fakes.clouds.digitalocean import TEAM, TOKEN, DigitaloceanFake, digitalocean_cloud
from tests.fakes.clouds.digitalocean_shapes import VPC
from tests.terraform.standins import MODULES, terraform, validated_copy

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(300)]

MODULE, NETWORK = MODULES / "digitalocean", MODULES / "digitalocean-network"
CLOUD = {"vpc": VPC, "firewall_tag": "kedge-network:test", "ssh_keys": "289794 289795"}
LONG = "b" * 180
NETWORK_VALUES: dict[str, Any] = {
    "installation_id": "test",
    "name": "kedge",
    "region": "nyc3",
    "cidr": "10.20.0.0/20",
    "zones": {"nyc3-a": 0, "nyc3-b": 1, "nyc3-c": 2},
    "clients": ["10.8.0.0/16"],
    "peers": ["10.65.0.0/20"],
}


@pytest.fixture(scope="module", params=["stand-in"])
def module(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The module after `init` and `validate`: what the provider's schema does not have is refused there."""
    return validated_copy(MODULE, tmp_path_factory.mktemp("digitalocean"), "digitalocean")


@pytest.fixture(scope="module", params=["stand-in"])
def network(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return validated_copy(NETWORK, tmp_path_factory.mktemp("network"), "digitalocean")


@pytest.fixture
def fake() -> Iterator[DigitaloceanFake]:
    with digitalocean_cloud() as cloud:
        yield cloud


def instance(node: str = "b-0", **other: Any) -> dict[str, Any]:
    return {
        "node": node,
        "generation": 1,
        "zone": "nyc3-a",
        "shape": "g-2vcpu-8gb",
        "image": "163663980",
        "intent_id": "i",
        "boot_data": "{}",
        "address": None,
        "tags": {"kedge-node": node},
        **other,
    }


def volume(node: str = "b-0", **other: Any) -> dict[str, Any]:
    given = {"node": node, "dir": "data", "version": 1, "zone": "nyc3-a", "kind": "persistent", "size_gib": 1}
    return {**given, **other}


def asked(folder: Path, fake: DigitaloceanFake, command: str, values: dict[str, Any], *more: str) -> Any:
    (folder / "x.auto.tfvars.json").write_text(json.dumps(values))
    environment = {"DIGITALOCEAN_TOKEN": TOKEN, "DIGITALOCEAN_API_URL": fake.url}
    return terraform(folder, command, "-no-color", "-input=false", *more, **environment)


def planned(folder: Path, fake: DigitaloceanFake, **variables: Any) -> Any:
    good = {
        "installation_id": "test",
        "cluster_uid": "c0ffee",
        "cluster_name": "orders",
        "region": "nyc3",
        "cloud": CLOUD,
    }
    return asked(folder, fake, "plan", good | variables, "-refresh=false", "-out=plan")


def words(done: Any) -> str:
    return " ".join(re.sub(r"[│╷╵]", " ", done.stderr).split())


def test_the_stand_in_refuses_what_the_provider_does_not_have(module: Path, tmp_path: Path) -> None:
    for path in module.glob("*.tf"):
        (tmp_path / path.name).write_text(path.read_text().replace("droplet_agent = false", "agent = false"))
    (tmp_path / "plugins").symlink_to(module / "plugins")
    assert terraform(tmp_path, "init", "-no-color").returncode == 0
    done = terraform(tmp_path, "validate", "-no-color")
    assert 'An argument named "agent" is not expected here' in words(done)


def test_both_modules_pin_the_same_provider() -> None:
    assert 'version = "2.99.1"' in (MODULE / "versions.tf").read_text()
    assert (NETWORK / "versions.tf").read_text() == (MODULE / "versions.tf").read_text()


def test_nothing_is_asked_that_could_answer_differently_tomorrow() -> None:
    code = "\n".join(path.read_text() for path in MODULE.glob("*.tf"))
    assert re.findall(r"^data ", code, flags=re.MULTILINE) == []
    assert re.findall(r"\b(timestamp|uuid|plantimestamp)\(", code) == []


def test_everything_that_exists_is_frozen() -> None:
    code = "\n".join(path.read_text() for path in MODULE.glob("*.tf"))
    made = re.findall(r'^resource "(\w+)" "(\w+)" {\n(.*?)^}', code, flags=re.MULTILINE | re.DOTALL)
    owned = [(kind, name) for kind, name, body in made if "ignore_changes = all" not in body]
    # What a node would own there is refused before it exists.
    assert sorted(owned) == [("terraform_data", "address"), ("terraform_data", "binding")]
    assert len(made) == 7


def test_a_vm_and_its_volume_are_planned_with_our_tags(module: Path, fake: DigitaloceanFake) -> None:
    keys = {"b-0.data.v1": volume(), f"{LONG}.data.v1": volume(LONG), f"{LONG}.data.v2": volume(LONG, version=2)}
    done = planned(module, fake, instances={"b-0.g1": instance(boot_data="x" * 65536)}, volumes=keys)
    assert done.returncode == 0, done.stderr
    told = json.loads(terraform(module, "show", "-json", "plan").stdout)
    made = {c["address"]: c["change"]["after"] for c in told["resource_changes"]}
    vm = made['digitalocean_droplet.instance["b-0.g1"]']
    assert (vm["image"], vm["droplet_agent"], sorted(vm["ssh_keys"])) == ("163663980", False, ["289794", "289795"])
    assert sorted(vm["tags"]) == ["kedge-network:test", "kedge-node:b-0", "kedge-zone:nyc3-a"]
    disks = [v for name, v in made.items() if "digitalocean_volume.volume" in name]
    assert tag("kedge-volume", "b-0.data.v1") in made['digitalocean_volume.volume["b-0.data.v1"]']["tags"]
    assert len({v["name"] for v in disks}) == 3
    assert all(re.fullmatch(r"[a-z][a-z0-9-]{0,63}", v["name"]) for v in disks)


def test_a_host_name_is_at_the_limit_at_most_and_of_one_vm_alone(module: Path, fake: DigitaloceanFake) -> None:
    node = "b" * 251
    keys = {f"{node}.g{n}": instance(node, generation=n, tags={}) for n in (1, 2)}
    done = planned(module, fake, instances={"b-0.g1": instance(), **keys})
    assert done.returncode == 0, done.stderr
    told = json.loads(terraform(module, "show", "-json", "plan").stdout)
    names = {c["change"]["after"]["name"] for c in told["resource_changes"] if c["type"] == "digitalocean_droplet"}
    assert len(names) == 3
    assert "orders-b-0.g1" in names
    assert sorted(map(len, names)) == [13, 255, 255]


def test_wrong_values_are_refused_before_anything_is_asked(module: Path, fake: DigitaloceanFake) -> None:
    wrong = {
        "b-0": (instance(image="ubuntu-24-04-x64"), "a slug could mean another one"),
        "b-1": (instance("b-1", boot_data="ü" * 40000), "at most 64 KiB"),
        "b-2": (instance("b-2", address="10.0.0.1"), "chooses a VM's private address"),
        "b-3": (instance("b-3", tags={"kedge-image": "4.2.0"}), "a tag is of a-z"),
    }
    done = planned(
        module,
        fake,
        cloud={"vpc": "default"},
        instances={f"{node}.g1": value for node, (value, _) in wrong.items()},
        volumes={"b-0.data.v1": volume(size_gib=0)},
    )
    assert done.returncode != 0
    said = words(done)
    for expected in [*(each for _, each in wrong.values()), "uuid of a VPC", "firewall_tag", "at least 1"]:
        assert expected in said
    assert not fake.calls


def test_a_node_that_is_to_own_an_address_is_told_why_not(module: Path, fake: DigitaloceanFake) -> None:
    done = planned(module, fake, addresses={"c-0": {"zone": "nyc3-a", "address": None}})
    assert done.returncode != 0
    assert "give brokers the new bootstrap list" in words(done)


def test_wrong_values_of_a_network_are_refused(network: Path, fake: DigitaloceanFake) -> None:
    wrong: dict[str, Any] = {"name": "", "cidr": "10.0.0.0/8", "zones": {"a": 1, "b": 1}, "clients": ["everybody"]}
    wrong["peers"] = ["there"]
    done = asked(network, fake, "plan", {**NETWORK_VALUES, **wrong})
    assert done.returncode != 0
    assert all(name in words(done) for name in wrong)


def test_a_network_is_made_and_its_settings_fit_the_file(network: Path, fake: DigitaloceanFake) -> None:
    applied = asked(network, fake, "apply", NETWORK_VALUES, "-auto-approve")
    assert applied.returncode == 0, applied.stderr
    (firewall,) = fake.firewalls.values()
    members = "kedge-network:test-kedge-nyc3"
    assert firewall["tags"] == [members]
    assert sorted((r["ports"], json.dumps(r["sources"])) for r in firewall["inbound_rules"]) == [
        ("9092", '{"addresses": ["10.8.0.0/16"]}'),
        ("9092-9093", json.dumps({"addresses": ["10.65.0.0/20"], "tags": [members]})),
    ]
    empty = asked(network, fake, "plan", NETWORK_VALUES, "-detailed-exitcode")
    assert empty.returncode == 0, empty.stdout
    told = json.loads(terraform(network, "output", "-json").stdout)["settings"]["value"]
    region = {**told, "images": {"4.2.0": 163663980}}
    read = DigitaloceanSettings.model_validate({"accounts": {"p": {"id": TEAM, "regions": {"nyc3": region}}}})
    assert read.accounts["p"].regions["nyc3"].racks == ("nyc3-a", "nyc3-b", "nyc3-c")
    without = asked(network, fake, "apply", {**NETWORK_VALUES, "clients": [], "peers": []}, "-auto-approve")
    assert without.returncode == 0, without.stderr
    assert [(r["ports"], r["sources"]) for r in firewall["inbound_rules"]] == [("9092-9093", {"tags": [members]})]
    gone = asked(network, fake, "destroy", NETWORK_VALUES, "-auto-approve")
    assert gone.returncode == 0, gone.stderr
    assert (fake.firewalls, list(fake.vpcs)) == ({}, [VPC])
