"""The product stays small in the small: bounds that hold for all of it, and the few exceptions of today, which may only
shrink."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).parents[3]
PACKAGES = ("agent", "controlplane", "events", "planner", "providers", "spark")
MOST_LINES, MOST_FUNCTION_LINES, MOST_PUBLIC_METHODS, MOST_FIELDS, MOST_SHARED_NAMES = 500, 60, 25, 20, 25
_VALUES = ("BaseModel", "BaseSettings", "NamedTuple", "SQLModel")

WIDE_VALUES = {
    "events.instance_facts.PlannedInstance": 29,
}
"""Values with more flat fields than the rest may have, and how many: a number may become smaller, a row may go."""

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def modules() -> Iterator[tuple[str, str]]:
    for path in sorted(p for package in PACKAGES for p in (ROOT / package).rglob("*.py")):
        yield ".".join(path.relative_to(ROOT).with_suffix("").parts), path.read_text(encoding="utf-8")


SOURCES = dict(modules())
TREES = {name: ast.parse(text) for name, text in SOURCES.items()}


def classes() -> Iterator[tuple[str, ast.ClassDef]]:
    for module, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                yield f"{module}.{node.name}", node


def is_value(node: ast.ClassDef) -> bool:
    bases = {ast.unparse(base).split(".")[-1] for base in node.bases}
    return bool(bases.intersection(_VALUES)) or any("dataclass" in ast.unparse(d) for d in node.decorator_list)


def fields(node: ast.ClassDef) -> int:
    return sum(isinstance(n, ast.AnnAssign) and "ClassVar" not in ast.unparse(n.annotation) for n in node.body)


def test_no_file_is_longer_than_the_bound() -> None:
    lengths = {name: len(text.splitlines()) for name, text in SOURCES.items()}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_no_function_is_longer_than_the_bound() -> None:
    found = {
        f"{module}:{node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, _Function)
    }
    assert {name: lines for name, lines in found.items() if lines > MOST_FUNCTION_LINES} == {}


def test_no_class_has_more_public_methods_than_the_bound() -> None:
    found = {
        name: len({n.name for n in node.body if isinstance(n, _Function) and not n.name.startswith("_")})
        for name, node in classes()
    }
    assert {name: methods for name, methods in found.items() if methods > MOST_PUBLIC_METHODS} == {}


def test_values_have_few_flat_fields_but_for_those_listed_which_only_shrink() -> None:
    found = {name: fields(node) for name, node in classes() if is_value(node) and ".api.schemas." not in name}
    wide = {name: count for name, count in found.items() if count > MOST_FIELDS}
    assert {name: count for name, count in wide.items() if count > WIDE_VALUES.get(name, MOST_FIELDS)} == {}
    assert {name for name in WIDE_VALUES if name not in wide} == set(), "they are small now: take their rows out"


def test_few_class_names_stand_in_two_modules() -> None:
    counts = Counter(name.rsplit(".", 1)[1] for name, node in classes() if node.col_offset == 0)
    shared = sorted(name for name, count in counts.items() if count > 1)
    assert len(shared) <= MOST_SHARED_NAMES, shared
