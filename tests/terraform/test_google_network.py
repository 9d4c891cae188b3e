"""The network for Google Cloud, applied by hand as a person would, with a stand-in for the vendor's provider."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from providers.google.settings import GoogleSettings
from tests.fakes.clouds.google import GoogleFake, google_fake
from tests.fakes.clouds.google_hands import HOME
from tests.fakes.clouds.google_world import NUMBER, PROJECT
from tests.terraform.standins import MODULES, terraform, validated_copy

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(120)]

MODULE = MODULES / "google-network"
GOOD: dict[str, Any] = {
    "installation_id": "test",
    "name": "kedge",
    "region": HOME,
    "cidr": "10.20.0.0/20",
    "zones": {f"{HOME}-b": 0, f"{HOME}-c": 1, f"{HOME}-d": 2},
    "clients": ["10.8.0.0/16"],
    "peers": ["10.65.0.0/20"],
    "cloud": {"project": PROJECT},
}


@pytest.fixture(scope="module", params=["stand-in"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return validated_copy(MODULE, tmp_path_factory.mktemp("network"), "google")


@pytest.fixture
def google() -> Iterator[GoogleFake]:
    with google_fake() as fake:
        yield fake


def test_the_provider_is_pinned_like_that_of_the_clusters() -> None:
    assert (MODULE / "versions.tf").read_text() == (MODULES / "google" / "versions.tf").read_text()


def test_it_is_formatted(folder: Path) -> None:
    assert terraform(folder, "fmt", "-check", "-diff").stdout == ""


def test_wrong_values_are_refused(folder: Path) -> None:
    wrong = {
        "installation_id": "No",
        "name": "9-" + "x" * 40,
        "region": "A",
        "cidr": "10.0.0.0/8",
        "zones": {"europe": 1, f"{HOME}-b": 1, f"{HOME}-c": 16},
        "clients": ["everybody"],
        "peers": ["there"],
        "cloud": {"project": ""},
    }
    (folder / "x.auto.tfvars.json").write_text(json.dumps(wrong))
    done = terraform(folder, "plan", "-no-color", "-input=false", "-refresh=false")
    assert done.returncode != 0
    told = " ".join(re.sub(r"[│╷╵]", " ", done.stderr).split())
    for words in (
        "installation_id: 1-63",
        "name: a letter",
        "region: a-z",
        "/16 to /24",
        "0 to 15",
        "as europe-west1-b",
        "each zone has a number of its own",
        "clients: each is an IPv4 network",
        "peers: each is an IPv4 network",
        "id of the project",
    ):
        assert words in told, words


@pytest.mark.soak  # by Kedge the same module is made, and gone, in test_networks_made.py
def test_a_network_is_made_is_stable_and_its_output_is_settings(folder: Path, google: GoogleFake) -> None:
    environment = {
        "GOOGLE_OAUTH_ACCESS_TOKEN": "ya29.test",
        "GOOGLE_COMPUTE_CUSTOM_ENDPOINT": f"{google.url}/compute/v1/",
    }

    def run(*arguments: str) -> Any:
        return terraform(folder, *arguments, **environment)

    (folder / "x.auto.tfvars.json").write_text(json.dumps(GOOD))
    made = run("apply", "-no-color", "-input=false", "-auto-approve")
    assert made.returncode == 0, made.stderr
    again = run("plan", "-no-color", "-input=false", "-detailed-exitcode")
    assert again.returncode == 0, again.stdout
    settings = json.loads(run("output", "-json").stdout)["settings"]["value"]
    account = {"project": PROJECT, "number": NUMBER, "regions": {HOME: settings}}
    read = GoogleSettings.model_validate({"accounts": {"p": account}}).accounts["p"].regions[HOME]
    assert set(read.subnetworks) == set(GOOD["zones"])

    assert sorted(s["ipCidrRange"] for s in google.world.of("subnetworks")) == [
        "10.20.0.0/24",
        "10.20.1.0/24",
        "10.20.2.0/24",
    ]
    rules = google.world.of("firewalls")
    assert {r["direction"] for r in rules} == {"INGRESS"}
    assert {tuple(r["targetTags"]) for r in rules} == {read.network_tags}
    assert sorted((r["allowed"][0]["ports"][0], str(r.get("sourceRanges", "members"))) for r in rules) == [
        ("9092", "['10.65.0.0/20']"),
        ("9092", "['10.8.0.0/16']"),
        ("9092", "members"),
        ("9093", "['10.65.0.0/20']"),
        ("9093", "members"),
    ]
    gone = run("destroy", "-no-color", "-input=false", "-auto-approve")
    assert gone.returncode == 0, gone.stderr
    assert google.world.things == {}
