"""A spec's words become AWS's: sizes, images, subnets. What is not in the settings is refused by name."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from providers.aws.settings import AwsRegion, AwsSettings
from providers.aws.variables import module_variables
from providers.base import Place, Resources
from providers.errors import PlaceUnknown
from providers.tags import joined
from tests.documents import changed
from tests.fakes.resources import address, attachment, binding, instance, resources, volume

PLACE = Place("aws", "eu-west-1", "production")
FILE: dict[str, Any] = {
    "accounts": {
        "production": {
            "id": "123456789012",
            "profile": "prod",
            "regions": {
                "eu-west-1": {
                    "subnets": {"eu-west-1a": "subnet-0000000a", "eu-west-1b": "subnet-0000000b"},
                    "security_groups": ["sg-00000001", "sg-00000002"],
                    "images": {"4.1.1": {"arm64": "ami-00000001", "x86_64": "ami-00000002"}},
                }
            },
        }
    }
}
SETTINGS = AwsSettings.model_validate(FILE)


def variables(wanted: Resources) -> dict[str, Any]:
    here = replace(
        wanted,
        place=PLACE,
        instances=tuple(replace(i, zone=f"eu-west-1{i.zone}") for i in wanted.instances),
        volumes=tuple(replace(v, zone=f"eu-west-1{v.zone}") for v in wanted.volumes),
        addresses=tuple(replace(a, zone=f"eu-west-1{a.zone}") for a in wanted.addresses),
    )
    made = module_variables(here, SETTINGS.account(PLACE), SETTINGS.region(PLACE))
    assert json.loads(json.dumps(made)) == made
    return made


def test_a_size_and_a_version_become_a_type_and_an_image() -> None:
    made = variables(resources(instance("b-0")))["instances"]["b-0.g1"]
    assert (made["shape"], made["image"], made["zone"]) == ("m7g.large", "ami-00000001", "eu-west-1a")
    assert (made["tags"]["kedge-shape"], made["tags"]["kedge-image"]) == ("small", "4.1.1")
    assert made["tags"]["kedge-intent"] == "intent-b-0.g1"


def test_an_image_is_chosen_by_the_architecture_of_the_machine() -> None:
    wanted = resources(replace(instance("b-0"), shape="m7i.large"))
    assert variables(wanted)["instances"]["b-0.g1"]["image"] == "ami-00000002"


def test_no_address_is_made_up() -> None:
    made = variables(resources(instance("c-0"), address("c-0"), binding("c-0", "c-0.g1")))
    assert made["instances"]["c-0.g1"]["address"] is None
    assert made["addresses"] == {"c-0": {"zone": "eu-west-1a", "address": None}}
    assert made["bindings"] == {"c-0.g1": {"node": "c-0", "instance": "c-0.g1"}}


def test_a_vms_own_disks_are_written_on_the_vm() -> None:
    wanted = resources(
        instance("b-0"),
        volume("b-0", kind="ephemeral"),
        volume("b-0", "meta"),
        attachment("b-0.g1", "b-0.data.v1"),
        attachment("b-0.g1", "b-0.meta.v1"),
    )
    assert variables(wanted)["instances"]["b-0.g1"]["tags"]["kedge-ephemeral-volumes"] == "b-0.data.v1"


def test_more_of_them_than_a_tag_holds_are_refused_and_not_cut() -> None:
    with pytest.raises(ValueError, match="256"):
        joined(f"a-long-name-of-a-node-{n}.data.v1" for n in range(10))


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (resources(instance("b-0", zone="c")), r"no subnet for zone 'eu-west-1c'.*it has eu-west-1a, eu-west-1b"),
        (resources(replace(instance("b-0"), image="9.9")), r"no image of Kafka 9\.9 for arm64.*4\.1\.1 for arm64"),
        (resources(replace(instance("b-0"), shape="huge")), r"no machine 'huge'.*small, medium, large, m7g"),
    ],
    ids=["zone", "image", "machine"],
)
def test_what_is_not_there_is_refused_naming_what_is(wanted: Resources, words: str) -> None:
    with pytest.raises(PlaceUnknown, match=words):
        variables(wanted)


def test_a_vm_for_a_partition_says_which_and_its_group_is_told_once() -> None:
    region = AwsRegion(
        subnets={"eu-west-1a-p1": "subnet-0000000a", "eu-west-1a-p2": "subnet-0000000a"},
        security_groups=("sg-00000001",),
        placement_group="kedge-orders",
        images=SETTINGS.region(PLACE).images,
    )
    made: Any = module_variables(
        replace(resources(instance("b-0", zone="eu-west-1a-p2")), place=PLACE), SETTINGS.account(PLACE), region
    )
    assert made["cloud"]["placement_group"] == "kedge-orders"
    assert made["instances"]["b-0.g1"]["tags"]["kedge-zone"] == "eu-west-1a-p2"
    whole = variables(resources(instance("b-0")))
    assert "placement_group" not in whole["cloud"]
    assert "kedge-zone" not in whole["instances"]["b-0.g1"]["tags"], "as VMs of earlier releases"


def test_a_group_is_told_beside_a_network_that_is_kedges_to_make() -> None:
    file = changed(FILE, "accounts", "production", "regions", "eu-west-1", value={"placement_group": "kedge-racks"})
    settings = AwsSettings.model_validate(file)
    assert settings.leaves_network(PLACE)
    made = {"subnets": {"eu-west-1a-p1": "subnet-0000000a"}, "security_groups": ["sg-00000001"]}
    assert settings.with_networks(lambda _: made).region(PLACE).placement_group == "kedge-racks"


REGION = ("accounts", "production", "regions", "eu-west-1")
PARTITION = {"eu-west-1a-p1": "subnet-0000000a"}


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (changed(FILE, "accounts", "production", "id", value="12"), r"accounts\.production\.id"),
        (changed(FILE, *REGION, "subnets", "eu-west-1a", value="vpc-1"), r"subnets\.eu-west-1a"),
        (changed(FILE, *REGION, "subnets", value={"nowhere": "subnet-0000000a"}), r"subnets\.nowhere"),
        (changed(FILE, *REGION, "subnets", value=PARTITION), r"partitions.*need `placement_group`"),
        (
            changed(
                changed(FILE, *REGION, "subnets", value=PARTITION | {"eu-west-1a": "subnet-0000000a"}),
                *REGION,
                "placement_group",
                value="g",
            ),
            r"eu-west-1a: a zone as a whole and partitions of it do not mix",
        ),
        (changed(FILE, *REGION, "subnets", value={"eu-west-1a-p8": "subnet-0000000a"}), r"subnets\.eu-west-1a-p8"),
        (changed(FILE, *REGION, "security_groups", value=[]), r"security_groups"),
        (changed(FILE, *REGION, "secret_key", value="x"), r"secret_key: Extra inputs"),
        ({}, r"accounts: Field required"),
    ],
    ids=["account", "subnet", "zone", "no group", "mixed", "eighth", "groups", "stray", "empty"],
)
def test_settings_that_make_no_sense_are_refused_by_name(file: dict[str, Any], words: str, tmp_path: Path) -> None:
    (tmp_path / "aws.yaml").write_text(yaml.safe_dump(file))
    with pytest.raises(PlaceUnknown, match=words):
        AwsSettings.read(tmp_path / "aws.yaml")


def test_without_settings_there_is_no_such_cloud_and_the_page_about_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlaceUnknown, match=r"aws\.yaml does not exist \(docs/clouds\.md"):
        AwsSettings.read(tmp_path / "aws.yaml")


def test_an_unknown_account_or_region_names_those_there_are() -> None:
    with pytest.raises(PlaceUnknown, match=r"no such account.*production"):
        SETTINGS.region(replace(PLACE, account="staging"))
    with pytest.raises(PlaceUnknown, match=r"no such region.*eu-west-1"):
        SETTINGS.region(replace(PLACE, region="mars"))
