"""What one VM was given is revoked in a real browser: asked on a page of its own, done by keyboard, told afterwards."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.portal.hostile_portal import HostilePortal
from tests.portal.test_portal_yes_pages import tabbed_to
from tests.portal.watched import Watched
from tests.unit.controlplane.api.portal_house import House, broker
from tests.unit.controlplane.api.test_node_certificates import ask, tls_vm

Visit = Callable[..., Watched]

CERTIFICATES = "/clusters/orders/certificates"
REVOKE = f"{CERTIFICATES}/{broker().key}/revoke"


@pytest.mark.timeout(120)
def test_what_a_vm_was_given_is_revoked_by_keyboard_and_the_page_bars_nobody(visit: Visit) -> None:
    house = House()
    assert ask(house, tls_vm(house)).status_code == 200
    with HostilePortal(house) as portal:
        window = visit(portal, signed_in=False)
        portal.sign_in(window.page.context)
        window.go(REVOKE)
        assert window.barriers() == []
        window.assert_fits()
        tabbed_to(window.page, "#reason")
        window.page.keyboard.type("its disk was copied")
        tabbed_to(window.page, "#confirm")
        window.page.keyboard.type("orders")
        window.page.keyboard.press("Enter")
        expect(window.page).to_have_url(f"{portal.url}{CERTIFICATES}")
        expect(window.page.get_by_role("rowheader", name=f"{broker().key} revoked")).to_be_visible()
        assert window.barriers() == []
        window.assert_content()
