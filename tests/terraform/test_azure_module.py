"""The module for Azure under the stand-in: valid, and bad values are refused before any call is made."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.clouds.azure import ACCOUNT, TENANT
from tests.fakes.clouds.azure_hands import IMAGES, KEY, NETWORK
from tests.standins.document import document_of
from tests.terraform.standins import MODULES, terraform, validated_copy

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(120)]

MODULE = MODULES / "azure"
CLOUD = {
    "account_id": ACCOUNT,
    "tenant_id": TENANT,
    "resource_group": "kedge",
    "ssh_key": KEY,
    "encryption_at_host": "true",
    "secure_boot": "true",
    "scale_set": "",
    "subnet_westeurope-1": f"{NETWORK}/virtualNetworks/kedge/subnets/a",
    "zone_westeurope-1": "1",
}


def code() -> str:
    return "\n".join(path.read_text() for path in sorted(MODULE.glob("*.tf")))


@pytest.fixture(scope="module", params=["stand-in"])
def initialised(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the module after `init` and `validate`."""
    return validated_copy(MODULE, tmp_path_factory.mktemp("azure"), "azure")


def test_the_provider_is_pinned_exactly() -> None:
    assert 'version = "5.2.0"' in (MODULE / "versions.tf").read_text()


def test_nothing_is_asked_that_could_answer_differently_tomorrow() -> None:
    assert re.findall(r"^data ", code(), flags=re.MULTILINE) == []
    assert re.findall(r"\b(timestamp|uuid|plantimestamp)\(", code()) == []


def test_everything_that_exists_is_frozen() -> None:
    made = re.findall(r'^resource "\w+" "(\w+)" {\n(.*?)^}', code(), flags=re.MULTILINE | re.DOTALL)
    assert len(made) == 9
    assert [name for name, body in made if "ignore_changes = all" not in body] == []


def test_every_part_of_it_is_in_the_providers_schema() -> None:
    resources = document_of("azure").resources
    made = re.findall(r'^resource "(azurerm_\w+)" "\w+" {\n(.*?)^}', code(), flags=re.MULTILINE | re.DOTALL)
    assert len(made) == 6
    for type_name, body in made:
        used = set(re.findall(r"^  (\w+)\s+=", body, flags=re.MULTILINE)) - {"for_each", "depends_on"}
        blocks = set(re.findall(r"^  (\w+) {", body, flags=re.MULTILINE)) - {"lifecycle"}
        schema = resources[type_name]
        assert used <= schema["attributes"].keys(), type_name
        assert blocks <= schema["blocks"].keys(), type_name
        assert {n for n, (_, *modes) in schema["attributes"].items() if "required" in modes} <= used, type_name
        assert {n for n, b in schema["blocks"].items() if b.get("required")} <= blocks, type_name


def test_no_vm_has_a_public_address_it_did_not_ask_for_a_password_or_an_open_disk() -> None:
    (public,) = re.findall(r'^resource "azurerm_public_ip" "\w+" {\n(.*?)^}', code(), flags=re.MULTILINE | re.DOTALL)
    assert "for_each = { for k, i in var.instances : k => i if i.public_address }" in public
    assert re.findall(r"public_ip_address_id\s+= (\S+) \?", code()) == ["each.value.public_address"]
    assert re.search(r"disable_password_authentication\s+= true", code())
    assert re.search(r"allow_extension_operations\s+= false", code())
    assert re.search(r'network_access_policy\s+= "DenyAll"', code())
    assert re.search(r"public_network_access_enabled\s+= false", code())


def test_a_name_is_at_the_limit_at_most_and_stands_for_one_thing(initialised: Path) -> None:
    long = "a-name-of-a-cluster-that-goes-on-and-on-until-it-is-at-the-limit"[:63]
    instances = {f"b-{n}.g1": {**_instance(), "node": f"b-{n}"} for n in range(2)}
    resources = planned(initialised, _good() | {"cluster_name": long, "instances": instances})
    names = {(r["type"], r["index"]): r["values"]["name"] for r in resources}
    for kind in ("azurerm_linux_virtual_machine", "azurerm_network_interface"):
        for key in instances:
            # All that tells two things apart is in the last part: installation, cluster and key.
            mark = hashlib.sha256(f"test/c0ffee/{key}".encode()).hexdigest()[:20]
            assert names[kind, key] == f"{long[:43]}-{mark}"
            assert len(names[kind, key]) == 64


