"""Names are in the field's words. Those that were ours may only become fewer, in names of modules, classes, functions.

docs/glossary.md lists the words that are used. What is stored or served keeps its name, so some of the old ones stay.
"""

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[3]
PACKAGES = ("agent", "controlplane", "events", "planner", "providers", "spark")

INSTEAD = {
    "abortion": "abort",
    "ailing": "unhealthy",
    "astray": "misregistered",
    "board": "registry, status",
    "book": "fold",
    "clerk": "writer",
    "desk": "service",
    "hearing": "subscriber",
    "heir": "successor",
    "keeper": "reconciler, cache",
    "ledger": "fold",
    "looks": "queries",
    "nobody": "null",
    "relief": "controller move",
    "shelf": "store",
    "sick": "unhealthy",
    "sight": "snapshot",
    "standing": "status",
    "stranger": "foreign",
    "telling": "publisher",
    "told": "status, applied, sent",
    "upkeep": "housekeeping",
}
"""A word of ours, and the field's. Plurals count as the word."""

LEFT = {
    "upkeep": 1,
}
"""How many names have each today: a number may become smaller, a row may go. People run the
job `spark.jobs.metric_upkeep` by its name."""


def words_of(name: str) -> set[str]:
    """Parts of a name, as `FreezeDesk` or `freeze_desks`: {"freeze", "desk"}; `looks` is a word of its own."""
    parts = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower().split("_")
    return {p if p in INSTEAD else p.removesuffix("s") for p in parts if p}


def names() -> list[str]:
    """Of modules, classes, and functions of all products; with "ZooKeeper" taken for one word."""
    found = []
    for path in sorted(p for package in PACKAGES for p in (ROOT / package).rglob("*.py")):
        found.append(path.stem)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                found.append(node.name.replace("ZooKeeper", "Zookeeper"))
    return found


def test_no_new_name_has_a_word_of_ours() -> None:
    found = Counter(word for name in names() for word in words_of(name) if word in INSTEAD)
    more = {f"{word}, say {INSTEAD[word]}": n for word, n in found.items() if n > LEFT.get(word, 0)}
    assert not more, "more names than before have these words"
    fewer = {word: found[word] for word, n in LEFT.items() if found[word] < n}
    assert not fewer, "fewer names have these words: lower the numbers"
