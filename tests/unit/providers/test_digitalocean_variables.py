"""A spec's words become DigitalOcean's: sizes, images, racks, tags. What is not in the settings is refused by name."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from providers.base import CloudInstance, CloudVolume, InstanceState, Listing, Place, Resources
from providers.digitalocean.imports import imports_of
from providers.digitalocean.settings import DigitaloceanSettings
from providers.digitalocean.variables import module_variables
from providers.errors import PlaceUnknown
from providers.tf.abilities import Import
from tests.fakes.resources import UID, address, attachment, binding, instance, resources, volume

PLACE = Place("digitalocean", "nyc3", "production")
VPC = "760e09ef-dc84-11e8-981e-3cfdfeaae000"
SECTION: dict[str, Any] = {
    "vpc": VPC,
    "firewall_tag": "kedge-network:test",
    "racks": ["nyc3-a", "nyc3-b"],
    "images": {"4.1.1": 163663980},
}
ACCOUNT: dict[str, Any] = {"id": "5df3e300-4a17", "ssh_keys": [7, 8], "regions": {"nyc3": SECTION}}
SETTINGS = DigitaloceanSettings.model_validate({"accounts": {"production": ACCOUNT}})


def variables(wanted: Resources) -> dict[str, Any]:
    here = replace(
        wanted,
        place=PLACE,
        instances=tuple(replace(i, zone=f"nyc3-{i.zone}") for i in wanted.instances),
        volumes=tuple(replace(v, zone=f"nyc3-{v.zone}") for v in wanted.volumes),
    )
    made = module_variables(here, SETTINGS.account(PLACE), SETTINGS.region(PLACE))
    assert json.loads(json.dumps(made)) == made
    return made


def test_a_size_and_a_version_become_a_slug_and_an_image() -> None:
    made = variables(resources(instance("b-0")))["instances"]["b-0.g1"]
    assert (made["shape"], made["image"], made["zone"]) == ("g-2vcpu-8gb", "163663980", "nyc3-a")
    assert (made["tags"]["kedge-shape"], made["tags"]["kedge-image"]) == ("small", "4_2e1_2e1")
    assert made["tags"]["kedge-intent"] == "intent-b-0_2eg1"


def test_the_network_the_firewall_and_the_keys_go_to_the_module() -> None:
    cloud = variables(resources())["cloud"]
    assert cloud == {"vpc": VPC, "firewall_tag": "kedge-network:test", "ssh_keys": "7 8"}


def test_a_vms_own_disk_is_told_by_a_tag() -> None:
    wanted = resources(instance("b-0"), volume("b-0", kind="ephemeral"), attachment("b-0.g1", "b-0.data.v1"))
    assert variables(wanted)["instances"]["b-0.g1"]["tags"]["kedge-ephemeral-volumes"] == "b-0_2edata_2ev1"


@pytest.mark.parametrize("part", [address("c-0"), binding("c-0", "c-0.g1")], ids=["address", "binding"])
def test_a_node_cannot_own_an_address_and_is_told_what_to_do(part: Any) -> None:
    with pytest.raises(PlaceUnknown, match=r"nyc3: c-0 cannot own an address.*new bootstrap list"):
        variables(resources(part))


def test_a_rack_that_is_not_in_the_settings_is_refused_by_name() -> None:
    with pytest.raises(PlaceUnknown, match=r"no rack 'nyc3-c' in digitalocean\.yaml; it has nyc3-a, nyc3-b"):
        variables(resources(instance("b-0", zone="c")))


def test_a_version_without_an_image_is_refused_by_name() -> None:
    with pytest.raises(PlaceUnknown, match=r"no image of Kafka 9\.9\.9 in digitalocean.yaml; it has 4\.1\.1"):
        variables(resources(replace(instance("b-0"), image="9.9.9")))


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"vpc": "default"}, "vpc"),
        ({"racks": []}, "racks"),
        ({"firewall_tag": "no spaces"}, "firewall_tag"),
        ({"images": {"4.1.1": "ubuntu-24-04-x64"}}, "images"),
        ({"token": "dop_v1_x"}, "token"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_line_of_the_settings_is_named(wrong: dict[str, Any], where: str, tmp_path: Path) -> None:
    file = tmp_path / "digitalocean.yaml"
    regions = {"nyc3": SECTION | wrong}
    file.write_text(json.dumps({"accounts": {"production": ACCOUNT | {"regions": regions}}}))
    with pytest.raises(PlaceUnknown, match=rf"accounts\.production\.regions\.nyc3\.{where}"):
        DigitaloceanSettings.read(file)


def test_what_exists_is_imported_by_the_ids_of_the_provider() -> None:
    own = (volume("b-1", kind="ephemeral"), attachment("b-1.g1", "b-1.data.v1"))
    wanted = resources(instance("b-0"), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"), *own)
    vm = CloudInstance("3164444", UID, "b-0", 1, "i", "nyc3-a", InstanceState.RUNNING, None)
    disk = CloudVolume("b-0.data.v1", UID, "nyc3-a", 1, "b-0.g1", id="506f78a4")
    listing = Listing(PLACE, datetime.now(UTC), (vm,), (disk,))
    found = {t: imports_of(t, wanted, listing) for t in ("instance/b-0.g1", "volume/b-0.data.v1")}
    assert found == {
        "instance/b-0.g1": (Import('module.kedge.digitalocean_droplet.instance["b-0.g1"]', "3164444"),),
        "volume/b-0.data.v1": (Import('module.kedge.digitalocean_volume.volume["b-0.data.v1"]', "506f78a4"),),
    }
    tie = imports_of("attachment/b-0.g1.data", wanted, listing)
    assert tie is not None
    assert [t.id for t in tie] == ["3164444,506f78a4"]
    assert imports_of("volume/b-1.data.v1", wanted, listing) == ()
    assert imports_of("attachment/b-1.g1.data", wanted, listing) == ()
    assert imports_of("instance/b-9.g1", wanted, listing) is None
    assert imports_of("address/c-0", wanted, listing) is None
