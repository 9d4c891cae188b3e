"""What the pages list is all there is in the code: settings, reasons of Blocked, the rungs of the ladder, quotes."""

import re
from pathlib import Path

import pytest

from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.ladder.rungs import LADDER
from controlplane.server.sections.old_names import SECTIONS, variable_of
from controlplane.server.settings import Settings
from controlplane.storage.home import Home
from tests.unit.docs.doc_pages import ROOT, Block, bare, blocks, table_headed, text

OPERATING = text("docs/operating.md")
GOLDEN = ROOT / "tests" / "sequences" / "golden"


def test_every_setting_is_in_the_table_with_its_variable_and_default() -> None:
    told = {bare(row[0]): (bare(row[1]), bare(row[2])) for row in table_headed(OPERATING, "setting")}
    wanted = {
        name: (f"KEDGE_{name.upper()}", _default(field.default))
        for name, field in Settings.model_fields.items()
        if name not in SECTIONS
    }
    for section in SECTIONS:
        for key, field in type(getattr(Settings(), section)).model_fields.items():
            wanted[f"{section}.{key}"] = (variable_of(section, key), _default(field.default))
    assert told == wanted


def _default(value: object) -> str:
    if value is None:
        return "none"
    return str(value) if str(value) else "empty"


def test_every_reason_of_blocked_is_explained_and_none_that_is_gone() -> None:
    told = [bare(row[0]) for row in table_headed(OPERATING, "reason")]
    assert told == sorted(WaitReason)


def test_every_reason_says_what_it_means_what_kedge_does_and_what_people_can_do() -> None:
    """A row is: reason, after, what it means, what Kedge does, what you can do."""
    short = [row[0] for row in table_headed(OPERATING, "reason") if len(row) != 5 or not all(row)]
    assert not short, f"docs/operating.md lacks a part of {', '.join(short)}"


def test_the_ladder_of_the_architecture_is_the_one_that_decides() -> None:
    rows = table_headed(text("docs/architecture.md"), "rung")
    told = [row for row in rows if row[0]]
    assert told == [
        [str(n), f"`{rung.file}` `{rung.name}`", f"{rung.looks_after} ({rung.more})" if rung.more else rung.looks_after]
        for n, rung in enumerate(LADDER, 1)
    ]


def test_the_files_a_home_keeps_are_in_the_table(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.identity()
    home.keep_agent_url("http://127.0.0.1:1")
    told = " ".join(row[0] for row in table_headed(OPERATING, "file"))
    assert all(f"`{file.name}`" in told for file in [*tmp_path.iterdir(), home.leader_lock])


def _quotes() -> list[tuple[str, Block]]:
    found = []
    for block in (*blocks(text("docs/life-of-a-roll.md")), *blocks(text("docs/quorum.md"))):
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


def test_the_example_of_the_first_cluster_is_from_the_file_it_names() -> None:
    (excerpt,) = [b for b in blocks(text("docs/first-cluster.md")) if b.mark == "excerpt of examples/orders.yaml"]
    rest = iter(text("examples/orders.yaml").splitlines())
    missing = [line for line in excerpt.lines if not any(line == other for other in rest)]
    assert not missing


def _transcript() -> Block:
    page = text("docs/demo.md")
    (transcript,) = blocks(page.partition("<!-- transcript begin -->")[2].partition("<!-- transcript end -->")[0])
    return transcript


def test_the_transcript_is_in_its_place_and_ends_with_the_audit() -> None:
    said = _transcript().body
    assert re.search(r"records: (\d+) acknowledged, \1 read back, 0 lost, 0 duplicated", said)
    assert re.search(r"under min ISR: 0\.0 s", said)


def test_the_ten_lines_in_the_readme_are_from_the_transcript_in_this_order() -> None:
    (excerpt,) = [b for b in blocks(text("README.md")) if b.mark == "transcript"]
    rest = iter(_transcript().lines)
    assert len(excerpt.lines) == 10
    assert not [line for line in excerpt.lines if line not in rest]


def test_every_version_of_the_changelog_has_its_heading() -> None:
    assert re.search(r"^## \[Unreleased\]$", text("CHANGELOG.md"), re.MULTILINE)


def test_the_changelog_is_what_users_notice_and_no_history_of_the_building() -> None:
    assert len(text("CHANGELOG.md").splitlines()) <= 150
