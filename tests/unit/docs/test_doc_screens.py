"""docs/screens.md: each row names pages of the portal and tests that look at them, and each page is in a row."""

import re

import pytest

from tests.unit.controlplane.portal.page_routes import PAGE_ROUTES
from tests.unit.docs.doc_pages import ROOT, table_headed, text

NAMED = re.compile(r"`([^`]+)`")
SCREENS = {
    row[0]: (row[1], NAMED.findall(row[2]), NAMED.findall(row[4]))
    for row in table_headed(text("docs/screens.md"), "screen")
}
PAGES = {path for method, path in PAGE_ROUTES if method == "GET"}
TESTS = {file.name: file for file in ROOT.glob("tests/**/test_*.py")}


def test_each_page_is_in_a_row() -> None:
    told = {page for _, pages, _ in SCREENS.values() for page in pages}
    assert not PAGES - told, "no row of docs/screens.md says what these pages show"
    assert not told - PAGES, "docs/screens.md names pages that are not there"


@pytest.mark.parametrize("screen", sorted(SCREENS))
def test_a_row_names_its_pages_and_tests_that_speak_of_them(screen: str) -> None:
    there, pages, tests = SCREENS[screen]
    assert there in ("yes", "part", "no")
    assert pages
    assert tests
    assert not [name for name in tests if name not in TESTS]
    spoken = "".join(TESTS[name].read_text(encoding="utf-8") for name in tests)
    assert not [page for page in pages if _end(page) not in spoken], f"no test named for {screen} speaks of these"


def test_a_row_that_is_not_whole_says_what_is_missing() -> None:
    for row in table_headed(text("docs/screens.md"), "screen"):
        assert len(row) == 5, f"a cell of {row[0]} is cut by a stroke"
        assert row[1] == "yes" or "missing" in row[3], row[0]


def _end(page: str) -> str:
    """The last of its address that is the same for all: `/brokers` of `/clusters/{name}/brokers/{broker}`."""
    fixed = [part for part in page.split("/") if part and not part.startswith("{")]
    return f"/{fixed[-1]}" if fixed else '"/"'
