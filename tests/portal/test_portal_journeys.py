"""The ten main journeys in a real browser on a live cluster: real server, Terraform, agents, brokers (docs/portal.md).

With `KEDGE_PICTURES=DIR` pictures of the manual are kept there.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.kafka_topics import create_topic
from tests.portal.conftest import WIDE
from tests.portal.pictured import keep_picture
from tests.portal.watched import Watched

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(400)]

NAME = "voyage"
HOME = f"/clusters/{NAME}"
SPEC = ClusterSpec(name=NAME, sizes={"one": 1, "two": 1, "three": 2}, heal_after_s=3600)
LEDGER, PARTITIONS, MIB = "ledger", 12, 24
SOON_MS = 90_000
"""A cluster at rest is read once a minute: so long may an open page take to show what changed in its Kafka."""
ROLL_MS = 240_000

Pictured = Callable[[Page, str], None]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivingCluster]:
    """Four brokers in three zones, and a topic with data. Nothing of it may be left."""
    living = LivingCluster(tmp_path_factory.mktemp("voyage") / "home", spec=SPEC)
    try:
        living.open()
        each = MIB * 1024 * 1024 // PARTITIONS
        create_topic(living.bootstrap(), LEDGER, partitions=PARTITIONS, rf=3, min_isr=2, bytes_per_partition=each)
        yield living
    finally:
        strays = living.close()
    assert strays == [], "something outlived its cluster"


@pytest.fixture
def window(cluster: LivingCluster, chromium: Browser) -> Iterator[Watched]:
    """A browser that nobody has signed in with."""
    context = chromium.new_context(viewport=WIDE, color_scheme="light")  # type: ignore[arg-type]
    address = json.loads((cluster.home / "server.json").read_text())
    yield Watched(context.new_page(), address["url"])
    context.close()


@pytest.fixture
def signed_in(cluster: LivingCluster, window: Watched) -> Watched:
    """The administrator's, by the password the server told at its first start."""
    window.sign_in(first_password(cluster))
    return window


@pytest.fixture
def pictured() -> Pictured:
    """Keeps a page as a picture, where somebody asked for pictures."""
    folder = os.environ.get("KEDGE_PICTURES")

    def keep(page: Page, name: str) -> None:
        if folder:
            keep_picture(page, Path(folder), name)

    return keep


def first_password(cluster: LivingCluster) -> str:
    found = re.search(r"sign in as admin with the password (\S+)", cluster.server.log.read_text())
    assert found is not None, cluster.server.tail()
    return found[1]


def test_1_a_stranger_is_led_to_the_login_form_and_from_there_to_the_page_they_wanted(
    cluster: LivingCluster, window: Watched
) -> None:
    page = window.page
    page.goto(f"{window.url}{HOME}")
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password").fill("not the password")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("Password").fill(first_password(cluster))
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"**{HOME}")
    expect(page.get_by_role("heading", name=NAME)).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/login**")
    window.assert_content()


def test_2_from_the_fleet_to_a_cluster_and_its_two_words(signed_in: Watched, pictured: Pictured) -> None:
    page = signed_in.page
    signed_in.go("/")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=NAME, exact=True))
    expect(row).to_contain_text("Synced")
    pictured(page, "fleet")
    row.get_by_role("link", name=NAME, exact=True).click()
    expect(page.get_by_text("Healthy", exact=True)).to_be_visible(timeout=SOON_MS)
    expect(page.get_by_text("4 (4 declared)")).to_be_visible()
    page.get_by_role("link", name="Brokers", exact=True).click()
    expect(page.get_by_role("row").filter(has_text="one-a-0")).to_be_visible()
    signed_in.assert_content()


def test_3_a_topic_is_found_from_any_page_by_a_part_of_its_name(signed_in: Watched) -> None:
    page = signed_in.page
    signed_in.go("/account")
    searched_until_found(page)
    page.get_by_role("link", name=LEDGER, exact=True).click()
    page.wait_for_url(f"**{HOME}/topics/{LEDGER}")
    expect(page.get_by_text(f"{PARTITIONS} partitions, 3 replicas, min ISR 2")).to_be_visible()
    signed_in.assert_content()


