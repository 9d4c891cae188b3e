"""The network for AWS, applied by hand as a person would, with the vendor's provider against moto."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from providers.aws.settings import AwsSettings
from tests.fakes.clouds.aws import ACCOUNT, MotoCloud, moto_cloud
from tests.fakes.clouds.aws_hands import REGION
from tests.terraform.awslife import MODULES, VERSION, initialised_copy, rules_alone, terraform

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(600)]

MODULE = MODULES / "aws-network"
GOOD: dict[str, Any] = {
    "installation_id": "test",
    "name": "kedge",
    "cloud": {"account_id": ACCOUNT},
    "region": REGION,
    "cidr": "10.20.0.0/20",
    "zones": {f"{REGION}a": 0, f"{REGION}b": 1, f"{REGION}c-p1": 2},
    "clients": ["10.8.0.0/16"],
    "peers": ["10.65.0.0/20"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return initialised_copy(MODULE, tmp_path_factory.mktemp("network"))


@pytest.fixture
def aws() -> Iterator[MotoCloud]:
    with moto_cloud() as cloud:
        yield cloud


def test_the_provider_is_pinned_like_that_of_the_clusters() -> None:
    assert (MODULE / "versions.tf").read_text() == (MODULES / "aws" / "versions.tf").read_text()
    assert VERSION in (MODULE / "versions.tf").read_text()


def test_it_is_formatted_and_valid(folder: Path) -> None:
    assert terraform(folder, "fmt", "-check", "-diff").stdout == ""
    done = terraform(folder, "validate", "-no-color")
    assert done.returncode == 0, done.stderr


def test_wrong_values_are_refused(tmp_path: Path) -> None:
    rules = rules_alone(MODULE, tmp_path)
    wrong = {
        "installation_id": "No",
        "name": "",
        "cloud": {"account_id": "12"},
        "region": "A",
        "cidr": "10.0.0.0/8",
        "zones": {"a": 1, "b": 1, "c": 16},
        "clients": ["everybody"],
        "peers": ["there"],
    }
    (rules / "x.auto.tfvars.json").write_text(json.dumps(wrong))
    done = terraform(rules, "plan", "-no-color", "-input=false", "-refresh=false")
    assert done.returncode != 0
    for words in (
        "installation_id: 1-63",
        "name: 1-63",
        "12 digits",
        "region: a-z",
        "/16 to /24",
        "0 to 15",
        "own",
        "clients: each",
        "peers: each",
    ):
        assert words in done.stderr, words


def test_a_network_is_made_is_stable_and_its_outputs_are_settings(folder: Path, aws: MotoCloud) -> None:
    def run(*arguments: str) -> Any:
        return terraform(
            folder,
            *arguments,
            AWS_ENDPOINT_URL=aws.url,
            AWS_ACCESS_KEY_ID="test",
            AWS_SECRET_ACCESS_KEY="test",
        )

    (folder / "x.auto.tfvars.json").write_text(json.dumps(GOOD))
    made = run("apply", "-no-color", "-input=false", "-auto-approve")
    assert made.returncode == 0, made.stderr
    again = run("plan", "-no-color", "-input=false", "-detailed-exitcode")
    assert again.returncode == 0, again.stdout
    outputs = {name: one["value"] for name, one in json.loads(run("output", "-json").stdout).items()}
    assert set(outputs) == {"settings"}
    given = outputs["settings"]
    region = {**given, "placement_group": "kedge-racks"}
    settings = AwsSettings.model_validate({"accounts": {"p": {"id": ACCOUNT, "regions": {REGION: region}}}})
    subnets = settings.accounts["p"].regions[REGION].subnets
    assert set(subnets) == set(GOOD["zones"])
    (there,) = aws.client(REGION).describe_subnets(SubnetIds=[subnets[f"{REGION}c-p1"]])["Subnets"]
    assert there["AvailabilityZone"] == f"{REGION}c"

    group = given["security_groups"][0]
    rules = aws.client(REGION).describe_security_group_rules(Filters=[{"Name": "group-id", "Values": [group]}])
    inward = [r for r in rules["SecurityGroupRules"] if not r["IsEgress"]]
    assert sorted((r["FromPort"], r.get("CidrIpv4", "members")) for r in inward) == [
        (9092, "10.65.0.0/20"),
        (9092, "10.8.0.0/16"),
        (9092, "members"),
        (9093, "10.65.0.0/20"),
        (9093, "members"),
    ]
    gone = run("destroy", "-no-color", "-input=false", "-auto-approve")
    assert gone.returncode == 0, gone.stderr
