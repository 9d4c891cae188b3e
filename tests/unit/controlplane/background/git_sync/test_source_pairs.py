"""Pairs of clusters in the files of a source: declared behind their clusters, kept when their file goes."""

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.audit.commands import AuditedPairs
from controlplane.api.audit.store import AuditFilter
from controlplane.background.forges.commit_report import verdict_of
from controlplane.cluster.commands import CommandRefused
from controlplane.commands.failover_declarations import WithdrawPair
from controlplane.fleet.failovers.state import RegisteredPair
from controlplane.storage.streams import pair_stream
from events import failover_facts as facts
from events.codec import encode
from events.envelope import Origin
from tests.fakes.audit import MemoryAuditStore
from tests.unit.controlplane.api.test_failover_routes import pair
from tests.unit.controlplane.background.git_sync.git_house import GitHouse, binding, named
from tests.unit.events.spec_texts import ORDERS

US = named("orders-us")
BOTH = {"orders.yaml": ORDERS, "us.yaml": US}


@pytest.fixture
def git() -> GitHouse:
    return GitHouse()


def pairs(git: GitHouse) -> dict[str, RegisteredPair]:
    return {one.name: one for one in git.house.failovers.pairs().living}


def record(git: GitHouse, *story: object) -> None:
    """What others record of the pair `both`."""
    view = pairs(git)["both"].view
    for n, fact in enumerate(story, view.version):
        event = encode(fact, f"s{n}")
        git.house.store.append(pair_stream(view.uid), [event], expected_version=n, origin=Origin("loop"))


def withdraw(git: GitHouse) -> bool:
    command = WithdrawPair(name="both", actor="person:ada", command_id="w", confirm="both", reason="")
    return git.house.failovers.withdraw(command).changed


def test_one_commit_declares_both_clusters_and_their_pair(git: GitHouse) -> None:
    """Clusters come first, wherever the pair stands."""
    commit = git.push({"a-pair.yaml": pair(), **BOTH})
    declared = pairs(git)["both"].view.declaration
    assert declared is not None
    assert (declared.source, declared.path, declared.commit) == ("git:teams", "a-pair.yaml", commit)
    assert (git.status.state, git.status.message, git.status.failovers) == (
        "Synced",
        "2 clusters, 1 failover",
        ("both",),
    )
    report = verdict_of(git.status, portal="", longest=200)
    assert report is not None
    assert (report.status.state, report.status.description) == ("success", "2 clusters and 1 failover in force")
    before = git.events()
    git.poll()
    assert git.events() == before


def test_a_file_may_hold_both_clusters_and_the_pair(git: GitHouse) -> None:
    git.push({"all.yaml": f"{pair()}---\n{ORDERS}---\n{US}"})
    assert list(pairs(git)) == ["both"]
    assert git.status.state == "Synced"


def test_a_pair_waits_for_its_clusters_and_is_tried_again(git: GitHouse) -> None:
    git.push({"pair.yaml": pair(), "orders.yaml": ORDERS})
    assert pairs(git) == {}
    assert (git.status.state, git.status.reason) == ("OutOfSync", "PairWaits")
    assert git.status.message == "the pair `both` waits: there is no cluster `orders-us` yet"
    assert git.problems() == [("pair.yaml", 5, "KEDGE-GIT-013")]
    report = verdict_of(git.status, portal="", longest=200)
    assert report is not None
    assert (report.status.state, report.comment) == ("pending", "")
    assert git.condition() in (None, (True, "Synced")), "its cluster is in force"
    git.house.apply(US)
    git.poll()
    assert list(pairs(git)) == ["both"]
    assert git.status.state == "Synced"


def test_a_pair_whose_cluster_is_refused_waits_beside_the_error(git: GitHouse) -> None:
    git.push({"pair.yaml": pair(), "orders.yaml": ORDERS, "us.yaml": US.replace("version: 4.1.1", "version: 9.9.9")})
    assert pairs(git) == {}
    assert git.status.state == "Refused"
    assert ("pair.yaml", 5, "KEDGE-GIT-013") in git.problems()


