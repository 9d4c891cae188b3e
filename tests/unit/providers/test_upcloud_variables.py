"""A spec's words become UpCloud's: plans, templates, labels, addresses. What the settings lack is refused by name."""

import ipaddress
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from providers.base import CloudInstance, CloudVolume, InstanceState, Listing, Place, Resources
from providers.cloud_init import LIMIT_BYTES
from providers.errors import PlaceUnknown, QuotaExceeded
from providers.networks import FirewallPorts
from providers.packet_filter import rules
from providers.software import Software
from providers.tf.abilities import Import
from providers.upcloud.imports import imports_of
from providers.upcloud.removal import root_disks
from providers.upcloud.settings import UpcloudRegion, UpcloudSettings
from providers.upcloud.tags import joined, labels_of
from providers.upcloud.variables import module_variables, node_addresses
from tests.documents import changed
from tests.fakes.resources import UID, address, attachment, binding, instance, resources, volume

PLACE = Place("upcloud", "fi-hel1", "production")
TEMPLATE = "01000000-0000-4000-8000-000000000001"
FILE: dict[str, Any] = {
    "accounts": {
        "production": {
            "username": "kedge",
            "token_variable": "UPCLOUD_TOKEN_PRODUCTION",
            "regions": {
                "fi-hel1": {
                    "network": "03000000-0000-4000-8000-000000000001",
                    "node_addresses": "10.20.128.0/17",
                    "zones": ["fi-hel1-a", "fi-hel1-b"],
                    "images": {"4.1.1": TEMPLATE},
                }
            },
        }
    }
}
SOFTWARE = Software.model_validate(
    {
        "agent": {"url": "https://mirror.example/kedge-agent.tar.gz", "sha256": "ab" * 32},
        "kafka": {"4.1.1": {"url": "https://mirror.example/kafka_2.13-4.1.1.tgz", "sha256": "ab" * 32}},
    }
)
SETTINGS = UpcloudSettings.model_validate(FILE)
REGION = SETTINGS.region(PLACE)


def here(wanted: Resources) -> Resources:
    return replace(
        wanted,
        place=PLACE,
        instances=tuple(replace(i, zone=f"fi-hel1-{i.zone}") for i in wanted.instances),
        volumes=tuple(replace(v, zone=f"fi-hel1-{v.zone}") for v in wanted.volumes),
        addresses=tuple(replace(a, zone=f"fi-hel1-{a.zone}") for a in wanted.addresses),
    )


def variables(wanted: Resources) -> dict[str, Any]:
    made = module_variables(here(wanted), REGION)
    assert json.loads(json.dumps(made)) == made
    return made


def test_a_size_and_a_version_become_a_plan_and_a_template() -> None:
    made = variables(resources(instance("b-0")))["instances"]["b-0.g1"]
    assert (made["shape"], made["image"], made["zone"]) == ("2xCPU-4GB", TEMPLATE, "fi-hel1-a")
    tags = made["tags"]
    assert (tags["kedge-shape"], tags["kedge-image"], tags["kedge-zone"]) == ("small", "4.1.1", "fi-hel1-a")
    assert (tags["kedge-intent"], tags["kedge-region"]) == ("intent-b-0.g1", "fi-hel1")


def test_a_group_is_named_only_where_there_is_one() -> None:
    assert variables(resources())["cloud"] == {"network": REGION.network, "encrypt": "true"}
    grouped = REGION.model_copy(update={"server_group": TEMPLATE, "encrypt": False})
    made: dict[str, Any] = module_variables(here(resources()), grouped)
    assert made["cloud"] == {"network": REGION.network, "encrypt": "false", "server_group": TEMPLATE}


def bootcmd(region: UpcloudRegion, software: Software | None = None) -> Any:
    made: Any = module_variables(here(resources(instance("b-0"))), region, software=software)
    told = made["instances"]["b-0.g1"]["boot_data"]
    again: Any = module_variables(here(resources(instance("b-0"))), region, software=software)
    assert again["instances"]["b-0.g1"]["boot_data"] == told
    assert len(told.encode()) < LIMIT_BYTES
    return yaml.safe_load(told)


FILTERED = REGION.model_copy(
    update={"network_range": "10.20.0.0/16", "clients": ("10.8.0.0/16",), "broker_ports": (9092, 9192)}
)


def test_a_vm_is_born_closed_to_all_but_its_network_and_the_clients_that_are_named() -> None:
    text = rules(["10.20.0.0/16"], ["10.8.0.0/16"], FirewallPorts((9092, 9192), (9093,)))
    assert bootcmd(FILTERED)["bootcmd"] == [["nft", text]]
    assert FILTERED.packet_filter() == text


