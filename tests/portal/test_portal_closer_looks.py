"""Pages that ask brokers, rolls in the history, freezes and times in another zone, in a real browser: accessible in
light and dark, within 1280 pixels, and nothing to complain of."""

import os
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.portal.living_portal import LivingPortal
from tests.portal.watched import Watched, serious

Visit = Callable[..., Watched]

PAGES = (
    "/clusters/orders/topics",
    "/clusters/orders/topics/payments",
    "/clusters/orders/topics/payments/logs",
    "/clusters/orders/topics/payments/settings?every=true",
    "/clusters/orders/brokers",
    "/clusters/orders/brokers/1001",
    "/clusters/orders/brokers/1001/settings",
    "/clusters/orders/diff?ask=true",
    "/clusters/orders/rollout",
    "/clusters/orders/history",
    "/clusters/orders/anomalies",
    "/freezes",
    "/notifiers",
    "/events",
    "/audit",
    "/agents",
    "/account",
)


@pytest.mark.soak
def test_pages_that_look_closer_are_accessible_and_times_are_of_the_chosen_zone(
    portal: LivingPortal, visit: Visit
) -> None:
    portal.roll(version="4.2.0")
    portal.ticks(14)
    portal.world.kafka.consumers.produce("payments", 0, 1234)
    pictures = os.environ.get("KEDGE_PICTURES_OF_PAGES", "")
    found = {}
    for scheme in ("light", "dark"):
        window = visit(portal, scheme=scheme, timezone_id="Asia/Tokyo")
        window.go("/account")
        window.page.get_by_role("button", name="Use this browser's: Asia/Tokyo").click()
        expect(window.page.get_by_text("Times are of Asia/Tokyo")).to_be_visible()
        for path in PAGES:
            window.go(path)
            for panel in window.page.locator("#rolls summary").all():
                panel.click()
            found[scheme, path] = serious(Axe().run(window.page).response)
            assert window.page.evaluate("document.documentElement.scrollWidth") <= 1280, path
            window.assert_content()
            if pictures:
                name = path.split("?")[0].strip("/").replace("/", "-")
                window.page.screenshot(path=f"{pictures}/{scheme}-{name}.png", full_page=True)
    assert not {where: violations for where, violations in found.items() if violations}
