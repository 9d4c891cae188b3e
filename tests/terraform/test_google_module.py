"""The module for Google Cloud under the provider's own schema: valid, and bad values are refused before any call."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.clouds.google_names import name_of
from tests.standins.mirror import pinned
from tests.terraform.standins import MODULES, terraform, validated_copy

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(120)]

MODULE = MODULES / "google"
CLOUD = {
    "project": "kedge-test-1",
    "network_tags": "kedge-kafka",
    "subnetwork_europe-west1-b": "projects/kedge-test-1/regions/europe-west1/subnetworks/kedge",
}
GOOD: dict[str, Any] = {
    "installation_id": "test",
    "cluster_uid": "c0ffee",
    "cluster_name": "orders",
    "region": "europe-west1",
    "cloud": CLOUD,
}
INSTANCE: dict[str, Any] = {
    "node": "b-0",
    "generation": 1,
    "zone": "europe-west1-b",
    "shape": "n2d-standard-2",
    "image": "projects/kedge-test-1/global/images/kafka-1",
    "intent_id": "i",
    "boot_data": "{}",
    "address": None,
    "tags": {"kedge-node": "b-0"},
}
VOLUME: dict[str, Any] = {
    "node": "b-0",
    "dir": "data",
    "version": 1,
    "zone": "europe-west1-b",
    "kind": "persistent",
    "size_gib": 1,
}


def text(name: str) -> str:
    return (MODULE / name).read_text()


@pytest.fixture(scope="module", params=["stand-in"])
def initialised(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the module after `init` and `validate`: nothing in it that the schema document does not have."""
    return validated_copy(MODULE, tmp_path_factory.mktemp("google"), "google")


def test_the_provider_is_pinned_exactly() -> None:
    assert pinned("google") == ("hashicorp/google", "7.45.0")


def test_nothing_is_asked_that_could_answer_differently_tomorrow() -> None:
    code = "\n".join(path.read_text() for path in MODULE.glob("*.tf"))
    assert re.findall(r"^data ", code, flags=re.MULTILINE) == []
    assert re.findall(r"\b(timestamp|uuid|plantimestamp)\(", code) == []


def test_everything_that_exists_is_frozen() -> None:
    code = "\n".join(path.read_text() for path in MODULE.glob("*.tf"))
    made = re.findall(r'^resource "\w+" "(\w+)" {\n(.*?)^}', code, flags=re.MULTILINE | re.DOTALL)
    assert len(made) == 7
    assert [name for name, body in made if "ignore_changes = all" not in body] == []


def test_a_vm_has_no_way_in_but_its_network_and_no_rights() -> None:
    code = text("instances.tf")
    assert re.findall(r"^ +(access_config|service_account|can_ip_forward)", code, flags=re.MULTILINE) == []
    for line in (
        'block-project-ssh-keys = "TRUE"',
        'enable-oslogin         = "FALSE"',
        'serial-port-enable     = "FALSE"',
    ):
        assert line in code
    shielded = {"enable_secure_boot", "enable_vtpm", "enable_integrity_monitoring"}
    assert set(re.findall(r"^ +(\w+) += true$", code, flags=re.MULTILINE)) == {"auto_delete", "preemptible", *shielded}


