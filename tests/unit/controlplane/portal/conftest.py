"""The house most tests here begin with; who needs another one makes a `house` of their own."""

from pathlib import Path

import pytest

from tests.unit.controlplane.portal.portal_house import House


@pytest.fixture
def house() -> House:
    """With `orders`, declared and not there yet."""
    house = House()
    house.apply()
    return house


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> None:
    """The plugin of schemathesis takes a second to import: where it is switched off only its one file has it."""
    plugins = parent.config.pluginmanager
    if file_path.name == "test_api_fuzz.py" and not any(map(plugins.has_plugin, ("schemathesis", "the fuzz"))):
        from schemathesis.pytest import plugin

        plugins.register(plugin, "the fuzz")
