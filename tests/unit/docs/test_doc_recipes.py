"""CONTRIBUTING.md and docs/architecture.md: recipes for changes and the rooms they are in name files that are there."""

import re

import pytest

from tests.unit.docs.doc_pages import ROOT, bare, table_headed, text

RECIPES = dict(re.findall(r"^### (.+?)\n(.+?)(?=^##)", text("CONTRIBUTING.md").partition("## Recipes")[2], re.M | re.S))
TOP = tuple(f"{path.name}/" for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("."))


def _paths(recipe: str) -> list[str]:
    """Files and folders it names. Capitals stand for a name of one's own, as in `events/NOUN_facts.py`."""
    named = [name for name in re.findall(r"`([^`\n ]+)`", recipe) if name.startswith(TOP)]
    return [re.sub(r"[^/]*(?:NOUN|CLOUD).*", "", name) for name in named]


def test_there_is_a_recipe_for_each_kind_of_change() -> None:
    kinds = {"A cloud", "A condition", "A rung", "A page", "A verb", "An event", "An anomaly", "A Kafka version"}
    assert set(RECIPES) == kinds


@pytest.mark.parametrize("kind", sorted(RECIPES))
def test_the_files_a_recipe_names_are_there(kind: str) -> None:
    paths = _paths(RECIPES[kind])
    assert len(paths) >= 3
    assert not [path for path in paths if not (ROOT / path).exists()]


def test_the_rooms_and_folders_that_architecture_sends_people_to_are_there() -> None:
    rooms = table_headed(text("docs/architecture.md"), "room")
    changes = table_headed(text("docs/architecture.md"), "a change of")
    named = {
        name for row in (*rooms, *changes) for cell in row[:1] + row[2:] for name in re.findall(r"`([\w./]+)`", cell)
    }
    named |= {name for row in changes for name in re.findall(r"`([\w./]+)`", row[1])}
    within = [ROOT, ROOT / "controlplane", *(ROOT / "controlplane" / bare(row[0]) for row in rooms)]
    assert not [name for name in sorted(named) if not any((place / name).exists() for place in within)]
    assert len(rooms) == len([p for p in (ROOT / "controlplane").iterdir() if (p / "__init__.py").exists()])
