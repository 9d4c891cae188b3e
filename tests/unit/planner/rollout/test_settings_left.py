"""What is left of a change of settings, service by service: live where all take it so, a restart where one needs it."""

import pytest

from planner.rollout.setting_class import SettingClass
from planner.rollout.settings_left import AppliedSettings, SettingsLeft, settings_left

OLD, NEW = "4.1.1", "4.2.0"


def _left(
    *told: AppliedSettings, wanted: dict[str, str], silent: dict[str, str] | None = None, **more: object
) -> SettingsLeft:
    return settings_left(told, wanted, where_silent=silent or {}, **more)  # type: ignore[arg-type]


def test_nothing_is_left_where_all_were_told_what_the_spec_says() -> None:
    assert (
        _left(AppliedSettings({"a": "1"}, OLD), AppliedSettings({"a": "1"}, NEW), wanted={"a": "1"}) == SettingsLeft()
    )


def test_a_live_setting_goes_under_the_name_kafka_takes() -> None:
    left = _left(AppliedSettings({"log.retention.hours": "2"}, OLD), wanted={"log.retention.hours": "1"})
    assert left == SettingsLeft({"log.retention.ms": "3600000"}, ("log.retention.hours",), ())


def test_live_and_restart_are_told_apart() -> None:
    left = _left(AppliedSettings({}, OLD), wanted={"num.io.threads": "4", "num.partitions": "4"})
    assert left == SettingsLeft({"num.io.threads": "4"}, ("num.io.threads",), ("num.partitions",))


def test_a_value_kafka_reads_alike_is_settled_without_a_live_one() -> None:
    left = _left(AppliedSettings({"num.io.threads": "08"}, OLD), wanted={"num.io.threads": "8"})
    assert left == SettingsLeft({}, ("num.io.threads",), ())


def test_a_setting_that_left_the_spec_goes_to_what_the_service_is_started_with() -> None:
    left = _left(AppliedSettings({"min.insync.replicas": "1"}, OLD), wanted={}, silent={"min.insync.replicas": "2"})
    assert left.live == {"min.insync.replicas": "2"}


def test_guarded_settings_can_be_left_out() -> None:
    told, wanted = AppliedSettings({}, OLD), {"min.insync.replicas": "1", "num.io.threads": "4"}
    left = _left(told, wanted=wanted, without=frozenset({SettingClass.GUARDED}))
    assert left == SettingsLeft({"num.io.threads": "4"}, ("num.io.threads",), ())


def test_a_setting_one_version_does_not_know_waits_for_its_last_broker() -> None:
    only_new = "remote.log.manager.follower.thread.pool.size"
    told = [AppliedSettings({}, OLD), AppliedSettings({}, NEW)]
    left = _left(*told, wanted={only_new: "3", "num.io.threads": "4"})
    assert left.settled == ("num.io.threads",)
    assert only_new in (
        *_left(told[1], wanted={only_new: "3"}).settled,
        *_left(told[1], wanted={only_new: "3"}).restart,
    )


def test_a_service_that_was_told_already_changes_nothing() -> None:
    told = AppliedSettings({"num.io.threads": "4"}, OLD)
    left = _left(told, AppliedSettings({"num.io.threads": "8"}, OLD), wanted={"num.io.threads": "4"})
    assert left.live == {"num.io.threads": "4"}


@pytest.mark.parametrize("version", ["3.0.0", "9.9.9"])
def test_a_version_without_a_table_is_restarted_for_everything(version: str) -> None:
    assert _left(AppliedSettings({"a": "1"}, version), wanted={"b": "1"}) == SettingsLeft({}, (), ("a", "b"))
