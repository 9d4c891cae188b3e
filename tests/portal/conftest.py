"""One Chromium for all tests here. Debian's package; `KEDGE_CHROMIUM` names another one."""

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.portal.living_portal import LivingPortal
from tests.portal.watched import Watched

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
expect.set_options(timeout=15_000)
WIDE = {"width": 1280, "height": 800}


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A headless browser. A machine without one fails these tests: they are never skipped."""
    path = os.environ.get("KEDGE_CHROMIUM") or shutil.which("chromium")
    assert path is not None, "install chromium: apt-get install --no-install-recommends chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def portal() -> Iterator[LivingPortal]:
    """A portal over a simulated fleet at rest: `orders` with three brokers and two topics."""
    living = LivingPortal()
    living.converge()
    living.fill("orders", "payments")
    living.start()
    yield living
    living.stop()


@pytest.fixture
def empty_portal() -> Iterator[LivingPortal]:
    """A portal nobody has declared anything to."""
    living = LivingPortal(empty=True).start()
    yield living
    living.stop()


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Callable[..., Watched]]:
    """Opens a browser window on a portal; it keeps what the browser complains of. It has the cookie of a session of
    the first user unless told otherwise: two pages less for each test than by the form, which has tests of its own.
    """
    contexts: list[BrowserContext] = []

    def open_window(portal: LivingPortal, *, scheme: str = "light", signed_in: bool = True, **more: object) -> Watched:
        context = chromium.new_context(viewport=WIDE, color_scheme=scheme, **more)  # type: ignore[arg-type]
        contexts.append(context)
        if signed_in:
            portal.sign_in(context)
        page: Page = context.new_page()
        return Watched(page, portal.url)

    yield open_window
    for context in contexts:
        context.close()
