"""The steps from plaintext to TLS: at each of them, and between two, everybody finds the others."""

from itertools import pairwise

import pytest

from planner.rollout.security_steps import (
    FIRST,
    LAST,
    OVER,
    PLAIN,
    STEPS,
    between,
    config_at,
    controller_listeners,
    next_position,
)


def _listens(position: int) -> set[str]:
    found = controller_listeners(config_at("controller", position), plain_port=9093, tls_port=9090)
    return {name for name, _ in found}


def _leads_by(position: int) -> str:
    """The listener by which controllers dial, so which every voter has to have."""
    return "CONTROLLER" if config_at("controller", position) in (PLAIN, "C1") else "CONTROLPLANE"


def test_servers_of_zookeeper_have_no_step_and_what_they_were_born_with() -> None:
    assert [config_at("zookeeper", n) for n in (FIRST, LAST)] == [PLAIN, OVER]


def test_controllers_and_brokers_by_position() -> None:
    told = [(config_at("controller", n), config_at("broker", n)) for n in range(FIRST, LAST + 1)]
    assert told == [
        (PLAIN, PLAIN),
        ("C1", PLAIN),
        ("C1", "B1"),
        ("C2", "B1"),
        ("C2", "B2"),
        ("C2", OVER),
        (OVER, OVER),
    ]
    assert {config_at("zookeeper", n) for n in range(FIRST, LAST)} == {PLAIN}


@pytest.mark.parametrize(("before", "after"), list(pairwise(range(FIRST, LAST + 1))))
def test_a_leader_of_either_side_of_a_step_takes_a_voter_of_the_other(before: int, after: int) -> None:
    """A leader refuses a voter that lacks the listener it dials by itself (run on 4.2.0): there and back."""
    assert _leads_by(before) in _listens(after)
    assert _leads_by(after) in _listens(before)


@pytest.mark.parametrize(("before", "after"), list(pairwise(range(FIRST, LAST + 1))))
def test_brokers_of_either_side_of_a_step_find_all_controllers(before: int, after: int) -> None:
    for brokers in (before, after):
        dials = "CONTROLLER" if config_at("broker", brokers) == PLAIN else "CONTROLPLANE"
        assert dials in _listens(before) & _listens(after)


def test_without_c2_a_voter_would_be_refused() -> None:
    assert _leads_by(2) not in _listens(LAST)


@pytest.mark.parametrize(("before", "after"), [(0, 2), (1, 6), (3, 3), (6, 7), (0, -1), (5, 3)])
def test_no_step_is_skipped(before: int, after: int) -> None:
    with pytest.raises(ValueError, match="none is skipped"):
        between(before, after)


def test_the_way_there_and_back_is_by_the_same_steps() -> None:
    there = [between(n, next_position(n, wants_tls=True)) for n in range(FIRST, LAST)]
    back = [between(n, next_position(n, wants_tls=False)) for n in range(LAST, FIRST, -1)]
    assert tuple(there) == STEPS
    assert tuple(reversed(back)) == STEPS
    assert next_position(LAST, wants_tls=True) == LAST
    assert next_position(FIRST, wants_tls=False) == FIRST
