"""A filter in a real browser, on a list that is drawn anew by itself meanwhile."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Route, expect

from tests.portal.living_portal import LivingPortal
from tests.portal.watched import Watched

pytestmark = pytest.mark.soak


def test_a_filter_is_obeyed_though_the_list_was_drawn_anew_before_its_answer_came(
    portal: LivingPortal, visit: Callable[..., Watched]
) -> None:
    window = visit(portal)
    page = window.page
    held: list[Route] = []
    page.route(lambda url: "q=nobody" in url, lambda route: held.append(route))
    window.go("/")
    with page.expect_request(lambda request: "q=nobody" in request.url):
        page.locator("#filter").fill("nobody")
    page.evaluate("document.getElementById('live').dataset.before = 'yes'; htmx.trigger('#live', 'kedge:changed')")
    expect(page.locator("#live[data-before]")).to_have_count(0)
    expect(page.locator("main tbody")).to_contain_text("orders")
    held[0].continue_()
    expect(page.locator("main")).to_contain_text("No cluster matches.")
    window.assert_content()