def test_where_nobody_says_how_large_the_network_is_nothing_is_filtered_as_before() -> None:
    assert "bootcmd" not in bootcmd(REGION)
    assert REGION.packet_filter() == ""


def test_what_loads_the_filter_is_installed_where_the_image_lacks_it() -> None:
    def packages(region: UpcloudRegion) -> Any:
        files = {f["path"]: f["content"] for f in bootcmd(region, SOFTWARE)["write_files"]}
        return json.loads(files["/etc/kedge/software.json"])["packages"]

    assert packages(FILTERED)["nft"] == "nftables"
    assert "nft" not in packages(REGION)


def test_a_vm_says_which_disks_it_is_made_with() -> None:
    wanted = resources(
        instance("b-0"),
        volume("b-0", kind="ephemeral"),
        volume("b-0", "meta"),
        attachment("b-0.g1", "b-0.data.v1"),
        attachment("b-0.g1", "b-0.meta.v1"),
    )
    tags = variables(wanted)["instances"]["b-0.g1"]["tags"]
    assert (tags["kedge-volumes"], tags["kedge-ephemeral-volumes"]) == ("b-0.meta.v1", "b-0.data.v1")


def test_more_of_them_than_a_label_holds_are_refused_and_not_cut() -> None:
    with pytest.raises(ValueError, match="255"):
        joined(f"a-long-name-of-a-node-{n}.data.v1" for n in range(10))


def test_labels_are_read_in_both_of_upclouds_forms() -> None:
    listed = [{"key": "a", "value": "1"}]
    assert labels_of({"labels": {"label": listed}}) == labels_of({"labels": listed}) == {"a": "1"}
    assert labels_of({}) == labels_of({"labels": {}}) == {}


def test_a_node_has_the_same_address_each_time_and_whoever_is_beside_it() -> None:
    alone = node_addresses(here(resources(address("c-0"))), REGION)
    more = node_addresses(here(resources(address("c-0"), address("c-1"), address("c-2"))), REGION)
    assert alone["c-0"] == more["c-0"]
    assert len(set(more.values())) == 3
    assert all(ipaddress.ip_address(a) in ipaddress.ip_network(REGION.node_addresses) for a in more.values())


def test_other_clusters_get_other_addresses() -> None:
    chosen = {node_addresses(here(resources(address("c-0"), uid=f"u{n}")), REGION)["c-0"] for n in range(50)}
    assert len(chosen) >= 49


def test_a_recorded_address_is_kept_and_nobody_else_gets_it() -> None:
    free = node_addresses(here(resources(address("c-0"))), REGION)["c-0"]
    recorded = replace(address("c-1"), address=free)
    chosen = node_addresses(here(resources(address("c-0"), recorded)), REGION)
    assert chosen["c-1"] == free
    assert chosen["c-0"] != free


def test_an_address_that_is_in_use_is_passed_by_and_ones_own_is_kept() -> None:
    free = node_addresses(here(resources(address("c-0"))), REGION)["c-0"]
    passed = node_addresses(here(resources(address("c-0"))), REGION, {free: ("other", "c-0")})["c-0"]
    assert ipaddress.ip_address(passed) == ipaddress.ip_address(free) + 1
    assert node_addresses(here(resources(address("c-0"))), REGION, {free: None})["c-0"] == passed
    assert (
        node_addresses(here(resources(address("c-0"))), REGION, {"10.20.130.9": (UID, "c-0")})["c-0"] == "10.20.130.9"
    )


def test_a_small_range_is_used_up_and_then_refused() -> None:
    small = REGION.model_copy(update={"node_addresses": "10.20.0.0/30"})
    both = node_addresses(here(resources(address("c-0"), address("c-1"))), small)
    assert set(both.values()) == {"10.20.0.1", "10.20.0.2"}
    with pytest.raises(QuotaExceeded, match=r"10\.20\.0\.0/30, 2 addresses; orders needs one that is free"):
        node_addresses(here(resources(address("c-0"), address("c-1"), address("c-2"))), small)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (resources(instance("b-0", zone="c")), r"no zone 'fi-hel1-c'.*it has fi-hel1-a, fi-hel1-b"),
        (resources(replace(instance("b-0"), image="9.9")), r"no template of Kafka 9\.9 in upcloud.yaml.*4\.1\.1"),
        (resources(replace(instance("b-0"), shape="huge")), r"no machine 'huge'.*small, medium, large, 2xCPU-4GB"),
    ],
    ids=["zone", "image", "machine"],
)
def test_what_is_not_there_is_refused_naming_what_is(wanted: Resources, words: str) -> None:
    with pytest.raises(PlaceUnknown, match=words):
        variables(wanted)


