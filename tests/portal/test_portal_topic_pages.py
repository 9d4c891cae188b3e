"""Topics, the leader matrix and what is asked of nodes in a real browser: accessible in light and dark, and usable."""

from collections.abc import Callable

from playwright.sync_api import expect

from tests.portal.living_portal import LivingPortal
from tests.portal.watched import Watched

Visit = Callable[..., Watched]

PAGES = (
    "/clusters/orders/topics",
    "/clusters/orders/topics/payments",
    "/clusters/orders/matrix",
    "/clusters/orders/brokers/1001",
    "/search?q=pay",
)


def test_pages_of_topics_have_no_serious_violation_and_fit_1280_pixels(portal: LivingPortal, visit: Visit) -> None:
    portal.roll(version="4.2.0")
    portal.ticks(14)
    portal.world.kafka.kill_broker(1001)
    portal.ticks(12)
    found = {}
    window = visit(portal)
    for path in PAGES:
        window.go(path)
        window.assert_fits()
        found[path] = window.barriers()
        window.assert_content()
    window.go("/clusters/orders")
    window.page.locator("#act-replace summary").click()
    found["an open form"] = window.barriers()
    window.page.locator("#act-restart summary").click()
    window.page.locator("#act-restart input[name=brokers]").fill("1002")
    window.page.locator("#act-restart button").click()
    expect(window.page.get_by_text("1 broker of orders will be started anew")).to_be_visible()
    found["the question"] = window.barriers()
    window.assert_content()
    assert not {where: barriers for where, barriers in found.items() if barriers}