def test_of_a_file_with_a_pair_that_is_refused_nothing_comes_into_force(git: GitHouse) -> None:
    bad = pair().replace("dns: both.example", "dns: kafka.example")
    cluster = ORDERS.replace("spec:\n", "spec:\n  bootstrap: {dns: kafka.example}\n", 1)
    git.push({"us.yaml": US, "orders.yaml": f"{cluster}---\n{bad}"})
    assert pairs(git) == {}
    assert [v.name for v in git.house.converger.views()] == ["orders-us"]
    (problem,) = git.status.problems
    assert (problem.file, problem.code) == ("orders.yaml", "KEDGE-SPEC-164")
    assert problem.line > ORDERS.count("\n")


def test_a_change_of_its_file_changes_it_and_a_renamed_file_goes_on_with_it(git: GitHouse) -> None:
    git.push({"pair.yaml": pair(), **BOTH})
    uid = pairs(git)["both"].uid
    git.push({"pair.yaml": pair().replace("size: 3", "size: 4"), **BOTH})
    git.push({"moved.yaml": pair().replace("size: 3", "size: 4"), **BOTH})
    found = pairs(git)["both"]
    assert found.view.declaration is not None
    assert (found.uid, found.view.declaration.generation, found.view.declaration.path) == (uid, 3, "moved.yaml")
    git.push({"moved.yaml": pair(), **BOTH, "asia.yaml": named("asia")})
    git.push({"moved.yaml": pair(second="asia"), **BOTH, "asia.yaml": named("asia")})
    assert git.problems() == [("moved.yaml", 5, "KEDGE-SPEC-173")], "the last good document stays"
    assert git.status.failovers == ("both",)


def test_a_file_that_is_gone_withdraws_nothing_and_a_person_may_then(git: GitHouse) -> None:
    git.push({"pair.yaml": pair(), **BOTH})
    with pytest.raises(CommandRefused, match=r"still declared by git:teams pair\.yaml"):
        withdraw(git)
    commit = git.push(BOTH)
    view = pairs(git)["both"].view
    assert view.declaration is not None
    assert view.declaration.undeclared == commit
    assert (git.status.state, git.status.reason, git.status.failovers_missing) == (
        "OutOfSync",
        "NotDeclared",
        ("both",),
    )
    assert git.status.message == "without a file any more, and as they were: failover both"
    report = verdict_of(git.status, portal="", longest=200)
    assert report is not None
    assert report.status.description == "2 clusters in force; without a file, and as they were: failover both"
    before = git.events()
    git.poll()
    assert git.events() == before
    assert git.house.client.get("/v1/failovers/both").json()["undeclared"] == commit
    page = git.house.browser("ada", Binding("", Role.VIEWER, "*")).get("/failovers/both").text
    assert "No file declares it any more" in page
    assert withdraw(git)
    git.poll()
    assert git.status.state == "Synced"


def test_a_file_that_comes_back_declares_the_pair_that_stayed(git: GitHouse) -> None:
    git.push({"pair.yaml": pair(), **BOTH})
    uid = pairs(git)["both"].uid
    git.push(BOTH)
    git.push({"pair.yaml": pair(), **BOTH})
    found = pairs(git)["both"]
    assert found.view.declaration is not None
    assert (found.uid, found.view.declaration.undeclared) == (uid, "")
    with pytest.raises(CommandRefused, match="still declared"):
        withdraw(git)


def test_what_a_broken_file_would_say_is_not_known(git: GitHouse) -> None:
    git.push({"pair.yaml": pair(), **BOTH})
    git.push({"pair.yaml": pair().replace("mode: cold", "mode: tepid"), **BOTH})
    view = pairs(git)["both"].view
    assert view.declaration is not None
    assert view.declaration.undeclared == ""
    assert [p[0] for p in git.problems()] == ["pair.yaml"]


