"""Consumer groups in a real browser: accessible in light and dark, searched as one types, linked."""

from collections.abc import Callable

from playwright.sync_api import expect

from tests.portal.living_portal import LivingPortal
from tests.portal.watched import Watched

Visit = Callable[..., Watched]


def test_pages_of_groups_have_no_serious_violation_fit_and_lead_to_each_other(
    portal: LivingPortal, visit: Visit
) -> None:
    readers = portal.world.kafka.consumers
    readers.join("billing", "payments")
    readers.produce("payments", 0, 1200)
    readers.commit("billing", "payments", 0, 7)
    readers.commit("nightly", "payments", 0, 1)
    window = visit(portal)
    window.go("/clusters/orders")
    window.page.get_by_role("link", name="Groups", exact=True).click()
    expect(window.page.get_by_role("link", name="nightly")).to_be_visible()
    assert not window.barriers()
    window.assert_fits()
    window.page.locator("#filter").fill("bill")
    expect(window.page.get_by_role("link", name="nightly")).to_have_count(0)
    window.page.get_by_role("link", name="billing").click()
    expect(window.page.get_by_role("cell", name="1193", exact=True)).to_be_visible()
    assert not window.barriers()
    window.assert_fits()
    window.assert_content()
