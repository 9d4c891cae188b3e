"""The tables of settings and their classes against real brokers: names, types, defaults, and what each takes live.

One controller and two brokers of each supported version. Every setting is offered to a broker as a change, for the
cluster and for itself, validate-only. The second broker has another pool of threads, for the last test.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.settings_live import SettingSource, read_running, step_refusals
from controlplane.kafka.settings_table import main
from events.spec.releases import SUPPORTED
from events.spec.setting_table import settings_of
from planner.rollout.live_step import LiveStep
from planner.rollout.setting_change import setting_changes
from planner.rollout.setting_class import HALF_TO_DOUBLE, live_steps, setting_class
from tests.kafka.running_settings import BROKER, Live, by_its_mode, left_alone, running_values, tabled, taken_live
from tests.kafka_processes import JARS, KafkaProcesses
from tests.waiting import until

pytestmark = pytest.mark.kafka

OTHER = 1001


@pytest.fixture(scope="module", params=sorted(SUPPORTED))
def live(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    version = str(request.param)
    kafka = KafkaProcesses(
        tmp_path_factory.mktemp(f"settings-{version}"),
        network="127.0.32",
        min_isr=1,
        replication=1,
        version=version,
        properties={"log.retention.hours": "72"},
        pace={},  # what is left alone is compared
    )
    dialer = DirectDialer()
    try:
        kafka.add_broker(BROKER, "az-1")
        kafka.add_broker(OTHER, "az-2", overrides={"num.replica.fetchers": "8"})
        kafka.found()
        until(lambda: _answers(dialer, kafka.bootstrap), "both brokers to answer")
        with dialer.dial("settings", kafka.bootstrap, Deadline.after(8)) as connection:
            yield Live(version, connection, read_running(connection, BROKER, Deadline.after(8)))
    finally:
        dialer.close()
        kafka.close()


@pytest.mark.parametrize("version", sorted(SUPPORTED))
def test_the_table_is_what_kafka_prints_of_itself(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([version, "--check", "--cache", str(JARS.parent)]) == 0, capsys.readouterr().err


@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.parametrize("version", ["3.8.1", "3.9.1"])
def test_the_tables_of_zookeeper_mode_are_what_kafka_prints(
    version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fetches the jars by Maven: the versions below 4 are no part of what `make setup` builds."""
    assert main([version, "--check", "--cache", str(tmp_path)]) == 0, capsys.readouterr().err


def test_the_table_has_exactly_the_settings_of_the_broker(live: Live) -> None:
    assert set(live.running) == set(settings_of(live.version))


def test_the_broker_says_the_same_of_each_setting(live: Live) -> None:
    assert running_values(live) == tabled(live.version)


def test_the_broker_runs_with_the_defaults_of_the_table(live: Live) -> None:
    silent = left_alone(live)
    assert len(silent) > 250
    assert silent == {name: settings_of(live.version)[name].default for name in silent}


def test_the_broker_takes_live_what_the_table_says_and_nothing_else(live: Live) -> None:
    found = {name: taken_live(live, setting) for name, setting in settings_of(live.version).items()}
    assert found == {name: by_its_mode(setting) for name, setting in settings_of(live.version).items()}


def test_a_pool_of_threads_at_most_doubles_or_halves_in_one_change(live: Live) -> None:
    pools = {n: int(r.value or "") for n, r in live.running.items() if n in HALF_TO_DOUBLE}
    assert len(pools) >= 9
    for name, threads in pools.items():
        assert live.refusal(name, str(2 * threads)) is None, name
        assert "double the current value" in (live.refusal(name, str(2 * threads + 1)) or ""), name
        if threads >= 4:
            assert live.refusal(name, str(threads // 2)) is None, name
            assert "half the current value" in (live.refusal(name, str(threads // 2 - 1)) or ""), name


def test_every_pool_of_threads_that_changes_live_is_known_as_one(live: Live) -> None:
    table = settings_of(live.version)
    threads = [n for n, s in table.items() if "thread" in n or "fetchers" in n]
    assert {n for n in threads if setting_class(n, version=live.version).is_live} == set(threads) & HALF_TO_DOUBLE


def test_the_steps_of_a_pool_are_taken_one_after_the_other(live: Live) -> None:
    before, _ = live.now("num.io.threads")
    assert before == "2"
    assert live.refusal("num.io.threads", "9") is not None
    for threads in live_steps(2, 9):
        live.set("num.io.threads", str(threads))
        for broker in (BROKER, OTHER):
            live.await_value("num.io.threads", str(threads), SettingSource.CLUSTER_LIVE, broker=broker)
    for threads in live_steps(9, 1):
        assert live.refusal("num.io.threads", str(threads)) is None
        live.set("num.io.threads", str(threads))
        for broker in (BROKER, OTHER):
            live.await_value("num.io.threads", str(threads), SettingSource.CLUSTER_LIVE, broker=broker)


def test_deleting_a_live_value_brings_back_the_file_not_the_default(live: Live) -> None:
    live.set("background.threads", "3")
    live.await_value("background.threads", "3", SettingSource.CLUSTER_LIVE)
    live.set("background.threads", None)
    live.await_value("background.threads", "2", SettingSource.FILE)
    assert settings_of(live.version)["background.threads"].default == "10"


def test_hours_change_live_as_milliseconds_and_win_over_the_file(live: Live) -> None:
    assert live.now("log.retention.hours") == ("72", SettingSource.FILE)
    assert "Cannot update these configs dynamically" in (live.refusal("log.retention.hours", "48") or "")
    (change,) = setting_changes({"log.retention.hours": "72"}, {"log.retention.hours": "48"}, version=live.version)
    assert change.live is not None
    live.set(change.live.name, change.live.value)
    live.await_value("log.retention.ms", str(48 * 3_600_000), SettingSource.CLUSTER_LIVE)


def test_kafka_takes_a_name_it_does_not_know_without_a_word(live: Live) -> None:
    """Why `validate` has to refuse it: validate-only would not."""
    assert live.refusal("log.retention.hour", "48") is None


def test_a_default_that_one_broker_cannot_take_blocks_every_later_one_there(live: Live) -> None:
    """Why each broker is asked before a default changes, and why only the value tells whether it was taken."""
    said = step_refusals(live.connection, LiveStep({"num.replica.fetchers": "16"}), (BROKER, OTHER), timeout_s=5)
    assert said[OTHER] is None
    assert "double the current value 1" in (said[BROKER] or "")

    live.set_by(OTHER, "num.replica.fetchers", "16")
    live.await_value("num.replica.fetchers", "16", SettingSource.CLUSTER_LIVE, broker=OTHER)
    live.await_value("num.replica.fetchers", "1", SettingSource.CLUSTER_LIVE)
    said = step_refusals(live.connection, LiveStep({"message.max.bytes": "2000000"}), (BROKER, OTHER), timeout_s=5)
    assert said[OTHER] is None
    assert "num.replica.fetchers=16" in (said[BROKER] or "")

    live.set_by(BROKER, "num.replica.fetchers", "2")
    live.await_value("num.replica.fetchers", "2", SettingSource.CLUSTER_LIVE)
    live.set_by(BROKER, "message.max.bytes", "2000000")
    live.await_value("message.max.bytes", "2000000", SettingSource.CLUSTER_LIVE)


def _answers(dialer: DirectDialer, bootstrap: list[str]) -> bool:
    try:
        with dialer.dial("settings", bootstrap, Deadline.after(5)) as connection:
            return connection.refresh_nodes(Deadline.after(5)) == {BROKER, OTHER}
    except KafkaUnavailable:
        return False
