"""The portal in a real browser, over a simulated fleet that rolls while one looks."""

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from tests.portal.living_portal import LivingPortal
from tests.portal.watched import Watched

Visit = Callable[..., Watched]

PAGES = (
    "/",
    "/?health=Healthy",
    "/events?cluster=orders&type=condition.",
    "/clusters/orders",
    "/clusters/orders/rollout",
    "/clusters/orders/brokers",
    "/clusters/orders/brokers/1001",
    "/clusters/orders/diff?unchanged=true",
    "/clusters/orders/history",
    "/clusters/orders/compare",
    "/clusters/orders/generations/2",
    "/clusters/orders/past?at=12",
)
"""Pages that say something else while a roll runs. `test_portal_hostile` looks at every page there is."""
HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\'{{7*7}}'


@pytest.mark.timeout(300)  # each page is looked at twice: half a core has to be enough
def test_no_page_of_a_roll_has_a_serious_violation_breaks_its_policy_or_is_wider_than_1280_pixels(
    portal: LivingPortal, visit: Visit
) -> None:
    stranger = visit(portal, signed_in=False)
    stranger.go("/login")
    assert not stranger.barriers()
    portal.roll(version="4.2.0")
    portal.ticks(14)
    window = visit(portal)
    found = {}
    for path in PAGES:
        window.go(path)
        window.assert_fits()
        found[path] = window.barriers()
        window.assert_content()
    assert not {path: barriers for path, barriers in found.items() if barriers}
    window.go("/clusters/nobody", status=404)
    assert not window.barriers()


LOCAL_ID = "893e67dd8d73408494ea51b6204c7006/brokers-a-0.g2"
"""As long as the local cloud makes them."""


def test_the_table_of_brokers_needs_no_sideways_scrolling_at_1280_pixels(portal: LivingPortal, visit: Visit) -> None:
    window = visit(portal)
    window.go("/clusters/orders/brokers")
    region = window.page.get_by_role("region", name="Brokers")
    region.locator("td .id").evaluate_all(f"ids => ids.forEach(id => id.textContent = '{LOCAL_ID}')")
    expect(region.locator("td .id").first).to_have_text(LOCAL_ID)
    assert region.evaluate("it => it.scrollWidth - it.clientWidth") == 0


def test_no_button_is_underlined_like_a_link(portal: LivingPortal, visit: Visit) -> None:
    window = visit(portal)
    window.go("/clusters/orders/diff")
    style = """main => {
      const link = main.appendChild(document.createElement("p")).appendChild(document.createElement("a"));
      link.className = "button";
      return getComputedStyle(link).textDecorationLine;
    }"""
    assert window.page.locator("main").evaluate(style) == "none"


def test_what_bars_somebody_is_found_on_each_page_that_is_looked_at(portal: LivingPortal, visit: Visit) -> None:
    window = visit(portal)
    for path in ("/", "/clusters/orders"):
        window.go(path)
        assert not window.barriers()
        window.page.evaluate(
            """() => {
              document.querySelector("main").appendChild(document.createElement("input"));
              const text = document.querySelector("main").appendChild(document.createElement("p"));
              text.append("pale in the dark");
              const style = new CSSStyleSheet();
              style.replaceSync("@media (prefers-color-scheme: dark) {main p:last-child {color: #222}}");
              document.adoptedStyleSheets.push(style);
            }"""
        )
        assert [barrier.split(" (")[0] for barrier in window.barriers()] == ["light: label", "dark: color-contrast"]


def test_an_open_page_shows_an_event_within_a_second(portal: LivingPortal, visit: Visit) -> None:
    window = visit(portal)
    window.go("/clusters/orders")
    portal.wait_for_listener()
    took = []
    for generation in (2, 3, 4):
        portal.roll(version="4.1.1", soak=f"{generation}s")
        declared = time.monotonic()
        expect(window.page.get_by_text(f"declared generation {generation}")).to_be_visible(timeout=5000)
        took.append(time.monotonic() - declared)
        window.page.wait_for_timeout(500)
    assert sorted(took)[1] <= 1.0, took
    window.assert_content()


def test_a_roll_is_watched_from_its_first_step_to_its_last_without_touching_anything(
    portal: LivingPortal, visit: Visit
) -> None:
    window = visit(portal)
    window.go("/clusters/orders/rollout")
    portal.roll(version="4.2.0")
    portal.ticks_until(lambda: portal.has_recorded("drain.requested"))
    timeline = window.page.locator("#timeline")
    expect(timeline.locator("tr", has_text="brokers-a-0").locator("td.now")).to_be_visible()
    expect(window.page.get_by_text("Roll to generation 2")).to_be_visible()
    portal.ticks_until(lambda: portal.has_recorded("replacement.completed"))
    expect(timeline.locator("tr.finished", has_text="brokers-a-0")).to_be_visible()
    portal.ticks_until(portal.world.is_converged)
    expect(window.page.get_by_text("The last roll, to generation 2")).to_be_visible()
    expect(window.page.get_by_text("Synced")).to_be_visible()
    window.assert_content()


