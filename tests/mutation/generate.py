"""The mutants of modules, by cosmic-ray's operators and three of its kind. Runs with the packages of
`requirements.txt`, in an environment of its own, and prints a line of JSON for each mutant.

cosmic-ray's own runner writes each mutant to the file and starts the tests anew, three seconds and more for each of
thousands; `tests/mutation/session.py` forks instead. Of its operators those are left out whose mutants mostly say the
same in other words (`<=` for `==` of a length), or are killed by any import (a decorator gone).
"""

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import parso
from cosmic_ray.operators.operator import Operator
from cosmic_ray.operators.provider import OperatorProvider

CHOSEN = (
    "AddNot",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "ExceptionReplacer",
    "NumberReplacer",
    "ZeroIterationForLoop",
    "ReplaceUnaryOperator_Delete_Not",
    "ReplaceUnaryOperator_USub_UAdd",
    "ReplaceComparisonOperator_Eq_NotEq",
    "ReplaceComparisonOperator_NotEq_Eq",
    "ReplaceComparisonOperator_Lt_LtE",
    "ReplaceComparisonOperator_Lt_GtE",
    "ReplaceComparisonOperator_LtE_Lt",
    "ReplaceComparisonOperator_LtE_Gt",
    "ReplaceComparisonOperator_Gt_GtE",
    "ReplaceComparisonOperator_Gt_LtE",
    "ReplaceComparisonOperator_GtE_Gt",
    "ReplaceComparisonOperator_GtE_Lt",
    "ReplaceComparisonOperator_Is_IsNot",
    "ReplaceComparisonOperator_IsNot_Is",
    "ReplaceBinaryOperator_Add_Sub",
    "ReplaceBinaryOperator_Sub_Add",
    "ReplaceBinaryOperator_Sub_BitOr",
    "ReplaceBinaryOperator_Mul_Div",
    "ReplaceBinaryOperator_Div_Mul",
    "ReplaceBinaryOperator_FloorDiv_Mul",
    "ReplaceBinaryOperator_Mod_Mul",
    "ReplaceBinaryOperator_BitOr_BitAnd",
    "ReplaceBinaryOperator_BitAnd_BitOr",
)

SWAPPED = {"any": "all", "all": "any", "min": "max", "max": "min"}


class NegateFilter(Operator):
    """The condition of a comprehension, which cosmic-ray leaves as it is."""

    def mutation_positions(self, node: Any) -> Iterator[Any]:
        if node.type == "comp_if":
            yield node.children[1].start_pos, node.children[1].end_pos

    def mutate(self, node: Any, index: int) -> Any:
        node.children[1] = parso.parse(f" not ({node.children[1].get_code().strip()})")
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class SwapMembership(Operator):
    """`in` for `not in`, and back."""

    def mutation_positions(self, node: Any) -> Iterator[Any]:
        if node.type == "comparison":
            for operator in node.children[1::2]:
                if operator.get_code().split() in (["in"], ["not", "in"]):
                    yield operator.start_pos, operator.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        places = [n for n in range(1, len(node.children), 2) if "in" in node.children[n].get_code().split()]
        words = node.children[places[index]].get_code().split()
        node.children[places[index]] = parso.parse(" not in" if words == ["in"] else " in")
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class SwapBuiltin(Operator):
    """`any` for `all`, `min` for `max`, and back."""

    def mutation_positions(self, node: Any) -> Iterator[Any]:
        if node.type == "name" and node.value in SWAPPED and node.get_next_leaf().value == "(":
            before = node.get_previous_leaf()
            if before is None or before.value not in (".", "def"):
                yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        node.value = SWAPPED[node.value]
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


def main(modules: list[str]) -> None:
    provider = OperatorProvider()
    operators = [*(provider[name]() for name in CHOSEN), NegateFilter(), SwapMembership(), SwapBuiltin()]
    for module in modules:
        for mutant in mutants(Path(module).read_text(), operators):
            print(json.dumps({"module": module, **mutant}))


def mutants(source: str, operators: list[Operator]) -> Iterator[dict[str, Any]]:
    """Each mutant as the text that replaces another: where that begins and ends, as offsets, and what it is by."""
    tree, apart = parso.parse(source), _apart(source)
    for node in list(_nodes(tree)):
        for operator in operators:
            positions = list(operator.mutation_positions(node))
            for index, (begin, _) in enumerate(positions):
                if any(first <= begin < last for first, last in apart) or _is_of_parameters(node):
                    continue
                changed = _mutated(tree, node, operator, index)
                if changed != source and _compiles(changed):
                    yield {"operator": type(operator).__name__, "line": begin[0], **_replaced(source, changed)}


def _is_of_parameters(node: Any) -> bool:
    """The star before parameters by name, which cosmic-ray takes for a product."""
    return node.type == "operator" and node.parent is not None and node.parent.type == "parameters"


def _mutated(tree: Any, node: Any, operator: Operator, index: int) -> str:
    """The module with that one mutant. The tree is as it was afterwards."""
    below = list(_nodes(node))
    values = [(n, n.value) for n in below if hasattr(n, "value")]
    children = [(n, list(n.children)) for n in below if hasattr(n, "children")]
    parent = node.parent
    siblings = list(parent.children) if parent is not None else []
    new = operator.mutate(node, index)
    if new is not node:
        parent.children = [new if child is node else child for child in siblings]
    code = str(tree.get_code())
    for n, value in values:
        n.value = value
    for n, kept in children:
        n.children = kept
    if parent is not None:
        parent.children = siblings
    return code


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for child in getattr(node, "children", ()):
        yield from _nodes(child)


def _apart(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where types stand, and decorators: nobody runs the one, and every import notices the other."""
    found = []
    for node in ast.walk(ast.parse(source)):
        for there in (
            getattr(node, "annotation", None),
            getattr(node, "returns", None),
            *getattr(node, "decorator_list", ()),
        ):
            if isinstance(there, ast.expr):
                last = (there.end_lineno or there.lineno, there.end_col_offset or there.col_offset)
                found.append(((there.lineno, there.col_offset), last))
    return found


def _replaced(source: str, changed: str) -> dict[str, Any]:
    least = min(len(source), len(changed))
    begin = next((n for n in range(least) if source[n] != changed[n]), least)
    after = 0
    while after < least - begin and source[-1 - after] == changed[-1 - after]:
        after += 1
    return {"begin": begin, "end": len(source) - after, "text": changed[begin : len(changed) - after]}


def _compiles(source: str) -> bool:
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1:])
