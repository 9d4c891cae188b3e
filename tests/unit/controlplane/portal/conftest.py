"""The house most tests here begin with; who needs another one makes a `house` of their own."""

import pytest

from tests.unit.controlplane.portal.portal_house import House


@pytest.fixture
def house() -> House:
    """With `orders`, declared and not there yet."""
    house = House()
    house.apply()
    return house
