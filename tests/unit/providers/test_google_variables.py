"""A spec's words become Google's: sizes, images, subnetworks, labels. What the settings have not is refused by name."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from providers.base import Place, Resources
from providers.errors import PlaceUnknown
from providers.google.settings import GoogleSettings
from providers.google.tags import decoded
from providers.google.variables import module_variables
from tests.documents import changed
from tests.fakes.resources import address, attachment, binding, instance, resources, volume

PLACE = Place("google", "europe-west1", "production")
SUBNETWORK = "projects/kedge-prod/regions/europe-west1/subnetworks/kedge"
FILE: dict[str, Any] = {
    "accounts": {
        "production": {
            "project": "kedge-prod",
            "number": "123456789012",
            "regions": {
                "europe-west1": {
                    "subnetworks": {"europe-west1-b": f"{SUBNETWORK}-b", "europe-west1-c": f"{SUBNETWORK}-c"},
                    "network_tags": ["kedge-kafka", "more"],
                    "images": {
                        "4.1.1": {
                            "arm64": "projects/kedge-prod/global/images/kafka-arm",
                            "x86_64": "projects/kedge-prod/global/images/kafka-x86",
                        }
                    },
                }
            },
        }
    }
}
SETTINGS = GoogleSettings.model_validate(FILE)


def variables(wanted: Resources) -> dict[str, Any]:
    letters = {"a": "b", "b": "c", "c": "d"}
    here = replace(
        wanted,
        place=PLACE,
        instances=tuple(replace(i, zone=f"europe-west1-{letters[i.zone]}") for i in wanted.instances),
        volumes=tuple(replace(v, zone=f"europe-west1-{letters[v.zone]}") for v in wanted.volumes),
        addresses=tuple(replace(a, zone=f"europe-west1-{letters[a.zone]}") for a in wanted.addresses),
    )
    made = module_variables(here, SETTINGS.account(PLACE), SETTINGS.region(PLACE))
    assert json.loads(json.dumps(made)) == made
    return made


def test_a_size_and_a_version_become_a_type_and_an_image() -> None:
    made = variables(resources(instance("b-0")))["instances"]["b-0.g1"]
    assert (made["shape"], made["image"]) == ("n2d-standard-2", "projects/kedge-prod/global/images/kafka-x86")
    told = decoded(made["tags"])
    assert (told["kedge-shape"], told["kedge-image"], told["kedge-region"]) == ("small", "4.1.1", "europe-west1")
    assert (told["kedge-intent"], made["tags"]["kedge-intent"]) == ("intent-b-0.g1", "intent-b-0_2eg1")


def test_an_image_is_chosen_by_the_architecture_of_the_machine() -> None:
    wanted = resources(replace(instance("b-0"), shape="t2a-standard-4"))
    assert variables(wanted)["instances"]["b-0.g1"]["image"].endswith("kafka-arm")


def test_the_project_and_the_network_are_the_clouds_own() -> None:
    assert variables(resources())["cloud"] == {
        "project": "kedge-prod",
        "network_tags": "kedge-kafka more",
        "subnetwork_europe-west1-b": f"{SUBNETWORK}-b",
        "subnetwork_europe-west1-c": f"{SUBNETWORK}-c",
    }


def test_no_address_is_made_up() -> None:
    made = variables(resources(instance("c-0"), address("c-0"), binding("c-0", "c-0.g1")))
    assert made["instances"]["c-0.g1"]["address"] is None
    assert made["addresses"] == {"c-0": {"zone": "europe-west1-b", "address": None}}
    assert made["bindings"] == {"c-0.g1": {"node": "c-0", "instance": "c-0.g1"}}


def test_a_vms_own_disks_are_written_on_the_vm() -> None:
    wanted = resources(
        instance("b-0"),
        volume("b-0", kind="ephemeral"),
        volume("b-0", "meta"),
        attachment("b-0.g1", "b-0.data.v1"),
        attachment("b-0.g1", "b-0.meta.v1"),
    )
    assert decoded(variables(wanted)["instances"]["b-0.g1"]["tags"])["kedge-ephemeral-volumes"] == "b-0.data.v1"


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (
            resources(instance("b-0", zone="c")),
            r"no subnetwork for zone 'europe-west1-d'.*it has europe-west1-b, europe",
        ),
        (resources(replace(instance("b-0"), image="9.9")), r"no image of Kafka 9\.9 for x86_64.*4\.1\.1 for arm64"),
        (resources(replace(instance("b-0"), shape="huge")), r"no machine 'huge'.*small, medium, large, n2d"),
    ],
    ids=["zone", "image", "machine"],
)
def test_what_is_not_there_is_refused_naming_what_is(wanted: Resources, words: str) -> None:
    with pytest.raises(PlaceUnknown, match=words):
        variables(wanted)


ACCOUNT = ("accounts", "production")
REGION = (*ACCOUNT, "regions", "europe-west1")


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (changed(FILE, *ACCOUNT, "project", value="X"), r"accounts\.production\.project"),
        (changed(FILE, *ACCOUNT, "number", value="kedge-prod"), r"accounts\.production\.number"),
        (changed(FILE, *REGION, "subnetworks", "europe-west1-b", value="kedge"), r"subnetworks\.europe-west1-b"),
        (changed(FILE, *REGION, "subnetworks", value={"nowhere": SUBNETWORK}), r"subnetworks\.nowhere"),
        (
            changed(FILE, *REGION, "subnetworks", value={"europe-west4-b": SUBNETWORK}),
            r"is not in region 'europe-west1'",
        ),
        (changed(FILE, *REGION, "network_tags", value=[]), r"network_tags"),
        (changed(FILE, *REGION, "images", value={"4.1.1": {"arm64": "family/kafka"}}), r"images\.4\.1\.1\.arm64"),
        (changed(FILE, *ACCOUNT, "private_key", value="x"), r"private_key: Extra inputs"),
        ({}, r"accounts: Field required"),
    ],
    ids=["project", "number", "subnetwork", "zone", "region", "tags", "family", "stray", "empty"],
)
def test_settings_that_make_no_sense_are_refused_by_name(file: dict[str, Any], words: str, tmp_path: Path) -> None:
    (tmp_path / "google.yaml").write_text(yaml.safe_dump(file))
    with pytest.raises(PlaceUnknown, match=words):
        GoogleSettings.read(tmp_path / "google.yaml")


def test_an_unknown_account_or_region_names_those_there_are() -> None:
    with pytest.raises(PlaceUnknown, match=r"no such account.*production"):
        SETTINGS.region(replace(PLACE, account="staging"))
    with pytest.raises(PlaceUnknown, match=r"no such region.*europe-west1"):
        SETTINGS.region(replace(PLACE, region="mars"))
