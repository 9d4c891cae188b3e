"""Addresses of an overlay: of names alone, and each in its own part of the prefix."""

from ipaddress import IPv6Address, IPv6Network

import pytest
from hypothesis import given, strategies as st

from agent.overlay.addresses import Kind, prefix_of, service_address, vm_address

PREFIX = prefix_of("c0ffee")
IDS = st.integers(0, 2**31 - 1)
KINDS: tuple[Kind, ...] = ("broker", "controller", "zookeeper")
GOLDEN = IPv6Network("fdb9:fab3:7eff:d59a::/64")


def test_the_prefix_is_the_same_for_ever() -> None:
    assert PREFIX == GOLDEN
    assert vm_address(PREFIX, "brokers-a-0", 1) == PREFIX[0xA << 48 | 0xC225_86B7_3642]


@pytest.mark.parametrize(
    ("kind", "service_id", "text"),
    [
        ("broker", 1003, "b::1003"),
        ("broker", 12345, "b:0:1:2345"),
        ("broker", 2147483647, "b:21:4748:3647"),
        ("controller", 100, "c::100"),
        ("zookeeper", 1, "d::1"),
        ("zookeeper", 0, "d::"),
    ],
)
def test_an_id_is_read_off_its_address(kind: Kind, service_id: int, text: str) -> None:
    prefix = IPv6Network("fd00:1:2:3::/64")
    assert service_address(prefix, kind, service_id) == IPv6Address(f"fd00:1:2:3:{text}")


@pytest.mark.parametrize("service_id", [-1, 2**31])
def test_an_id_that_nobody_has_is_refused(service_id: int) -> None:
    with pytest.raises(ValueError, match="ids are 0 to"):
        service_address(PREFIX, "broker", service_id)
    with pytest.raises(ValueError, match="is no /64"):
        service_address(IPv6Network("fd00::/48"), "broker", 1)


@given(uid=st.text(min_size=1), other=st.text(min_size=1))
def test_each_cluster_has_a_local_prefix_of_its_own(uid: str, other: str) -> None:
    prefix = prefix_of(uid)
    assert prefix.prefixlen == 64
    assert prefix.subnet_of(IPv6Network("fd00::/8"))
    assert (prefix == prefix_of(other)) == (uid == other)


@given(one=st.tuples(st.sampled_from(KINDS), IDS), other=st.tuples(st.sampled_from(KINDS), IDS))
def test_two_services_never_share_an_address(one: tuple[Kind, int], other: tuple[Kind, int]) -> None:
    first, second = service_address(PREFIX, *one), service_address(PREFIX, *other)
    assert first in PREFIX
    assert (first == second) == (one == other)


@given(node=st.from_regex(r"[a-z0-9-]{1,20}", fullmatch=True), generation=st.integers(1, 10**6), service_id=IDS)
def test_a_vm_has_no_address_of_a_service_nor_of_the_vm_before_it(node: str, generation: int, service_id: int) -> None:
    vm = vm_address(PREFIX, node, generation)
    assert vm in PREFIX
    assert vm not in {service_address(PREFIX, kind, service_id) for kind in KINDS}
    assert vm != vm_address(PREFIX, node, generation + 1)
