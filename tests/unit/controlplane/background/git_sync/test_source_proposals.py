"""What a policy reserves of a commit waits for a second person; the poll after that brings it into force."""

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.fleet.proposals.fold import ProposalState
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.api.test_proposals import APPROVER, CHAOS, OURS, POLICY, TOPIC, Shelved, token_of
from tests.unit.controlplane.background.git_sync.git_house import GitHouse, binding, named


@pytest.fixture
def git() -> GitHouse:
    git = GitHouse(House(policies=Shelved()), binding(team="payments"))
    git.push({"orders.yaml": OURS})
    return git


def waiting(git: GitHouse) -> list[str]:
    return [p["id"] for p in git.house.client.get("/v1/proposals").json()]


def agree(git: GitHouse, name: str = "bob", verb: str = "approve") -> int:
    (number,) = waiting(git)
    return token_of(git.house, name, APPROVER).post(f"/v1/proposals/{number}/{verb}", json={}).status_code


def test_a_reserved_commit_is_proposed_once_and_told_at_its_file(git: GitHouse) -> None:
    git.push({"orders.yaml": CHAOS})
    git.poll()
    git.poll()
    assert len(waiting(git)) == 1
    assert git.view().generation == 1
    (problem,) = git.status.problems
    assert problem.code == "KEDGE-GIT-010"
    assert "chaos is allowed" in problem.message
    assert waiting(git)[0] in problem.fix
    assert git.view().conditions["Synced"].reason == "SpecRefused"


def test_after_a_yes_the_next_poll_brings_it_into_force_by_its_source(git: GitHouse) -> None:
    commit = git.push({"orders.yaml": CHAOS})
    assert agree(git) == 200
    assert git.view().generation == 1
    git.poll()
    view = git.view()
    assert (view.generation, view.declaration.source.origin.commit if view.declaration.source else "") == (2, commit)
    assert git.status.state == "Synced"
    assert waiting(git) == []
    (kept,) = git.house.client.get("/v1/proposals?everything=true").json()
    assert (kept["state"], kept["decided_by"]) == (ProposalState.EXECUTED, "user:bob")


def test_whom_the_commit_names_as_its_author_cannot_agree_to_it(git: GitHouse) -> None:
    git.push({"orders.yaml": CHAOS})
    assert agree(git, "ada") == 403
    git.poll()
    assert git.view().generation == 1


def test_a_later_commit_makes_the_proposal_of_the_earlier_one_void(git: GitHouse) -> None:
    git.push({"orders.yaml": CHAOS})
    first = waiting(git)
    assert agree(git) == 200
    git.push({"orders.yaml": CHAOS.replace("log.retention.hours: 72", "log.retention.hours: 48")})
    assert git.view().generation == 1
    assert waiting(git) != first
    states = {p["id"]: p["state"] for p in git.house.client.get("/v1/proposals?everything=true").json()}
    assert states[first[0]] == "void"


def test_a_rejected_commit_is_not_asked_for_again(git: GitHouse) -> None:
    git.push({"orders.yaml": CHAOS})
    assert agree(git, verb="reject") == 200
    git.poll()
    assert waiting(git) == []
    assert "was rejected by user:bob" in git.status.problems[0].message


def test_an_approval_counts_while_who_gave_it_still_may(git: GitHouse) -> None:
    git.push({"orders.yaml": CHAOS})
    assert agree(git) == 200
    git.house.services.access.people.users.unbind(Binding("user:bob", Role.APPROVER, "team:payments"))
    git.poll()
    assert git.view().generation == 1
    assert len(waiting(git)) == 1, "it is asked for anew"


def test_topics_that_a_policy_reserves_wait_too(git: GitHouse) -> None:
    git.push({"orders.yaml": OURS, "t.yaml": TOPIC.replace("name: clicks", "name: clicks, owner: payments")})
    git.push({"orders.yaml": OURS, "t.yaml": TOPIC.replace("name: clicks", "name: clicks, owner: search")})
    assert git.view().topics.by_name["clicks"].declared.owner == "payments"
    assert agree(git) == 200
    git.poll()
    assert git.view().topics.by_name["clicks"].declared.owner == "search"


def test_more_clusters_than_one_commit_may_roll_wait() -> None:
    text = POLICY.replace("reserved: {", "reserved: {rolling: 1, ")
    git = GitHouse(House(policies=Shelved(text)), binding(team="payments"))
    ledger = named("ledger", OURS)
    git.push({"orders.yaml": OURS, "ledger.yaml": ledger})
    newer = "version: 4.1.1", "version: 4.2.0"
    git.push({"orders.yaml": OURS.replace(*newer), "ledger.yaml": ledger.replace(*newer)})
    assert len(waiting(git)) == 2
    assert {git.view().generation, git.view("ledger").generation} == {1}
    assert "2 clusters roll by this one change" in git.status.problems[0].message
