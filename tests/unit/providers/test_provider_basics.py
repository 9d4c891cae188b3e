"""Names, shapes, tags and errors every cloud shares."""

import pytest

from providers import catalogs, errors, registry, tags
from providers.errors import Offence, PlaceUnknown, ProviderError, TerraformFailed, UnsafeChange
from providers.local.errors import marked, recognise
from tests.fakes.resources import instance, resources


def test_a_provider_is_loaded_by_its_name(tmp_path: object) -> None:
    cloud = registry.load("local", root=tmp_path, installation_id="i", python="/usr/bin/python3")
    assert cloud.name == "local"
    assert "local" in registry.names()


def test_a_cloud_nobody_implements_is_refused_with_what_there_is() -> None:
    with pytest.raises(PlaceUnknown, match="local"):
        registry.load("mars")


def test_shapes_grow_with_their_names() -> None:
    local = catalogs.catalog("local")
    small, medium, large = (local.shape(name) for name in ("small", "medium", "large"))
    assert small.vcpus < medium.vcpus < large.vcpus
    assert small.memory_mib < medium.memory_mib < large.memory_mib
    assert small.nic_bytes_per_s < medium.nic_bytes_per_s < large.nic_bytes_per_s


def test_an_unknown_shape_or_disk_is_refused_with_what_there_is() -> None:
    local = catalogs.catalog("local")
    with pytest.raises(PlaceUnknown, match="small, medium, large"):
        local.shape("huge")
    with pytest.raises(PlaceUnknown, match="persistent, ephemeral"):
        local.disk("tape")
    with pytest.raises(PlaceUnknown):
        catalogs.catalog("mars")


def test_an_ephemeral_disk_does_not_outlive_its_vm() -> None:
    local = catalogs.catalog("local")
    assert (local.disk("persistent").outlives_vm, local.disk("ephemeral").outlives_vm) == (True, False)


def test_tags_say_whose_a_vm_is_and_why() -> None:
    own = tags.instance_tags(resources(instance("b-0", 3, intent="why")), instance("b-0", 3, intent="why"))
    assert (own[tags.NODE], own[tags.GENERATION], own[tags.INTENT]) == ("b-0", "3", "why")
    assert tags.owned_by(own, "test")
    assert not tags.owned_by(own, "other")
    assert not tags.owned_by({}, "test")


def test_tag_keys_suit_the_strictest_cloud() -> None:
    own = tags.instance_tags(resources(), instance("b-0"))
    assert all(key.islower() and set(key) <= set("abcdefghijklmnopqrstuvwxyz-") and len(key) <= 63 for key in own)


def test_every_error_answers_what_now() -> None:
    kinds = [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, ProviderError)]
    assert len(kinds) > 8
    for kind in kinds:
        assert isinstance(kind.retryable, bool)
        assert kind.what_next


@pytest.mark.parametrize(
    ("kind", "retryable"),
    [
        (errors.AuthFailed, False),
        (errors.NotPermitted, False),
        (errors.QuotaExceeded, False),
        (errors.NoCapacity, True),
        (errors.RateLimited, True),
        (errors.PlaceUnknown, False),
        (errors.CloudUnavailable, True),
        (errors.UnsafeChange, False),
        (errors.TerraformFailed, True),
        (errors.RunInterrupted, True),
        (errors.RunInProgress, True),
        (errors.StateUnreadable, False),
        (errors.ResourceConflict, False),
    ],
)
def test_only_what_may_pass_by_itself_is_tried_again(kind: type[ProviderError], retryable: bool) -> None:
    assert kind.retryable is retryable


def test_a_refusal_names_each_target_and_reason() -> None:
    error = UnsafeChange("surge run r", [Offence("instance/a.g1", "no"), Offence("volume/b", "never")])
    assert str(error).splitlines() == ["surge run r: refused, nothing applied.", "instance/a.g1: no", "volume/b: never"]


def test_terraforms_words_are_kept() -> None:
    assert str(TerraformFailed("it failed", ["one", "two"])) == "it failed\none\ntwo"


def test_a_verbs_error_is_recognised_inside_terraforms_words() -> None:
    told = marked(errors.NoCapacity('no "room" in zone b'))
    error = recognise([f"local-exec provisioner error: exit status 1. Output: {told}\n (module.x)"])
    assert isinstance(error, errors.NoCapacity)
    assert str(error) == 'no "room" in zone b'
    assert recognise(["something else"]) is None
