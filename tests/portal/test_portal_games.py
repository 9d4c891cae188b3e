"""A game day in a real browser: asked for by its form, followed without a reload, ended early, its report."""

import os
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from controlplane.background.game_days.referee import GameWorld, Referee
from tests.portal.living_portal import LivingPortal
from tests.portal.watched import Watched

pytestmark = pytest.mark.soak

CHAOS = "/clusters/orders/chaos"
PATIENCE_MS = 60_000


@pytest.fixture
def referee(portal: LivingPortal) -> Iterator[Referee]:
    """Plays on the simulated fleet, where hands are lent that do nothing: faults are over when their time is."""
    referee = Referee(
        GameWorld(
            fleet=portal.world.converger,
            commands=portal.services.cluster.commands,
            latest=portal.world.latest,
            harm=lambda view, chaos: None,
            epoch=portal.services.operations.leadership.held_epoch,
            may_still=lambda view, game: True,
            wake=lambda uid: None,
            clock=portal.world.clock,
        )
    )
    yield referee
    referee.close()


def looked_at(window: Watched, name: str) -> None:
    """As everybody sees it: no barrier, within 1280 pixels, nothing the browser complains of."""
    assert not window.barriers()
    window.assert_fits()
    window.assert_content()
    folder = os.environ.get("KEDGE_PICTURES_OF_PAGES", "")
    if folder:
        window.page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def begin(window: Watched, faults: int) -> None:
    page = window.page
    window.go(CHAOS)
    page.locator("#act-game > summary").click()
    page.locator("#events").fill(str(faults))
    for box in page.locator("#act-game input[name=faults]").all():
        box.set_checked(box.get_attribute("value") == "pause")
    looked_at(window, "game-form")
    page.locator("#act-game").get_by_role("button", name="Preview").click()
    looked_at(window, "game-ask")
    page.get_by_role("button", name="Start game day").click()
    page.wait_for_url(f"**{CHAOS}")
    expect(page.locator("main")).to_contain_text("In hand, waiting for full health before the first fault")


def test_a_game_day_is_followed_to_its_end_and_another_is_ended_early(
    portal: LivingPortal, visit: Callable[..., Watched], referee: Referee
) -> None:
    window = visit(portal)
    page, main = window.page, window.page.locator("main")
    portal.ticks(2)
    begin(window, 2)
    portal.play()
    referee.poll()
    expect(main).to_contain_text("1 of 2 faults", timeout=PATIENCE_MS)
    expect(main).to_contain_text("Over, 2 of 2 faults were injected", timeout=PATIENCE_MS)
    page.locator("details[id^='faults-'] > summary").first.click()
    looked_at(window, "game-report")
    begin(window, 1000)
    referee.poll()
    expect(main).to_contain_text("1 of 1000 faults", timeout=PATIENCE_MS)
    looked_at(window, "game-in-hand")
    page.get_by_role("link", name="End it early").click()
    page.get_by_label("Why").fill("lunch")
    looked_at(window, "game-end-asked")
    page.get_by_role("button", name="End it").click()
    page.wait_for_url(f"**{CHAOS}")
    expect(main).to_contain_text("ended early, asked by admin: lunch")
    expect(page.locator("#act-game")).to_have_count(1)
    looked_at(window, "game-ended")
