"""What pages are drawn with: unchanged copies of others' work, a weight, and nothing that a strict CSP would forbid."""

import gzip
import hashlib
import re
from pathlib import Path

import pytest

from controlplane.api.presenters import anomalies, groups
from controlplane.portal import sources
from controlplane.portal.assets import ASSETS, FOLDER, asset_address
from tests.unit.controlplane.api.portal_house import House

TEMPLATES = sorted((FOLDER.parent / "templates").glob("*.html"))
MOST_BYTES = 150 * 1024


def test_vendored_files_are_those_their_table_names() -> None:
    table = (FOLDER / "vendor" / "README.md").read_text()
    rows = re.findall(r"\| `([\w.-]+)` \| ([\w.]+)@([\d.]+) \| \w+ \| `([0-9a-f]{64})` \|", table)
    there = {p.name for p in (FOLDER / "vendor").iterdir() if p.suffix in (".js", ".css")}
    assert {name for name, *_ in rows} == there
    for name, package, version, digest in rows:
        assert hashlib.sha256((FOLDER / "vendor" / name).read_bytes()).hexdigest() == digest
        assert version in name
        assert list((FOLDER / "vendor").glob(f"{package.split('.')[0]}-LICENSE.txt"))


def test_a_page_weighs_less_than_it_may() -> None:
    named = set(re.findall(r"asset\('([^']+)'\)", "".join(p.read_text() for p in TEMPLATES)))
    assert named <= set(ASSETS)
    weight = sum(len(gzip.compress(ASSETS[name].body)) for name in named)
    assert weight < MOST_BYTES, weight


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda p: p.name)
def test_no_template_holds_what_the_policy_forbids_or_trusts_foreign_text(template: Path) -> None:
    text = template.read_text()
    for forbidden in ("<style", " style=", "javascript:", "hx-on", "js:", "| safe", "|safe", "http://"):
        assert forbidden not in text, forbidden
    assert not re.search(r"\son\w+=", text), "no inline handler"
    assert not re.search(r"hx-trigger=\"[^\"]*\[", text), "no filter: it would be evaluated"
    assert not re.search(r"<script(?![^>]*src=)", text), "no inline script"


def test_dark_differs_from_light_in_colours_alone() -> None:
    """So what is no colour is looked at in one of them (`tests/portal/watched.py`)."""
    sheets = "".join((FOLDER / name).read_text() for name in ASSETS if name.endswith(".css"))
    (dark,) = re.findall(r"prefers-color-scheme: \w+\)\s*{\s*:root\s*{([^}]*)}\s*}", sheets)
    assert sheets.count("prefers-color-scheme") == 1
    declared = [one.strip() for one in dark.split(";") if one.strip()]
    assert declared
    assert not [one for one in declared if not re.fullmatch(r"--[a-z0-9-]+: #[0-9a-f]{6}", one)]


def test_assets_are_kept_by_browsers_under_the_hash_of_what_they_hold() -> None:
    client = House().client_with({})
    answer = client.get(asset_address("kedge.css"))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert "immutable" in answer.headers["cache-control"]
    assert client.get("/static/000000000000/kedge.css").status_code == 404
    assert client.get(asset_address("kedge.css").replace("kedge.css", "../app.py")).status_code in (401, 404)


def test_every_post_form_carries_the_token_of_the_session() -> None:
    for template in TEMPLATES:
        for form in re.findall(r"<form[^>]*method=\"post\".*?</form>", template.read_text(), re.DOTALL):
            wanted = 'name="token"' if 'action="/login"' in form else 'name="csrf"'
            assert wanted in form, f"{template.name}: {form[:80]}"


def test_what_can_be_scrolled_can_be_scrolled_by_keyboard_and_has_a_name() -> None:
    for template in TEMPLATES:
        for place in re.findall(r'<div class="scroll"[^>]*>', template.read_text()):
            assert 'tabindex="0" role="region" aria-label="' in place, f"{template.name}: {place}"


def test_every_button_is_drawn_as_one() -> None:
    """That of the filter of anomalies was the browser's own, grey on dark."""
    bare = {t.name for t in TEMPLATES if re.search(r"<button(?![^>]*class=)", t.read_text())}
    assert bare == {"base.html"}, "the way out is drawn by the bar it is in"


def test_every_tone_of_a_chip_is_a_colour() -> None:
    """Anomalies that are over, and kinds that are healed, had a tone that no style knows."""
    css = (FOLDER / "kedge.css").read_text()
    told = {tone for t in TEMPLATES for tone in re.findall(r'chip\([^()]*, "(\w+)"\)', t.read_text())}
    told |= {*anomalies.TONES.values(), *groups.TONES.values(), *sources.TONES.values()}
    assert {"good", "bad", "busy"} <= told
    assert {tone for tone in told if tone and f".word.{tone}" not in css} == set()
