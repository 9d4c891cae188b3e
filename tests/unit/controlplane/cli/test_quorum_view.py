"""The quorum as `kedge describe` shows it."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console, RenderableType

from controlplane.api.presenters.quorum import quorum_out
from controlplane.api.schemas.quorum import QuorumOut
from controlplane.cli.quorum_view import quorum_section
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.views.quorum import VoterChangeView
from events import facts
from planner.observed import QuorumSeen, VoterSeen
from tests.builders import BEFORE, a_snapshot, a_view, an_instance


def shown(what: RenderableType) -> str:
    out = StringIO()
    Console(file=out, width=160).print(what)
    return out.getvalue()


def test_it_tells_who_votes_from_which_directory_and_how_far_behind() -> None:
    view = a_view(an_instance("controllers-a-1", 1, Phase.RETIRED, drained=True))
    voter = facts.FoundingVoter("controllers-c-0", 102, "a", 9093, "d")
    view = replace(
        view,
        quorum=replace(view.quorum, change=VoterChangeView("c", True, voter, False, "3 of 3 voters keep up", BEFORE)),
    )
    seen = a_snapshot().quorum.members
    members = (*seen[:2], replace(seen[2], is_voter=False, lag=7), VoterSeen(1000, "a-broker", 0, False))
    quorum = quorum_out(view, a_snapshot(quorum=QuorumSeen(100, 1, members)))
    assert quorum is not None
    assert [(m.id, m.node, m.votes, m.leads, m.lag) for m in quorum.members] == [
        (100, "controllers-a-0", True, True, 0),
        (101, "controllers-b-0", True, False, 0),
        (102, "controllers-c-0", False, False, 7),
    ], "brokers follow too, and are no part of it"
    text = shown(quorum_section(quorum))
    assert "directory-of-controllers-b-0.data.v1" in text
    assert "controller 102 (controllers-c-0) is to get a vote: 3 of 3 voters keep up" in text
    assert "left, and still registered in Kafka: 103 (controllers-a-1, Kafka 4.1.1)" in text


def test_a_voter_of_nobody_is_named_as_such() -> None:
    members = (*a_snapshot().quorum.members, VoterSeen(150, "elsewhere", 0, True))
    quorum = quorum_out(a_view(), a_snapshot(quorum=QuorumSeen(100, 1, members)))
    assert quorum is not None
    assert "none of ours" in shown(quorum_section(quorum))


def test_before_any_metadata_was_read_there_is_nothing_to_tell() -> None:
    assert quorum_out(a_view(), None) is None


@pytest.mark.parametrize("static", [True, False])
def test_a_static_quorum_of_others_is_called_so(static: bool) -> None:
    text = shown(quorum_section(QuorumOut(members=[], static=static)))
    assert ("static (kraft.version 0)" in text) == static
