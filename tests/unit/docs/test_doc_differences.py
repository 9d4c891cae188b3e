"""Each patch of moto has its row in the list of differences, with its reason, and no row tells of one that is gone."""

import ast

from tests.unit.docs.doc_pages import ROOT, table_headed, text

PATCHES = ROOT / "tests/fakes/clouds/moto_patches.py"
HANDS = {"patched", "mount", "unmount"}
"""What puts patches on, and the hands of a test."""


def test_every_patch_of_moto_is_listed_with_what_ec2_does_and_why() -> None:
    tree = ast.parse(PATCHES.read_text(encoding="utf-8"))
    functions = {n.name for n in tree.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")}
    rows = table_headed(text("tests/fakes/clouds/differences.md"), "patch")
    named = [name.strip("`") for row in rows for name in row[0].split(", ")]
    assert sorted(named) == sorted(functions - HANDS)
    assert all(len(row) == 4 and all(row) for row in rows)
