"""The network for Azure, applied by hand as a person would, with the stand-in against our fake."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from providers.azure.settings import AzureRegion
from tests.fakes.clouds.azure import ACCOUNT, TENANT, AzureCloudFake, azure_cloud
from tests.fakes.clouds.azure_hands import REGION
from tests.terraform.standins import MODULES, terraform, validated_copy

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(120)]

MODULE = MODULES / "azure-network"
GOOD: dict[str, Any] = {
    "installation_id": "test",
    "name": "kedge",
    "region": REGION,
    "cidr": "10.20.0.0/20",
    "zones": {f"{REGION}-1": 0, f"{REGION}-2": 1, f"{REGION}-3": 2},
    "clients": ["10.8.0.0/16"],
    "peers": ["10.65.0.0/20"],
    "cloud": {"account_id": ACCOUNT, "tenant_id": TENANT},
}
DOMAINS = GOOD | {"zones": {f"{REGION}-fd0": 0, f"{REGION}-fd1": 1}, "clients": [], "peers": []}


@pytest.fixture(scope="module", params=["stand-in"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return validated_copy(MODULE, tmp_path_factory.mktemp("network"), "azure")


@pytest.fixture
def azure() -> Iterator[AzureCloudFake]:
    with azure_cloud() as cloud:
        yield cloud


def run(folder: Path, azure: AzureCloudFake, variables: dict[str, Any], *arguments: str) -> Any:
    (folder / "x.auto.tfvars.json").write_text(json.dumps(variables))
    host = azure.url.removeprefix("http://")
    done = terraform(folder, *arguments, ARM_METADATA_HOSTNAME=host, ARM_CLIENT_SECRET="test")
    assert done.returncode == 0, done.stderr + done.stdout
    return done


def test_the_provider_is_pinned_like_that_of_the_clusters() -> None:
    assert (MODULE / "versions.tf").read_text() == (MODULES / "azure" / "versions.tf").read_text()


def test_it_is_formatted(folder: Path) -> None:
    assert terraform(folder, "fmt", "-check", "-diff").stdout == ""


def test_wrong_values_are_refused(folder: Path) -> None:
    wrong = {
        "installation_id": "No",
        "name": "",
        "region": REGION,
        "cidr": "10.0.0.0/8",
        "zones": {"a": 1, "b": 1, "c": 16},
        "clients": ["everybody"],
        "peers": ["there"],
        "cloud": GOOD["cloud"],
    }
    # A rule that looks at another variable is not judged while that is wrong, hence a plan of its own.
    others = (wrong, GOOD | {"region": "A"}, GOOD | {"cloud": {"account_id": "12", "tenant_id": TENANT}})
    told = " ".join(refused(folder, variables) for variables in others)
    for words in (
        "installation_id: 1-63",
        "name: 1-63",
        "region: a-z",
        "/16 to /24",
        "0 to 15",
        "a number of its own",
        "is named after its region",
        "id of the subscription",
        "clients: each is an IPv4 network",
        "peers: each is an IPv4 network",
    ):
        assert words in told, words


def refused(folder: Path, variables: dict[str, Any]) -> str:
    (folder / "x.auto.tfvars.json").write_text(json.dumps(variables))
    done = terraform(folder, "plan", "-no-color", "-input=false", "-refresh=false", ARM_CLIENT_SECRET="x")
    assert done.returncode != 0
    return " ".join(done.stderr.split())


def test_a_network_is_made_is_stable_and_its_output_is_a_regions_settings(folder: Path, azure: AzureCloudFake) -> None:
    run(folder, azure, GOOD, "apply", "-no-color", "-input=false", "-auto-approve")
    run(folder, azure, GOOD, "plan", "-no-color", "-input=false", "-detailed-exitcode")
    given = json.loads(run(folder, azure, GOOD, "output", "-json").stdout)["settings"]["value"]
    region = AzureRegion.model_validate(given)
    assert {zone: told.place for zone, told in region.zones.items()} == {f"{REGION}-{n}": str(n) for n in (1, 2, 3)}
    assert (region.resource_group, region.scale_set) == ("kedge", None)

    things = azure.things.by_id.values()
    rules = sorted(
        (t["properties"] for t in things if t["type"].endswith("/securityrules")), key=lambda r: r["priority"]
    )
    subnets = [f"10.20.{n}.0/24" for n in range(3)]
    assert [(r["access"], r["destinationPortRange"], r["sourceAddressPrefixes"]) for r in rules] == [
        ("Allow", "9092", subnets),
        ("Allow", "9093", subnets),
        ("Allow", "9092", ["10.65.0.0/20"]),
        ("Allow", "9093", ["10.65.0.0/20"]),
        ("Allow", "9092", ["10.8.0.0/16"]),
        ("Deny", "*", []),
    ]
    assert {r["direction"] for r in rules} == {"Inbound"}
    made = [t["properties"] for t in things if t["type"].endswith("/subnets")]
    assert len(made) == 3
    assert all(s["networkSecurityGroup"]["id"].endswith("/kedge-kafka") for s in made)
    assert {s["defaultOutboundAccess"] for s in made} == {False}
    run(folder, azure, GOOD, "destroy", "-no-color", "-input=false", "-auto-approve")
    assert azure.things.by_id == {}


@pytest.mark.soak
def test_a_region_without_zones_gets_a_set_of_fault_domains(folder: Path, azure: AzureCloudFake) -> None:
    run(folder, azure, DOMAINS, "apply", "-no-color", "-input=false", "-auto-approve")
    given = json.loads(run(folder, azure, DOMAINS, "output", "-json").stdout)["settings"]["value"]
    region = AzureRegion.model_validate(given)
    assert {told.place for told in region.zones.values()} == {"fd0", "fd1"}
    (domains,) = (t for t in azure.things.by_id.values() if t["type"].endswith("/virtualmachinescalesets"))
    assert (domains["properties"]["platformFaultDomainCount"], region.scale_set) == (2, domains["id"])
    run(folder, azure, DOMAINS, "destroy", "-no-color", "-input=false", "-auto-approve")
