"""The module for AWS under the provider it pins: valid, and bad values are refused before any call is made."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.terraform.awslife import MODULES, VERSION, initialised_copy, rules_alone, terraform

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(300)]

MODULE = MODULES / "aws"
CLOUD = {"account_id": "123456789012", "security_groups": "sg-00000001", "subnet_eu-west-1a": "subnet-0000000a"}


def text(name: str) -> str:
    return (MODULE / name).read_text()


@pytest.fixture(scope="module")
def initialised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the module after `init`, with the provider from a folder of this machine."""
    return initialised_copy(MODULE, tmp_path_factory.mktemp("aws"))


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rules_alone(MODULE, tmp_path_factory.mktemp("rules"))


def test_the_provider_is_pinned_exactly() -> None:
    assert f'version = "{VERSION}"' in text("versions.tf")


def test_nothing_is_asked_that_could_answer_differently_tomorrow() -> None:
    code = "\n".join(path.read_text() for path in MODULE.glob("*.tf"))
    assert re.findall(r"^data ", code, flags=re.MULTILINE) == []
    assert re.findall(r"\b(timestamp|uuid|plantimestamp)\(", code) == []


def test_everything_that_exists_is_frozen() -> None:
    code = "\n".join(path.read_text() for path in MODULE.glob("*.tf"))
    made = re.findall(r'^resource "\w+" "(\w+)" {\n(.*?)^}', code, flags=re.MULTILINE | re.DOTALL)
    assert len(made) == 7
    assert [name for name, body in made if "ignore_changes = all" not in body] == []


def test_machines_take_tokens_only_and_disks_are_encrypted() -> None:
    assert re.search(r'http_tokens\s+= "required"', text("instances.tf"))
    assert text("instances.tf").count("encrypted   = true") == 1
    assert re.search(r"encrypted\s+= true", text("volumes.tf"))


def test_the_module_is_valid_under_the_real_provider(initialised: Path) -> None:
    done = terraform(initialised, "validate", "-no-color", "-json")
    told: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode, told["valid"], told["error_count"], told["warning_count"]) == (0, True, 0, 0)


def test_wrong_values_are_refused_before_anything_is_asked(rules: Path) -> None:
    instance = {
        "node": "b-0",
        "generation": 1,
        "zone": "eu-west-1a",
        "shape": "m7g.large",
        "image": "latest",
        "intent_id": "",
        "boot_data": "x" * 16385,
        "address": None,
        "tags": {},
    }
    wrong = {
        "installation_id": "No Spaces",
        "cluster_uid": "../up",
        "cluster_name": "",
        "region": "A",
        "instances": {"wrong-key": instance},
        "volumes": {"b-0.data.v2": {**_volume(), "version": 1, "size_gib": 0}},
        "addresses": {"c-0": {"zone": "eu-west-1a", "address": "nowhere"}},
    }
    told = refused(rules, wrong | {"cloud": CLOUD})
    for words in (
        "installation_id: 1-63",
        "cluster_uid: 1-63",
        "cluster_name: 1-63",
        "region: a-z",
        "<node>.g<generation>",
        "every VM carries its intent id",
        "a name could mean another one tomorrow",
        "at most 16 KiB",
        "<node>.<dir>.v<version>",
        "size_gib must be at least 1",
        "an IPv4 address of the subnet",
    ):
        assert words in told, words


def test_values_that_do_not_fit_each_other_are_refused_too(rules: Path) -> None:
    # A rule that looks at other variables is not judged while those are wrong, hence a plan of its own.
    wrong = {
        "installation_id": "test",
        "cluster_uid": "c0ffee",
        "cluster_name": "orders",
        "region": "eu-west-1",
        "cloud": {"account_id": "12", "security_groups": "all"},
        "addresses": {"c-0": {"zone": "eu-west-1c", "address": None}},
        "attachments": {"b-0.g1.data": {"instance": "b-0.g1", "volume": "b-0.data.v1"}},
        "bindings": {"c-0.g1": {"node": "c-0", "instance": "c-0.g1"}},
    }
    told = refused(rules, wrong)
    for words in (
        "12 digits of the account",
        "ids of security groups",
        "each zone in use needs",
        "both the instance and the volume must be in the rendered set",
        "the node's address must be in the rendered set",
    ):
        assert words in told, words


def test_partitions_without_the_name_of_their_group_are_refused(rules: Path) -> None:
    zone = "eu-west-1a-p2"
    instance = {"node": "b-0", "generation": 1, "zone": zone, "shape": "m7g.large", "image": "ami-00000001"}
    wrong = {
        "installation_id": "test",
        "cluster_uid": "c0ffee",
        "cluster_name": "orders",
        "region": "eu-west-1",
        "cloud": CLOUD | {f"subnet_{zone}": "subnet-0000000a"},
        "instances": {"b-0.g1": {**instance, "intent_id": "i", "boot_data": "x", "address": None, "tags": {}}},
    }
    assert "partitions need `placement_group`" in refused(rules, wrong)


def refused(directory: Path, variables: dict[str, Any]) -> str:
    """What a plan with these values ends with."""
    (directory / "x.auto.tfvars.json").write_text(json.dumps(variables))
    done = terraform(directory, "plan", "-no-color", "-input=false", "-refresh=false")
    assert done.returncode != 0
    return " ".join(re.sub(r"[│╷╵]", " ", done.stderr).split())


def _volume() -> dict[str, Any]:
    return {"node": "b-0", "dir": "data", "version": 1, "zone": "eu-west-1a", "kind": "persistent", "size_gib": 1}
