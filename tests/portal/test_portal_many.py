"""The portal in a real browser over 100 clusters of 1,000 topics of 50 partitions, with a roll in hand and a real loop.

The clusters have the same topics: a search for one of them finds it a hundred times.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from benchmarks.portal.house import AT_REST, ROLLING, PortalHouse, topic_names
from tests.portal.conftest import WIDE
from tests.portal.watched import Watched

pytestmark = [pytest.mark.soak, pytest.mark.timeout(540)]

CLUSTERS, TOPICS, PARTITIONS = 100, 1_000, 50
NAMES = sorted(topic_names(TOPICS))
TOPIC = topic_names(TOPICS)[617]
ROWS_OF_A_PAGE = 500
MOST_ELEMENTS = 14_000
"""In any page: a browser is slow with more, and rows that nobody looks at are no help."""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PortalHouse]:
    directory: Path = tmp_path_factory.mktemp("many")
    house = PortalHouse(directory, clusters=CLUSTERS, topics=TOPICS, partitions=PARTITIONS)
    try:
        yield house.open(within_s=60.0)
    finally:
        house.close()


@pytest.fixture
def window(house: PortalHouse, chromium: Browser) -> Iterator[Watched]:
    """A browser window of an administrator. The machine may be busy: what is waited for is given time."""
    context = chromium.new_context(viewport=WIDE)  # type: ignore[arg-type]
    name, _, value = house.cookies[0].partition("=")
    context.add_cookies([{"name": name, "value": value, "url": house.url}])
    watched = Watched(context.new_page(), house.url)
    watched.page.set_default_timeout(60_000)
    expect.set_options(timeout=60_000)
    yield watched
    expect.set_options(timeout=15_000)
    context.close()


def rows(window: Watched) -> Locator:
    return window.page.locator("main tbody tr")


def numbers(cells: Locator) -> list[int]:
    return [int(text.replace(",", "")) for text in cells.all_inner_texts()]


def test_the_fleet_has_a_row_a_cluster_and_is_filtered_by_the_keyboard(window: Watched) -> None:
    window.go("/")
    expect(rows(window)).to_have_count(CLUSTERS)
    expect(window.page.locator("main")).to_contain_text(ROLLING)
    window.page.locator("main input[type=search]").first.fill(AT_REST)
    window.page.keyboard.press("Enter")
    window.page.wait_for_url(lambda url: AT_REST in url)
    expect(rows(window)).to_have_count(1)
    window.assert_content()


def test_brokers_and_matrix_count_every_partition(window: Watched) -> None:
    every = TOPICS * PARTITIONS
    window.go(f"/clusters/{AT_REST}/brokers")
    brokers = rows(window).filter(has=window.page.locator('a[href*="/brokers/100"]'))
    expect(brokers).to_have_count(3)
    assert sum(numbers(brokers.locator("td:nth-child(6)"))) == every, "leaders"
    assert numbers(brokers.locator("td:nth-child(7)")) == [every] * 3, "replicas"
    window.go(f"/clusters/{AT_REST}/matrix")
    expect(rows(window)).to_have_count(3)
    assert sum(numbers(rows(window).locator("td:nth-child(3)"))) == every, "led"
    window.assert_content()


def test_every_topic_is_on_one_of_the_pages_of_the_list(window: Watched) -> None:
    window.go(f"/clusters/{AT_REST}/topics")
    main, names = window.page.locator("main"), rows(window).locator("th a")
    expect(main).to_contain_text(f"{TOPICS} of {TOPICS}")
    expect(rows(window)).to_have_count(ROWS_OF_A_PAGE)
    first = names.all_inner_texts()
    window.page.get_by_role("link", name="After these").focus()
    window.page.keyboard.press("Enter")
    window.page.wait_for_url(lambda url: f"skip={ROWS_OF_A_PAGE}" in url)
    expect(main).to_contain_text(f"{ROWS_OF_A_PAGE + 1} to {TOPICS} of {TOPICS}")
    assert first + names.all_inner_texts() == NAMES
    window.assert_content()


def test_topics_of_a_cluster_are_sorted_found_and_opened(window: Watched) -> None:
    window.go(f"/clusters/{AT_REST}/topics?sort=size_bytes&down=true")
    main = window.page.locator("main")
    expect(rows(window).first).to_contain_text(topic_names(TOPICS)[-1])  # the largest comes first
    window.go(f"/clusters/{AT_REST}/topics?q={TOPIC}")
    expect(rows(window)).to_have_count(1)
    main.get_by_role("link", name=TOPIC, exact=True).click()
    window.page.wait_for_url(lambda url: url.endswith(f"/topics/{TOPIC}"))
    expect(main).to_contain_text(f"{PARTITIONS} partitions")
    expect(rows(window)).to_have_count(PARTITIONS)
    window.assert_content()


def test_a_topic_is_found_in_every_cluster_from_any_page_without_a_mouse(window: Watched) -> None:
    window.go(f"/clusters/{AT_REST}")
    expect(window.page.locator("h1")).to_contain_text(AT_REST)
    window.page.keyboard.press("/")
    window.page.keyboard.type(TOPIC)
    window.page.keyboard.press("Enter")
    window.page.wait_for_url(lambda url: "/search" in url)
    links = window.page.locator(f'main a[href$="/topics/{TOPIC}"]')
    expect(links).to_have_count(50)  # the first fifty are shown
    expect(window.page.locator("main")).to_contain_text(str(CLUSTERS))
    links.first.focus()
    window.page.keyboard.press("Enter")
    window.page.wait_for_url(lambda url: url.endswith(f"/topics/{TOPIC}"))
    expect(rows(window)).to_have_count(PARTITIONS)
    window.assert_content()


BRIEF = (
    "/",
    f"/search?q={TOPIC}",
    f"/clusters/{ROLLING}",
    f"/clusters/{ROLLING}/rollout",
    f"/clusters/{AT_REST}",
    f"/clusters/{AT_REST}/brokers",
    f"/clusters/{AT_REST}/matrix",
    f"/clusters/{AT_REST}/topics?q=clicks.email",
    f"/clusters/{AT_REST}/topics/{TOPIC}",
)
LONG = (
    f"/clusters/{AT_REST}/brokers/1001",
    f"/clusters/{AT_REST}/topics",
    f"/clusters/{AT_REST}/topics?skip={ROWS_OF_A_PAGE}",
)
"""axe takes minutes for 500 rows, which are all alike: these pages are looked at by it when they are shorter."""


@pytest.mark.parametrize("path", [*BRIEF, *LONG])
def test_a_page_is_whole_bounded_keeps_to_1280_pixels_and_can_be_read_by_everybody(window: Watched, path: str) -> None:
    window.go(path)
    expect(window.page.locator("main h1, main h2").first).to_be_visible()
    expect(window.page.locator("footer")).to_be_visible()  # the last of every page
    window.assert_fits()
    elements = window.page.evaluate("document.querySelectorAll('*').length")
    print(f"{path}: {elements} elements")
    assert elements <= MOST_ELEMENTS
    if path in BRIEF:
        assert not window.barriers()
    window.assert_content()
