"""What exists on Google Cloud is imported by ids that follow from its listing; names in the state are made again."""

from datetime import UTC, datetime

import pytest

from providers.base import CloudInstance, CloudVolume, InstanceState, Listing, Place
from providers.google.imports import imports_of
from providers.tf.abilities import Import
from tests.fakes.resources import UID, address, attachment, binding, instance, resources, volume

ZONE = "europe-west1-b"
WANTED = resources(
    instance("c-0"),
    volume("c-0", "meta"),
    volume("c-0", kind="ephemeral"),
    attachment("c-0.g1", "c-0.meta.v1"),
    attachment("c-0.g1", "c-0.data.v1"),
    address("c-0"),
    binding("c-0", "c-0.g1"),
)
VM = CloudInstance(f"{ZONE}/k-vm/42", UID, "c-0", 1, "i", ZONE, InstanceState.RUNNING, "10.0.0.2")
DISK = CloudVolume("c-0.meta.v1", UID, ZONE, 1, "c-0.g1", id=f"projects/p/zones/{ZONE}/disks/k-disk")
PLACE = Place("google", "europe-west1", "production")
LISTING = Listing(
    PLACE,
    datetime.now(UTC),
    (VM,),
    (DISK,),
    node_addresses={(UID, "c-0"): "10.0.0.2"},
    node_address_ids={(UID, "c-0"): "projects/p/regions/europe-west1/addresses/k-c-0"},
)
EMPTY = Listing(PLACE, datetime.now(UTC), ())


@pytest.mark.parametrize(
    ("target", "resource", "found"),
    [
        ("instance/c-0.g1", "google_compute_instance.instance", f"projects/p/zones/{ZONE}/instances/k-vm"),
        ("volume/c-0.meta.v1", "google_compute_disk.volume", f"projects/p/zones/{ZONE}/disks/k-disk"),
        (
            "attachment/c-0.g1.meta",
            "google_compute_attached_disk.attachment",
            f"projects/p/zones/{ZONE}/instances/k-vm/k-disk",
        ),
        ("address/c-0", "google_compute_address.address", "projects/p/regions/europe-west1/addresses/k-c-0"),
    ],
)
def test_a_thing_has_one_id(target: str, resource: str, found: str) -> None:
    key = target.partition("/")[2]
    assert imports_of(target, WANTED, LISTING, "p") == (Import(f'module.kedge.{resource}["{key}"]', found),)


@pytest.mark.parametrize("target", ["binding/c-0.g1", "volume/c-0.data.v1", "attachment/c-0.g1.data"])
def test_a_name_is_made_again(target: str) -> None:
    assert imports_of(target, WANTED, LISTING, "p") == ()


@pytest.mark.parametrize(
    "target", ["instance/c-0.g1", "volume/c-0.meta.v1", "attachment/c-0.g1.meta", "address/c-0", "network/x"]
)
def test_what_the_listing_does_not_show_cannot_be_imported(target: str) -> None:
    assert imports_of(target, WANTED, EMPTY, "p") is None
