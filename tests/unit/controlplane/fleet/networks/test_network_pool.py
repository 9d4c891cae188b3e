"""Addresses for networks: never two that overlap, always the lowest free, and a word when there are none."""

from ipaddress import IPv4Network

import pytest
from hypothesis import given, strategies as st

from controlplane.fleet.networks.address_pool import PoolExhausted, TooManyZones, free_networks, next_cidr, numbered

POOL = IPv4Network("10.64.0.0/12")


@st.composite
def others(draw: st.DrawFn) -> IPv4Network:
    """A network of any size, in the pool or around it."""
    prefix = draw(st.integers(min_value=8, max_value=28))
    start = draw(st.integers(min_value=0x0A000000, max_value=0x0AFFFFFF))
    return IPv4Network((start >> (32 - prefix) << (32 - prefix), prefix))


@given(st.lists(others(), max_size=12), st.lists(st.integers(min_value=12, max_value=22), max_size=12))
def test_networks_given_one_after_the_other_never_overlap(taken: list[IPv4Network], prefixes: list[int]) -> None:
    given_so_far: list[IPv4Network] = []
    for prefix in prefixes:
        try:
            cidr = next_cidr(POOL, prefix, [*taken, *given_so_far])
        except PoolExhausted:
            every = POOL.subnets(new_prefix=prefix)
            assert all(any(one.overlaps(t) for t in [*taken, *given_so_far]) for one in every)
            continue
        assert cidr.prefixlen == prefix
        assert cidr.subnet_of(POOL)
        assert not any(cidr.overlaps(other) for other in [*taken, *given_so_far])
        given_so_far.append(cidr)


@given(st.lists(others(), max_size=8), st.integers(min_value=13, max_value=18))
def test_the_lowest_free_network_is_given(taken: list[IPv4Network], prefix: int) -> None:
    free = [n for n in POOL.subnets(new_prefix=prefix) if not any(n.overlaps(t) for t in taken)]
    if free:
        assert next_cidr(POOL, prefix, taken) == free[0]
    assert free_networks(POOL, prefix, taken) == len(free)


def test_a_pool_that_is_used_up_says_so() -> None:
    with pytest.raises(PoolExhausted, match=r"the pool 10\.64\.0\.0/12 has no /13 left"):
        next_cidr(POOL, 13, [IPv4Network("10.64.0.0/32"), IPv4Network("10.79.255.255/32")])
    with pytest.raises(PoolExhausted, match="larger than the pool"):
        next_cidr(POOL, 11, [])


def test_what_is_left_of_a_large_pool_is_counted_without_giving_it_away() -> None:
    """`GET /v1/networks` took a second for the 1,024 of a /12: each was given, and all given before looked at anew."""
    pool = IPv4Network("10.0.0.0/8")
    assert free_networks(pool, 28, [IPv4Network("10.0.0.0/28"), IPv4Network("10.128.0.0/12")]) == 2**20 - 2**16 - 1
    assert free_networks(pool, 7, []) == 0


def test_a_zone_keeps_its_number_and_a_new_one_gets_the_lowest_free() -> None:
    assert numbered(["c", "a"], {"b": 0, "d": 2}) == {"a": 1, "b": 0, "c": 3, "d": 2}
    with pytest.raises(TooManyZones, match="seventeenth"):
        numbered(["z"], {str(n): n for n in range(16)})
