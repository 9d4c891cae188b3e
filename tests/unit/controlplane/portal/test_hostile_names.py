"""What others name is text on every page, in every sheet and on every terminal: `hostile_house` has it everywhere."""

import csv
import io
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.portal import frame
from controlplane.runtime.untrusted_text import shown
from tests.unit.controlplane.api.hostile_house import HOSTILE, MARK, hostile_house
from tests.unit.controlplane.portal.page_routes import PAGE_ROUTES, filled

TEMPLATES = sorted((Path(frame.__file__).parent / "templates").glob("*.html"))
ADMIN = Binding("", Role.ADMIN, "*")
PAGES = sorted(path for method, path in PAGE_ROUTES if method == "GET" and path not in ("/live",))
QUERIES = {
    "/search": f"q={MARK}",
    "/clusters/{name}/group": "group=billing",
    "/clusters/{name}/diff": "ask=true&unchanged=true",
    "/clusters/{name}/chaos/ask": "fault=pause&vms=brokers-a-0.g1&for_s=30&force=true",
    "/clusters/{name}/chaos/game": "force=true",
    "/clusters/{name}/rollback": "to=1",
    "/clusters/{name}/topics/{topic}/rollback": "to=1",
}
TELLS_NOTHING = {
    "/account",
    "/clusters/{name}/change",
    "/clusters/{name}/chaos/ask",
    "/clusters/{name}/chaos/game",
    "/clusters/{name}/chaos/game/end",
    "/clusters/{name}/delete",
    "/clusters/{name}/certificates/{key}/revoke",
    "/clusters/{name}/losses",
    "/clusters/{name}/take-over",
    "/clusters/{name}/topics/{topic}/adopt",
    "/clusters/{name}/topics/{topic}/change",
    "/clusters/{name}/topics/{topic}/delete",
    "/clusters/{name}/topics/{topic}/replication-factor",
    "/clusters/{name}/users/{user}/delete",
    "/clusters/{name}/users/{user}/password/rotate",
    "/new",
}
"""Pages with what Kedge named or judged itself, and nobody's words."""


def address(path: str) -> str:
    """The page with what is hostile asked for, too."""
    query = QUERIES.get(path, "")
    return filled(path).replace("{group:path}", "billing") + (f"?{query}" if query else "")


@pytest.fixture(scope="module")
def browser() -> TestClient:
    house = hostile_house()
    return house.browser("ada", ADMIN)


class Seen(HTMLParser):
    """What a browser would make of a page: elements with the mark in them, handlers, and text with the mark."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.made: list[str] = []
        self.is_told = False
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag if tag in ("script", "style") else ""
        self.is_told = self.is_told or any(MARK in (value or "") for _, value in attrs)
        for name, value in attrs:
            is_link = name in ("href", "src", "action", "formaction") and (value or "").lower().startswith(
                "javascript:"
            )
            if name.startswith("on") or MARK in name or is_link or (tag == "img" and MARK in (value or "")):
                self.made.append(f"<{tag} {name}={value!r}>")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        self.is_told = self.is_told or MARK in data
        if self._inside and MARK in data:
            self.made.append(f"<{self._inside}> {data[:80]!r}")
        if str(7919 * 7907) in data:  # no id has it by chance
            self.made.append(f"a template: {data!r}")


@pytest.mark.parametrize("path", [p for p in PAGES if not p.endswith(".csv")])
def test_what_others_name_is_text_on_every_page(browser: TestClient, path: str) -> None:
    answer = browser.get(address(path))
    assert answer.status_code < 500 or answer.status_code == 503, answer.status_code
    if not answer.headers.get("content-type", "").startswith("text/html"):
        return
    seen = Seen()
    seen.feed(answer.text)
    assert seen.made == []
    fields = re.compile(r' value="[^"]*"|<textarea.*?</textarea>', re.DOTALL)
    text = fields.sub("", answer.text)
    assert shown(text) == text, "nothing turns the direction of what stands beside it, or is not seen"
    assert seen.is_told or path in TELLS_NOTHING, "the words are not on it: this looks at nothing"


@pytest.mark.parametrize("path", [p for p in PAGES if p.endswith(".csv")])
def test_no_cell_of_a_sheet_is_a_formula(path: str) -> None:
    formula = '=HYPERLINK("https://h0stile")'
    house = hostile_house(formula)
    text = house.browser("ada", ADMIN).get(address(path)).text
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    assert any("h0stile" in cell for cell in cells) or "brokers" in path
    assert not [cell for cell in cells if cell.lstrip().startswith(("=", "+", "@"))]
    assert not [cell for cell in cells if cell.startswith("-") and not re.fullmatch(r"-[\d.]+", cell)]


def test_a_field_of_a_form_comes_back_as_it_was() -> None:
    """What a page does not show it would lose: a group whose name turns its text around could not be reset."""
    assert str(frame._exact('a\u202e\x1b"<')) == "a\u202e\x1b&#34;&lt;"
    numbers = r"csrf|key|sort|\w+\.key|\w*seen|asking\.seen|placement|\w+\.digest|.*generation|.*done|role|.*id"
    numbers += r"|.*\.role\.value|token|at|b|form\.(kind|tier)|whose|health|until|since|who|zone"
    fields = re.compile(r'value="\{\{ ([\w.\[\]]+) \}\}"')
    assert TEMPLATES, "this looks at nothing"
    for template in TEMPLATES:
        loose = [name for name in fields.findall(template.read_text()) if not re.fullmatch(numbers, name)]
        assert loose == [], f"{template.name}: somebody's words go into a field without `| exact`"


def test_half_a_character_is_no_error() -> None:
    assert frame._environment().from_string("{{ a }}{{ b | exact }}").render(a="\ud800x", b="\udc80").encode()


def test_the_judge_of_pages_sees_what_a_name_would_make() -> None:
    for page in (
        f"<p>{HOSTILE}</p>",
        f"<p title='{HOSTILE}'></p>",
        f"<script>x = {MARK}</script>",
        f"<p>{7919 * 7907}</p>",
    ):
        seen = Seen()
        seen.feed(page)
        assert seen.made, page
