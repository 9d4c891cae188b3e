"""A spec's words become Azure's: sizes, images, zones, subnets. What is not in the settings is refused by name."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from azure.identity import ClientSecretCredential, ManagedIdentityCredential

from providers.azure.access import AzureAccess, credential_of
from providers.azure.settings import AzureSettings
from providers.azure.tags import tags_of
from providers.azure.variables import module_variables
from providers.base import Place, Resources
from providers.errors import AuthFailed, PlaceUnknown
from providers.tags import joined
from tests.documents import changed
from tests.fakes.resources import address, attachment, binding, instance, resources, volume

PLACE = Place("azure", "westeurope", "production")
ACCOUNT, TENANT = "00000000-1111-2222-3333-444444444444", "aaaaaaaa-1111-2222-3333-444444444444"
GROUP = f"/subscriptions/{ACCOUNT}/resourceGroups/kedge/providers"
SUBNET = f"{GROUP}/Microsoft.Network/virtualNetworks/kedge/subnets"
IMAGE = f"{GROUP}/Microsoft.Compute/galleries/kedge/images/kafka/versions/4.1.1"
ARM_IMAGE = f"{GROUP}/Microsoft.Compute/images/kafka-arm"
SET = f"{GROUP}/Microsoft.Compute/virtualMachineScaleSets/domains"
FILE: dict[str, Any] = {
    "accounts": {
        "production": {
            "id": ACCOUNT,
            "tenant_id": TENANT,
            "client_id": ACCOUNT,
            "ssh_key": "ssh-ed25519 AAAA ops",
            "regions": {
                "westeurope": {
                    "resource_group": "kedge",
                    "zones": {
                        "westeurope-1": {"place": "1", "subnet": f"{SUBNET}/a"},
                        "westeurope-2": {"place": "3", "subnet": f"{SUBNET}/b"},
                    },
                    "images": {"4.1.1": {"x86_64": IMAGE, "arm64": ARM_IMAGE}},
                }
            },
        }
    }
}
SETTINGS = AzureSettings.model_validate(FILE)


def variables(wanted: Resources, settings: AzureSettings = SETTINGS) -> dict[str, Any]:
    numbers = {"a": "1", "b": "2", "c": "9"}

    def here(zone: str) -> str:
        return f"westeurope-{numbers[zone]}"

    placed = replace(
        wanted,
        place=PLACE,
        instances=tuple(replace(i, zone=here(i.zone)) for i in wanted.instances),
        volumes=tuple(replace(v, zone=here(v.zone)) for v in wanted.volumes),
        addresses=tuple(replace(a, zone=here(a.zone)) for a in wanted.addresses),
    )
    made = module_variables(placed, settings.account(PLACE), settings.region(PLACE))
    assert json.loads(json.dumps(made)) == made
    return made


def test_a_size_and_a_version_become_a_size_and_an_image_of_azures() -> None:
    made = variables(resources(instance("b-0")))["instances"]["b-0.g1"]
    assert (made["shape"], made["image"], made["zone"]) == ("Standard_D2s_v5", IMAGE, "westeurope-1")
    assert (made["tags"]["kedge-shape"], made["tags"]["kedge-image"]) == ("small", "4.1.1")
    assert (made["tags"]["kedge-zone"], made["tags"]["kedge-intent"]) == ("westeurope-1", "intent-b-0.g1")


def test_an_image_of_azures_is_chosen_by_the_architecture_of_the_machine() -> None:
    wanted = resources(replace(instance("b-0"), shape="Standard_D2ps_v5"))
    assert variables(wanted)["instances"]["b-0.g1"]["image"] == ARM_IMAGE


def test_a_zone_is_the_one_the_settings_say_it_is_in_this_subscription() -> None:
    cloud = variables(resources(instance("b-0", zone="b")))["cloud"]
    assert (cloud["zone_westeurope-1"], cloud["zone_westeurope-2"]) == ("1", "3")
    assert cloud["subnet_westeurope-2"] == f"{SUBNET}/b"
    assert (cloud["account_id"], cloud["tenant_id"], cloud["resource_group"]) == (ACCOUNT, TENANT, "kedge")
    assert (cloud["encryption_at_host"], cloud["secure_boot"], cloud["scale_set"]) == ("true", "true", "")


def test_no_address_of_azures_is_made_up() -> None:
    made = variables(resources(instance("c-0"), address("c-0"), binding("c-0", "c-0.g1")))
    assert made["instances"]["c-0.g1"]["address"] is None
    assert made["addresses"] == {"c-0": {"zone": "westeurope-1", "address": None}}


def test_a_vms_own_disks_are_written_on_the_vm_in_azure_too() -> None:
    wanted = resources(
        instance("b-0"),
        volume("b-0", kind="ephemeral"),
        volume("b-0", "meta"),
        attachment("b-0.g1", "b-0.data.v1"),
        attachment("b-0.g1", "b-0.meta.v1"),
    )
    assert variables(wanted)["instances"]["b-0.g1"]["tags"]["kedge-ephemeral-volumes"] == "b-0.data.v1"


def test_more_of_them_than_a_tag_of_azures_holds_are_refused() -> None:
    with pytest.raises(ValueError, match="256"):
        joined(f"a-long-name-of-a-node-{n}.data.v1" for n in range(10))


def test_tags_are_read_whatever_their_case_and_none_is_none() -> None:
    assert tags_of({"tags": {"Kedge-Node": "b-0"}}) == {"kedge-node": "b-0"}
    assert tags_of({"tags": None}) == tags_of({}) == {}


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (resources(instance("b-0", zone="c")), r"no zone 'westeurope-9'.*it has westeurope-1, westeurope-2"),
        (resources(replace(instance("b-0"), image="9.9")), r"no image of Kafka 9\.9 for x86_64.*4\.1\.1 for arm64"),
        (resources(replace(instance("b-0"), shape="huge")), r"no machine 'huge'.*small, medium, large, Standard"),
    ],
    ids=["zone", "image", "machine"],
)
def test_what_azure_does_not_have_is_refused_naming_what_is(wanted: Resources, words: str) -> None:
    with pytest.raises(PlaceUnknown, match=words):
        variables(wanted)


OWNER = ("accounts", "production")
REGION = (*OWNER, "regions", "westeurope")
FD0, FD1 = ({"place": f"fd{n}", "subnet": f"{SUBNET}/a"} for n in (0, 1))


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (changed(FILE, *OWNER, "id", value="12"), r"accounts\.production\.id"),
        (changed(FILE, *OWNER, "client_id", value=None), r"needs the id of the application"),
        (changed(FILE, *OWNER, "client_secret", value="x"), r"client_secret: Extra inputs"),
        (changed(FILE, *OWNER, "ssh_key", value="-----BEGIN OPENSSH PRIVATE KEY-----"), r"ssh_key"),
        (changed(FILE, *REGION, "zones", "westeurope-1", "subnet", value="vnet"), r"westeurope-1\.subnet"),
        (changed(FILE, *REGION, "zones", value={"1": FD0}), r"fault domains need `scale_set`"),
        (changed(FILE, *REGION, "zones", value={"other-1": FILE["accounts"]["production"]}), r"other-1"),
        (changed(FILE, *REGION, "zones", "westeurope-2", "place", value="1"), r"one rack under two names"),
        (changed(FILE, *REGION, "zones", "westeurope-2", "place", value="fd1"), r"do not mix"),
        (
            changed(FILE, *REGION, "images", value={"4.2.0": {"x86_64": IMAGE.replace("4.1.1", "latest")}}),
            r"images\.4\.2\.0",
        ),
        (changed(FILE, "endpoint_url", value="http://example.com"), r"a token goes over https"),
        ({}, r"accounts: Field required"),
    ],
    ids=[
        "account",
        "client",
        "secret",
        "key",
        "subnet",
        "no set",
        "zone",
        "twice",
        "mixed",
        "latest",
        "clear",
        "empty",
    ],
)
def test_settings_of_azure_that_make_no_sense_are_refused_by_name(
    file: dict[str, Any], words: str, tmp_path: Path
) -> None:
    (tmp_path / "azure.yaml").write_text(yaml.safe_dump(file))
    with pytest.raises(PlaceUnknown, match=words):
        AzureSettings.read(tmp_path / "azure.yaml")


def test_a_zone_is_named_after_its_region() -> None:
    with pytest.raises(ValueError, match="a zone is named after its region, as westeurope-1"):
        AzureSettings.model_validate(
            changed(FILE, *REGION, "zones", value={"here": {"place": "1", "subnet": f"{SUBNET}/a"}})
        )


def test_fault_domains_are_zones_where_a_region_has_none() -> None:
    zones = {"westeurope-fd0": FD0, "westeurope-fd1": FD1}
    file = changed(FILE, *REGION, "zones", value=zones)
    file["accounts"]["production"]["regions"]["westeurope"]["scale_set"] = SET
    settings = AzureSettings.model_validate(file)
    made = module_variables(replace(resources(), place=PLACE), settings.account(PLACE), settings.region(PLACE))["cloud"]
    assert isinstance(made, dict)
    assert (made["scale_set"], made["zone_westeurope-fd1"]) == (SET, "fd1")


def test_terraform_signs_in_as_the_sdk_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_CLIENT_SECRET", "hush")
    with_secret = AzureAccess(SETTINGS, attempts=1).environment(PLACE)
    assert (with_secret["ARM_CLIENT_SECRET"], with_secret["ARM_SUBSCRIPTION_ID"]) == ("hush", ACCOUNT)
    assert with_secret["ARM_USE_CLI"] == "false"
    file = changed(FILE, *OWNER, "sign_in", value="managed-identity")
    identity = AzureAccess(AzureSettings.model_validate(file), attempts=1).environment(PLACE)
    assert identity["ARM_USE_MSI"] == "true"
    assert "ARM_CLIENT_SECRET" not in identity


@pytest.mark.parametrize(
    ("sign_in", "kind"), [("client-secret", ClientSecretCredential), ("managed-identity", ManagedIdentityCredential)]
)
def test_the_sdk_signs_in_by_what_the_settings_say(sign_in: str, kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_CLIENT_SECRET", "hush")
    account = AzureSettings.model_validate(changed(FILE, *OWNER, "sign_in", value=sign_in)).account(PLACE)
    assert type(credential_of(PLACE, account)) is kind


def test_each_account_has_a_secret_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_CLIENT_SECRET", raising=False)
    settings = AzureSettings.model_validate(changed(FILE, *OWNER, "secret_variable", value="AZURE_PRODUCTION_SECRET"))
    with pytest.raises(AuthFailed, match="the environment has no AZURE_PRODUCTION_SECRET"):
        AzureAccess(settings, attempts=1).environment(PLACE)
    monkeypatch.setenv("AZURE_PRODUCTION_SECRET", "hush")
    assert AzureAccess(settings, attempts=1).environment(PLACE)["ARM_CLIENT_SECRET"] == "hush"


def test_an_unknown_account_or_region_of_azures_names_those_there_are() -> None:
    with pytest.raises(PlaceUnknown, match=r"no such account.*production"):
        SETTINGS.region(replace(PLACE, account="staging"))
    with pytest.raises(PlaceUnknown, match=r"no such region.*westeurope"):
        SETTINGS.region(replace(PLACE, region="mars"))
