"""The glossary: few terms, each used by the pages, none of the words that were given up."""

import re

import pytest

from tests.unit.docs.doc_pages import PAGES, ROOT, table_headed, text

MOST_TERMS = 60

_GIVEN_UP = """
abortion standing sight heir relief relieve desk keeper book ledger shelf looks births founders
clerk turn stranger strangers astray ailing ill sick board passes sealing chosen hearing telling
word nobody alike hungmoves deadends putoff lateorders ground hands asking rooms keptback overtaken
xwords foresight copying journal wholeness upkeep verdict testimony known asked answer found told
"""
"""What code and pages once said for what now has the field's word."""


def _rows() -> list[list[str]]:
    return table_headed(text("docs/glossary.md"), "term")


def _terms() -> list[str]:
    return [row[0] for row in _rows()]


def test_the_glossary_has_few_terms_each_once_in_the_order_of_the_alphabet() -> None:
    assert len(_terms()) <= MOST_TERMS
    assert _terms() == sorted(set(_terms()))


def test_each_term_has_a_meaning_and_a_page() -> None:
    assert not [row for row in _rows() if len(row) != 3 or not all(row)]


@pytest.mark.parametrize("term", _terms())
def test_each_term_is_used_by_a_page(term: str) -> None:
    said = re.compile(rf"\b{re.escape(term)}(?:s|es|ed)?\b", re.IGNORECASE)
    pages = [page for page in PAGES if page.name not in ("glossary.md", "CHANGELOG.md")]
    assert any(said.search(" ".join(page.read_text(encoding="utf-8").split())) for page in pages), ROOT


def test_no_term_is_a_word_that_was_given_up() -> None:
    assert not set(_GIVEN_UP.split()).intersection(word for term in _terms() for word in term.split())
