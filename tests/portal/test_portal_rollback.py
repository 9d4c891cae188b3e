"""From the history back to an earlier generation, in a browser: for every eye and without scripts."""

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.portal.living_portal import LivingPortal
from tests.portal.watched import Watched, serious

pytestmark = pytest.mark.soak
Visit = Callable[..., Watched]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_a_rollback_is_for_everybodys_eyes(portal: LivingPortal, visit: Visit, scheme: str) -> None:
    portal.roll(soak="9s")
    window = visit(portal, scheme=scheme)
    page = window.page
    window.go("/clusters/orders/history?whose=people")
    page.get_by_role("link", name="roll back to this").first.click()
    expect(page.get_by_role("heading", name="Back to generation 1")).to_be_visible()
    expect(page.get_by_role("region", name="What changes")).to_contain_text("spec.rollout.soak")
    assert not serious(Axe().run(page).response)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    window.assert_content()


def test_a_rollback_needs_no_script(portal: LivingPortal, visit: Visit) -> None:
    portal.roll(soak="9s")
    window = visit(portal, java_script_enabled=False)
    page = window.page
    window.go("/clusters/orders/rollback?to=1")
    page.locator("#why").fill("it is slower")
    page.get_by_role("button", name="Roll back").click()
    page.wait_for_url("**/clusters/orders/history")
    expect(page.get_by_text("back to generation 1: it is slower")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_declarations_of_a_topic_lead_back_to_each(portal: LivingPortal, visit: Visit, scheme: str) -> None:
    portal.declare_topic("clicks", config="{retention.ms: 7200000}")
    portal.declare_topic("clicks", config="{retention.ms: 3600000}")
    window = visit(portal, scheme=scheme)
    page = window.page
    window.go("/clusters/orders/topics/clicks/declarations")
    expect(page.get_by_text("retention.ms 7200000 -> 3600000")).to_be_visible()
    assert not serious(Axe().run(page).response)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    page.get_by_role("link", name="roll back to this").click()
    expect(page.get_by_text("retention.ms 3600000 -> 7200000").first).to_be_visible()
    assert not serious(Axe().run(page).response)
    window.assert_content()
