"""Each operation says its plan, its point of no return and what it waits with, in words operators can look up."""

import re

import pytest

from tests.unit.docs.doc_pages import bare, links, table_headed, text

PAGES = [text("docs/operations.md"), text("docs/kafka-security.md")]
OPERATIONS = [row for page in PAGES for row in table_headed(page, "operation")]
REASON = re.compile(r"`([A-Z][A-Za-z]+)`")


def _explained() -> set[str]:
    operating = text("docs/operating.md")
    rows = [*table_headed(operating, "reason"), *table_headed(operating, "condition")]
    imported = table_headed(text("docs/import.md"), "waits with")
    return {bare(row[0]) for row in [*rows, *imported]}


@pytest.mark.parametrize("row", OPERATIONS, ids=lambda row: row[0])
def test_an_operation_says_its_plan_its_point_of_no_return_and_its_page(row: list[str]) -> None:
    assert len(row) == 5, "the operation, its plan, its point of no return, what it waits with, its page"
    assert all(row)
    assert links(row[4])


def test_what_operations_wait_with_is_explained_where_operators_look() -> None:
    named = {reason for row in OPERATIONS for reason in REASON.findall(row[3])} | set(REASON.findall(PAGES[0]))
    assert {"QuorumGate", "MinIsrGate"} <= named
    assert named <= _explained()
