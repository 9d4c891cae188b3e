"""Every condition has its line where operators look: what it means, and what to do."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
PAGE = (REPOSITORY / "docs" / "operating.md").read_text(encoding="utf-8")


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


def condition_types() -> list[str]:
    """The types of all conditions that are recorded anywhere."""
    modules = list(_modules())
    constants = _constants(modules)
    types = set()
    for call in (n for m in modules for n in ast.walk(m) if isinstance(n, ast.Call)):
        called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if called != "ConditionChanged" or not call.args:
            continue
        first = call.args[0]
        types.add(str(first.value) if isinstance(first, ast.Constant) else constants[first.id])  # type: ignore[attr-defined]
    return sorted(types)


def test_conditions_are_found_at_all() -> None:
    assert {"Blocked", "Ailing", "LeadershipMoved", "ConsumersStuck", "WaitsForWindow"} <= set(condition_types())


@pytest.mark.parametrize("condition", condition_types())
def test_a_condition_says_what_it_means_and_what_to_do(condition: str) -> None:
    row = re.search(rf"^\| `{condition}` \|([^|]+)\|([^|]+)\|$", PAGE, re.M)
    assert row is not None, f"docs/operating.md has no row for the condition {condition}"
    means, then = (cell.strip() for cell in row.groups())
    assert len(means) > 20
    assert len(then) > 5
