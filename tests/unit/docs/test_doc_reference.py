"""What the pages list is all there is in the code: settings, reasons of Blocked, the rungs of the ladder, quotes."""

import ast
import re
from pathlib import Path

import pytest

from controlplane.converger.decide import IN_HAND, NEXT
from controlplane.home import Home
from controlplane.settings import Settings
from tests.unit.docs.doc_pages import ROOT, Block, bare, blocks, table_headed, text

OPERATING = text("docs/operating.md")
GOLDEN = ROOT / "tests" / "sequences" / "golden"


def test_every_setting_is_in_the_table_with_its_variable_and_default() -> None:
    told = {bare(row[0]): (bare(row[1]), bare(row[2])) for row in table_headed(OPERATING, "setting")}
    assert told == {
        name: (f"KEDGE_{name.upper()}", _default(field.default)) for name, field in Settings.model_fields.items()
    }


def _default(value: object) -> str:
    if value is None:
        return "none"
    return str(value) if str(value) else "empty"


def test_every_reason_of_blocked_is_explained_and_none_that_is_gone() -> None:
    told = [bare(row[0]) for row in table_headed(OPERATING, "reason")]
    assert told == sorted(_reasons())


def test_every_reason_says_what_to_do() -> None:
    assert all(len(row) == 4 and all(row) for row in table_headed(OPERATING, "reason"))


def _reasons() -> set[str]:
    """First arguments of `wait(...)` and `Wait(...)` in the converger. A computed one would be missed, so it fails."""
    found: set[str] = set()
    for file in (ROOT / "controlplane" / "converger").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
                continue
            if node.func.id == "wait" and "futures" not in ast.dump(node):
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    found.add(str(first.value))
                else:
                    assert file.name == "loop.py", f"{file.name}: a reason that is no literal cannot be documented"
    return found


def test_the_ladder_of_the_architecture_is_the_one_that_decides() -> None:
    rows = table_headed(text("docs/architecture.md"), "rung")
    told = [bare(row[1].split()[0]) for row in rows if row[0]]
    steps = [f"{step.__module__.rpartition('.')[2]}.py" for step in (*IN_HAND, *NEXT)]
    assert told == ["deletion.py", *steps]


def test_the_files_a_home_keeps_are_in_the_table(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.installation()
    home.keep_agent_url("http://127.0.0.1:1")
    told = " ".join(row[0] for row in table_headed(OPERATING, "file"))
    assert all(f"`{file.name}`" in told for file in [*tmp_path.iterdir(), home.leader_lock])


def _quotes() -> list[tuple[str, Block]]:
    found = []
    for block in blocks(text("docs/life-of-a-roll.md")):
        if block.mark.startswith("golden: "):
            found.append((block.mark.removeprefix("golden: "), block))
    return found


@pytest.mark.parametrize(("log", "quote"), _quotes(), ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_quoted_from_a_golden_log_stands_there_in_this_order(log: str, quote: Block) -> None:
    rest = iter([_timeless(line) for line in (GOLDEN / log).read_text(encoding="utf-8").splitlines()])
    missing = next((line for line in quote.lines if _timeless(line) not in rest), None)
    assert missing is None, f"{log} does not say (any more, or not in this place): {missing}"


def _timeless(line: str) -> str:
    """A line of a log without its time; how wide its columns are means nothing."""
    return " ".join(re.sub(r"^ *\d+ s  ", "", line).split())


def test_quotes_were_found() -> None:
    assert len(_quotes()) > 8


def test_the_example_in_the_readme_is_from_the_file_it_names() -> None:
    (excerpt,) = [b for b in blocks(text("README.md")) if b.mark == "excerpt of examples/orders.yaml"]
    rest = iter(text("examples/orders.yaml").splitlines())
    missing = [line for line in excerpt.lines if not any(line == other for other in rest)]
    assert not missing


def test_the_transcript_is_in_its_place_and_ends_with_the_audit() -> None:
    (transcript,) = blocks(
        text("README.md").partition("<!-- transcript begin -->")[2].partition("<!-- transcript end -->")[0]
    )
    assert re.search(r"records: (\d+) acknowledged, \1 read back, 0 lost, 0 duplicated", transcript.body)
    assert re.search(r"under min ISR: 0\.0 s", transcript.body)


def test_every_version_of_the_changelog_has_its_heading() -> None:
    assert re.search(r"^## \[Unreleased\]$", text("CHANGELOG.md"), re.MULTILINE)