OF_REGION = ("accounts", "production", "regions", "fi-hel1")


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (changed(FILE, "accounts", "production", "username", value=""), r"accounts\.production\.username"),
        (changed(FILE, "accounts", "production", "token_variable", value="ucat_secret"), r"token_variable"),
        (changed(FILE, *OF_REGION, "network", value="kedge"), r"fi-hel1\.network"),
        (changed(FILE, *OF_REGION, "node_addresses", value="10.20.128.1/17"), r"node_addresses"),
        (changed(FILE, *OF_REGION, "zones", value=["de-fra1-a"]), r"zone 'de-fra1-a' is none of region 'fi-hel1'"),
        (changed(FILE, *OF_REGION, "zones", value=[]), r"zones"),
        (changed(FILE, *OF_REGION, "images", "4.1.1", value="Ubuntu"), r"images\.4\.1\.1"),
        (changed(FILE, *OF_REGION, "token", value="x"), r"token: Extra inputs"),
        ({}, r"accounts: Field required"),
    ],
    ids=["account", "variable", "network", "range", "zone", "no zones", "image", "stray", "empty"],
)
def test_settings_that_make_no_sense_are_refused_by_name(file: dict[str, Any], words: str, tmp_path: Path) -> None:
    (tmp_path / "upcloud.yaml").write_text(yaml.safe_dump(file))
    with pytest.raises(PlaceUnknown, match=words):
        UpcloudSettings.read(tmp_path / "upcloud.yaml")


def test_a_value_that_is_refused_is_not_repeated(tmp_path: Path) -> None:
    # Somebody who writes a token where the name of its variable belongs does not find it in a log.
    file = changed(FILE, "accounts", "production", "token_variable", value="ucat_secret")
    (tmp_path / "upcloud.yaml").write_text(yaml.safe_dump(file))
    with pytest.raises(PlaceUnknown) as refused:
        UpcloudSettings.read(tmp_path / "upcloud.yaml")
    assert "ucat_secret" not in str(refused.value)


WHOLE = here(resources(instance("c-0"), volume("c-0"), address("c-0"), binding("c-0", "c-0.g1")))
THERE = CloudInstance("00-id", UID, "c-0", 1, "intent-c-0.g1", "fi-hel1-a", InstanceState.RUNNING, None)
LISTING = Listing(
    PLACE,
    at=None,  # type: ignore[arg-type]
    instances=(THERE,),
    volumes=(CloudVolume("c-0.data.v1", UID, "fi-hel1-a", 1, None, id="01-id"),),
    node_addresses={(UID, "c-0"): node_addresses(WHOLE, REGION)["c-0"]},
)


@pytest.mark.parametrize(
    ("target", "way"),
    [
        ("instance/c-0.g1", (Import('module.kedge.upcloud_server.instance["c-0.g1"]', "00-id"),)),
        ("volume/c-0.data.v1", (Import('module.kedge.upcloud_storage.volume["c-0.data.v1"]', "01-id"),)),
        ("attachment/c-0.g1.data", ()),
        ("binding/c-0.g1", ()),
        ("address/c-0", ()),
        ("instance/c-9.g1", None),
        ("something/else", None),
    ],
)
def test_what_exists_is_imported_by_its_uuid_and_a_name_is_made_again(target: str, way: object) -> None:
    assert imports_of(target, WHOLE, LISTING, rendered_addresses=node_addresses(WHOLE, REGION)) == way


def test_an_address_that_would_be_another_one_now_is_a_matter_for_a_person() -> None:
    moved = replace(LISTING, node_addresses={(UID, "c-0"): "10.20.128.99"})
    assert imports_of("address/c-0", WHOLE, moved, rendered_addresses=node_addresses(WHOLE, REGION)) is None


def test_a_root_disk_is_known_by_its_servers_name_and_by_having_no_label_of_anybody() -> None:
    def disk(storage: str, title: str, labels: list[dict[str, str]]) -> dict[str, object]:
        return {"storage": storage, "storage_title": title, "labels": labels}

    devices = [
        disk("root", "orders-b-0-root", [{"key": "_template_uuid", "value": "x"}, {"key": "_os_type", "value": "y"}]),
        disk("data", "orders-b-0-data", [{"key": "kedge-volume", "value": "b-0.data.v1"}]),
        disk("odd", "orders-b-0-root", [{"key": "kedge-volume", "value": "b-0.odd.v1"}]),
        disk("else", "somebodys", []),
    ]
    assert root_disks({"title": "orders-b-0", "storage_devices": {"storage_device": devices}}) == ["root"]
