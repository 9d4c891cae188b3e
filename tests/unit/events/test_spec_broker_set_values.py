"""Which set a topic stays in, and who may hold it."""

import pytest

from events.spec.broker_sets import NO_SET, NO_SETS, BrokerSets, set_words

SETS = BrokerSets(
    {1: "fast", 2: "fast", 3: "slow"},
    {"orders": "fast", "pay*": "fast", "payroll*": "slow", "*": "slow", "payroll-x": "fast"},
)


@pytest.mark.parametrize(
    ("topic", "own"),
    [
        ("orders", "fast"),
        ("orders2", "slow"),
        ("pay", "fast"),
        ("payments", "fast"),
        ("payroll", "slow"),
        ("payroll-x", "fast"),
        ("__consumer_offsets", "slow"),
    ],
)
def test_a_full_name_counts_before_a_beginning_and_a_longer_one_before_a_shorter(topic: str, own: str) -> None:
    assert SETS.of_topic(topic) == own


def test_replicas_stay_on_brokers_of_the_set_and_topics_without_one_on_brokers_without() -> None:
    sets = BrokerSets({1: "fast", 2: "fast"}, {"orders": "fast"})
    assert sets.may_hold("orders", (1, 2, 3)) == {1, 2}
    assert sets.may_hold("audit", (1, 2, 3)) == {3}
    assert sets.of_topic("audit") == NO_SET
    assert sets.outside("audit", (2, 3, 1)) == (2, 1)
    assert sets.beside(1, (3, 2, 9)) == (2,)
    assert sets.beside(3, (3, 2, 9)) == (3, 9)


def test_heartbeats_may_be_everywhere_as_each_broker_leads_one() -> None:
    assert SETS.may_hold("__kedge_heartbeats", (1, 2, 3)) == {1, 2, 3}


def test_without_sets_everything_may_be_everywhere() -> None:
    assert not NO_SETS
    assert NO_SETS.may_hold("orders", (1, 2)) == {1, 2}
    assert NO_SETS.beside(1, (2, 3)) == (2, 3)
    assert NO_SETS.outside("orders", (1, 2)) == ()


def test_a_set_is_told_by_its_name() -> None:
    assert set_words("fast") == "broker set fast"
    assert set_words(NO_SET) == "the brokers of no set"
