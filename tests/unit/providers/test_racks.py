"""What keeps racks apart is told for every zone a cloud's settings may name, with where that is from."""

import re

import pytest

from providers.catalog_file import sold_by
from providers.racks import RackKind, racks_in, racks_of, site_of

CLOUDS = ("aws", "azure", "digitalocean", "google", "hetzner", "upcloud")


@pytest.mark.parametrize(
    ("cloud", "zone", "kind"),
    [
        ("aws", "eu-west-1a", RackKind.ZONE),
        ("aws", "eu-west-1a-p2", RackKind.PARTITION_GROUP),
        ("google", "europe-west1-b", RackKind.ZONE),
        ("azure", "westeurope-1", RackKind.ZONE),
        ("azure", "westus-fd2", RackKind.FAULT_DOMAIN),
        ("digitalocean", "nyc3-a", RackKind.LABEL),
        ("upcloud", "fi-hel1-a", RackKind.LABEL),
        ("hetzner", "fsn1", RackKind.ZONE),
        ("hetzner", "ash-a", RackKind.SPREAD_GROUP),
    ],
)
def test_a_zone_is_what_its_cloud_makes_of_it(cloud: str, zone: str, kind: RackKind) -> None:
    found = racks_of(cloud, zone)
    assert found is not None
    assert found.kind is kind


@pytest.mark.parametrize("cloud", CLOUDS)
def test_the_last_word_of_a_catalogue_is_of_every_zone_and_each_has_a_source(cloud: str) -> None:
    told = racks_in(sold_by(cloud))
    assert told[-1].zones == ""
    assert all(one.zones and re.compile(one.zones) for one in told[:-1])
    assert all(one.apart and one.source for one in told)


def test_nothing_is_said_of_racks_of_the_local_cloud() -> None:
    assert racks_of("local", "a") is None


@pytest.mark.parametrize(
    ("cloud", "zone", "site"),
    [
        ("aws", "eu-west-1a", "eu-west-1a"),
        ("aws", "eu-west-1a-p2", "eu-west-1a"),
        ("azure", "westus-fd2", "westus"),
        ("azure", "westeurope-1", "westeurope-1"),
        ("hetzner", "ash-a", "ash"),
        ("digitalocean", "nyc3-a", "nyc3"),
        ("upcloud", "fi-hel1-b", "fi-hel1"),
        ("local", "a", "a"),
    ],
)
def test_racks_of_one_site_are_one_zone_to_a_bill(cloud: str, zone: str, site: str) -> None:
    assert site_of(cloud, zone) == site
