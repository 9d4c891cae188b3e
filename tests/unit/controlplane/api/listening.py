"""A cluster of ours, a spec of others, and waiting for something without a clock: for tests of streams."""

import asyncio
from collections.abc import Callable

from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.portal.test_portal_roles_matrix import OURS
from tests.unit.events.spec_texts import ORDERS

THEIRS = ORDERS.replace("name: orders", "name: ledger\n  owner: search")


def house_of_ours() -> House:
    """`orders` is declared, of the team `payments`."""
    house = House()
    house.apply(OURS)
    return house


async def until(happened: Callable[[], object]) -> None:
    """Lets others run until it has. Raises TimeoutError after 5 s."""
    async with asyncio.timeout(5):
        while not happened():
            await asyncio.sleep(0)
