"""One live stream for all pages of a browser: browsers allow six connections to a server, people open more tabs."""

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from tests.portal.living_portal import LivingPortal
from tests.portal.watched import Watched

Visit = Callable[..., Watched]
TABS = 8
GONE_WITHIN_S = 5.0


def listeners(portal: LivingPortal) -> int:
    found: int = portal.app.state.tailer.listeners
    return found


def wait_for_listeners(portal: LivingPortal, count: int, *, within_s: float = 15.0) -> float:
    """Seconds until so many streams are open."""
    began = time.monotonic()
    while listeners(portal) != count:
        assert time.monotonic() - began < within_s, f"{listeners(portal)} streams are open, not {count}"
        time.sleep(0.02)
    return time.monotonic() - began


def tabs_of(context: BrowserContext, portal: LivingPortal, path: str, count: int) -> list[Page]:
    pages = [context.new_page() for _ in range(count)]
    for page in pages:
        page.set_default_timeout(15_000)
        page.goto(f"{portal.url}{path}")
    return pages


def test_eight_tabs_hear_of_an_event_over_one_stream(portal: LivingPortal, visit: Visit) -> None:
    window = visit(portal)
    window.go("/clusters/orders")
    tabs = [window.page, *tabs_of(window.page.context, portal, "/clusters/orders", TABS - 1)]
    wait_for_listeners(portal, 1)
    portal.pause("all eight see this")
    for tab in tabs:
        expect(tab.get_by_text("all eight see this").first).to_be_visible()
    assert listeners(portal) == 1
    window.assert_content()


def test_a_tab_that_comes_later_is_told_what_happened_since_it_was_drawn(portal: LivingPortal, visit: Visit) -> None:
    window = visit(portal)
    window.go("/clusters/orders")
    wait_for_listeners(portal, 1)
    late = window.page.context.new_page()

    def pause_first(route: Route) -> None:
        portal.pause("while it was loading")
        time.sleep(0.8)
        route.continue_()

    late.route("**/kedge.js", pause_first)
    late.goto(f"{portal.url}/clusters/orders")
    expect(late.get_by_text("while it was loading").first).to_be_visible()
    assert listeners(portal) == 1


def test_the_stream_ends_with_its_last_tab(portal: LivingPortal, visit: Visit) -> None:
    window = visit(portal)
    window.go("/clusters/orders")
    other = tabs_of(window.page.context, portal, "/", 1)[0]
    wait_for_listeners(portal, 1)
    window.page.goto("about:blank")
    wait_for_listeners(portal, 1)
    other.goto("about:blank")
    wait_for_listeners(portal, 0)


def test_a_browser_without_shared_workers_holds_a_stream_a_tab(portal: LivingPortal, visit: Visit) -> None:
    window = visit(portal)
    window.page.context.add_init_script("delete window.SharedWorker")
    window.go("/clusters/orders")
    tabs_of(window.page.context, portal, "/", 1)
    wait_for_listeners(portal, 2)
    portal.pause("seen by both")
    expect(window.page.get_by_text("seen by both").first).to_be_visible()


def test_an_open_page_of_a_cluster_at_rest_follows_what_kafka_says(empty_portal: LivingPortal, visit: Visit) -> None:
    """New metadata is no event: a page of the cluster is drawn anew for it, the list of the fleet is not."""
    portal = empty_portal  # the other world has a neighbour whose every tick fails, and says so
    portal.converge()
    portal.fill("payments")
    portal.ticks(70)  # Kafka of a cluster at rest is read once a minute
    window = visit(portal)
    fleet = tabs_of(window.page.context, portal, "/", 1)[0]
    window.go("/clusters/orders/topics/payments")
    wait_for_listeners(portal, 1)
    size = window.page.get_by_role("region", name="Partitions").locator("tbody tr").first.locator("td").last
    before, head = size.inner_text(), portal.world.store.head()
    asked: list[str] = []
    fleet.on("request", lambda request: asked.append(request.url))
    portal.world.kafka.write("payments", 120_000)
    portal.ticks(70)
    expect(size).not_to_have_text(before)
    assert portal.world.store.head() == head, "nothing was recorded"
    assert not asked, "the fleet's list shows nothing of what was read"
    assert listeners(portal) == 1
    window.assert_content()


@pytest.mark.soak
def test_a_stream_that_was_cut_comes_back_and_every_tab_catches_up(portal: LivingPortal, visit: Visit) -> None:
    window = visit(portal)
    window.go("/clusters/orders")
    tabs = [window.page, *tabs_of(window.page.context, portal, "/clusters/orders", 2)]
    wait_for_listeners(portal, 1)
    portal.drop_streams()
    portal.pause("recorded while nobody listened")
    for tab in tabs:
        expect(tab.get_by_text("recorded while nobody listened").first).to_be_visible()
        expect(tab.locator("#lost")).to_be_hidden()
    wait_for_listeners(portal, 1)


@pytest.mark.soak
def test_signing_out_in_one_tab_ends_the_stream_of_all_within_five_seconds(portal: LivingPortal, visit: Visit) -> None:
    window = visit(portal)
    window.go("/clusters/orders")
    others = tabs_of(window.page.context, portal, "/clusters/orders", 2)
    wait_for_listeners(portal, 1)
    window.page.get_by_role("button", name="Sign out").click()
    assert wait_for_listeners(portal, 0) < GONE_WITHIN_S
    for tab in others:
        tab.wait_for_url("**/login?next=**")


@pytest.mark.soak
def test_a_stream_ends_within_five_seconds_when_a_role_changes_while_news_keep_coming(
    portal: LivingPortal, visit: Visit
) -> None:
    portal.people.add("bea", portal.world.clock())
    binding = Binding("user:bea", Role.VIEWER, "*")
    portal.people.users.bind(binding)
    window = visit(portal, signed_in=False)
    window.sign_in(portal.people.renew("bea"), "bea")
    window.go("/clusters/orders")
    wait_for_listeners(portal, 1)
    portal.play()
    portal.people.users.unbind(binding)
    began = time.monotonic()
    expect(window.page.get_by_text("there is no cluster")).to_be_visible(timeout=GONE_WITHIN_S * 1000)
    assert time.monotonic() - began < GONE_WITHIN_S
    portal.hold()
    wait_for_listeners(portal, 0)
