"""Addresses and ids by which Terraform takes in what AWS has."""

from datetime import UTC, datetime

import pytest

from providers.aws.imports import imports_of
from providers.base import CloudInstance, CloudVolume, InstanceState, Listing, Place
from providers.tf.abilities import Import
from tests.fakes.resources import UID, address, attachment, binding, instance, resources, volume

WANTED = resources(
    instance("c-0"),
    volume("c-0", "meta"),
    attachment("c-0.g1", "c-0.meta.v1"),
    address("c-0"),
    binding("c-0", "c-0.g1"),
    volume("b-1", kind="ephemeral"),
    attachment("b-1.g1", "b-1.data.v1"),
)
SEEN = Listing(
    Place("aws", "eu-west-1"),
    datetime(2026, 1, 1, tzinfo=UTC),
    (CloudInstance("i-1", UID, "c-0", 1, "intent-c-0.g1", "a", InstanceState.RUNNING, "10.0.0.1"),),
    (CloudVolume("c-0.meta.v1", UID, "a", 1, "c-0.g1", id="vol-1", device="/dev/sdf"),),
    node_addresses={(UID, "c-0"): "10.0.0.9"},
    node_address_ids={(UID, "c-0"): "eni-1"},
    binding_ids={(UID, "c-0"): "eni-attach-1"},
)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("instance/c-0.g1", Import('module.kedge.aws_instance.instance["c-0.g1"]', "i-1")),
        ("volume/c-0.meta.v1", Import('module.kedge.aws_ebs_volume.volume["c-0.meta.v1"]', "vol-1")),
        (
            "attachment/c-0.g1.meta",
            Import('module.kedge.aws_volume_attachment.attachment["c-0.g1.meta"]', "/dev/sdf:vol-1:i-1"),
        ),
        ("address/c-0", Import('module.kedge.aws_network_interface.address["c-0"]', "eni-1")),
        (
            "binding/c-0.g1",
            Import('module.kedge.aws_network_interface_attachment.binding["c-0.g1"]', "eni-attach-1"),
        ),
    ],
)
def test_each_kind_is_imported_by_the_id_its_page_names(target: str, expected: Import) -> None:
    assert imports_of(target, WANTED, SEEN) == (expected,)


@pytest.mark.parametrize("target", ["volume/b-1.data.v1", "attachment/b-1.g1.data"])
def test_a_vms_own_disk_is_made_again_which_makes_nothing(target: str) -> None:
    assert imports_of(target, WANTED, SEEN) == ()


@pytest.mark.parametrize("target", ["instance/x.g1", "address/x", "binding/x.g1", "something/else"])
def test_what_was_not_listed_cannot_be_imported(target: str) -> None:
    assert imports_of(target, WANTED, SEEN) is None