def test_4_a_topic_shows_who_is_out_of_sync_while_a_broker_hangs_and_that_it_is_back(
    cluster: LivingCluster, signed_in: Watched, pictured: Pictured
) -> None:
    page, broker = signed_in.page, cluster.instance("two-b-0")
    searched_until_found(page)
    signed_in.go(f"{HOME}/topics/{LEDGER}")
    table = page.get_by_role("region", name="Partitions")
    # A page at rest follows what Kafka says by itself: it is read once a minute, and nothing of this is an event.
    expect(table.locator(".isr .out")).to_have_count(0, timeout=2 * SOON_MS)
    with cluster.frozen(broker.key):
        expect(table.locator(".isr .out").first).to_contain_text(
            f"{broker.service_id} out of sync", timeout=2 * SOON_MS
        )
        pictured(page, "topic")
    expect(table.locator(".isr .out")).to_have_count(0, timeout=2 * SOON_MS)
    expect(table.locator(".isr .leader").first).to_contain_text("★")
    cluster.converged()
    signed_in.assert_content()


def test_5_a_broker_says_whether_it_may_be_restarted_now(cluster: LivingCluster, signed_in: Watched) -> None:
    page, broker = signed_in.page, cluster.instance("one-a-0")
    signed_in.go(f"{HOME}/brokers")
    page.get_by_role("link", name=str(broker.service_id), exact=True).first.click()
    card = page.locator("section", has=page.get_by_role("heading", name="Safe to restart now?"))
    expect(card.locator(".word")).to_have_text("Yes", timeout=SOON_MS)
    expect(card.get_by_text("By metadata read")).to_be_visible()
    signed_in.assert_content()


def test_6_a_topic_is_declared_by_the_form_and_becomes_real(cluster: LivingCluster, signed_in: Watched) -> None:
    page = signed_in.page
    signed_in.go(f"/new?kind=topic&tier=standard&cluster={NAME}")
    page.get_by_label("Name", exact=True).fill("clicks")
    page.get_by_label("Partitions").fill("0")
    page.get_by_role("button", name="Preview the spec").click()
    expect(page.get_by_label("Partitions")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Partitions").fill("3")
    page.get_by_role("button", name="Preview the spec").click()
    expect(page.get_by_text("+ topic voyage/clicks: 3 partitions, 3 replicas")).to_be_visible()
    page.get_by_role("button", name="Declare").click()
    page.wait_for_url(f"**{HOME}/topics")
    expect(page.get_by_role("row").filter(has_text="clicks")).to_contain_text("InSync", timeout=SOON_MS)
    assert len([p for p in cluster.snapshot().partitions if p.name.topic == "clicks"]) == 3
    signed_in.assert_content()


def test_7_a_cluster_and_a_topic_are_changed_by_the_form_and_the_brokers_follow(
    cluster: LivingCluster, signed_in: Watched, pictured: Pictured
) -> None:
    page = signed_in.page
    signed_in.go(HOME)
    page.get_by_role("link", name="change", exact=True).click()
    settings = page.get_by_label("Kafka settings")
    settings.fill(settings.input_value() + "\nlog.retention.hours: 24")
    page.get_by_role("button", name="Preview the plan").click()
    expect(page.get_by_text("Changed.")).to_be_visible()
    expect(page.locator("pre .is")).to_have_text(["+      log.retention.hours: '24'"])
    expect(page.get_by_role("region", name="The plan")).to_contain_text("dynamic")
    pictured(page, "change")
    page.get_by_role("button", name="Declare").click()
    page.wait_for_url(f"**{HOME}")
    expect(page.get_by_text("declared generation 2")).to_be_visible()
    cluster.converged()
    expect(page.get_by_text("Synced", exact=True)).to_be_visible()
    signed_in.go(f"{HOME}/topics/clicks/change")
    page.get_by_label("Partitions").fill("5")
    page.get_by_role("button", name="Preview the plan").click()
    page.get_by_role("button", name="Declare").click()
    page.wait_for_url(f"**{HOME}/topics")
    row = page.get_by_role("row").filter(has_text="clicks")
    expect(row.get_by_role("cell", name="5", exact=True)).to_be_visible(timeout=SOON_MS)
    signed_in.assert_content()


def test_8_a_restart_is_asked_for_and_watched_until_it_is_over(
    cluster: LivingCluster, signed_in: Watched, pictured: Pictured
) -> None:
    page = signed_in.page
    signed_in.go(HOME)
    page.locator("#act-restart summary").click()
    page.locator("#act-restart select[name=pool]").select_option("three")
    page.locator("#act-restart input[name=reason]").fill("to see it")
    page.locator("#act-restart").get_by_role("button").click()
    expect(page.get_by_text("2 brokers of voyage will be started anew")).to_be_visible()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("Recorded.")).to_be_visible()
    signed_in.go(f"{HOME}/rollout")
    timeline = page.locator("#timeline")
    expect(timeline.locator("td.now").first).to_be_visible(timeout=SOON_MS)
    pictured(page, "rollout")
    for node in ("three-c-0", "three-c-1"):
        expect(timeline.locator("tr.finished", has_text=node)).to_be_visible(timeout=ROLL_MS)
    cluster.converged()
    signed_in.assert_content()


