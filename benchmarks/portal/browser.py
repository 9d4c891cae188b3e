"""What one browser has of it: how heavy a page is, and how soon an event is to be seen."""

import gzip
import os
import shutil
import time
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Page, sync_playwright

from controlplane.portal import assets
from tests.portal.conftest import ARGUMENTS
from tests.portal.living_portal import LivingPortal
from tests.portal.watched import Watched

WEIGHT_KIB, VISIBLE_S = 150, 1.0
TIMES = 10
_STATIC = Path(assets.__file__).resolve().parent.parent / "static"


def weight(scale: float) -> dict[str, Any]:
    """KiB of every script and style there is, each compressed by itself as a server would."""
    sizes = {
        str(path.relative_to(_STATIC)): len(gzip.compress(path.read_bytes(), 6)) / 1024
        for path in sorted(_STATIC.rglob("*"))
        if path.suffix in (".js", ".css")
    }
    whole = {name: round(size, 1) for name, size in sizes.items()}
    return {"kib": round(sum(sizes.values()), 1), "files": whole, "floor": {"kib": WEIGHT_KIB}}


def visible(scale: float) -> dict[str, Any]:
    """Seconds from the recorded event to its words on the open page of its cluster."""
    path = os.environ.get("KEDGE_CHROMIUM") or shutil.which("chromium")
    if path is None:
        raise RuntimeError("there is no chromium here")
    portal = LivingPortal()
    portal.converge()
    portal.fill("orders")
    portal.start()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
            watched = Watched(browser.new_page(), portal.url)
            watched.sign_in(portal.password)
            watched.page.goto(f"{portal.url}/clusters/orders")
            portal.wait_for_listener()
            seconds = [_seen(portal, watched.page, n) for n in range(max(3, round(TIMES * scale)))]
            browser.close()
    finally:
        portal.stop()
    return {
        "median_s": round(median(seconds), 2),
        "worst_s": round(max(seconds), 2),
        "times": len(seconds),
        "floor": {"worst_s": VISIBLE_S},
    }


def _seen(portal: LivingPortal, page: Page, number: int) -> float:
    words = f"look number {number}"
    portal.pause(words)
    began = time.monotonic()
    # Not by a function of the page's own: its content security policy allows no script but the portal's.
    page.get_by_text(words).first.wait_for(state="visible")
    return time.monotonic() - began