def test_a_page_whose_connection_was_lost_says_so_and_then_catches_up(portal: LivingPortal, visit: Visit) -> None:
    window = visit(portal)
    window.go("/clusters/orders")
    expect(window.page.locator("#lost")).to_be_hidden()
    portal.wait_for_listener()
    window.page.context.set_offline(True)
    portal.drop_streams()
    expect(window.page.get_by_text("connection to the server is lost")).to_be_visible()
    portal.roll(version="4.1.1", soak="9s")
    window.page.context.set_offline(False)
    expect(window.page.get_by_text("declared generation 2")).to_be_visible(timeout=10_000)
    expect(window.page.locator("#lost")).to_be_hidden()


def test_the_keyboard_alone_is_enough(portal: LivingPortal, visit: Visit) -> None:
    window = visit(portal, signed_in=False)
    page = window.page
    window.go("/login")
    page.keyboard.type("admin")
    page.keyboard.press("Tab")
    page.keyboard.type(portal.password)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{portal.url}/")
    page.keyboard.press("/")
    page.keyboard.type("1001")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=1001")
    focus = page.locator("main a").first
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('href')") == focus.get_attribute("href"):
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/clusters/orders/brokers/1001")
    window.go("/clusters/orders")
    page.locator("#act-pause summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("freeze")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Paused.")).to_be_visible()
    expect(page.locator(".note")).to_contain_text(["freeze"])
    window.assert_content()


def test_an_open_panel_with_a_half_typed_reason_is_not_taken_away_by_news(portal: LivingPortal, visit: Visit) -> None:
    window = visit(portal)
    window.go("/clusters/orders")
    window.page.locator("#act-pause summary").click()
    window.page.locator("#act-pause input[name=reason]").fill("because of")
    portal.roll(version="4.1.1", soak="9s")
    window.page.wait_for_timeout(1500)
    expect(window.page.locator("#act-pause input[name=reason]")).to_have_value("because of")
    window.page.keyboard.press("Escape")
    expect(window.page.get_by_text("declared generation 2")).to_be_visible()


def test_hostile_names_are_text_and_run_nothing(portal: LivingPortal, visit: Visit) -> None:
    portal.people.users.bind(Binding("user:admin", Role.VIEWER, f"label:x={HOSTILE}"))
    window = visit(portal)
    window.go("/clusters/orders")
    window.page.locator("#act-pause summary").click()
    window.page.locator("#act-pause input[name=reason]").fill(HOSTILE)
    window.page.locator("#act-pause button").click()
    expect(window.page.get_by_text("Paused.")).to_be_visible()
    for path in ("/", "/clusters/orders", "/clusters/orders/history", "/people", "/account"):
        window.go(path)
        assert window.page.evaluate("window.hacked") is None
        assert window.page.locator("img").count() == 0
        window.assert_content()
    window.page.goto(f"{portal.url}/search?q=" + HOSTILE.replace("<", "%3C").replace('"', "%22").replace(" ", "+"))
    assert window.page.evaluate("window.hacked") is None
    window.assert_content()


def test_a_session_that_is_over_leads_an_open_page_to_the_login_form(portal: LivingPortal, visit: Visit) -> None:
    window = visit(portal)
    window.go("/clusters/orders/brokers")
    portal.wait_for_listener()
    portal.people.sessions.end_all_of("admin")
    window.page.locator("#filter").press_sequentially("1001")
    window.page.wait_for_url("**/login?next=**")
    window.page.get_by_label("Name").fill("admin")
    window.page.get_by_label("Password").fill(portal.password)
    window.page.get_by_role("button", name="Sign in").click()
    window.page.wait_for_url("**/clusters/orders/brokers**")


def test_everything_can_be_done_without_javascript(portal: LivingPortal, visit: Visit) -> None:
    window = visit(portal, signed_in=False, java_script_enabled=False)
    window.sign_in(portal.password)
    page = window.page
    page.goto(f"{portal.url}/clusters/orders/brokers?q=1001&sort=leaders")
    assert page.get_by_role("region", name="Brokers").locator("tbody tr").count() == 1
    page.goto(f"{portal.url}/clusters/orders")
    page.locator("#act-pause summary").click()
    page.locator("#act-pause input[name=reason]").fill("by hand")
    page.locator("#act-pause button").click()
    expect(page.get_by_text("Paused.")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/login")


def test_an_empty_fleet_says_what_to_do_next_and_shows_the_first_cluster_by_itself(
    empty_portal: LivingPortal, visit: Visit
) -> None:
    window = visit(empty_portal, signed_in=False)
    window.sign_in(empty_portal.password)
    expect(window.page.get_by_text("No cluster yet")).to_be_visible()
    expect(window.page.get_by_text("kedge apply -f orders.yaml")).to_be_visible()
    empty_portal.roll()
    expect(window.page.get_by_role("link", name="orders", exact=True)).to_be_visible(timeout=5000)
    window.assert_content()
