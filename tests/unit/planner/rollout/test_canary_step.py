"""One broker tries live values: which it can have alone, how it gets there, and how it loses them again."""

from planner.observed import SettingSeen, SettingsSeen
from planner.rollout.canary_step import back_step, own_left, rack_step, trial_step, values_to_try
from planner.rollout.live_step import LiveStep, deviations, next_live_step

THREADS = "num.io.threads"
BYTES = "message.max.bytes"


def _seen(*threads: SettingSeen, defaults: dict[str, str] | None = None) -> SettingsSeen:
    return SettingsSeen({1000 + n: {THREADS: there} for n, there in enumerate(threads)}, defaults or {})


def _own(value: str) -> SettingSeen:
    return SettingSeen(value, is_own=True)


def test_what_kafka_refuses_on_one_broker_alone_is_not_tried() -> None:
    assert values_to_try({BYTES: "1", "min.insync.replicas": "1"}) == {BYTES: "1"}


def test_only_the_canary_gets_a_value_and_a_pool_of_threads_by_its_steps() -> None:
    wanted = {THREADS: "32", "min.insync.replicas": "1"}
    eight = SettingSeen("8")
    assert trial_step(wanted, _seen(eight, eight), 1000) == LiveStep({}, {1000: {THREADS: "16"}})
    assert trial_step(wanted, _seen(_own("16"), eight), 1000) == LiveStep({}, {1000: {THREADS: "32"}})
    assert not trial_step(wanted, _seen(_own("32"), eight), 1000)


def test_one_rack_after_the_other_gets_a_value_of_its_own_and_the_last_one_the_default() -> None:
    wanted, racks = {THREADS: "32", "min.insync.replicas": "1"}, ({1000, 1001}, {1002}, {1003})
    eight, done = SettingSeen("8"), _own("32")
    assert rack_step(wanted, _seen(done, eight, eight, eight), racks) == LiveStep({}, {1001: {THREADS: "16"}})
    assert rack_step(wanted, _seen(done, _own("16"), eight, eight), racks) == LiveStep({}, {1001: {THREADS: "32"}})
    assert rack_step(wanted, _seen(done, done, eight, eight), racks) == LiveStep({}, {1002: {THREADS: "16"}})
    assert not rack_step(wanted, _seen(done, done, done, eight), racks), "it gets the cluster's default"
    assert not rack_step(wanted, _seen(done, done, done, done), racks)


def test_what_the_canary_has_of_its_own_goes_once_the_default_is_right() -> None:
    wanted = {THREADS: "16"}
    behind = _seen(_own("16"), SettingSeen("8"))
    found = own_left(wanted, behind, (1000,))
    assert [(d.broker, d.value) for d in found] == [(1000, "16")]
    assert next_live_step(found, behind) == LiveStep({THREADS: "16"}, {})
    there = _seen(_own("16"), SettingSeen("16"), defaults={THREADS: "16"})
    assert next_live_step(own_left(wanted, there, (1000,)), there) == LiveStep({}, {1000: {THREADS: None}})
    gone = _seen(SettingSeen("16"), SettingSeen("16"), defaults={THREADS: "16"})
    assert own_left(wanted, gone, (1000,)) == ()


def test_a_right_value_of_its_own_stays_while_others_are_too_far_from_each_other() -> None:
    apart = SettingsSeen(
        {1000: {THREADS: _own("64")}, 1001: {THREADS: SettingSeen("8")}, 1002: {THREADS: SettingSeen("40")}}, {}
    )
    wanted = {THREADS: "64"}
    step = next_live_step((*deviations(wanted, apart), *own_left(wanted, apart, (1000,))), apart)
    assert step == LiveStep({}, {1001: {THREADS: "16"}, 1002: {THREADS: "64"}})


def test_values_of_others_are_not_taken_for_those_of_the_canary() -> None:
    assert own_left({THREADS: "16"}, _seen(_own("16"), _own("16")), (1001,))[0].broker == 1001


def test_a_pool_of_threads_goes_back_by_steps_and_everything_else_at_once() -> None:
    far = _seen(_own("32"), SettingSeen("8"))
    assert back_step([THREADS], far, (1000,)) == LiveStep({}, {1000: {THREADS: "16"}})
    near = _seen(_own("16"), SettingSeen("8"))
    assert back_step([THREADS], near, (1000,)) == LiveStep({}, {1000: {THREADS: None}})
    to_default = _seen(_own("32"), _own("3"), defaults={THREADS: "4"})
    assert back_step([THREADS], to_default, (1000,)) == LiveStep({}, {1000: {THREADS: "16"}})
    other = SettingsSeen({1000: {BYTES: _own("5")}, 1001: {BYTES: _own("6")}}, {})
    assert back_step([BYTES], other, (1000,)) == LiveStep({}, {1000: {BYTES: None}})
    assert not back_step([THREADS], _seen(SettingSeen("8"), _own("9")), (1000,))
