"""docs/security.md: each row says whether it is so, and the tests and files it names are there."""

import re

import pytest

from tests.unit.docs.doc_pages import ROOT, bare, table_headed, text

PAGE = text("docs/security.md")
AREAS = table_headed(PAGE, "area")
GATES = table_headed(PAGE, "gate")
CODE = ("controlplane/", "events/", "providers/", "tests/", "docs/")


@pytest.mark.parametrize("row", [*AREAS, *GATES], ids=lambda row: bare(row[0]))
def test_a_row_says_yes_part_with_what_is_missing_or_no(row: list[str]) -> None:
    assert row[1] in ("yes", "part", "no")
    assert all(row), "an empty cell"


@pytest.mark.parametrize("row", AREAS, ids=lambda row: bare(row[0]))
def test_what_is_said_to_be_there_names_tests_and_what_is_not_whole_what_is_missing(row: list[str]) -> None:
    assert re.search(r"`tests/[^`]+\.py`", row[3])
    assert (row[1] == "part") == ("Missing:" in row[2])


def test_every_file_it_names_is_there() -> None:
    named = {name for name in re.findall(r"`([^`\s]+)`", PAGE) if name.startswith(CODE)}
    assert len(named) > 40
    assert not sorted(name for name in named if not (ROOT / name).exists())
