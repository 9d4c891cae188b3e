"""A mutant of a module: one small fault put into its text."""

import ast
import json
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
GENERATOR = ROOT / ".cache" / "mutation" / "bin" / "python"
"""`make test-setup` makes it; `tests/mutation/requirements.txt` is what it has."""


@dataclass(frozen=True)
class Name:
    """What a mutant is called by, also after lines above it came and went: where it is, the line before and after, and
    the how manieth it is of those that are the same by that (from 1)."""

    module: str
    function: str
    before: str
    after: str
    nth: int = 1

    def __str__(self) -> str:
        nth = f" (no. {self.nth})" if self.nth > 1 else ""
        return f"{self.module} {self.function or '(module)'}{nth}\n    - {self.before}\n    + {self.after}"


@dataclass(frozen=True)
class Mutant:
    """`line` is where it is today; `begin`, `end` are offsets into the module, where `text` stands instead."""

    name: Name
    operator: str
    line: int
    begin: int
    end: int
    text: str

    def source(self) -> str:
        """The module with it."""
        return _with(text_of(self.name.module), self.begin, self.end, self.text)


def mutants_of(modules: Sequence[str]) -> list[Mutant]:
    """All mutants of these modules, in the order of their lines. Raises `FileNotFoundError` with what to do where the
    generator's environment is not there."""
    if not GENERATOR.exists():
        raise FileNotFoundError(f"{GENERATOR} is not there; make test-setup makes it")
    command = [str(GENERATOR), str(Path(__file__).with_name("generate.py")), *modules]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return named([json.loads(line) for line in ran.stdout.splitlines()])


def named(found: Iterable[dict[str, object]]) -> list[Mutant]:
    """What the generator printed, each by its name."""
    seen: Counter[Name] = Counter()
    mutants = []
    for told in sorted(found, key=lambda t: (str(t["module"]), int(str(t["begin"])), int(str(t["end"])))):
        module, begin, end = str(told["module"]), int(str(told["begin"])), int(str(told["end"]))
        source, text, line = text_of(module), str(told["text"]), int(str(told["line"]))
        before, after = _lines(source, begin, end, text)
        name = Name(module, function_at(source, line), before, after)
        seen[name] += 1
        numbered = Name(module, name.function, before, after, seen[name])
        mutants.append(Mutant(numbered, str(told["operator"]), line, begin, end, text))
    return mutants


@lru_cache(maxsize=64)
def text_of(module: str) -> str:
    return (ROOT / module).read_text()


def function_at(source: str, line: int) -> str:
    """The outermost function around this line, as `Class.function`; empty in none, and in its decorators."""
    return next((name for first, last, name in _functions(source) if first <= line <= last), "")


@lru_cache(maxsize=64)
def _functions(source: str) -> tuple[tuple[int, int, str], ...]:
    found: list[tuple[int, int, str]] = []

    def walk(nodes: Iterable[ast.stmt], above: str) -> None:
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.append((node.lineno, node.end_lineno or node.lineno, above + node.name))
            elif isinstance(node, ast.ClassDef):
                walk(node.body, f"{above}{node.name}.")
            elif isinstance(node, ast.If):
                walk([*node.body, *node.orelse], above)

    walk(ast.parse(source).body, "")
    return tuple(found)


def _with(source: str, begin: int, end: int, text: str) -> str:
    return source[:begin] + text + source[end:]


def _lines(source: str, begin: int, end: int, text: str) -> tuple[str, str]:
    """The whole lines around a change, before and after it, with single spaces."""
    first = source.rfind("\n", 0, begin) + 1
    last = source.find("\n", end)
    last = len(source) if last < 0 else last
    changed = _with(source, begin, end, text)
    return " ".join(source[first:last].split()), " ".join(changed[first : last + len(text) - (end - begin)].split())
