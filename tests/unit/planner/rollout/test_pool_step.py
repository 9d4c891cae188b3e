"""Live values of one pool: each broker's own, step by step, and back."""

from planner.observed import SettingSeen, SettingsSeen
from planner.rollout.pool_step import pool_back_step, pool_deviations, pool_step

IO = "num.io.threads"


def _seen(**values: tuple[str, bool]) -> SettingsSeen:
    """`b1000=("8", True)`: its own."""
    return SettingsSeen({int(b[1:]): {IO: SettingSeen(*v)} for b, v in values.items()}, {IO: "8"})


def test_a_right_value_that_is_the_default_is_not_there_yet() -> None:
    found = pool_deviations({IO: "8"}, _seen(b1000=("8", False), b1001=("8", True)))
    assert [(d.broker, d.is_own) for d in found] == [(1000, False)]
    assert pool_step(found).own == {1000: {IO: "8"}}
    assert not pool_step(found).defaults


def test_a_pool_of_threads_goes_in_steps_of_each_broker() -> None:
    found = pool_deviations({IO: "64"}, _seen(b1000=("8", False), b1001=("32", True), b1002=("64", True)))
    assert pool_step(found).own == {1000: {IO: "16"}, 1001: {IO: "64"}}


def test_a_setting_a_broker_does_not_know_or_has_no_value_of_is_no_deviation_of_a_pool_at_rest() -> None:
    nothing = SettingsSeen({1000: {}, 1001: {IO: SettingSeen(None)}}, {})
    assert pool_deviations({IO: "8"}, nothing, unset_is_right=True) == ()


def test_who_tried_gets_back_what_it_held_before_or_nothing() -> None:
    seen = _seen(b1000=("20", True), b1001=("16", True))
    assert pool_back_step({IO: "16"}, seen, (1000,)).own == {1000: {IO: "16"}}
    assert pool_back_step({IO: None}, _seen(b1000=("16", True), b1001=("8", False)), (1000,)).own == {1000: {IO: None}}
    assert not pool_back_step({IO: "16"}, seen, (1001,))


def test_what_concerns_a_pool_is_of_its_brokers_and_what_concerns_all_is_of_no_pool_alone() -> None:
    seen = _seen(b1000=("8", False), b1001=("8", False))
    assert set(seen.of((1001,)).brokers) == {1001}
    assert seen.without({1000: {IO}}).brokers == {1000: {}, 1001: {IO: SettingSeen("8")}}
