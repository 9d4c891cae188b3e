"""docs/threats.md: nine doors, six questions each, and every test it names is there."""

import re

import pytest

from tests.unit.docs.doc_pages import ROOT, tables, text

PAGE = text("docs/threats.md")
DOORS = ("Portal", "API", "Command line", "Git", "Agents", "Kafka", "Cloud", "Terraform", "Database")
STRIDE = (
    "Spoofing",
    "Tampering",
    "Repudiation",
    "Information disclosure",
    "Denial of service",
    "Elevation of privilege",
)
NAMED = sorted({name for table in tables(PAGE) for row in table[1:] for name in re.findall(r"`(tests/[^`]+)`", row[3])})


def test_every_door_answers_the_six_questions() -> None:
    assert tuple(re.findall(r"^## (.+)$", PAGE, re.MULTILINE)) == DOORS
    asked = [tuple(row[0] for row in table[1:]) for table in tables(PAGE)]
    assert asked == [STRIDE] * len(DOORS)


def test_every_answer_says_what_stops_it_what_holds_that_and_what_is_left() -> None:
    for table in tables(PAGE):
        for row in table[1:]:
            assert all(row), f"an empty cell: {row}"
            assert re.search(r"`tests/[^`]+`", row[3]), row[0]


@pytest.mark.parametrize("name", NAMED)
def test_a_test_that_is_named_is_there(name: str) -> None:
    path, _, function = name.partition("::")
    assert (ROOT / path).exists()
    if function:
        assert re.search(rf"^(async )?def {function}\(", (ROOT / path).read_text(), re.MULTILINE)
