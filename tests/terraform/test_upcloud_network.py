"""The network for UpCloud, applied by hand as a person would, with a stand-in for the vendor's provider."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from providers.upcloud.settings import UpcloudSettings
from tests.fakes.clouds.upcloud import USERNAME, UpcloudServer, upcloud_cloud
from tests.fakes.clouds.upcloud_hands import HOME
from tests.terraform.standins import MODULES, terraform, validated_copy

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(300)]

MODULE = MODULES / "upcloud-network"
GOOD: dict[str, Any] = {
    "installation_id": "test",
    "name": "kedge",
    "region": HOME,
    "cidr": "10.20.0.0/16",
    "zones": {f"{HOME}-a": 0, f"{HOME}-b": 1, f"{HOME}-c": 2},
    "cloud": {"anti_affinity": "strict"},
}


@pytest.fixture(scope="module", params=["stand-in"])
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return validated_copy(MODULE, tmp_path_factory.mktemp("network"), "upcloud")


@pytest.fixture
def upcloud() -> Iterator[UpcloudServer]:
    with upcloud_cloud() as cloud:
        yield cloud


def run(folder: Path, upcloud: UpcloudServer, *arguments: str) -> Any:
    return terraform(folder, *arguments, UPCLOUD_TOKEN="ucat_test", UPCLOUD_DEBUG_API_BASE_URL=upcloud.url)


def test_the_provider_is_pinned_like_that_of_the_clusters() -> None:
    assert (MODULE / "versions.tf").read_text() == (MODULES / "upcloud" / "versions.tf").read_text()


def test_wrong_values_are_refused(folder: Path, upcloud: UpcloudServer) -> None:
    wrong = {
        "installation_id": "No",
        "name": "",
        "region": HOME,
        "cidr": "10.0.0.0/29",
        "zones": {"a": 1, "b": 1},
        "clients": ["everybody"],
        "broker_ports": [],
        "member_ports": [70000],
        "cloud": {"anti_affinity": "maybe", "more": "x"},
    }
    (folder / "x.auto.tfvars.json").write_text(json.dumps(wrong))
    done = run(folder, upcloud, "plan", "-no-color", "-input=false", "-refresh=false")
    assert done.returncode != 0
    for words in (
        "installation_id: 1-63",
        "name: 1-63",
        "/8 to /24",
        "named after",
        "own",
        "an IPv4 network, as 10.8.0.0/16",
        "broker_ports: at least one",
        "member_ports: at least one",
        "strict",
    ):
        assert words in done.stderr, words


@pytest.mark.soak  # by Kedge the same module is made, and gone, in test_networks_made.py
def test_a_network_is_made_is_stable_and_its_output_is_settings(folder: Path, upcloud: UpcloudServer) -> None:
    (folder / "x.auto.tfvars.json").write_text(json.dumps(GOOD))
    made = run(folder, upcloud, "apply", "-no-color", "-input=false", "-auto-approve")
    assert made.returncode == 0, made.stderr
    again = run(folder, upcloud, "plan", "-no-color", "-input=false", "-detailed-exitcode")
    assert again.returncode == 0, again.stdout
    given = json.loads(run(folder, upcloud, "output", "-json").stdout)["settings"]["value"]
    account = {"username": USERNAME, "regions": {HOME: given}}
    region = UpcloudSettings.model_validate({"accounts": {"p": account}}).accounts["p"].regions[HOME]
    assert region.zones == tuple(sorted(GOOD["zones"]))
    assert (region.network_range, region.node_addresses) == ("10.20.0.0/16", "10.20.128.0/17")
    assert (region.clients, region.broker_ports, region.member_ports) == ((), (9092,), (9093,))
    assert [g["anti_affinity"] for g in upcloud.things.groups.values()] == ["strict"]
    (network,) = upcloud.things.networks.values()
    assert (network["zone"], network["router"]) == (HOME, next(iter(upcloud.things.routers)))
    gone = run(folder, upcloud, "destroy", "-no-color", "-input=false", "-auto-approve")
    assert gone.returncode == 0, gone.stderr
    assert (upcloud.things.networks, upcloud.things.routers, upcloud.things.groups) == ({}, {}, {})
