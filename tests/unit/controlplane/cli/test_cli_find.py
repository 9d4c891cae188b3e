"""`kedge find`: what has a text in its name, in every cluster."""

import json
from typing import Any

import pytest

from controlplane.api.schemas.search import FoundOut, SearchOut
from tests.unit.controlplane.cli.cli_world import World

HITS = [
    FoundOut(id="cluster/pay", kind="cluster", name="pay", cluster="pay", page="/clusters/pay"),
    FoundOut(id="topic/orders/payments", kind="topic", name="payments", cluster="orders", page="/x"),
]


@pytest.fixture
def world(tmp_path: Any) -> World:
    return World(tmp_path)


def told(*hits: FoundOut, **changes: Any) -> SearchOut:
    fields: dict[str, Any] = {"things": 0, "topics": 0, "cut": False, "refused": "", "late": False}
    return SearchOut(**{"found": list(hits), "recorded": 0, "unread": 0, **fields, **changes})


def test_it_lists_what_was_found_with_its_cluster(world: World) -> None:
    world.server.on("GET", "/search", told(*HITS, things=1, topics=1))
    result = world.run("find", "pay")
    assert result.exit_code == 0, result.stderr
    assert [line.split()[:3] for line in result.stdout.splitlines()] == [
        ["KIND", "NAME", "CLUSTER"],
        ["cluster", "pay", "pay"],
        ["topic", "payments", "orders"],
    ]
    assert result.stderr == ""
    assert dict(world.server.requests[-1].url.params) == {"q": "pay", "limit": "50"}


def test_it_says_what_may_be_missing(world: World) -> None:
    world.server.on("GET", "/search", told(*HITS, things=1, topics=1000, cut=True, unread=1, recorded=2, late=True))
    words = world.run("find", "pay", "--limit", "2").stderr
    assert "at least 999 more" in words
    assert "the topics of 1 cluster are not known yet" in words
    assert "the topics of 2 clusters are from an earlier reading" in words
    assert "the search stopped after 2 seconds" in words


def test_nothing_found_and_a_refused_pattern_are_said(world: World) -> None:
    world.server.on("GET", "/search", told(refused="alternatives are not offered"))
    result = world.run("find", "/a|b/")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "nothing known here" in result.stderr
    assert "that is not looked for: alternatives are not offered" in result.stderr


def test_as_json_it_is_one_document(world: World) -> None:
    world.server.on("GET", "/search", told(*HITS, things=1, topics=1))
    found = json.loads(world.run("find", "pay", "-o", "json").stdout)
    assert (found["kind"], found["found"][1]["name"]) == ("Found", "payments")