def test_names_are_those_the_code_knows_and_never_too_long_nor_the_same(initialised: Path) -> None:
    nodes = ["b-0", "brokers-" + "x" * 60 + "-0", "brokers-" + "x" * 60 + "-1"]
    instances = {f"{n}.g1": INSTANCE | {"node": n} for n in nodes}
    volumes = {f"{n}.data.v1": VOLUME | {"node": n} for n in nodes}
    addresses = {n: {"zone": "europe-west1-b", "address": None} for n in nodes}
    planned = plan(initialised, {"instances": instances, "volumes": volumes, "addresses": addresses})
    named = {(r["name"], r["index"]): r["change"]["after"]["name"] for r in planned["resource_changes"]}
    assert named == {
        (kind, key): name_of("test", "c0ffee", "orders", kind, key)
        for kind, keys in (("instance", instances), ("volume", volumes), ("address", addresses))
        for key in keys
    }
    assert len(set(named.values())) == 9
    assert all(re.fullmatch(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?", name) for name in named.values())
    labelled = {
        r["index"]: r["change"]["after"]["labels"] for r in planned["resource_changes"] if r["name"] == "volume"
    }
    for node in nodes:
        told = labelled[f"{node}.data.v1"]
        assert told["kedge-node"] + told.get("kedge-node-2", "") == node
        assert all(len(value) <= 63 for value in told.values())


def test_wrong_values_are_refused_before_anything_is_asked(initialised: Path) -> None:
    odd = INSTANCE | {"image": "debian-12", "intent_id": "", "boot_data": "x" * 262145, "tags": {"kedge-node": "B"}}
    wrong = {
        "installation_id": "No Spaces",
        "cluster_uid": "../up",
        "cluster_name": "",
        "region": "A",
        "instances": {"wrong-key": odd},
        "volumes": {"b-0.data.v2": VOLUME | {"size_gib": 0, "dir": "No"}},
        "addresses": {"c-0": {"zone": "europe-west1-b", "address": "nowhere"}},
    }
    told = refused(initialised, wrong)
    for words in (
        "installation_id: 1-63",
        "cluster_uid: 1-63",
        "cluster_name: 1-63",
        "region: a-z",
        "<node>.g<generation>",
        "every VM carries its intent id",
        "a family could mean another one tomorrow",
        "at most 256 KiB",
        "tags are labels",
        "<node>.<dir>.v<version>",
        "size_gib must be at least 1",
        "dir is a letter",
        "an IPv4 address of the subnetwork",
    ):
        assert words in told, words


def test_values_that_do_not_fit_each_other_are_refused_too(initialised: Path) -> None:
    # A rule that looks at other variables is not judged while those are wrong, hence a plan of its own.
    wrong = {
        "cloud": {"project": "X", "network_tags": "All of them"},
        "addresses": {"c-0": {"zone": "europe-west1-c", "address": None}},
        "attachments": {"b-0.g1.data": {"instance": "b-0.g1", "volume": "b-0.data.v1"}},
        "bindings": {"c-0.g1": {"node": "c-0", "instance": "c-0.g1"}},
    }
    told = refused(initialised, wrong)
    for words in (
        "id of the project",
        "network tags with a space between",
        "each zone in use needs",
        "both the instance and the volume must be in the rendered set",
        "the node's address must be in the rendered set",
    ):
        assert words in told, words


def test_nothing_hangs_on_two_vms(initialised: Path) -> None:
    twice = {
        "instances": {f"b-0.g{n}": INSTANCE | {"generation": n} for n in (1, 2)},
        "volumes": {"b-0.data.v1": VOLUME},
        "addresses": {"b-0": {"zone": "europe-west1-b", "address": None}},
        "attachments": {f"b-0.g{n}.data": {"instance": f"b-0.g{n}", "volume": "b-0.data.v1"} for n in (1, 2)},
        "bindings": {f"b-0.g{n}": {"node": "b-0", "instance": f"b-0.g{n}"} for n in (1, 2)},
    }
    told = refused(initialised, twice)
    assert "a volume is on one instance at a time" in told
    assert "a node's address is on one instance at a time" in told


def plan(directory: Path, variables: dict[str, Any]) -> dict[str, Any]:
    """What would be made of these values, as Terraform shows it."""
    (directory / "x.auto.tfvars.json").write_text(json.dumps(GOOD | variables))
    token = {"GOOGLE_OAUTH_ACCESS_TOKEN": "ya29.test"}
    done = terraform(directory, "plan", "-no-color", "-input=false", "-refresh=false", "-out=x.tfplan", **token)
    assert done.returncode == 0, done.stderr
    shown = terraform(directory, "show", "-json", "x.tfplan")
    told: dict[str, Any] = json.loads(shown.stdout)
    return told


def refused(directory: Path, variables: dict[str, Any]) -> str:
    """What a plan with these values ends with."""
    (directory / "x.auto.tfvars.json").write_text(json.dumps(GOOD | variables))
    done = terraform(directory, "plan", "-no-color", "-input=false", "-refresh=false")
    assert done.returncode != 0
    return " ".join(re.sub(r"[│╷╵]", " ", done.stderr).split())
