"""docs/api.md: each verb of the command line and each page has a call, or stands there with why it has none."""

import re
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from controlplane.api.api_document import api_document
from controlplane.cli.main import app
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.portal.page_routes import PAGE_ROUTES
from tests.unit.docs.doc_pages import bare, table_headed, text

PAGE = text("docs/api.md")
CALLS = {bare(row[0]): re.findall(r"`(GET|POST|DELETE) ([^`]+)`", row[1]) for row in table_headed(PAGE, "verb")}
PAGES = {bare(row[0]): re.findall(r"`(GET|POST|DELETE) (/v1[^`]+)`", row[1]) for row in table_headed(PAGE, "page")}
PAGES_WITHOUT = {bare(row[0]): row[1] for row in table_headed(PAGE, "page without a call")}
WITHOUT = {bare(row[0]): row[1] for row in table_headed(PAGE, "verb without a route")}


def test_each_verb_has_a_call_or_stands_there_with_why_it_has_none() -> None:
    told = [*CALLS, *WITHOUT]
    assert sorted(told) == sorted(_verbs(get_command(app)))
    assert not [verb for verb, calls in CALLS.items() if not calls], "a verb of the first table names no call"
    assert all(why for why in WITHOUT.values())


def test_each_page_has_a_call_or_stands_there_with_why_it_has_none() -> None:
    told = [*PAGES, *PAGES_WITHOUT]
    assert sorted(told) == sorted(f"{method} {path}" for method, path in PAGE_ROUTES)
    assert not [page for page, calls in PAGES.items() if not calls], "a page of the first table names no call"
    assert all(why for why in PAGES_WITHOUT.values())


def test_what_a_page_changes_a_call_changes_too() -> None:
    """A form that only reads is none: each POST of a page is a POST, or DELETE, of the API."""
    posts = {page: {method for method, _ in calls} for page, calls in PAGES.items() if page.startswith("POST ")}
    assert not {page for page, methods in posts.items() if "GET" in methods}


def test_the_calls_it_names_are_those_of_the_api() -> None:
    there = {
        (method.upper(), re.sub(r":path}", "}", path))
        for path, operations in api_document(House().app)["paths"].items()
        for method in operations
    }
    named = {call for calls in [*CALLS.values(), *PAGES.values()] for call in calls}
    named |= {
        call
        for why in [*WITHOUT.values(), *PAGES_WITHOUT.values()]
        for call in re.findall(r"`(GET|POST) (/v1[^`]+)`", why)
    }
    assert not named - there


def _verbs(command: Any, path: str = "") -> Iterator[str]:
    """Every command, and every group that does something by itself."""
    inner = getattr(command, "commands", None)
    if path and (inner is None or command.invoke_without_command):
        yield path
    for name, one in (inner or {}).items():
        yield from _verbs(one, f"{path} {name}".strip())
