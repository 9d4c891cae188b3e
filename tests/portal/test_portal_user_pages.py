"""Users, access and certificates in a real browser: a password is collected once, by keyboard, and is gone after."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from planner.rights.acls import Acl
from tests.portal.hostile_portal import HostilePortal
from tests.portal.test_portal_yes_pages import tabbed_to
from tests.portal.watched import Watched
from tests.unit.controlplane.portal.test_portal_kafka_users import ALICE, DELETE, USERS
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_topics

Visit = Callable[..., Watched]

ACCESS = "/clusters/orders/topics/payments/access"
PAGES = (USERS, f"{USERS}?only=undeclared", ALICE, DELETE, ACCESS, "/clusters/orders/certificates")


@pytest.mark.soak
@pytest.mark.timeout(120)
def test_a_password_is_collected_once_and_each_page_bars_nobody(visit: Visit) -> None:
    house = house_with_topics()
    house.kafka.add_controller(100)
    house.kafka.add_broker(1000, "a")
    house.kafka.users.acls = {Acl("User:bob", "topic", "pay", "prefix", "Write")}
    (kept,) = house.user_passwords.kept.values()
    with HostilePortal(house) as portal:
        window = visit(portal, signed_in=False)
        portal.sign_in(window.page.context)
        for path in PAGES:
            window.go(path)
            assert window.barriers() == [], path
            window.assert_fits()
        window.go(f"{ACCESS}?user=bob&operation=Describe")
        expect(window.page.get_by_text("User:bob may Describe on topic payments")).to_be_visible()
        assert window.barriers() == []
        window.go(ALICE)
        tabbed_to(window.page, "form[action$=collect] button")
        window.page.keyboard.press("Enter")
        expect(window.page.locator("#given")).to_have_text(kept.get_secret_value())
        assert window.barriers() == []
        window.assert_fits()
        window.page.get_by_role("link", name="Done").click()
        expect(window.page.get_by_text("Password: collected")).to_be_visible()
        assert kept.get_secret_value() not in window.page.content()
        window.assert_content()
