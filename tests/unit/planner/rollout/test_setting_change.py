"""Each changed setting and what becomes of it: a live value, a restart, or nothing."""

from planner.rollout.setting_change import LiveValue, SettingChange, setting_changes
from planner.rollout.setting_class import SettingClass

HOUR_MS = 3_600_000


def one(old: dict[str, str], new: dict[str, str], silent: dict[str, str] | None = None) -> SettingChange:
    (found,) = setting_changes(old, new, version="4.2.0", where_silent=silent or {})
    return found


def test_equal_settings_change_nothing() -> None:
    assert setting_changes({"num.partitions": "3"}, {"num.partitions": "3"}, version="4.2.0") == ()


def test_changes_come_sorted_by_name() -> None:
    found = setting_changes({"num.partitions": "3"}, {"message.max.bytes": "1", "num.partitions": "6"}, version="4.2.0")
    assert [change.name for change in found] == ["message.max.bytes", "num.partitions"]


def test_a_dynamic_setting_is_set_live() -> None:
    found = one({"message.max.bytes": "1000"}, {"message.max.bytes": "2000"})
    assert (found.setting_class, found.needs_restart) == (SettingClass.DYNAMIC_CLUSTER, False)
    assert found.live == LiveValue("message.max.bytes", "2000")
    assert found.effect == "set live on every broker"


def test_a_read_only_setting_restarts() -> None:
    found = one({}, {"num.partitions": "6"})
    assert (found.setting_class, found.live, found.needs_restart) == (SettingClass.RESTART, None, True)
    assert found.effect == "the service is restarted in place: Kafka reads it only when it starts"


def test_a_guarded_setting_says_what_it_waits_for() -> None:
    found = one({"min.insync.replicas": "2"}, {"min.insync.replicas": "1"})
    assert (found.setting_class, found.live) == (SettingClass.GUARDED, LiveValue("min.insync.replicas", "1"))
    assert found.effect.startswith("set live on every broker; only while no roll runs: a change clears")


def test_the_steps_of_a_pool_are_told_where_the_number_before_is_known() -> None:
    assert one({"num.io.threads": "2"}, {"num.io.threads": "9"}).effect == (
        "set live on every broker, in 3 steps (4, 8, 9)"
    )
    assert one({"num.io.threads": "8"}, {"num.io.threads": "16"}).effect == "set live on every broker, in one step"
    assert one({}, {"num.io.threads": "16"}).effect == "set live on every broker, at most doubled or halved at a time"
    assert one({}, {"num.io.threads": "5"}, {"num.io.threads": "2"}).effect == (
        "set live on every broker, in 2 steps (4, 5)"
    )


def test_a_pool_that_has_or_is_to_have_no_thread_goes_by_a_restart() -> None:
    """Kafka refuses to start the first thread of a pool live, and to end the last one."""
    for old, new in (("0", "2"), ("2", "0")):
        found = one({"log.cleaner.threads": old}, {"log.cleaner.threads": new})
        assert (found.live, found.needs_restart) == (None, True)


def test_words_booleans_and_fractions_are_set_live_as_they_are_written() -> None:
    for name, value in (
        ("compression.type", "lz4"),
        ("unclean.leader.election.enable", "true"),
        ("log.cleaner.min.cleanable.ratio", "0.25"),
        ("log.cleanup.policy", "compact,delete"),
    ):
        assert one({}, {name: value}).live == LiveValue(name, value)


def test_a_setting_that_leaves_gets_the_value_that_holds_without_it() -> None:
    kafkas = one({"num.io.threads": "4"}, {})
    assert (kafkas.live, kafkas.effect) == (
        LiveValue("num.io.threads", "8"),
        "set live to 8, which holds without it, in one step",
    )
    kedges = one({"min.insync.replicas": "1"}, {}, {"min.insync.replicas": "2"})
    assert kedges.live == LiveValue("min.insync.replicas", "2")


def test_a_setting_that_leaves_and_has_no_default_restarts() -> None:
    found = one({"log.flush.interval.ms": "1000"}, {})
    assert (found.setting_class, found.needs_restart) == (SettingClass.RESTART, True)
    assert "Kafka has no default that could be set live" in found.effect


def test_hours_are_set_live_as_milliseconds() -> None:
    found = one({"log.retention.hours": "72"}, {"log.retention.hours": "48"})
    assert found.live == LiveValue("log.retention.ms", str(48 * HOUR_MS))
    assert found.effect == f"set live as log.retention.ms={48 * HOUR_MS}"


def test_for_ever_is_for_ever_in_any_unit() -> None:
    assert one({}, {"log.retention.hours": "-1"}).live == LiveValue("log.retention.ms", "-1")


def test_the_finest_unit_wins() -> None:
    both = {"log.retention.hours": "72", "log.retention.ms": "5000"}
    found = one(both, {**both, "log.retention.hours": "48"})
    assert (found.live, found.needs_restart) == (None, False)
    assert found.effect == "changes nothing: log.retention.ms stays 5000 by log.retention.ms"


def test_when_the_finest_unit_leaves_the_coarse_one_takes_over() -> None:
    found = one({"log.retention.hours": "72", "log.retention.ms": "5000"}, {"log.retention.hours": "72"})
    assert found.live == LiveValue("log.retention.ms", str(72 * HOUR_MS))
    assert found.effect.endswith(", by log.retention.hours")
    kafkas = one({"log.retention.minutes": "5"}, {})
    assert kafkas.live == LiveValue("log.retention.ms", str(168 * HOUR_MS))


def test_the_same_length_of_time_in_another_unit_changes_nothing() -> None:
    found = setting_changes({"log.roll.hours": "1"}, {"log.roll.ms": str(HOUR_MS)}, version="4.1.1")
    assert [(change.live, change.needs_restart) for change in found] == [(None, False), (None, False)]


def test_texts_that_kafka_reads_alike_change_nothing() -> None:
    for name, old, new in (
        ("num.partitions", "03", "3"),
        ("auto.create.topics.enable", "True", "true"),
        ("log.cleanup.policy", "compact, delete", "compact,delete"),
        ("log.cleaner.min.cleanable.ratio", "0.5", "0.50"),
    ):
        found = one({name: old}, {name: new})
        assert (found.live, found.needs_restart) == (None, False), name
        assert found.effect == "changes nothing: Kafka reads both alike"


def test_zero_threads_of_the_cleaner_need_a_restart() -> None:
    """Its file may say 0; live, Kafka 4.1 and 4.2 answer `/ by zero`."""
    assert one({"log.cleaner.threads": "1"}, {"log.cleaner.threads": "0"}).needs_restart


def test_what_no_spec_may_hold_is_told_and_left_alone() -> None:
    found = one({}, {"node.id": "3"})
    assert (found.setting_class, found.live, found.needs_restart) == (SettingClass.OWNED, None, False)
    assert found.effect == "set by Kedge: each node has its own id for ever"
