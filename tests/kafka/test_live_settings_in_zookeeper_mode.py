"""The tables of 3.8 and 3.9 against brokers in ZooKeeper mode: names, types, defaults, and what each takes live."""

from collections.abc import Iterator

import pytest

from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.settings_live import read_running
from events.spec.releases import IN_ZOOKEEPER_MODE
from events.spec.setting_table import settings_of
from tests.kafka.running_settings import BROKER, Live, by_its_mode, left_alone, running_values, tabled, taken_live
from tests.zookeeper_processes import ZooKeeperProcesses

pytestmark = [pytest.mark.kafka, pytest.mark.soak]


@pytest.fixture(scope="module", params=sorted(IN_ZOOKEEPER_MODE))
def live(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    version = str(request.param)
    kafka = ZooKeeperProcesses(tmp_path_factory.mktemp(f"settings-{version}"), network="127.0.57", version=version)
    dialer = DirectDialer()
    try:
        kafka.found([1])
        kafka.add_broker(BROKER)
        kafka.start_broker(BROKER)
        with dialer.dial("settings", kafka.bootstrap, Deadline.after(20)) as connection:
            yield Live(version, connection, read_running(connection, BROKER, Deadline.after(20)))
    finally:
        dialer.close()
        kafka.close()


def test_the_table_has_exactly_the_settings_of_the_broker(live: Live) -> None:
    assert set(live.running) == set(settings_of(live.version))


def test_the_broker_says_the_same_of_each_setting(live: Live) -> None:
    assert running_values(live) == tabled(live.version)


def test_the_broker_runs_with_the_defaults_of_the_table(live: Live) -> None:
    silent = left_alone(live)
    assert len(silent) > 200
    assert silent == {name: settings_of(live.version)[name].default for name in silent}


def test_the_broker_takes_live_what_the_table_says_and_nothing_else(live: Live) -> None:
    found = {name: taken_live(live, setting) for name, setting in settings_of(live.version).items()}
    assert found == {name: by_its_mode(setting, elr=False) for name, setting in settings_of(live.version).items()}
