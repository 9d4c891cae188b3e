"""Every page in a real browser while brokers, clouds, agents, forges, files and people have put hostile words, longer
than any line, into all they name. Each is looked at by axe as well: here no page is empty."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.portal.hostile_portal import HostilePortal
from tests.portal.watched import WIDE_PX, Watched
from tests.unit.controlplane.api.hostile_house import HOSTILE, LONG, MARK, hostile_house
from tests.unit.controlplane.portal.page_routes import PAGE_ROUTES
from tests.unit.controlplane.portal.test_hostile_names import address

Visit = Callable[..., Watched]

NO_PAGE = {
    "/live": "the stream of an open page",
    "/audit/{entry}/change": "leads to another page",
}
"""What is no page of its own, beside sheets."""
ELSEWHERE = {
    "/clusters/{name}/chaos/game/end": ("test_portal_games.py", 'looked_at(window, "game-end-asked")'),
    "/clusters/{name}/certificates/{key}/revoke": ("test_portal_revocations.py", "window.go(REVOKE)"),
}
"""Pages that are there only while something goes on: which test has that, and has axe look."""
LOOKED_AT = sorted(
    path
    for method, path in PAGE_ROUTES
    if method == "GET" and not path.endswith(".csv") and path not in NO_PAGE and path not in ELSEWHERE
)
_APPEARANCE = """() => ({
  made: document.querySelectorAll("img, [onerror], script:not([src])").length,
  ran: String(window.hacked),
  turned: /[\\u202a-\\u202e\\u2066-\\u2069\\u001b\\u0007\\u009b]/.test(document.body.innerText + document.title),
  wide: document.documentElement.scrollWidth > WIDE_PX,
})""".replace("WIDE_PX", str(WIDE_PX))
_HARMLESS = {"made": 0, "ran": "undefined", "turned": False, "wide": False}
WORDS = HOSTILE.replace("alert(1)", "window.hacked=1").replace(f"{MARK}()", "window.hacked=1") + LONG


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.timeout(300)  # of each page everything is looked at, twice: half a core has to be enough
def test_words_of_others_are_text_on_every_page_run_nothing_fit_and_bar_nobody(visit: Visit, half: int) -> None:
    wrong, told = {}, 0
    pages = LOOKED_AT[half::2]
    with HostilePortal(hostile_house(WORDS)) as portal:
        window = visit(portal, signed_in=False)
        portal.sign_in(window.page.context)
        for path in pages:
            window.go(address(path))
            seen = window.page.evaluate(_APPEARANCE)
            found = [*window.violations(), *window.barriers()]
            if found or seen != _HARMLESS:
                wrong[path] = (found, seen)
            told += MARK in window.page.locator("body").inner_text()
        complaints = window.complaints
    assert wrong == {}
    assert complaints == []
    assert told > len(pages) / 2, "this looks at pages that say nothing"


@pytest.mark.parametrize(("path", "place"), ELSEWHERE.items())
def test_a_page_that_is_looked_at_elsewhere_is_one_and_is(path: str, place: tuple[str, str]) -> None:
    file, look = place
    text = (Path(__file__).parent / file).read_text()
    assert ("GET", path) in PAGE_ROUTES
    assert look in text
    assert "barriers()" in text
