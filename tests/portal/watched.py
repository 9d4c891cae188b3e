"""A page of a real browser that keeps what the browser complains of: policy violations and errors."""

from collections.abc import Iterator
from typing import Any, Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import ConsoleMessage, Error, Page

WIDE_PX = 1280
_SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
_COLOURS = "runOnly: {type: 'tag', values: ['cat.color']}, rules: {'color-contrast-enhanced': {enabled: false}}"
"""Of the rules that axe applies unless told otherwise, those about colours: AAA is none of them."""
_RULES = {"light": "", "dark": _COLOURS}
_ONE_OF_EACH = """
const seen = new Set();
const shape = (node) => node.nodeType === Node.TEXT_NODE
  ? (node.data.trim() ? "t" : "")
  : node.tagName + [...node.attributes].map((a) => a.name + (
      ["class", "style", "role", "type", "scope", "colspan"].includes(a.name) ? "=" + a.value : a.value ? "" : "!"
    )) + "(" + [...node.childNodes].filter((n) => n.nodeType < 8).map(shape) + ")";
const again = [...document.querySelectorAll("tbody tr, option")].filter((row) => {
  const whole = row.parentElement.id + row.closest("table, select, datalist").className + shape(row);
  return seen.has(whole) || !seen.add(whole);
});
"""
"""Of rows that are made alike (tags, classes, what is empty) the first is looked at: the others can say nothing new."""
_AXE = f"window.axeOnDemand = () => {{ {AXE_SCRIPT} }};"
"""Read by a page when it is opened, run by it when it is first looked at: half of its cost is its way into a page."""
_SCAN = f"""async () => {{
  if (!window.axe) window.axeOnDemand();
  {_ONE_OF_EACH}
  const shown = {{include: [document], exclude: again}};
  const {{violations}} = await axe.run(shown, {{resultTypes: ["violations"], preload: false, %s}});
  return {{violations}};
}}"""
_NO_COMPLAINT = ("Failed to load resource", "htmx:sendAbort", "htmx:afterRequest")
"""A request that a newer one takes the place of, as happens on a busy machine, is told as these two by htmx; one that
fails has a third word, which counts."""
_REPORTER = """
window.__violations = [];
document.addEventListener("securitypolicyviolation", (e) => {
  window.__violations.push(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`);
});
"""


class Watched:
    """`page` with its complaints. Navigations to pages that are errors on purpose go by `go(..., status=...)`."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.complaints: list[str] = []
        self._forgiven = 0
        self._has_axe = False
        page.add_init_script(_REPORTER)
        page.on("pageerror", self._script_error)
        page.on("console", self._console)
        page.set_default_timeout(15_000)

    def go(self, path: str, *, status: int = 200) -> None:
        """Opens a page of the portal, and wants that answer."""
        answer = self.page.goto(f"{self.url}{path}")
        assert answer is not None
        assert answer.status == status, f"{path}: {answer.status}"

    def sign_in(self, password: str, name: str = "admin") -> None:
        """By the form, as people do."""
        self.go("/login")
        self.page.get_by_label("Name").fill(name)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(lambda url: "/login" not in url)

    def in_each_scheme(self) -> Iterator[str]:
        """The page as it stands, in light and then in dark. A page follows the scheme while it is open."""
        for scheme in _SCHEMES:
            self.page.emulate_media(color_scheme=scheme)
            yield scheme

    def barriers(self) -> list[str]:
        """Of the page as it stands, in light and in dark: violations of accessibility that axe calls serious or
        critical, with where they are. In dark colours alone are looked at: nothing else differs (`test_portal_assets`).
        """
        self._have_axe()
        return [
            f"{scheme}: {violation}"
            for scheme in self.in_each_scheme()
            for violation in serious(self.page.evaluate(_SCAN % _RULES[scheme]))
        ]

    def _have_axe(self) -> None:
        """In this page and, from the first that is looked at, in those opened after it."""
        if not self._has_axe:
            self.page.add_init_script(_AXE)
            self.page.evaluate(_AXE)
        self._has_axe = True

    def assert_fits(self) -> None:
        """Nobody has to scroll sideways on a laptop."""
        width = self.page.evaluate("document.documentElement.scrollWidth")
        assert width <= WIDE_PX, f"{self.page.url} is {width} pixels wide"

    def violations(self) -> list[str]:
        """What this page did against its policy."""
        found: list[str] = self.page.evaluate("window.__violations")
        return found

    def assert_content(self) -> None:
        """The browser has nothing to complain of."""
        violations = self.violations()
        assert not violations, f"{self.page.url}: {violations}"
        assert not self.complaints, f"{self.page.url}: {self.complaints}"

    def _script_error(self, error: Error) -> None:
        self.complaints.append(f"script: {error}")

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not any(word in message.text for word in _NO_COMPLAINT):
            self.complaints.append(f"console: {message.text}")


def serious(results: dict[str, Any]) -> list[str]:
    """Accessibility violations that axe calls serious or critical, with where they are."""
    return [
        f"{v['id']} ({v['impact']}): {v['help']}: " + "; ".join(n["html"][:160] for n in v["nodes"][:3])
        for v in results["violations"]
        if v["impact"] in ("serious", "critical")
    ]
