"""Charts in a real browser: drawn, readable as figures without a script; from the lag of a group to its reset."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from playwright.sync_api import expect

from controlplane.cluster.observed.consumer_groups import keep_groups, kept_groups
from controlplane.storage.streams import anomalies_stream
from events import facts
from events.codec import encode
from events.envelope import Origin
from planner.anomalies.slow import BrokerWindow
from tests.portal.living_portal import LivingPortal
from tests.portal.watched import Watched
from tests.sim.world import UID

Visit = Callable[..., Watched]
INKED = """() => {
  const canvas = document.querySelector("figure[data-chart] canvas");
  if (!canvas) return 0;
  const seen = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let inked = 0;
  for (let n = 3; n < seen.length; n += 4) if (seen[n]) inked += 1;
  return inked;
}"""
"""Pixels of the first chart that are not empty."""


def look_later(portal: LivingPortal) -> None:
    """The watch looks again a minute after the last look, and finds the same."""
    told = kept_groups(portal.world.latest, UID)
    assert told is not None
    later = told.at + timedelta(minutes=1)
    groups = tuple(replace(group, at=later) for group in told.groups)
    keep_groups(portal.world.latest, UID, replace(told, at=later, groups=groups), later)


def test_the_lag_of_a_group_is_drawn_and_its_offsets_are_reset_from_its_page(
    portal: LivingPortal, visit: Visit
) -> None:
    readers = portal.world.kafka.consumers
    readers.produce("payments", 0, 1200)
    readers.commit("nightly", "payments", 0, 700)
    window = visit(portal)
    page = window.page
    window.go("/clusters/orders/groups/nightly")
    expect(page.get_by_text("begins with the second reading")).to_be_visible()
    for _ in range(3):
        look_later(portal)
    window.go("/clusters/orders/groups/nightly")
    expect(page.locator("figure[data-chart] canvas")).to_be_visible()
    for _ in window.in_each_scheme():
        page.wait_for_function(f"({INKED})() > 500")
    legend = page.locator(".u-legend")
    expect(legend).to_contain_text("--")
    expect(legend).not_to_contain_text("not known")  # nobody points at a time yet
    page.locator("figure[data-chart] .u-over").hover()
    expect(legend).to_contain_text(re.compile(r"2026-01-01 00:\d\d:\d\d"))  # as everywhere, and not "12:01am"
    expect(legend).to_contain_text("500 records")
    page.get_by_text("As figures").click()
    expect(page.get_by_role("region", name="Lag as figures")).to_be_visible()
    assert not window.barriers()
    window.assert_fits()
    page.get_by_text("Reset offsets").click()
    page.locator("select[name=to]").select_option("offset")
    page.locator("input[name=number]").fill("100")
    assert not window.barriers()
    page.get_by_role("button", name="Show what would change").click()
    expect(page.get_by_text("600 records a second time")).to_be_visible()
    assert not window.barriers()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("1 offset was put elsewhere (asked by admin)")).to_be_visible()
    window.assert_content()


def test_the_windows_behind_a_slow_broker_are_drawn_beside_its_peers(portal: LivingPortal, visit: Visit) -> None:
    now = portal.world.clock()
    view = next(v for v in portal.world.converger.views() if v.name == "orders")
    node = next(i.node for i in view.brokers() if i.service_id == 1000)
    found = facts.AnomalyFound("orders-1", "orders", "slow-broker", node, "produce 90 ms", "waiting", "healing is off")
    portal.services.store.append(
        anomalies_stream(UID), [encode(found, "slow")], expected_version=0, origin=Origin("anomalies")
    )
    for n in range(24):
        end = now - timedelta(minutes=5 * n)
        for broker in (1000, 1001, 1002):
            slow = {"produce_local_p99_ms": 90.0 if broker == 1000 and n < 4 else 8.0}
            portal.windows.kept.append(BrokerWindow(broker, end - timedelta(minutes=5), end, None, 1.0, slow))
    window = visit(portal)
    page = window.page
    window.go("/clusters/orders/anomalies")
    page.get_by_role("link", name="slow-broker").click()
    expect(page.locator("figure[data-chart] canvas")).to_be_visible()
    for _ in window.in_each_scheme():
        page.wait_for_function(f"({INKED})() > 500")
    expect(page.get_by_text("broker 1000 8 to 90, median of its peers 8 to 8")).to_be_visible()
    assert not window.barriers()
    window.assert_fits()
    window.assert_content()


def test_the_traffic_of_a_cluster_is_drawn_with_the_steps_of_its_roll(portal: LivingPortal, visit: Visit) -> None:
    portal.roll(version="4.2.0")
    now = portal.world.clock()
    for n in range(6, 180):
        end = now - timedelta(minutes=n)
        for broker in (1000, 1001, 1002):
            rate = (4 + broker - 1000 + n % 7 / 5) * 2.0**20
            figures = {"cpu": 0.4, "nic_in_bytes_per_s": rate, "nic_out_bytes_per_s": rate * 1.6, "gc_share": 0.004}
            portal.windows.kept.append(BrokerWindow(broker, end - timedelta(minutes=1), end, None, 1.0, figures))
    window = visit(portal)
    page = window.page
    window.go("/clusters/orders")
    expect(page.locator("figure[data-chart] canvas")).to_be_visible()
    for _ in window.in_each_scheme():
        page.wait_for_function(f"({INKED})() > 500")
    page.get_by_text("of the roll", exact=False).last.click()
    expect(page.get_by_text("roll to generation 1 begins")).to_be_visible()
    assert not window.barriers()
    window.assert_fits()
    window.assert_content()
    window.go("/clusters/orders/brokers/1000")
    expect(page.get_by_role("region", name="Measured")).to_contain_text("40.0 %")
    assert not window.barriers()


def test_without_a_script_the_figures_are_there(portal: LivingPortal, visit: Visit) -> None:
    readers = portal.world.kafka.consumers
    readers.produce("payments", 0, 50)
    readers.commit("nightly", "payments", 0, 1)
    window = visit(portal, java_script_enabled=False)
    window.go("/clusters/orders/groups/nightly")
    look_later(portal)
    window.go("/clusters/orders/groups/nightly")
    window.page.get_by_text("As figures").click()
    expect(window.page.get_by_role("region", name="Lag as figures").get_by_text("49").first).to_be_visible()