def test_of_two_files_with_one_pair_the_second_is_refused(git: GitHouse) -> None:
    git.push({"pair.yaml": pair(), **BOTH})
    git.push({"a.yaml": pair().replace("size: 3", "size: 5"), "pair.yaml": pair(), **BOTH})
    assert git.problems() == [("a.yaml", 3, "KEDGE-GIT-004")]


def test_a_file_takes_over_what_the_api_declared_by_saying_the_same(git: GitHouse) -> None:
    git.push(BOTH)
    git.house.apply(pair())
    git.push({"pair.yaml": pair().replace("size: 3", "size: 4"), **BOTH})
    assert git.problems() == [("pair.yaml", 3, "KEDGE-GIT-005")]
    git.push({"pair.yaml": pair(), **BOTH})
    declared = pairs(git)["both"].view.declaration
    assert declared is not None
    assert declared.source == "git:teams"
    assert git.house.apply(pair())["failovers"][0]["changed"] is False, "the API may repeat it"
    refused = git.house.client.post("/v1/apply", json={"text": pair().replace("size: 3", "size: 4"), "file": "x.yaml"})
    assert (refused.status_code, refused.json()["code"]) == (409, "other-source")


def test_a_source_that_is_bound_no_more_holds_nobody_back(git: GitHouse) -> None:
    git.push({"pair.yaml": pair(), **BOTH})
    object.__setattr__(git.house.failovers, "is_bound", lambda source: False)
    assert withdraw(git)


def test_a_change_waits_for_the_failover_in_hand(git: GitHouse) -> None:
    git.push({"pair.yaml": pair(), **BOTH})
    standby = pairs(git)["both"].view.standby
    record(git, facts.DoorClosed(standby, 1, "agents", ""), facts.StandbySeeded(""))
    record(git, facts.FailoverRequested("f1", True, "drill"))
    git.push({"pair.yaml": pair().replace("size: 3", "size: 4"), **BOTH})
    assert (git.status.state, git.status.reason) == ("OutOfSync", "PairWaits")
    assert "the failover f1 of both is in hand" in git.status.message
    record(git, facts.FailoverAbortRequested("f1", 2, ""), facts.FailoverAborted("f1"))
    git.poll()
    declared = pairs(git)["both"].view.declaration
    assert declared is not None
    assert declared.document.spec.standby is not None
    assert (declared.document.spec.standby.size, git.status.state) == (4, "Synced")


def test_a_binding_pairs_clusters_of_its_team_and_accounts_alone() -> None:
    git = GitHouse(binding=binding(team="payments"))
    git.house.apply(ORDERS)
    git.house.apply(US)
    git.push({"pair.yaml": pair()})
    assert git.problems() == [("pair.yaml", 5, "KEDGE-GIT-006"), ("pair.yaml", 5, "KEDGE-GIT-006")]
    assert pairs(git) == {}


def test_a_binding_that_may_not_create_declares_no_pair() -> None:
    git = GitHouse(binding=binding(verbs=("change",)))
    git.house.apply(ORDERS)
    git.house.apply(US)
    git.push({"pair.yaml": pair()})
    assert git.problems() == [("pair.yaml", 3, "KEDGE-GIT-007")]


def test_a_server_that_does_not_lead_declares_nothing(git: GitHouse) -> None:
    git.push(BOTH)
    git.leads = False
    git.push({"pair.yaml": pair(), **BOTH})
    assert pairs(git) == {}


def test_what_git_declares_is_in_the_audit(git: GitHouse) -> None:
    audit = MemoryAuditStore()
    git.push(BOTH)
    audited = AuditedPairs(git.house.failovers, audit, git.house.store.head, lambda: git.house.now)
    git.house.failovers = audited  # type: ignore[assignment]  # what a source asks of it
    git.restarted()
    git.push({"pair.yaml": pair(), **BOTH})
    git.push(BOTH)
    assert [(k.entry.who, k.entry.verb, k.entry.object) for k in audit.page(AuditFilter(), 10)] == [
        ("git:teams", "declare", "failover both")
    ]
