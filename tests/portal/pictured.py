"""A page as a picture of the manual: small, since pictures are kept in the repository."""

import io
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page

COLOURS = 64
"""Pages have few."""


def keep_picture(page: Page, folder: Path, name: str) -> Path:
    """What of the page is on the screen now, as `portal-NAME.png`."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"portal-{name}.png"
    seen = Image.open(io.BytesIO(page.screenshot()))
    seen.convert("RGB").quantize(COLOURS).save(file, optimize=True)
    return file
