"""What a server shows that does not read Kafka itself, and what a metric lake knows of the past, in a real browser."""

from collections.abc import Callable, Iterator
from datetime import datetime

import pytest
from playwright.sync_api import expect

from events.ids import ClusterUid
from spark.metrics.placement import Held, WindowPlacement
from tests.portal.living_portal import LivingPortal
from tests.portal.test_portal_yes_pages import looked_at
from tests.portal.watched import Watched

Visit = Callable[..., Watched]

HOME = "/clusters/orders"
PAST = f"{HOME}/past"


class Lake:
    """Knows two partitions of `payments`, whenever one asks."""

    hint = "in the lake"

    def then(self, uid: ClusterUid, moment: datetime) -> WindowPlacement:
        """See PastPlacements."""
        held = {
            ("payments", 0): Held((1000, 1001, 1002), (1001,), 50_000_000),
            ("payments", 1): Held((1001, 1002), (), None),
        }
        return WindowPlacement(by_partition=held, brokers=(1000, 1001, 1002), reason="2 partitions, told by 3 brokers")


@pytest.fixture
def elsewhere() -> Iterator[LivingPortal]:
    """A server that has of Kafka what the leader recorded some seconds ago: broker 1001 was down."""
    living = LivingPortal(reads_kafka=False, lake=Lake())
    living.converge()
    living.fill("orders", "payments")
    living.roll(version="4.2.0")
    living.ticks(14)
    living.world.kafka.kill_broker(1001)
    living.ticks(12)
    living.record()
    living.ticks(10)
    living.start()
    yield living
    living.stop()


@pytest.mark.soak
def test_topics_as_recorded_and_the_past_are_shown_with_their_age(elsewhere: LivingPortal, visit: Visit) -> None:
    window = visit(elsewhere)
    page = window.page
    window.go(f"{HOME}/topics")
    expect(page.get_by_text("by another server, or before this one started")).to_be_visible()
    expect(page.get_by_text("11 s ago").first).to_be_visible()
    looked_at(window, "light-recorded-topics")
    page.get_by_role("link", name="partitions not in sync").click()
    expect(page.get_by_role("region", name="Partitions").get_by_text("1001 out of sync").first).to_be_visible()
    looked_at(window, "light-recorded-ailing")
    page.go_back()
    page.get_by_role("link", name="payments").click()
    expect(page.locator(".isr .out").first).to_contain_text("1001 out of sync")
    expect(page.get_by_text("572.2 MiB")).to_be_visible()
    looked_at(window, "light-recorded-topic")
    for name in ("matrix", "brokers", "brokers/1002"):
        window.go(f"{HOME}/{name}")
        expect(page.get_by_text("by another server, or before this one started").first).to_be_visible()
        looked_at(window, f"light-recorded-{name.replace('/', '-')}")
    window.go(PAST)
    page.get_by_label("Topic", exact=True).fill("payments")
    page.get_by_role("search", name="A topic then").get_by_role("button").click()
    row = page.get_by_role("region", name="Partitions then").get_by_role("row").filter(has_text="1000, 1001, 1002")
    expect(row).to_contain_text("47.7 MiB")
    expect(page.get_by_role("region", name="Brokers then").get_by_role("row")).to_have_count(4)
    looked_at(window, "light-past")
