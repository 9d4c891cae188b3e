"""The page of the git sources: state, what next, commit and author, problems at their place."""

import re
from dataclasses import replace

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.background.git_sync.service import SourceService
from controlplane.background.git_sync.signing import Signature
from controlplane.background.git_sync.status import OUT_OF_SYNC, SourceStatus, SourceStatuses
from controlplane.portal.app import create_app
from events.spec.problems import Problem
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.background.git_sync.git_house import binding

VIEWER = Binding("", Role.VIEWER, "*")


def words(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", text))


def test_a_source_is_told_with_what_next_its_author_and_its_problems_where_they_are() -> None:
    house = House()
    statuses = SourceStatuses((binding("infra"), binding("teams")))
    status = SourceStatus(
        binding("teams"),
        state=OUT_OF_SYNC,
        reason="FilesRefused",
        message="one file makes no sense",
        next_step="mend teams/a.yaml and merge it",
        tip="b" * 40,
        applied="a" * 40,
        author="ada <ada@example.com>",
        signature=Signature(why_not="the key is not listed"),
        clusters=("orders",),
        missing=("ledger",),
        problems=(Problem("teams/a.yaml", 7, 3, "KEDGE-SPEC-001", "no such field", "take it out"),),
    )
    statuses.put(status, now=house.now)
    service = SourceService(statuses, house.store, lambda name: True)
    house.app = create_app(replace(house.services, fleet=replace(house.services.fleet, sources=service)))
    text = house.browser("ada", VIEWER).get("/sources").text
    told = words(text.partition('id="teams"')[2])
    for wanted in (
        "git:teams",
        "OutOfSync",
        "FilesRefused",
        "one file makes no sense",
        "What next: mend teams/a.yaml and merge it",
        "a" * 12 + " by ada &lt;ada@example.com&gt; (claimed: the key is not listed)",
        "teams/a.yaml:7",
        "KEDGE-SPEC-001: no such field",
        "take it out",
        "ledger (they stay as they are)",
    ):
        assert wanted in told, wanted
    assert text.index('id="infra"') < text.index('id="teams"'), "by name"


def test_without_a_source_it_says_how_one_is_bound() -> None:
    assert "[[git]]" in House().browser("ada", VIEWER).get("/sources").text
