"""The form for changes in a browser: for every eye, by keyboard and without scripts."""

from collections.abc import Callable

from playwright.sync_api import expect

from tests.portal.living_portal import LivingPortal
from tests.portal.watched import Watched

Visit = Callable[..., Watched]
CHANGE = "/clusters/orders/change"


def test_a_wrong_field_and_an_overtaken_form_are_for_everybodys_eyes(portal: LivingPortal, visit: Visit) -> None:
    window = visit(portal)
    page = window.page
    window.go(CHANGE)
    page.get_by_label("Nodes").first.fill("many")
    page.get_by_role("button", name="Preview the plan").click()
    expect(page.get_by_label("Nodes").first).to_have_attribute("aria-invalid", "true")
    assert not window.barriers()
    page.get_by_label("Nodes").first.fill("6")
    page.get_by_role("button", name="Preview the plan").click()
    expect(page.get_by_role("button", name="Declare")).to_be_visible()
    assert not window.barriers()
    window.assert_fits()
    portal.roll(version="4.1.1", soak="9s")
    page.get_by_role("button", name="Declare").click()
    expect(page.get_by_role("heading", name="Conflict: nothing was recorded")).to_be_visible()
    assert not window.barriers()
    window.assert_content()


def test_a_change_needs_no_script(portal: LivingPortal, visit: Visit) -> None:
    window = visit(portal, java_script_enabled=False)
    page = window.page
    window.go("/clusters/orders")
    page.get_by_role("link", name="change", exact=True).click()
    page.get_by_label("Team").fill("payments")
    page.get_by_role("button", name="Preview the plan").click()
    page.get_by_role("button", name="Declare").click()
    page.wait_for_url("**/clusters/orders")
    expect(page.get_by_text("declared generation 2")).to_be_visible()
