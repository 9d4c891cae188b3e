"""Links between the pages lead somewhere, and nothing in them belongs to one person's machine."""

import re
from pathlib import Path

import pytest

from tests.unit.docs.doc_pages import PAGES, ROOT, anchors, links, tables


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    broken = []
    for target in links(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or (anchor and anchor not in anchors(file.read_text(encoding="utf-8"))):
            broken.append(target)
    assert not broken


def test_the_readme_is_short_and_leads_to_the_index() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 200
    assert {"docs/README.md", "docs/install.md", "docs/first-cluster.md", "docs/limits.md"} <= set(links(readme))
    assert {"CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"} <= set(links(readme))


def test_the_index_has_at_most_twelve_entries_and_every_page_is_in_one() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    (entries,) = tables(index)
    pages = {str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").rglob("*.md")}
    assert len(entries[1:]) <= 12
    assert pages - {"README.md", "soak.md"} <= set(links(index))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_page_names_a_directory_of_one_machine(page: Path) -> None:
    assert str(ROOT) not in page.read_text(encoding="utf-8")


def test_folders_of_the_layout_exist_and_none_is_left_out() -> None:
    named = set(re.findall(r"^\| `(\w+)/` \|", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE))
    there = {p.parent.name for p in ROOT.glob("*/*.py")} | {"terraform", "alembic", "examples", "docs"}
    assert named == {name for name in there if not name.startswith(".")}
