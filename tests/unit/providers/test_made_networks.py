"""Regions whose network is Kedge's to make: what a person tells of them, and what becomes of that once one is made."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from providers.aws.settings import AwsSettings
from providers.base import CloudProvider, Listing, Place
from providers.doctor import examine
from providers.errors import PlaceUnknown
from providers.networks import LONGEST_NAME, NetworkMissing, NetworkRun, NetworkRunKind, name_in_account

ACCOUNT = "123456789012"
PLACE = Place("aws", "eu-west-1", "main")
IMAGES = {"4.2.0": {"arm64": "ami-12345678"}}
MADE = {"subnets": {"eu-west-1a": "subnet-12345678"}, "security_groups": ["sg-12345678"]}


def settings(folder: Path, **regions: Any) -> AwsSettings:
    file = folder / "aws.yaml"
    named = {name.replace("_", "-"): told for name, told in regions.items()}
    file.write_text(yaml.safe_dump({"accounts": {"main": {"id": ACCOUNT, "regions": named}}}))
    return AwsSettings.read(file)


def test_a_region_without_ids_is_left_to_kedge(tmp_path: Path) -> None:
    read = settings(tmp_path, eu_west_1={"images": IMAGES}, eu_central_1={**MADE, "images": IMAGES})
    assert read.leaves_network(PLACE)
    assert not read.leaves_network(Place("aws", "eu-central-1", "main"))
    with pytest.raises(NetworkMissing, match="the network default is Kedge's to make"):
        read.region(PLACE)


def test_it_is_whole_once_its_network_is_made(tmp_path: Path) -> None:
    read = settings(tmp_path, eu_west_1={"images": IMAGES})
    region = read.with_networks({PLACE: MADE}.get).region(PLACE)
    assert (dict(region.subnets), dict(region.images)) == (MADE["subnets"], IMAGES)
    with pytest.raises(NetworkMissing, match="the network second"):
        read.region(Place("aws", "eu-west-1", "main", "second"))


def test_a_region_with_some_of_its_ids_is_told_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(PlaceUnknown, match=r"regions.eu-west-1.security_groups: Field required"):
        settings(tmp_path, eu_west_1={"subnets": MADE["subnets"]})


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"imagess": IMAGES}, "imagess: there is no such field"),
        ({"images": {"4.2.0": {"arm64": "x"}}}, "eu-west-1.images"),
    ],
)
def test_slips_in_the_rest_of_a_region_are_told_when_it_is_read(tmp_path: Path, told: Any, words: str) -> None:
    with pytest.raises(PlaceUnknown, match=words):
        settings(tmp_path, eu_west_1=told)


def test_a_place_nobody_told_of_names_those_there_are(tmp_path: Path) -> None:
    read = settings(tmp_path, eu_west_1={"images": IMAGES})
    with pytest.raises(PlaceUnknown, match=r"no such region in aws\.yaml; it has eu-west-1"):
        read.leaves_network(Place("aws", "mars-1", "main"))
    with pytest.raises(PlaceUnknown, match="an account has at least one"):
        settings(tmp_path)


def test_what_was_made_and_does_not_fit_is_told(tmp_path: Path) -> None:
    read = settings(tmp_path, eu_west_1={"images": IMAGES})
    with pytest.raises(PlaceUnknown, match=r"does not fit aws\.yaml: subnets"):
        read.with_networks(lambda _: {"subnets": {}, "security_groups": ["sg-12345678"]}).region(PLACE)


class Empty:
    """A cloud with nothing in it."""

    def __init__(self, settings: AwsSettings) -> None:
        self.settings = settings

    def list_place(self, place: Place) -> Listing:
        return Listing(place, datetime(2026, 1, 1, tzinfo=UTC), ())

    def makes_network(self, place: Place) -> bool:
        return self.settings.leaves_network(place)

    def network_variables(self, place: Place) -> dict[str, str]:
        return {}


def test_the_doctor_says_whose_the_network_is_and_where_to_look(tmp_path: Path) -> None:
    read = settings(tmp_path, eu_west_1={"images": IMAGES})
    found = list(examine("aws", tmp_path / "aws.yaml", lambda: cast(CloudProvider, Empty(read))))
    assert [f.well for f in found] == [True, True, None]
    assert "its network is Kedge's to make" in found[1].told
    assert "how many more the pool has room for" in found[2].what_next


@pytest.mark.parametrize("region", ["eu-west-1", "northamerica-northeast1"])
def test_a_networks_name_in_the_account_has_room_for_what_begins_with_it(region: str) -> None:
    def name(network: str) -> str:
        place = Place("google", region, "main", network)
        return name_in_account(place, "test")

    assert name("default").startswith("kedge-default-")
    assert len(name("a" * 63)) <= LONGEST_NAME
    assert len({name("a" * 40), name("a" * 41), name("default")}) == 3


def test_networks_of_one_name_are_told_apart_by_their_installation() -> None:
    place = Place("google", "eu-west-1", "main", "default")
    assert name_in_account(place, "one") != name_in_account(place, "other")


def test_a_network_asked_for_before_names_told_installations_apart_keeps_its_own() -> None:
    """Another name is another network: its run would delete what stands."""
    old = NetworkRun("i", NetworkRunKind.GROW, "k", Place("aws", "eu-west-1", "main"), "test", "10.64.0.0/20")
    assert old.cloud_name == "kedge-default-eu-west-1"
    long = replace(old, place=replace(old.place, network="a" * 40))
    assert (
        long.cloud_name
        == "kedge-aaaaaaaaaaaaaaaaa-" + hashlib.sha256(f"kedge-{'a' * 40}-eu-west-1".encode()).hexdigest()[:6]
    )
    assert replace(old, called="kedge-other").cloud_name == "kedge-other"
