"""What every cloud must answer, whoever implements it: the local cloud, AWS and the fake pass the same suite.

The harness creates and deletes resources without Terraform (tests/terraform does that); the local one calls the verbs
of the provisioners in this process, that of AWS calls moto through boto3. What is promised of *creating* holds where
creates are repeatable, which AWS's are not: those tests take `verbs`.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from providers.base import InstanceState
from providers.errors import CloudUnavailable, PlaceUnknown, RateLimited, ResourceConflict
from providers.handover import Handover, handover_of
from providers.lateness import unlisted_s
from providers.traces import SeesForeignVms
from tests.contract.cloud_harnesses import HARNESSES, Harness
from tests.fakes.cloud import json_safe
from tests.fakes.clouds.hurry import at_once
from tests.fakes.resources import (
    UID,
    address,
    attachment,
    binding,
    instance,
    resources,
    volume,
)
from tests.sim.cloudmachines import REFUSALS


@pytest.fixture(params=["local", "fake", "aws", "azure", "digitalocean", "google", "hetzner", "upcloud"])
def harness(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Harness]:
    with HARNESSES[request.param](tmp_path, monkeypatch) as opened:
        yield opened


@pytest.fixture(params=["local", "fake"])
def verbs(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Harness]:
    """A cloud whose creates adopt what their intent made and refuse what another made."""
    with HARNESSES[request.param](tmp_path, monkeypatch) as opened:
        yield opened


def test_zones_come_in_a_stable_order(harness: Harness) -> None:
    assert harness.cloud.zones(harness.place.region) == tuple(harness.zone(letter) for letter in "abc")
    assert harness.cloud.zones(harness.place.region) == harness.cloud.zones(harness.place.region)


@pytest.mark.parametrize(
    "wrong",
    [{"region": "mars"}, {"account": "second"}, {"cloud": "elsewhere"}],
    ids=["region", "account", "cloud"],
)
def test_an_unknown_place_is_refused_by_name(harness: Harness, wrong: dict[str, str]) -> None:
    place = replace(harness.place, **wrong)
    with pytest.raises(PlaceUnknown, match=place.region if place.region == "mars" else str(place)):
        harness.cloud.list_place(place)


def test_an_empty_place_lists_nothing_and_says_when(harness: Harness) -> None:
    before = datetime.now(UTC)
    listing = harness.cloud.list_place(harness.place)
    assert (listing.instances, listing.volumes, dict(listing.node_addresses)) == ((), (), {})
    assert before <= listing.at <= datetime.now(UTC)


def test_a_vm_is_listed_with_everything_it_was_tagged_with(harness: Harness) -> None:
    harness.create(resources(instance("brokers-a-0", 2, zone="b", intent="why")))
    (seen,) = harness.cloud.list_place(harness.place).instances
    assert (seen.cluster_uid, seen.node, seen.generation, seen.key) == (UID, "brokers-a-0", 2, "brokers-a-0.g2")
    assert (seen.intent_id, seen.zone, seen.state) == ("why", harness.zone("b"), InstanceState.RUNNING)
    assert seen.address is not None
    assert harness.cloud.describe(harness.place, [seen.id]) == {seen.id: InstanceState.RUNNING}


def test_creating_a_vm_twice_for_one_intent_makes_one(verbs: Harness) -> None:
    wanted = resources(instance("n-0"))
    verbs.create(wanted)
    first = verbs.cloud.list_place(verbs.place).instances
    verbs.create(wanted)
    assert verbs.cloud.list_place(verbs.place).instances == first
    assert len(first) == 1


def test_a_cloud_that_makes_a_vm_twice_says_how_long_its_listing_may_lack_the_first(harness: Harness) -> None:
    wanted = resources(instance("n-0"))
    harness.create(wanted)
    with suppress(*REFUSALS):
        harness.create(wanted)
    listed = harness.cloud.list_place(harness.place).instances
    assert (len(listed) == 2) == (unlisted_s(harness.cloud) > 0)


def test_a_vm_of_another_intent_is_not_taken_over(verbs: Harness) -> None:
    verbs.create(resources(instance("n-0", intent="one")))
    with pytest.raises(ResourceConflict, match="one"):
        verbs.create(resources(instance("n-0", intent="two")))


def test_a_vm_that_lost_power_is_gone_by_name(harness: Harness) -> None:
    harness.create(resources(instance("n-0"), instance("n-1")))
    first, second = harness.cloud.list_place(harness.place).instances
    harness.power_cut(first.id)
    # A cloud may stop listing what is gone; what it lists of it, it calls gone.
    listed = {i.id: i.state for i in harness.cloud.list_place(harness.place).instances}
    assert {first.id: InstanceState.GONE, **listed} == {
        first.id: InstanceState.GONE,
        second.id: InstanceState.RUNNING,
    }
    assert harness.cloud.describe(harness.place, [first.id]) == {first.id: InstanceState.GONE}


def test_a_dead_vm_is_not_booted_again_by_its_own_intent(verbs: Harness) -> None:
    wanted = resources(instance("n-0"))
    verbs.create(wanted)
    (seen,) = verbs.cloud.list_place(verbs.place).instances
    verbs.power_cut(seen.id)
    verbs.create(wanted)
    assert verbs.cloud.describe(verbs.place, [seen.id]) == {seen.id: InstanceState.GONE}


def test_a_terminated_vm_is_gone_for_good_and_no_longer_listed(harness: Harness) -> None:
    harness.create(resources(instance("n-0")))
    (seen,) = harness.cloud.list_place(harness.place).instances
    harness.cloud.terminate(harness.place, seen.id)
    harness.cloud.terminate(harness.place, seen.id)
    assert harness.cloud.list_place(harness.place).instances == ()
    assert harness.cloud.describe(harness.place, [seen.id]) == {seen.id: InstanceState.GONE}


def test_a_terminated_vm_is_not_made_again(verbs: Harness) -> None:
    verbs.create(resources(instance("n-0")))
    (seen,) = verbs.cloud.list_place(verbs.place).instances
    verbs.cloud.terminate(verbs.place, seen.id)
    with pytest.raises(ResourceConflict, match="terminated"):
        verbs.create(resources(instance("n-0")))


def test_a_deleted_vm_is_gone_and_deleting_again_is_fine(harness: Harness) -> None:
    wanted = resources(instance("n-0"))
    harness.create(wanted)
    (seen,) = harness.cloud.list_place(harness.place).instances
    harness.delete(wanted)
    harness.delete(wanted)
    assert harness.cloud.describe(harness.place, [seen.id]) == {seen.id: InstanceState.GONE}


def test_a_vm_that_survives_its_deletion_is_still_seen_and_can_be_terminated(harness: Harness) -> None:
    wanted = resources(instance("n-0"))
    harness.create(wanted)
    harness.ignore_one_destroy()
    harness.delete(wanted)
    (seen,) = harness.cloud.list_place(harness.place).instances
    assert seen.state is InstanceState.RUNNING
    harness.cloud.terminate(harness.place, seen.id)
    assert harness.cloud.list_place(harness.place).instances == ()


def test_an_id_the_cloud_never_gave_out_is_left_out_not_gone(harness: Harness) -> None:
    assert harness.cloud.describe(harness.place, [f"{UID}/n-0.g1", "nonsense", "../../etc/x.g1"]) == {}


def test_another_installation_is_neither_listed_nor_counted(harness: Harness) -> None:
    harness.create(resources(instance("n-0"), volume("n-0"), address("n-0")))
    other = harness.other_installation()
    listing = other.cloud.list_place(harness.place)
    assert (listing.instances, listing.volumes, dict(listing.node_addresses)) == ((), (), {})


def test_a_vm_of_another_installation_is_counted_by_clouds_that_see_it_and_never_terminated(harness: Harness) -> None:
    harness.create(resources(instance("n-0"), instance("n-1")))
    other = harness.other_installation()
    if isinstance(other.cloud, SeesForeignVms) and isinstance(harness.cloud, SeesForeignVms):
        assert other.cloud.foreign_vms(harness.place) == {"test": 2}
        assert other.cloud.foreign_vms(harness.second) == {}
        assert harness.cloud.foreign_vms(harness.place) == {}
    with pytest.raises(ResourceConflict, match="not this installation's"):
        other.cloud.terminate(harness.place, harness.id_of("n-0.g1"))
    assert len(harness.cloud.list_place(harness.place).instances) == 2


def test_two_clusters_in_one_place_do_not_mix(harness: Harness) -> None:
    harness.create(resources(instance("n-0"), volume("n-0"), uid="aaa"))
    harness.create(resources(instance("n-0"), volume("n-0"), uid="bbb"))
    listing = harness.cloud.list_place(harness.place)
    assert sorted(i.cluster_uid for i in listing.instances) == ["aaa", "bbb"]
    assert sorted(v.cluster_uid for v in listing.volumes) == ["aaa", "bbb"]
    harness.cloud.terminate(harness.place, next(i.id for i in listing.instances if i.cluster_uid == "aaa"))
    assert [i.cluster_uid for i in harness.cloud.list_place(harness.place).instances] == ["bbb"]


def test_two_regions_are_two_places(harness: Harness) -> None:
    harness.create(resources(instance("n-0")))
    assert harness.cloud.list_place(harness.second).instances == ()


@pytest.mark.parametrize("dirs", [("data",), ("data", "data2")], ids=["one", "two"])
def test_volumes_outlive_their_vm_and_pass_to_the_next(harness: Harness, dirs: tuple[str, ...]) -> None:
    disks, keys = [volume("n-0", d) for d in dirs], [f"n-0.{d}.v1" for d in dirs]
    first = resources(instance("n-0"), *disks, *(attachment("n-0.g1", key) for key in keys))
    harness.create(first)
    assert [v.attached_to for v in harness.cloud.list_place(harness.place).volumes] == ["n-0.g1" for _ in dirs]
    assert harness.cloud.list_place(harness.place).instances[0].volumes == tuple(keys)
    harness.delete(first, *(f"attachment/n-0.g1.{d}" for d in dirs), "instance/n-0.g1")
    assert [v.attached_to for v in harness.cloud.list_place(harness.place).volumes] == [None for _ in dirs]
    second = resources(instance("n-0", 2), *disks, *(attachment("n-0.g2", key) for key in keys))
    harness.create(second, "instance/n-0.g2", *(f"attachment/n-0.g2.{d}" for d in dirs))
    assert [v.attached_to for v in harness.cloud.list_place(harness.place).volumes] == ["n-0.g2" for _ in dirs]


def test_a_volume_of_a_living_vm_is_not_given_to_another(verbs: Harness) -> None:
    both = resources(
        instance("n-0"),
        instance("n-0", 2),
        volume("n-0"),
        attachment("n-0.g1", "n-0.data.v1"),
        attachment("n-0.g2", "n-0.data.v1"),
    )
    with pytest.raises(ResourceConflict, match=r"attached to n-0\.g1"):
        verbs.create(both)


def test_a_volume_of_a_dead_vm_can_be_attached_elsewhere(harness: Harness) -> None:
    harness.create(resources(instance("n-0"), volume("n-0"), attachment("n-0.g1", "n-0.data.v1")))
    harness.power_cut(harness.id_of("n-0.g1"))
    wanted = resources(instance("n-0", 2), volume("n-0"), attachment("n-0.g2", "n-0.data.v1"))
    harness.create(wanted, "instance/n-0.g2", "attachment/n-0.g2.data")
    listing = harness.cloud.list_place(harness.place)
    assert listing.volumes[0].attached_to == "n-0.g2"
    assert {"n-0.g1": (), **{i.key: i.volumes for i in listing.instances}} == {
        "n-0.g1": (),
        "n-0.g2": ("n-0.data.v1",),
    }


def test_a_volume_stays_in_its_zone(verbs: Harness) -> None:
    wanted = resources(instance("n-0", zone="a"), volume("n-0", zone="b"), attachment("n-0.g1", "n-0.data.v1"))
    with pytest.raises(ResourceConflict, match="zone b"):
        verbs.create(wanted)


def test_nothing_is_attached_to_a_vm_that_is_not_alive(verbs: Harness) -> None:
    verbs.create(resources(instance("n-0"), volume("n-0"), address("n-0")))
    verbs.power_cut(verbs.id_of("n-0.g1"))
    wanted = resources(
        instance("n-0"), volume("n-0"), address("n-0"), attachment("n-0.g1", "n-0.data.v1"), binding("n-0", "n-0.g1")
    )
    for target in ("attachment/n-0.g1.data", "binding/n-0.g1"):
        with pytest.raises(ResourceConflict, match="not alive"):
            verbs.create(wanted, target)


def test_an_ephemeral_disk_is_the_vms_own_and_goes_with_it(harness: Harness) -> None:
    wanted = resources(instance("n-0"), volume("n-0", kind="ephemeral"), attachment("n-0.g1", "n-0.data.v1"))
    harness.create(wanted)
    listing = harness.cloud.list_place(harness.place)
    assert listing.instances[0].volumes == ("n-0.data.v1",)
    assert listing.volumes == ()
    harness.delete(wanted)
    assert harness.cloud.list_place(harness.place).instances == ()


def test_a_nodes_address_passes_from_one_vm_to_the_next(harness: Harness) -> None:
    # Where an address goes with its VM, the old VM is deleted with the binding and the next one is made with it.
    beside = handover_of(harness.cloud) is Handover.REBIND
    old, new = instance("c-0"), instance("c-0", 2)
    both = resources(old, *((new,) if beside else ()), address("c-0"), binding("c-0", "c-0.g1"))
    if handover_of(harness.cloud) is Handover.NONE:
        with pytest.raises(PlaceUnknown, match="cannot own an address"):
            harness.cloud.variables(replace(both, place=harness.place))
        return
    harness.create(both)
    listing = harness.cloud.list_place(harness.place)
    owned = listing.node_addresses[UID, "c-0"]
    assert {i.key: i.addresses for i in listing.instances} == {"c-0.g1": (owned,), **({"c-0.g2": ()} if beside else {})}
    harness.delete(both, "binding/c-0.g1", *(() if beside else ("instance/c-0.g1",)))
    after = resources(old, new, address("c-0"), binding("c-0", "c-0.g2"))
    harness.create(after, "binding/c-0.g2", *(() if beside else ("instance/c-0.g2",)))
    listing = harness.cloud.list_place(harness.place)
    assert {i.key: i.addresses for i in listing.instances} == {**({"c-0.g1": ()} if beside else {}), "c-0.g2": (owned,)}
    assert listing.node_addresses[UID, "c-0"] == owned


def test_a_nodes_address_is_not_taken_from_a_living_vm(verbs: Harness) -> None:
    verbs.create(resources(instance("c-0"), instance("c-0", 2), address("c-0"), binding("c-0", "c-0.g1")))
    wanted = resources(instance("c-0"), instance("c-0", 2), address("c-0"), binding("c-0", "c-0.g2"))
    with pytest.raises(ResourceConflict, match="alive"):
        verbs.create(wanted, "binding/c-0.g2")


def test_variables_are_json_and_the_same_each_time(verbs: Harness) -> None:
    wanted = resources(instance("c-0"), instance("c-1"), volume("c-0"), address("c-0"), binding("c-0", "c-0.g1"))
    first = verbs.cloud.variables(wanted)
    assert json_safe(first)
    assert verbs.cloud.variables(wanted) == first
    instances: Any = first["instances"]
    addresses: Any = first["addresses"]
    assert len({instances["c-0.g1"]["address"], instances["c-1.g1"]["address"], addresses["c-0"]["address"]}) == 3
    assert instances["c-0.g1"]["tags"]["kedge-intent"] == "intent-c-0.g1"


def test_each_generation_has_an_address_of_its_own(verbs: Harness) -> None:
    def own(generation: int) -> str:
        variables: Any = verbs.cloud.variables(resources(instance("n-0", generation)))
        return str(variables["instances"][f"n-0.g{generation}"]["address"])

    assert own(1) != own(2)
    assert own(1) == own(1)


@pytest.mark.parametrize("error", [CloudUnavailable, RateLimited])
def test_a_cloud_that_does_not_answer_says_so_and_knows_nothing(harness: Harness, error: type[Exception]) -> None:
    harness.create(resources(instance("n-0")))
    at_once(harness.cloud, harness.place)
    vm = harness.id_of("n-0.g1")
    calls: tuple[Callable[[], object], ...] = (
        lambda: harness.cloud.list_place(harness.place),
        lambda: harness.cloud.describe(harness.place, [vm]),
        lambda: harness.cloud.terminate(harness.place, vm),
    )
    for call in calls:
        harness.fail_once(error)
        with pytest.raises(error):
            call()
    assert [i.state for i in harness.cloud.list_place(harness.place).instances] == [InstanceState.RUNNING]


def test_a_lagging_listing_misses_what_is_new_while_describe_knows(harness: Harness) -> None:
    assert harness.cloud.list_place(harness.place).instances == ()
    harness.create(resources(instance("n-0")))
    harness.lag(1)
    assert harness.cloud.list_place(harness.place).instances == ()
    vm = harness.id_of("n-0.g1")
    assert harness.cloud.describe(harness.place, [vm]) == {vm: InstanceState.RUNNING}
    assert len(harness.cloud.list_place(harness.place).instances) == 1


@pytest.mark.parametrize("cloud", ["aws", "azure", "google"])
def test_a_listing_tells_which_vms_are_pre_emptible(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HARNESSES[cloud](tmp_path, monkeypatch) as harness:
        harness.create(resources(instance("b-0", spot=True), instance("b-1")))
        there = {i.key: i.spot for i in harness.cloud.list_place(harness.place).instances}
    assert there == {"b-0.g1": True, "b-1.g1": False}
