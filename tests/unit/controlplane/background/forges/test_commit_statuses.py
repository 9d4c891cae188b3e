"""What a commit's page says after a look, and that it is said once, whatever the forge does meanwhile."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controlplane.background.forges.commit_report import CommitReport, verdict_of
from controlplane.background.forges.forge import ForgeFault
from controlplane.background.forges.statuses import StatusReconciler
from controlplane.background.git_sync.faults import SourceFault
from controlplane.background.git_sync.signing import Signature
from controlplane.background.git_sync.status import SourceStatus
from events.spec.problems import Problem
from tests.fakes.memory_forge import MemoryForge
from tests.unit.controlplane.background.git_sync.git_house import BROKEN, LARGER, GitHouse, binding, named
from tests.unit.events.spec_texts import ORDERS

PORTAL = "https://kedge.example.org:8444"


@pytest.fixture
def git() -> GitHouse:
    return GitHouse()


@pytest.fixture
def forge() -> MemoryForge:
    return MemoryForge()


def reconciler(git: GitHouse, forge: MemoryForge) -> StatusReconciler:
    return StatusReconciler(forge, lambda: git.status, portal=PORTAL, clock=lambda: git.house.now)


def verdict(status: SourceStatus, *, longest: int = 140) -> CommitReport:
    found = verdict_of(status, portal=PORTAL, longest=longest)
    assert found is not None
    return found


def outage(reason: str = "Unavailable", wait_s: float = 0.0) -> ForgeFault:
    return ForgeFault(reason, what="posting", where="memory", why="it answered 503", wait_s=wait_s)


def test_a_commit_that_is_in_force_is_a_success_with_counts_and_a_way_to_the_portal(git: GitHouse) -> None:
    commit = git.push({"a.yaml": ORDERS, "b.yaml": named("ads")})
    found = verdict(git.status)
    assert (found.commit, found.comment) == (commit, "")
    status = found.status
    assert (status.state, status.description) == ("success", "2 clusters in force")
    assert (status.context, status.url) == ("kedge/teams", f"{PORTAL}/sources#teams")


def test_a_refused_commit_names_each_bad_file_at_its_line(git: GitHouse) -> None:
    git.push({"a.yaml": ORDERS, "bad/b.yaml": BROKEN.replace("orders", "ads")})
    found = verdict(git.status)
    assert found.status.state == "failure"
    assert found.status.description == "1 error in 1 file: bad/b.yaml:7 KEDGE-SPEC-040. 1 cluster in force"
    assert found.mark in found.comment
    assert "    bad/b.yaml:7:14: KEDGE-SPEC-040: " in found.comment


def test_what_does_not_fit_a_description_stands_in_the_comment(git: GitHouse) -> None:
    git.push({f"{name}.yaml": BROKEN.replace("orders", name) for name in ("ads", "bids", "clicks", "deals")})
    found = verdict(git.status, longest=60)
    assert len(found.status.description) == 60
    assert found.status.description.endswith("…")
    assert all(f"    {name}.yaml:7:" in found.comment for name in ("ads", "bids", "clicks", "deals"))


def test_nothing_a_file_says_is_markup_or_calls_somebody() -> None:
    hostile = Problem("x.yaml", 1, 1, "KEDGE-SPEC-040", "`@everyone` <img>\n# big", "mend\nit")
    status = SourceStatus(binding(), state="Refused", reason="SpecRefused", tip="ab" * 20, problems=(hostile,))
    told = [line for line in verdict(status).comment.splitlines() if "everyone" in line]
    assert told == ["    x.yaml:1:1: KEDGE-SPEC-040: `@everyone` <img>?# big. mend?it"]


def test_a_file_that_waits_for_a_second_person_is_pending_and_no_error(git: GitHouse) -> None:
    waits = Problem("a.yaml", 1, 1, "KEDGE-GIT-010", "approval is needed: too dear", "kedge proposal show 1")
    status = SourceStatus(binding(), state="Refused", reason="SpecRefused", tip="ab" * 20, problems=(waits,))
    found = verdict(status)
    assert (found.status.state, found.comment) == ("pending", "")
    rejected = replace(waits, message="proposal 1 was rejected by ben")
    assert verdict(replace(status, problems=(rejected,))).status.state == "failure"


def test_a_file_that_went_away_is_told_and_is_no_failure(git: GitHouse) -> None:
    git.push({"a.yaml": ORDERS, "b.yaml": named("ads")})
    git.push({"b.yaml": named("ads")})
    status = verdict(git.status).status
    assert (status.state, status.description) == (
        "success",
        "1 cluster in force; without a file, and as they were: orders",
    )


def test_a_rewritten_history_is_a_failure(git: GitHouse) -> None:
    git.push({"a.yaml": ORDERS})
    git.force_push({"a.yaml": LARGER})
    status = verdict(git.status).status
    assert status.state == "failure"
    assert status.description.startswith("HistoryRewritten: ")


def test_a_repository_that_cannot_be_reached_says_nothing_of_its_commits(git: GitHouse) -> None:
    assert verdict_of(git.status, portal="", longest=140) is None
    git.push({"a.yaml": ORDERS})
    git.repository.fault = SourceFault("Unreachable", "away")
    assert verdict_of(git.poll(), portal="", longest=140) is None


def test_a_status_is_posted_once_and_again_where_it_changes(git: GitHouse, forge: MemoryForge) -> None:
    keeps = reconciler(git, forge)
    keeps.poll()
    assert forge.calls == []
    commit = git.push({"a.yaml": BROKEN})
    for _ in range(3):
        git.poll()
        keeps.poll()
    assert forge.calls == ["status", "post_status", "comments", "comment"]
    assert (keeps.status().commit, keeps.status().state, keeps.status().at) == (commit, "failure", git.house.now)
    git.push({"a.yaml": ORDERS})
    keeps.poll()
    assert [one["status"].state for one in forge.world.statuses] == ["failure", "success"]


def test_another_server_that_leads_then_posts_nothing_twice(git: GitHouse, forge: MemoryForge) -> None:
    git.push({"a.yaml": BROKEN})
    reconciler(git, forge).poll()
    successor = reconciler(git, forge)
    successor.poll()
    assert len(forge.world.statuses) == len(forge.world.comments) == 1
    assert successor.status().state == "failure"


def test_what_another_server_said_meanwhile_is_put_right(git: GitHouse, forge: MemoryForge) -> None:
    commit = git.push({"a.yaml": ORDERS})
    keeps = reconciler(git, forge)
    keeps.poll()
    good = verdict(git.status).status
    forge.post_status(commit, replace(good, state="failure", description="1 error"))
    git.house.pass_time(minutes=29)
    keeps.poll()
    assert len(forge.world.statuses) == 2
    git.house.pass_time(minutes=1)
    keeps.poll()
    assert forge.status(commit, "kedge/teams") == good


def test_a_forge_that_is_down_is_asked_less_and_less_and_delays_no_commit(git: GitHouse, forge: MemoryForge) -> None:
    keeps, forge.fault = reconciler(git, forge), outage()
    git.push({"a.yaml": ORDERS})
    asked = []
    for _ in range(4 * 60):
        keeps.poll()
        asked.append(len(forge.calls))
        git.house.pass_time(seconds=15)
    assert asked[-1] == 9
    assert git.status.state == "Synced"
    told = keeps.status()
    assert (told.reason, told.commit) == ("Unavailable", "")
    assert "it answered 503" in told.fault
    forge.fault = None
    git.house.pass_time(seconds=900)
    keeps.poll()
    assert (keeps.status().fault, keeps.status().state) == ("", "success")


def test_it_waits_as_long_as_the_forge_asked(git: GitHouse, forge: MemoryForge) -> None:
    keeps, forge.fault = reconciler(git, forge), outage("RateLimited", 3000.0)
    git.push({"a.yaml": ORDERS})
    keeps.poll()
    assert keeps.status().next_at == git.house.now + timedelta(seconds=3000)
    git.house.pass_time(seconds=2999)
    keeps.poll()
    assert len(forge.calls) == 1


def test_a_comment_that_was_lost_is_added_later_and_the_status_stays_one(git: GitHouse, forge: MemoryForge) -> None:
    git.push({"a.yaml": BROKEN})
    keeps, forge.comment = reconciler(git, forge), _refuse  # type: ignore[method-assign]
    keeps.poll()
    assert keeps.status().reason == "Unavailable"
    del forge.comment
    git.house.pass_time(seconds=15)
    keeps.poll()
    assert len(forge.world.statuses) == len(forge.world.comments) == 1


def test_the_author_of_an_applied_commit_is_signed_or_claimed_in_the_history(git: GitHouse) -> None:
    class Signed:
        def __getattr__(self, name: str) -> object:
            return getattr(git.repository, name)

        def tip(self, since: str | None) -> object:
            return replace(git.repository.tip(since), signature=Signature("SHA256:abc"))

    git.sync._repository = Signed()  # type: ignore[assignment]
    git.push({"a.yaml": ORDERS})
    source = git.view().declaration.source
    assert source is not None
    assert source.origin.signed_by == "SHA256:abc"
    assert git.status.signature.by == "SHA256:abc"
    applied = [e for e in git.house.store.read_all() if e.type == "source.applied"]
    assert [e.data["signed_by"] for e in applied] == ["SHA256:abc"]


def _refuse(commit: str, text: str) -> None:
    raise outage()
