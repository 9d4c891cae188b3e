"""Every condition has its line where operators look: what it means, what Kedge does, what people can do."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.unit.docs.doc_pages import bare, table_headed, text

REPOSITORY = Path(__file__).resolve().parents[3]
PAGE = text("docs/operating.md")


def _modules() -> Iterator[ast.Module]:
    for path in sorted((REPOSITORY / "controlplane").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "ConditionChanged(" in text or re.search(r'^[A-Z_]+ = "[A-Z]\w+"$', text, re.M):
            yield ast.parse(text)


def _constants(modules: list[ast.Module]) -> dict[str, str]:
    """Module-level names of texts, of all modules together."""
    found = {}
    for module in modules:
        for node in module.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                values = [t.id for t in node.targets if isinstance(t, ast.Name) and isinstance(node.value.value, str)]
                found.update(dict.fromkeys(values, str(node.value.value)))
    return found


@cache
def condition_types() -> tuple[str, ...]:
    """The types of all conditions that are recorded anywhere: all code is read for it, and several files ask."""
    modules = list(_modules())
    constants = _constants(modules)
    types = set()
    for call in (n for m in modules for n in ast.walk(m) if isinstance(n, ast.Call)):
        called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if called != "ConditionChanged" or not call.args:
            continue
        first = call.args[0]
        types.add(str(first.value) if isinstance(first, ast.Constant) else constants[first.id])  # type: ignore[attr-defined]
    return tuple(sorted(types))


def test_conditions_are_found_at_all() -> None:
    assert {"Blocked", "Ailing", "LeadershipMoved", "ConsumersStuck", "WaitsForWindow"} <= set(condition_types())


@pytest.mark.parametrize("condition", condition_types())
def test_a_condition_says_what_it_means_what_kedge_does_and_what_people_can_do(condition: str) -> None:
    rows = {bare(row[0]): row[1:] for row in table_headed(PAGE, "condition")}
    assert condition in rows, f"docs/operating.md has no row for the condition {condition}"
    assert len(rows[condition]) == 3, f"{condition}: what it means, what Kedge does, what you can do"
    means, does, then = rows[condition]
    assert len(means) > 20
    assert min(len(does), len(then)) > 5


def test_conditions_are_in_the_order_of_their_names_and_none_is_gone() -> None:
    assert tuple(bare(row[0]) for row in table_headed(PAGE, "condition")) == condition_types()
