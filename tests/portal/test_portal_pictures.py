"""`make pictures`: every picture of the manual can be taken of a cluster that runs, and shows what it is to show."""

import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image
from playwright.sync_api import Browser

from tests.portal.conftest import WIDE
from tests.portal.living_portal import LivingPortal
from tests.tools.pictures import PICTURES, Demo, NoDemo, first_password, main, sign_in, take

DOCS = Path(__file__).parents[2] / "docs"


def stand_still(portal: LivingPortal) -> None:
    """A broker that goes away and, some of the world's seconds later, comes back."""
    portal.world.kafka.stop_broker(1002)
    threading.Timer(8.0, portal.world.kafka.start_broker, [1002]).start()


@pytest.mark.soak
@pytest.mark.timeout(240)
def test_every_picture_of_the_manual_is_taken(chromium: Browser, tmp_path: Path) -> None:
    portal = LivingPortal(empty=True, harm=lambda view, chaos: stand_still(portal))
    portal.converge()
    portal.fill("payments")
    portal.ticks(70)
    portal.start()
    context = chromium.new_context(viewport=WIDE)  # type: ignore[arg-type]
    try:
        portal.play()
        page = context.new_page()
        page.set_default_timeout(30_000)
        sign_in(page, portal.url, portal.password or "")
        headers = {"Authorization": "Bearer the-token"}
        with httpx.Client(base_url=portal.url, headers=headers, timeout=60) as api:
            taken = take(Demo(page, portal.url, api, "orders"), [], tmp_path)
    finally:
        context.close()
        portal.stop()
    assert [file.name for file in taken] == [f"portal-{name}.png" for name in PICTURES]
    for file in taken:
        assert Image.open(file).size == (1280, 800)


def test_each_picture_is_in_the_manual_and_each_of_the_portal_there_is_taken_so() -> None:
    kept = {file.name for file in (DOCS / "images").glob("portal-*.png")}
    assert kept == {f"portal-{name}.png" for name in [*PICTURES, "plan"]}, "that one is of the journeys"
    pages = "".join(file.read_text() for file in DOCS.glob("*.md"))
    assert not [name for name in kept if f"images/{name}" not in pages]


def test_without_a_demo_it_says_how_to_start_one(tmp_path: Path, capsys: Any) -> None:
    assert main(["--home", str(tmp_path / "nowhere")]) == 1
    assert "make demo KEEP=1" in capsys.readouterr().err
    with pytest.raises(NoDemo):
        first_password("no word of it")
