"""What a change of each setting costs, with its reason; and that no class contradicts Kafka's own table."""

import pytest
from hypothesis import given, strategies as st

from events.spec.fields import FieldClass
from events.spec.properties import property_class
from events.spec.releases import SUPPORTED
from events.spec.setting_synonyms import time_setting
from events.spec.setting_table import TABLES, UpdateMode, settings_of
from planner.rollout.setting_class import (
    CLASS_MEANING,
    HALF_TO_DOUBLE,
    LIVE_CLASSES,
    SettingClass,
    kafka_class,
    live_steps,
    setting_class,
)

VERSIONS = sorted(TABLES.values())


@pytest.mark.parametrize(
    ("name", "expected", "reason"),
    [
        ("log.segment.bytes", SettingClass.DYNAMIC_CLUSTER, "Kafka takes it live, cluster-wide"),
        ("num.partitions", SettingClass.RESTART, "Kafka reads it when the process starts (read-only)"),
        ("node.id", SettingClass.OWNED, "set by Kedge: each node has its own id for ever"),
        ("listener.name.internal.num.network.threads", SettingClass.OWNED, "set by Kedge: `spec.listeners` says it"),
        (
            "log4j.logger.kafka",
            SettingClass.OWNED,
            "set by Kedge: it belongs to the file of the log, which Kedge writes; Kafka would ignore it here",
        ),
        ("ssl.keystore.password", SettingClass.REFUSED, "it holds a secret, and specs are read by many"),
        ("log.retention.hour", SettingClass.UNKNOWN, "no release of Kafka has it"),
        (
            "offsets.commit.required.acks",
            SettingClass.UNKNOWN,
            "Kafka 4.2 does not have it; 3.8, 3.9 have it",
        ),
        ("replica.selector.class", SettingClass.RESTART, "Kafka reads it when the process starts (read-only)"),
    ],
)
def test_each_class_says_why(name: str, expected: SettingClass, reason: str) -> None:
    found = setting_class(name, version="4.2.0")
    assert (found.setting_class, found.reason) == (expected, reason)


def test_hours_change_live_as_milliseconds() -> None:
    found = setting_class("log.roll.hours", version="4.1.1")
    assert (found.setting_class, found.live_name) == (SettingClass.DYNAMIC_CLUSTER, "log.roll.ms")
    assert found.reason == "Kafka takes it live, cluster-wide, as log.roll.ms, which wins over it"


def test_the_interval_of_the_flush_scheduler_is_no_synonym() -> None:
    assert not setting_class("log.flush.scheduler.interval.ms", version="4.2.0").is_live


def test_min_isr_is_guarded() -> None:
    found = setting_class("min.insync.replicas", version="4.2.0")
    assert (found.setting_class, found.condition) == (SettingClass.GUARDED, "only while no roll runs")
    assert "clears the eligible leader replicas" in found.reason


def test_threads_say_that_they_change_in_steps() -> None:
    assert setting_class("num.io.threads", version="4.2.0").condition == (
        "at most double or half the threads in one change"
    )


def test_a_setting_may_become_dynamic_in_a_later_version() -> None:
    classes = {v: setting_class("remote.log.reader.threads", version=v).setting_class for v in ("3.9.1", "4.1.1")}
    assert classes == {"3.9.1": SettingClass.RESTART, "4.1.1": SettingClass.DYNAMIC_CLUSTER}


def test_a_patch_release_is_judged_by_its_line() -> None:
    assert setting_class("num.io.threads", version="4.2.7") == setting_class("num.io.threads", version="4.2.0")


def test_a_version_without_a_table_is_an_error() -> None:
    with pytest.raises(LookupError, match=r"the settings of Kafka 5\.0\.0 are not known"):
        setting_class("num.io.threads", version="5.0.0")


@pytest.mark.parametrize("version", VERSIONS)
def test_what_kafka_calls_read_only_never_changes_live_but_for_lengths_of_time(version: str) -> None:
    for name, setting in settings_of(version).items():
        live = kafka_class(setting) in LIVE_CLASSES
        assert live == (setting.update_mode is not UpdateMode.READ_ONLY or time_setting(name) is not None), name


@pytest.mark.parametrize("version", VERSIONS)
def test_the_field_class_of_the_spec_agrees(version: str) -> None:
    for name in settings_of(version):
        found = setting_class(name, version=version)
        if found.setting_class not in (SettingClass.OWNED, SettingClass.REFUSED):
            assert (property_class(name, version) is FieldClass.DYNAMIC) == found.is_live, name


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_a_spec_may_hold_is_per_broker(version: str) -> None:
    """Listeners, keys and certificates are Kedge's: so a live change is always one for the whole cluster."""
    offered = {setting_class(name, version=version).setting_class for name in settings_of(version)}
    assert SettingClass.DYNAMIC_BROKER not in offered


def test_every_supported_version_has_a_table_of_its_own() -> None:
    assert set(SUPPORTED) <= set(TABLES.values())


def test_every_class_has_a_meaning() -> None:
    assert set(CLASS_MEANING) == set(SettingClass)


def test_pools_of_threads_change_live_in_the_newest_version() -> None:
    assert {n for n in HALF_TO_DOUBLE if not setting_class(n, version="4.2.0").is_live} == set()


@pytest.mark.parametrize(
    ("current", "wanted", "steps"),
    [(2, 9, (4, 8, 9)), (8, 8, ()), (9, 1, (4, 2, 1)), (3, 1, (1,)), (1, 2, (2,)), (1, 5, (2, 4, 5))],
)
def test_a_pool_goes_there_by_doubling_or_halving(current: int, wanted: int, steps: tuple[int, ...]) -> None:
    assert live_steps(current, wanted) == steps


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_every_step_is_one_kafka_takes(current: int, wanted: int) -> None:
    for step in live_steps(current, wanted):
        assert current // 2 <= step <= 2 * current
        assert step != current
        current = step
    assert current == wanted


def test_a_pool_without_threads_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot go from 0 to 4"):
        live_steps(0, 4)
