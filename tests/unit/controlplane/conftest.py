"""What most tests here begin with: a house, and for agents over TLS an authority and a door whose server it vouches
for. Who needs another one makes a fixture of that name of their own."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from controlplane.storage.certificates.authority import Authority, load_or_make
from tests.unit.controlplane.api.agents_door import Door, served
from tests.unit.controlplane.api.portal_house import House


@pytest.fixture
def house() -> House:
    """With `orders`, declared and not there yet."""
    house = House()
    house.apply()
    return house


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return load_or_make(tmp_path / "home", "inst", now=datetime.now(UTC))


@pytest.fixture
def door(tmp_path: Path, authority: Authority) -> Iterator[Door]:
    with served(tmp_path, authority) as made:
        yield made


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> None:
    """The plugin of schemathesis takes a second to import: where it is switched off only its one file has it."""
    plugins = parent.config.pluginmanager
    if file_path.name == "test_api_fuzz.py" and not any(map(plugins.has_plugin, ("schemathesis", "the fuzz"))):
        from schemathesis.pytest import plugin

        plugins.register(plugin, "the fuzz")
