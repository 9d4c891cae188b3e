"""Groups are filled, never overfilled, and mix all racks; an address belongs to one node for good."""

from collections import Counter, defaultdict
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given, strategies as st

from providers.base import Place, Resources
from providers.errors import QuotaExceeded
from providers.hetzner.inventory import PlaceLimits
from providers.hetzner.placement import GROUP_HOLDS, addresses_for, groups_for
from tests.fakes.resources import UID, address, instance, resources

PLACE = Place("hetzner", "eu-central", "production")
GROUPS = (11, 12, 13)
RANGE = "10.1.1.0/24"


def cluster(size: int, *, uid: str = UID) -> Resources:
    return replace(resources(*(instance(f"n-{i}", zone="abc"[i % 3]) for i in range(size)), uid=uid), place=PLACE)


def test_a_cluster_stands_on_different_hosts_as_long_as_one_group_holds_it() -> None:
    assert set(groups_for(cluster(9), GROUPS, PlaceLimits()).values()) == {11}


def test_each_group_of_a_large_cluster_mixes_all_racks() -> None:
    wanted = cluster(24)
    chosen = groups_for(wanted, GROUPS, PlaceLimits())
    assert Counter(chosen.values()) == {11: 10, 12: 10, 13: 4}
    racks = defaultdict(set)
    for one in wanted.instances:
        racks[chosen[one.key]].add(one.zone)
    assert all(found == {"a", "b", "c"} for found in racks.values())


def test_what_stands_keeps_its_group_and_the_next_joins_its_own() -> None:
    existing = PlaceLimits(groups={(UID, "n-0.g1"): 13, **{("other", f"x-{n}.g1"): 11 for n in range(5)}})
    chosen = groups_for(cluster(3), GROUPS, existing)
    assert chosen == {"n-0.g1": 13, "n-1.g1": 13, "n-2.g1": 13}


def test_clusters_do_not_share_a_group_while_there_is_an_emptier_one() -> None:
    existing = PlaceLimits(groups={("other", f"x-{n}.g1"): 11 for n in range(3)})
    assert set(groups_for(cluster(3), GROUPS, existing).values()) == {12}


@given(st.lists(st.integers(0, 12), min_size=3, max_size=3), st.integers(1, 12))
def test_no_group_ever_holds_more_than_it_may(filled: list[int], size: int) -> None:
    others = {
        (f"o{group}", f"x-{n}.g1"): group for group, many in zip(GROUPS, filled, strict=True) for n in range(many)
    }
    room = sum(max(GROUP_HOLDS - many, 0) for many in filled)
    chosen = groups_for(cluster(size), GROUPS, PlaceLimits(groups=others))
    after = Counter([*others.values(), *chosen.values()])
    over = sum(max(after[group] - max(GROUP_HOLDS, many), 0) for group, many in zip(GROUPS, filled, strict=True))
    assert over == max(size - room, 0), "only what no group has room for is put into a full one"
    assert len(chosen) == size


def test_without_groups_none_is_chosen() -> None:
    assert groups_for(cluster(3), (), PlaceLimits()) == {}


def owners(*names: str, uid: str = UID) -> Resources:
    return replace(resources(*(address(name) for name in names), uid=uid), place=PLACE)


def test_an_address_is_one_of_the_range_and_the_same_each_time() -> None:
    chosen = addresses_for(owners("c-0", "c-1", "c-2"), RANGE, PlaceLimits())
    assert len(set(chosen.values())) == 3
    assert all(IPv4Address(one) in IPv4Network(RANGE) for one in chosen.values())
    assert addresses_for(owners("c-0", "c-1", "c-2"), RANGE, PlaceLimits()) == chosen


def test_a_node_keeps_what_it_has() -> None:
    existing = PlaceLimits(addresses={(UID, "c-0"): "10.1.1.77"}, taken=frozenset({"10.1.1.77"}))
    assert addresses_for(owners("c-0"), RANGE, existing) == {"c-0": "10.1.1.77"}


def test_what_another_has_is_passed_over() -> None:
    mine = addresses_for(owners("c-0"), RANGE, PlaceLimits())["c-0"]
    assert addresses_for(owners("c-0"), RANGE, PlaceLimits(taken=frozenset({mine})))["c-0"] != mine


def test_addresses_are_used_up_to_the_last_and_none_is_made_up() -> None:
    small = IPv4Network("10.1.1.0/28")
    usable = [str(one) for one in small][2:-1]
    chosen = addresses_for(owners(*(f"c-{n}" for n in range(len(usable)))), str(small), PlaceLimits())
    assert sorted(chosen.values(), key=IPv4Address) == usable
    with pytest.raises(QuotaExceeded, match=r"no address of 10\.1\.1\.0/28 is left for d-0"):
        addresses_for(owners("d-0"), str(small), PlaceLimits(taken=frozenset(usable)))
