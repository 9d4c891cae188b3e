"""The network for Hetzner, applied by hand as a person would, with the vendor's provider against the fake."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from providers.hetzner.settings import HetznerSettings
from tests.fakes.clouds.hetzner import TOKEN, FakeHetzner, fake_hetzner
from tests.fakes.clouds.hetzner_hands import REGION
from tests.terraform.hetznerlife import MODULES, initialised_copy, terraform

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(300)]

MODULE = MODULES / "hetzner-network"
GOOD: dict[str, Any] = {
    "installation_id": "test",
    "name": "kedge",
    "region": REGION,
    "cidr": "10.20.0.0/20",
    "zones": {"fsn1": 0, "nbg1": 1, "hel1": 2},
    "clients": ["10.8.0.0/16"],
    "cloud": {"placement_groups": "3", "poll_interval": "50ms", "poll_function": "constant"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return initialised_copy(MODULE, tmp_path_factory.mktemp("network"))


@pytest.fixture
def hetzner() -> Iterator[FakeHetzner]:
    with fake_hetzner() as cloud:
        yield cloud


def test_the_provider_is_pinned_like_that_of_the_clusters() -> None:
    assert (MODULE / "versions.tf").read_text() == (MODULES / "hetzner" / "versions.tf").read_text()


def test_it_is_formatted_and_valid(folder: Path) -> None:
    assert terraform(folder, "fmt", "-check", "-diff").stdout == ""
    done = terraform(folder, "validate", "-no-color")
    assert done.returncode == 0, done.stderr


def test_wrong_values_are_refused(folder: Path) -> None:
    wrong = {
        "installation_id": "No",
        "name": "",
        "region": "A",
        "cidr": "10.0.0.0/8",
        "zones": {"a": 1, "b": 1, "c": 16},
        "clients": ["everybody"],
        "cloud": {"placement_groups": "51"},
    }
    (folder / "x.auto.tfvars.json").write_text(json.dumps(wrong))
    done = terraform(folder, "plan", "-no-color", "-input=false", "-refresh=false")
    assert done.returncode != 0
    for words in (
        "installation_id: 1-63",
        "name: 1-48",
        "region: a-z",
        "/16 to /22",
        "0 to 15",
        "number of its own",
        "as 10.8.0.0/16",
        "0 to 50",
    ):
        assert words in done.stderr, words


def test_a_network_is_made_is_stable_and_its_output_is_settings(folder: Path, hetzner: FakeHetzner) -> None:
    def run(*arguments: str) -> Any:
        return terraform(folder, *arguments, HCLOUD_ENDPOINT=hetzner.url, HCLOUD_TOKEN=TOKEN)

    (folder / "x.auto.tfvars.json").write_text(json.dumps(GOOD))
    made = run("apply", "-no-color", "-input=false", "-auto-approve")
    assert made.returncode == 0, made.stderr
    again = run("plan", "-no-color", "-input=false", "-detailed-exitcode")
    assert again.returncode == 0, again.stdout
    told = json.loads(run("output", "-json").stdout)
    assert set(told) == {"settings"}
    settings = HetznerSettings.model_validate({"accounts": {"p": {"regions": {REGION: told["settings"]["value"]}}}})
    region = settings.accounts["p"].regions[REGION]
    assert set(region.subnets) == set(GOOD["zones"])
    assert len(region.placement_groups) == 3
    assert region.clients == ("10.8.0.0/16",)
    assert {s["ip_range"] for s in hetzner.project.networks[region.node_network]["subnets"]} == {
        region.member_range,
        region.node_range,
    }

    (firewall,) = hetzner.project.kinds["firewalls"].values()
    assert [(r["direction"], r["port"], r["source_ips"]) for r in firewall["rules"]] == [
        ("in", "9092", ["10.8.0.0/16"])
    ]
    assert [one["label_selector"]["selector"] for one in firewall["applied_to"]] == ["kedge-installation=test"]
    gone = run("destroy", "-no-color", "-input=false", "-auto-approve")
    assert gone.returncode == 0, gone.stderr
    assert all(not hetzner.project.kinds[kind] for kind in ("networks", "placement_groups", "firewalls"))
