"""The drain and rebalance wizard in a browser: from the choice to an emptied broker, for everybody's eyes and hands."""

from collections.abc import Callable

from playwright.sync_api import expect

from tests.portal.living_portal import LivingPortal
from tests.portal.watched import Watched
from tests.sim.world import UID

Visit = Callable[..., Watched]


def test_a_broker_is_chosen_planned_and_emptied_while_the_page_counts(portal: LivingPortal, visit: Visit) -> None:
    portal.converge(brokers=6)
    portal.fill("<b>x", "refunds")
    portal.ticks(70)
    window = visit(portal)
    page = window.page
    window.go("/clusters/orders/moves")
    page.get_by_text("Empty brokers").click()
    page.get_by_label("1000").first.check()
    assert not window.barriers()
    page.get_by_role("button", name="Preview the plan").first.click()
    expect(page.get_by_role("heading", name="Plan certificate")).to_be_visible()
    expect(page.get_by_role("img").first).to_be_visible()
    assert not window.barriers()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("Kept empty: 1000")).to_be_visible()
    portal.ticks_until(lambda: is_moving(portal), at_most=20)
    expect(page.get_by_role("region", name="Moves that run")).to_be_visible()
    assert not window.barriers()
    portal.ticks_until(lambda: not is_moving(portal))
    expect(page.get_by_role("region", name="Moves that run")).to_have_count(0)
    window.assert_content()


def is_moving(portal: LivingPortal) -> bool:
    """As Kafka was read last."""
    seen = portal.services.fleet.clusters.last_snapshot(UID)
    return seen is not None and bool(seen.moving())


def test_the_wizard_needs_no_script(portal: LivingPortal, visit: Visit) -> None:
    portal.crowd("orders", 1000, 1001, 1002)
    portal.ticks(70)
    window = visit(portal, java_script_enabled=False)
    page = window.page
    window.go("/clusters/orders/moves")
    page.get_by_text("Rebalance", exact=True).click()
    page.get_by_role("button", name="Preview the plan").last.click()
    page.get_by_role("button", name="Confirm").click()
    page.get_by_role("button", name="Cancel the rebalance").click()
    expect(page.get_by_text("cancelled")).to_be_visible()


def test_who_takes_it_is_chosen_and_the_form_is_for_everybodys_eyes(portal: LivingPortal, visit: Visit) -> None:
    portal.converge(brokers=6)
    portal.fill("refunds")
    portal.ticks(70)
    window = visit(portal)
    page = window.page
    window.go("/clusters/orders/moves")
    page.get_by_text("Empty brokers").click()
    page.get_by_label("1000").first.check()
    page.get_by_label("onto 1003").check()
    page.locator("#act-drain input[name=throttle]").fill("20")
    assert not window.barriers()
    page.get_by_role("button", name="Preview the plan").first.click()
    expect(page.get_by_text("emptied onto 1003, at most 20 MiB/s a broker")).to_be_visible()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("Kept empty: 1000")).to_be_visible()
    window.assert_content()


def test_a_rebalance_onto_chosen_brokers_is_planned_agreed_to_and_begun(portal: LivingPortal, visit: Visit) -> None:
    portal.converge(brokers=6)
    portal.fill("<b>x", "refunds")
    portal.ticks_until(lambda: portal.has_recorded("rebalance.completed"))  # what the new brokers get by themselves
    portal.crowd("refunds", 1000, 1001, 1002)
    portal.ticks(70)
    window = visit(portal)
    page = window.page
    window.go("/clusters/orders/moves")
    page.get_by_text("Rebalance", exact=True).click()
    for broker in ("1003", "1004", "1005"):
        page.get_by_label(f"{broker} receives").check()
    assert not window.barriers()
    page.get_by_role("button", name="Preview the plan").last.click()
    expect(page.get_by_role("heading", name="Rebalance onto 1003, 1004, 1005")).to_be_visible()
    assert not window.barriers()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("A rebalance onto 1003, 1004, 1005")).to_be_visible()
    assert not window.barriers()
    window.assert_content()
