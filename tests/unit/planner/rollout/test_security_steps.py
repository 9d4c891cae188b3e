"""The steps from plaintext to TLS: at each of them, and between two, everybody finds the others."""

from itertools import pairwise

import pytest

from planner.rollout.security_steps import (
    ENSEMBLE_STEPS,
    FIRST,
    LAST,
    OVER,
    PLAIN,
    STEPS,
    between,
    config_at,
    controller_listeners,
    next_position,
    steps_of,
)


def _listens(position: int) -> set[str]:
    found = controller_listeners(config_at("controller", position), plain_port=9093, tls_port=9090)
    return {name for name, _ in found}


def _leads_by(position: int) -> str:
    """The listener by which controllers dial, so which every voter has to have."""
    return "CONTROLLER" if config_at("controller", position) in (PLAIN, "C1") else "CONTROLPLANE"


def test_servers_and_brokers_of_an_ensemble_by_position() -> None:
    told = [(config_at("zookeeper", n, "zookeeper"), config_at("broker", n, "zookeeper")) for n in range(LAST + 1)]
    assert told == [
        (PLAIN, PLAIN),
        ("Z1", PLAIN),
        ("Z1", "B1"),
        ("Z2", "B1"),
        ("Z2", "B2"),
        ("Z2", OVER),
        (OVER, OVER),
    ]


def test_servers_that_are_left_of_a_migration_have_no_step() -> None:
    assert [config_at("zookeeper", n) for n in (FIRST, LAST)] == [PLAIN, OVER]


@pytest.mark.parametrize(("before", "after"), list(pairwise(range(FIRST, LAST + 1))))
def test_servers_of_either_side_of_a_step_take_one_another(before: int, after: int) -> None:
    """`sslQuorum` is what a server dials by, `portUnification` has it take both."""
    dials = {PLAIN: "plaintext", "Z1": "plaintext", "Z2": "tls", OVER: "tls"}
    takes = {PLAIN: {"plaintext"}, "Z1": {"plaintext", "tls"}, "Z2": {"plaintext", "tls"}, OVER: {"tls"}}
    one, other = (config_at("zookeeper", n, "zookeeper") for n in (before, after))
    assert dials[one] in takes[other]
    assert dials[other] in takes[one]


def test_only_brokers_with_certificates_are_beside_one_that_makes_nodes_its_own() -> None:
    owning = next(n for n in range(LAST) if config_at("broker", n, "zookeeper") == "B2")
    assert config_at("broker", owning - 1, "zookeeper") != PLAIN
    assert [step.name for step in ENSEMBLE_STEPS if step.puts == "owners"] == ["B2"]


def test_both_ways_have_their_steps_of_brokers_at_the_same_positions() -> None:
    brokers = [
        [(n, one.name) for n, one in enumerate(steps) if one.service == "broker"] for steps in (STEPS, ENSEMBLE_STEPS)
    ]
    assert brokers[0] == brokers[1]
    assert steps_of("zookeeper") is ENSEMBLE_STEPS


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
