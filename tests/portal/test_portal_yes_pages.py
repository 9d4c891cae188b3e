"""Pages that ask for a yes of their own, in a real browser: by keyboard alone, without scripts, in light and dark."""

import os
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.portal.living_portal import LivingPortal
from tests.portal.watched import Watched, serious

Visit = Callable[..., Watched]

HOME = "/clusters/orders"
KEEP, DELETE_TOPIC = f"{HOME}/topics/payments/adopt", f"{HOME}/topics/clicks/delete"
CHAOS = f"{HOME}/chaos"
TAKE_OVER, DELETE = f"{HOME}/take-over", f"{HOME}/delete"


def prepared(portal: LivingPortal) -> LivingPortal:
    """`clicks` is declared; the cluster's spec, by which its VMs go with it, is a file's in git."""
    portal.declare_topic("clicks", deletionPolicy="delete")
    portal.ticks(14)
    portal.comes_from_git()
    return portal


def looked_at(window: Watched, name: str) -> None:
    """The page as everybody sees it: no serious violation, within 1280 pixels, nothing to complain of."""
    assert not serious(Axe().run(window.page).response), name
    assert window.page.evaluate("document.documentElement.scrollWidth") <= 1280, name
    window.assert_content()
    folder = os.environ.get("KEDGE_PICTURES_OF_PAGES", "")
    if folder:
        window.page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def tabbed_to(page: Page, selector: str) -> None:
    """The keyboard alone gets there, from the top of the page."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
            return
    raise AssertionError(f"no way to {selector} by Tab")


@pytest.mark.soak
def test_topics_and_the_cluster_are_kept_taken_over_and_deleted_by_keyboard_alone(
    portal: LivingPortal, visit: Visit
) -> None:
    window = visit(prepared(portal))
    page, keys = window.page, window.page.keyboard
    window.go(f"{HOME}/topics/payments")
    tabbed_to(page, f"a[href='{KEEP}']")
    keys.press("Enter")
    page.wait_for_url(f"**{KEEP}")
    tabbed_to(page, "main form button.main")
    keys.press("Enter")
    page.wait_for_url(f"**{HOME}/topics/payments")
    expect(page.get_by_role("link", name="Manage this topic")).to_have_count(0)
    window.go(DELETE_TOPIC)
    tabbed_to(page, "#confirm")
    keys.type("click")
    keys.press("Enter")
    expect(page.locator("#confirm")).to_have_attribute("aria-invalid", "true")
    looked_at(window, "light-wrong-name")
    tabbed_to(page, "#confirm")
    keys.press("Control+a")
    keys.type("clicks")
    keys.press("Enter")
    page.wait_for_url(f"**{HOME}/topics/clicks")
    window.go(HOME)
    tabbed_to(page, f"a[href='{TAKE_OVER}']")
    keys.press("Enter")
    page.wait_for_url(f"**{TAKE_OVER}")
    tabbed_to(page, "#reason")
    keys.type("the repository is down")
    keys.press("Enter")
    page.wait_for_url(f"**{HOME}")
    expect(page.locator(f"a[href='{TAKE_OVER}']")).to_have_count(0)
    tabbed_to(page, f"a[href='{DELETE}']")
    keys.press("Enter")
    page.wait_for_url(f"**{DELETE}")
    tabbed_to(page, "#confirm")
    keys.type("orders")
    keys.press("Enter")
    expect(page.get_by_text("Being deleted.", exact=True)).to_be_visible()
    window.assert_content()


def test_a_yes_needs_no_script(portal: LivingPortal, visit: Visit) -> None:
    window = visit(prepared(portal), java_script_enabled=False)
    page = window.page
    window.go(DELETE_TOPIC)
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_role("alert")).to_have_text("Nothing was typed: type clicks. Nothing was recorded.")
    page.get_by_label("Keep it in Kafka").check()
    page.get_by_label("Type clicks to go on").fill("clicks")
    page.get_by_role("button", name="Delete it").click()
    page.wait_for_url(f"**{HOME}/topics/clicks")
    window.go(DELETE, status=409)
    window.go(TAKE_OVER)
    page.get_by_role("button", name="Take it over").click()
    page.wait_for_url(f"**{HOME}")
    page.get_by_role("link", name="delete this cluster").click()
    page.get_by_label("Type orders to go on").fill("orders")
    page.get_by_role("button", name="Delete the cluster").click()
    expect(page.get_by_text("Being deleted.", exact=True)).to_be_visible()


@pytest.mark.soak
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_asked_and_what_is_refused_is_for_everybodys_eyes(
    portal: LivingPortal, visit: Visit, scheme: str
) -> None:
    window = visit(prepared(portal), scheme=scheme)
    for name, path, status in (
        ("keep-topic", KEEP, 200),
        ("delete-topic", DELETE_TOPIC, 200),
        ("delete-refused", DELETE, 409),
        ("take-over", TAKE_OVER, 200),
        ("overview-git", HOME, 200),
        ("chaos", CHAOS, 200),
        ("chaos-refused", f"{CHAOS}/ask?fault=pause", 409),
    ):
        window.go(path, status=status)
        looked_at(window, f"{scheme}-{name}")
    window.go(CHAOS)
    window.page.locator("#act-chaos > summary").click()
    window.page.locator("#fault").select_option("pause")
    window.page.locator("input[value='brokers-a-0.g1']").check()
    window.page.get_by_label("even if the cluster is not fully healthy").check()
    window.page.locator("#manner summary").click()
    looked_at(window, f"{scheme}-chaos-manner")
    window.page.get_by_role("button", name="Preview").click()
    looked_at(window, f"{scheme}-chaos-ask")
    window.page.get_by_role("button", name="Inject the fault").click()
    expect(window.page.get_by_text("not over").first).to_be_visible()
    looked_at(window, f"{scheme}-chaos-done")
    window.go(TAKE_OVER)
    window.page.get_by_role("button", name="Take it over").click()
    window.page.wait_for_url(f"**{HOME}")
    looked_at(window, f"{scheme}-overview-taken")
    window.go(DELETE)
    looked_at(window, f"{scheme}-delete-cluster")
    portal.roll(deletion="retain")
    window.page.get_by_label("Type orders to go on").fill("orders")
    window.page.get_by_role("button", name="Delete the cluster").click()
    expect(window.page.get_by_role("alert")).to_contain_text("Review it again; nothing was recorded")
    looked_at(window, f"{scheme}-delete-moved")
    window.page.get_by_label("Type orders to go on").fill("orders")
    window.page.get_by_role("button", name="Delete the cluster").click()
    expect(window.page.get_by_text("Being deleted.", exact=True)).to_be_visible()
    looked_at(window, f"{scheme}-being-deleted")