def test_9_a_broker_is_emptied_by_the_wizard_and_readmitted(
    cluster: LivingCluster, signed_in: Watched, pictured: Pictured
) -> None:
    page, broker = signed_in.page, cluster.instance("three-c-1").service_id
    neighbour, before = cluster.instance("three-c-0").service_id, cluster.head()
    signed_in.go(f"{HOME}/moves")
    page.locator("#act-drain summary").click()
    emptied(page).get_by_label(str(broker)).check()
    page.get_by_label(f"onto {neighbour}").check()
    page.locator("#act-drain input[name=throttle]").fill("32")
    page.locator("#act-drain input[name=reason]").fill("to see it empty")
    page.locator("#act-drain").get_by_role("button", name="Preview the plan").click()
    expect(page.get_by_text(f"emptied onto {neighbour}, at most 32 MiB/s a broker")).to_be_visible()
    expect(page.get_by_role("heading", name="Plan certificate")).to_be_visible()
    row = page.get_by_role("region", name="Before and after").get_by_role("row").filter(has_text=str(broker))
    expect(row).to_contain_text("→ 0")
    pictured(page, "plan")
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text(f"Kept empty: {broker}")).to_be_visible(timeout=SOON_MS)
    cluster.event("evacuation.completed", before)
    assert cluster.snapshot().hosted_by(broker) == ()
    requested = cluster.event("drain.requested", before)
    assert requested.data["targets"] == [neighbour]
    signed_in.go(HOME)
    page.locator("#act-readmit summary").click()
    page.locator("#act-readmit").get_by_role("button").click()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("may receive replicas again")).to_be_visible()
    cluster.converged()
    signed_in.assert_content()


def test_10_who_did_what_is_in_the_history_the_comparison_and_the_audit(
    cluster: LivingCluster, signed_in: Watched
) -> None:
    page = signed_in.page
    cluster.declare(replace(SPEC, config={"log.retention.hours": 48}))
    cluster.converged()
    generation = cluster.detail().generation
    signed_in.go(f"{HOME}/history")
    expect(page.get_by_text(f"declared generation {generation}").first).to_be_visible()
    page.goto(f"{signed_in.url}{HOME}/compare?new={generation}")
    row = page.get_by_role("region", name="Changed fields").get_by_role("row").filter(has_text="log.retention.hours")
    expect(row).to_contain_text("48")
    expect(row).to_contain_text("dynamic")
    signed_in.go(f"/audit?q={NAME}")
    entries = page.get_by_role("region", name="Entries")
    expect(entries.get_by_role("row").filter(has_text="declare").first).to_contain_text("done")
    page.get_by_label("Who").fill("nobody at all")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_text("No entry matches.")).to_be_visible()
    signed_in.assert_content()


def searched_until_found(page: Page) -> None:
    """Looks for the topic by the key: names are in the index once the server has read the cluster's Kafka."""
    for _ in range(30):
        page.keyboard.press("/")
        page.keyboard.type("edg")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?q=edg")
        if page.get_by_role("link", name=LEDGER, exact=True).count():
            return
        page.wait_for_timeout(3000)


def emptied(page: Page) -> Locator:
    """The choice of brokers to empty."""
    return page.get_by_role("group", name="Brokers to empty and to keep empty")