def test_wrong_values_are_refused_before_anything_is_asked(initialised: Path) -> None:
    instance = {**_instance(), "image": f"{IMAGES}/latest", "intent_id": "", "boot_data": "x" * 49153}
    wrong = {
        "installation_id": "No Spaces",
        "cluster_uid": "../up",
        "cluster_name": "",
        "region": "A",
        "cloud": CLOUD,
        "instances": {"wrong-key": instance},
        "volumes": {"b-0.data.v2": {**_volume(), "size_gib": 0}},
        "addresses": {"c-0": {"zone": "westeurope-1", "address": "nowhere"}},
    }
    told = refused(initialised, wrong)
    for words in (
        "installation_id: 1-63",
        "cluster_uid: 1-63",
        "cluster_name: 1-63",
        "region: a-z",
        "<node>.g<generation>",
        "every VM carries its intent id",
        "a newest one could mean another tomorrow",
        "at most 65535 bytes",
        "<node>.<dir>.v<version>",
        "size_gib must be at least 1",
        "an IPv4 address of the subnet",
    ):
        assert words in told, words


def test_values_that_do_not_fit_each_other_are_refused_too(initialised: Path) -> None:
    # A rule that looks at other variables is not judged while those are wrong, hence a plan of its own.
    cloud = {**CLOUD, "account_id": "12", "resource_group": "No/Path", "ssh_key": "secret", "secure_boot": "yes"}
    told = refused(
        initialised,
        _good()
        | {
            "cloud": {**cloud, "zone_westeurope-2": "fd0"},
            "addresses": {"c-0": {"zone": "westeurope-9", "address": None}},
            "attachments": {"b-0.g1.data": {"instance": "b-0.g1", "volume": "b-0.data.v1"}},
            "bindings": {"c-0.g1": {"node": "c-0", "instance": "c-0.g1"}},
        },
    )
    for words in (
        "id of the subscription",
        "name of a resource group",
        "must be a public key",
        "`secure_boot` are",
        "each zone in use needs",
        "fault domains need",
        "both the instance and the volume must be in the rendered set",
        "the node's address must be in the rendered set",
    ):
        assert words in told, words


def refused(directory: Path, variables: dict[str, Any]) -> str:
    """What a plan with these values ends with."""
    (directory / "x.auto.tfvars.json").write_text(json.dumps(variables))
    done = terraform(directory, "plan", "-no-color", "-input=false", "-refresh=false", ARM_CLIENT_SECRET="x")
    assert done.returncode != 0
    return " ".join(re.sub(r"[│╷╵]", " ", done.stderr).split())


def planned(directory: Path, variables: dict[str, Any]) -> list[dict[str, Any]]:
    """Resources as a plan with these values would make them."""
    (directory / "x.auto.tfvars.json").write_text(json.dumps(variables))
    done = terraform(directory, "plan", "-no-color", "-out=made", ARM_CLIENT_SECRET="x", ARM_METADATA_HOSTNAME="none")
    assert done.returncode == 0, done.stderr
    shown = json.loads(terraform(directory, "show", "-json", "made").stdout)
    told: list[dict[str, Any]] = shown["planned_values"]["root_module"]["resources"]
    return told


def _good() -> dict[str, Any]:
    return {
        "installation_id": "test",
        "cluster_uid": "c0ffee",
        "cluster_name": "orders",
        "region": "westeurope",
        "cloud": CLOUD,
    }


def _instance() -> dict[str, Any]:
    return {
        "node": "b-0",
        "generation": 1,
        "zone": "westeurope-1",
        "shape": "Standard_D2s_v5",
        "image": f"{IMAGES}/4.2.0",
        "intent_id": "i",
        "boot_data": "{}",
        "address": None,
        "tags": {},
    }


def _volume() -> dict[str, Any]:
    return {"node": "b-0", "dir": "data", "version": 1, "zone": "westeurope-1", "kind": "persistent", "size_gib": 1}
