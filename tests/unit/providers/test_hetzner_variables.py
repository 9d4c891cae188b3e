"""A spec's words become Hetzner's: sizes, snapshots, subnets. What is not in the settings is refused by name."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from providers.base import Listing, Resources
from providers.cloud_init import BOOT_FILE
from providers.errors import PlaceUnknown
from providers.hetzner.imports import imports_of
from providers.hetzner.inventory import PlaceLimits
from providers.hetzner.settings import HetznerSettings
from providers.hetzner.tags import tags_of
from providers.hetzner.variables import module_variables
from providers.packet_filter import rules
from providers.tf.abilities import Import
from tests.documents import changed
from tests.fakes.clouds.hetzner_hands import PLACE, in_place
from tests.fakes.resources import UID, address, attachment, binding, instance, resources, volume

REGION_FILE: dict[str, Any] = {
    "network": 1,
    "subnets": {"fsn1": "10.0.0.0/24", "hel1": "10.0.1.0/24"},
    "node_network": 2,
    "member_range": "10.1.0.0/24",
    "node_range": "10.1.1.0/24",
    "clients": ["10.8.0.0/16"],
    "placement_groups": [11, 12],
    "images": {"4.1.1": {"x86_64": 4711, "arm64": 4712}},
}
FILE: dict[str, Any] = {"accounts": {"production": {"regions": {"eu-central": REGION_FILE}}}}
SETTINGS = HetznerSettings.model_validate(FILE)


def variables(wanted: Resources, **more: Any) -> dict[str, Any]:
    made = module_variables(in_place(wanted), SETTINGS.region(PLACE), PlaceLimits(), **more)
    assert json.loads(json.dumps(made)) == made
    return made


def test_a_size_and_a_version_become_a_type_and_a_snapshot() -> None:
    made = variables(resources(instance("b-0")))["instances"]["b-0.g1"]
    assert (made["shape"], made["image"], made["zone"]) == ("ccx13", "4711", "fsn1")
    own = tags_of(made["tags"])
    assert (own["kedge-shape"], own["kedge-image"], own["kedge-zone"]) == ("small", "4.1.1", "fsn1")
    assert own["kedge-intent"] == "intent-b-0.g1"


def test_a_snapshot_is_chosen_by_the_architecture_of_the_machine() -> None:
    wanted = resources(replace(instance("b-0"), shape="cax21"))
    assert variables(wanted)["instances"]["b-0.g1"]["image"] == "4712"


def test_a_servers_own_disk_is_the_one_it_boots_from_and_its_agent_is_told_so() -> None:
    made = variables(resources(instance("b-0")))["instances"]["b-0.g1"]["boot_data"]
    (environment,) = (
        f for f in json.loads(made.removeprefix("#cloud-config\n"))["write_files"] if "agent.env" in f["path"]
    )
    assert "KEDGE_AGENT_OWN_DISKS=root\n" in environment["content"]


def test_every_vm_has_a_group_and_its_owner_is_in_labels() -> None:
    cloud = variables(resources(instance("b-0"), instance("b-1", zone="b")))["cloud"]
    assert (cloud["placement_group_b-0.g1"], cloud["placement_group_b-1.g1"]) == ("11", "11")
    assert cloud["label_kedge-cluster-uid"] == UID
    assert "poll_interval" not in cloud


def test_only_a_stand_in_is_asked_often() -> None:
    cloud = variables(resources(instance("b-0")), impatient=True)["cloud"]
    assert (cloud["poll_interval"], cloud["poll_function"]) == ("50ms", "constant")


def test_a_vm_finds_the_way_out_of_its_own_network_as_hetzners_dhcp_tells_none() -> None:
    """Found by VMs that live (tests/boot/test_living_hetzner.py): they never reached a server outside."""
    made = variables(resources(instance("b-0", zone="b")))["instances"]["b-0.g1"]["boot_data"]
    born = json.loads(made.removeprefix("#cloud-config\n"))
    files = {one["path"]: one["content"] for one in born["write_files"]}
    assert files["/etc/kedge/default-route.env"] == "KEDGE_OWN_NETWORK=10.0.1.0\n"
    assert (
        "Before=kedge-software.service kedge-agent.service\n"
        in files["/etc/systemd/system/kedge-default-route.service"]
    )
    assert ["systemctl", "enable", "kedge-default-route.service", "kedge-agent.service"] in born["runcmd"]


def test_a_vm_is_born_with_its_boot_data_and_closed_to_all_but_kafka() -> None:
    wanted = instance("b-0")
    told = variables(resources(wanted))["instances"]["b-0.g1"]["boot_data"]
    assert told.startswith("#cloud-config\n")
    born = yaml.safe_load(told)
    assert {"path": BOOT_FILE, "permissions": "0600", "content": wanted.boot_data} in born["write_files"]
    assert born["ssh_pwauth"] is False
    ((program, ruleset),) = born["bootcmd"]
    members = ["10.0.0.0/24", "10.0.1.0/24", "10.1.0.0/24", "10.1.1.0/24"]
    assert (program, ruleset) == ("nft", rules(members, ["10.8.0.0/16"]))


def test_an_owned_address_is_on_the_vm_as_a_label() -> None:
    made = variables(resources(instance("c-0"), address("c-0"), binding("c-0", "c-0.g1")))
    owned = made["addresses"]["c-0"]["address"]
    assert tags_of(made["instances"]["c-0.g1"]["tags"])["kedge-address"] == owned
    assert made["instances"]["c-0.g1"]["address"] is None


def test_a_vms_own_disks_are_written_on_the_vm_however_many() -> None:
    dirs = [f"data-{n}" for n in range(9)]
    wanted = resources(
        instance("b-0"),
        *(volume("b-0", one, kind="ephemeral") for one in dirs),
        *(attachment("b-0.g1", f"b-0.{one}.v1") for one in dirs),
    )
    own = tags_of(variables(wanted)["instances"]["b-0.g1"]["tags"])
    assert own["kedge-ephemeral-volumes"].split() == [f"b-0.{one}.v1" for one in dirs]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (resources(instance("b-0", zone="c")), r"no subnet for zone 'nbg1'.*it has fsn1, hel1"),
        (resources(replace(instance("b-0"), image="9.9")), r"no image of Kafka 9\.9 for x86_64.*4\.1\.1 for arm64"),
        (resources(replace(instance("b-0"), shape="huge")), r"no machine 'huge'.*small, medium, large, ccx"),
    ],
    ids=["zone", "image", "machine"],
)
def test_what_is_not_there_is_refused_naming_what_is(wanted: Resources, words: str) -> None:
    with pytest.raises(PlaceUnknown, match=words):
        variables(wanted)


def test_a_volume_smaller_than_hetzners_smallest_is_refused_and_not_enlarged() -> None:
    wanted = resources(volume("b-0"))
    small = replace(in_place(wanted), volumes=(replace(volume("b-0", zone="fsn1"), size_gib=9),))
    with pytest.raises(PlaceUnknown, match=r"b-0\.data\.v1 is to have 9 GiB; the smallest volume"):
        module_variables(small, SETTINGS.region(PLACE), PlaceLimits())


REGION = ("accounts", "production", "regions", "eu-central")


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (changed(FILE, "accounts", "production", "token_variable", value="a token"), r"token_variable"),
        (changed(FILE, "accounts", "production", "token", value="x"), r"production\.token: Extra inputs"),
        (changed(FILE, *REGION, "network", value="kedge"), r"eu-central\.network"),
        (changed(FILE, *REGION, "subnets", "fsn1", value="10.0.0.1/24"), r"subnets\.fsn1"),
        (changed(FILE, *REGION, "subnets", value={"Nowhere!": "10.0.0.0/24"}), r"subnets"),
        (changed(FILE, *REGION, "placement_groups", value=list(range(1, 52))), r"placement_groups"),
        ({}, r"accounts: Field required"),
    ],
    ids=["variable", "secret", "network", "subnet", "zone", "groups", "empty"],
)
def test_settings_that_make_no_sense_are_refused_by_name(file: dict[str, Any], words: str, tmp_path: Path) -> None:
    (tmp_path / "hetzner.yaml").write_text(yaml.safe_dump(file))
    with pytest.raises(PlaceUnknown, match=words):
        HetznerSettings.read(tmp_path / "hetzner.yaml")


def test_an_unknown_account_or_region_names_those_there_are() -> None:
    with pytest.raises(PlaceUnknown, match=r"no such account.*production"):
        SETTINGS.region(replace(PLACE, account="staging"))
    with pytest.raises(PlaceUnknown, match=r"no such region.*eu-central"):
        SETTINGS.region(replace(PLACE, region="mars"))


def test_names_only_are_made_again_and_what_nobody_lists_is_imported_by_nobody() -> None:
    wanted = resources(
        volume("b-0", kind="ephemeral"), attachment("b-0.g1", "b-0.data.v1"), binding("c-0", "c-0.g1"), address("c-0")
    )
    empty = Listing(PLACE, datetime.now(UTC), ())
    assert imports_of("volume/b-0.data.v1", wanted, empty) == ()
    assert imports_of("attachment/b-0.g1.data", wanted, empty) == ()
    assert imports_of("address/c-0", wanted, empty) == ()
    assert imports_of("instance/b-0.g1", wanted, empty) is None
    bound = replace(empty, binding_ids={(UID, "c-0"): "42-2"})
    expected = (Import('module.kedge.hcloud_server_network.binding["c-0.g1"]', "42-2"),)
    assert imports_of("binding/c-0.g1", wanted, bound) == expected
