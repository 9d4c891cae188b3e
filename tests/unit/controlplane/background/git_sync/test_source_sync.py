"""What one look at a source does: sound specs come into force, everything else is said and changes nothing."""

from dataclasses import replace

import pytest

from controlplane.background.git_sync.faults import SourceFault
from controlplane.background.git_sync.repository import TreeEntry
from controlplane.cluster.commands import (
    CommandRefused,
    DeclareCluster,
    DeleteCluster,
    PauseCluster,
    ResumeCluster,
    TakeOverSource,
)
from events import facts
from events.codec import decode
from tests.fakes.event_store import MemoryEventStore
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.background.git_sync.git_house import (
    AUTHOR,
    BROKEN,
    LARGER,
    FakeRepository,
    GitHouse,
    binding,
    named,
)
from tests.unit.events.spec_texts import ORDERS, document


@pytest.fixture
def git() -> GitHouse:
    return GitHouse()


def take_over(git: GitHouse, source: str, name: str = "orders") -> None:
    command = TakeOverSource(name=name, actor="person:ann", command_id=f"take-{source}", source=source, reason="asked")
    git.house.services.cluster.commands.handle(command)


def broker_size(git: GitHouse, name: str = "orders") -> int:
    found = git.view(name).document
    assert found is not None
    return found.spec.pool("brokers").size


# --- coming into force ------------------------------------------------------------------------------------------


def test_a_sound_file_comes_into_force_with_its_address_and_its_claimed_author(git: GitHouse) -> None:
    commit = git.push({"kafka/orders.yaml": ORDERS})
    view = git.view()
    assert view.declaration.source is not None
    origin = view.declaration.source.origin
    assert (view.generation, origin.source, origin.path, origin.commit) == (1, "git:teams", "kafka/orders.yaml", commit)
    assert origin.author == AUTHOR
    assert git.house.woken == [view.uid]
    assert (git.status.state, git.status.applied, git.status.clusters) == ("Synced", commit, ("orders",))
    recorded = git.house.store.read_all()
    assert {e.actor for e in recorded if e.type.startswith("cluster.")} == {"git:teams"}


def test_looking_again_records_nothing_and_reads_no_file_again(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS})
    before = git.events()
    git.poll()
    assert git.events() == before
    assert git.repository.asked_for_files == 1


def test_a_commit_that_changes_a_spec_makes_the_next_generation(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS})
    commit = git.push({"orders.yaml": LARGER})
    view = git.view()
    assert view.declaration.source is not None
    assert (view.generation, view.declaration.source.origin.commit, broker_size(git)) == (2, commit, 6)


def test_a_commit_that_only_moves_words_is_remembered_and_declares_nothing(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS})
    commit = git.push({"orders.yaml": f"# reviewed\n{ORDERS}"})
    assert git.view().generation == 1
    assert git.status.applied == commit


def test_clusters_of_earlier_stages_are_declared_first_whatever_their_files_are_called(git: GitHouse) -> None:
    """Later stages wait for what earlier ones have in hand: they must not be looked at before those have it."""
    git.push(
        {
            "a.yaml": _staged("shop", "production"),
            "b.yaml": f"{_staged('ledger', 'production')}---\n{_staged('trial', 'staging')}",
            "c.yaml": _staged("sandbox", "dev"),
        }
    )
    declared = [e.data["name"] for e in git.house.store.read_all() if e.type == "cluster.declared"]
    assert declared == ["sandbox", "trial", "ledger", "shop"]


def _staged(name: str, stage: str) -> str:
    return named(name).replace(f"name: {name}", f"name: {name}\n  labels: {{stage: {stage}}}", 1)


class _DiesAfter(MemoryEventStore):
    """A store whose server is killed after some appends."""

    left = 10_000

    def append(self, *args, **kwargs):  # type: ignore[no-untyped-def]
        if not self.left:
            raise _Killed
        self.left -= 1
        return super().append(*args, **kwargs)


class _Killed(Exception):
    pass


@pytest.mark.parametrize("appends", range(6))
def test_a_crash_after_any_append_repeats_harmlessly(appends: int) -> None:
    store = _DiesAfter()
    git = GitHouse(House(store=store))
    git.repository.commit({"a.yaml": named("alpha"), "b.yaml": named("beta")})
    store.left = appends
    try:
        git.poll()
    except _Killed:
        store.left = 10_000
        git.restarted().poll()
    assert [git.view(name).generation for name in ("alpha", "beta")] == [1, 1]
    declared = [e for e in store.read_all() if e.type == "cluster.declared"]
    assert len(declared) == 2
    assert git.status.state == "Synced"


def test_a_server_that_does_not_lead_brings_nothing_into_force(git: GitHouse) -> None:
    git.leads = False
    git.push({"orders.yaml": ORDERS})
    assert git.events() == 0


# --- bad files --------------------------------------------------------------------------------------------------


def test_a_bad_file_leaves_the_last_good_spec_in_force_and_is_reported_at_its_line(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS, "ads.yaml": named("ads")})
    git.push({"orders.yaml": BROKEN, "ads.yaml": named("ads", LARGER)})
    assert (git.view().generation, broker_size(git, "ads")) == (1, 6)
    assert git.condition() == (False, "SpecRefused")
    assert git.condition("ads") is None
    assert git.problems() == [("orders.yaml", 7, "KEDGE-SPEC-040")]
    assert git.status.state == "Refused"
    assert all(p.fix for p in git.status.problems)
    git.push({"orders.yaml": LARGER, "ads.yaml": named("ads", LARGER)})
    assert git.condition() == (True, "Synced")
    assert (git.status.state, broker_size(git)) == ("Synced", 6)


def test_what_is_refused_by_what_is_in_force_is_reported_at_its_line(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS})
    git.push({"orders.yaml": ORDERS.replace("sizeGib: 10}", "sizeGib: 5}")})
    assert git.problems() == [("orders.yaml", 15, "KEDGE-SPEC-073")]
    assert (git.view().generation, git.condition()) == (1, (False, "SpecRefused"))


def test_of_a_file_with_a_document_that_is_refused_none_comes_into_force(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS})
    smaller = ORDERS.replace("sizeGib: 10}", "sizeGib: 5}")
    git.push({"orders.yaml": f"{named('ads')}---\n{smaller}"})
    assert [(p.file, p.code) for p in git.status.problems] == [("orders.yaml", "KEDGE-SPEC-073")]
    assert [view.name for view in git.house.converger.views()] == ["orders"]


def test_the_condition_follows_what_is_wrong_with_the_file_and_not_every_commit(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS})
    git.push({"orders.yaml": BROKEN})
    before = git.events()
    git.push({"orders.yaml": BROKEN, "README.md": "another commit"})
    assert git.events() == before + 1  # the commit alone
    git.push({"orders.yaml": ORDERS.replace("size: 3", "size: many", 1)})
    assert "orders.yaml:13:" in git.view().conditions["Synced"].message


def test_of_two_files_that_declare_one_cluster_the_second_is_refused_and_the_one_in_force_is_first(
    git: GitHouse,
) -> None:
    git.push({"b.yaml": ORDERS})
    git.push({"a.yaml": LARGER, "b.yaml": ORDERS})
    assert git.problems() == [("a.yaml", 4, "KEDGE-GIT-004")]
    assert (git.view().generation, git.condition()) == (1, None)


def test_of_two_new_files_that_declare_one_cluster_the_first_by_path_wins(git: GitHouse) -> None:
    git.push({"b.yaml": LARGER, "a.yaml": ORDERS})
    assert git.problems() == [("b.yaml", 4, "KEDGE-GIT-004")]
    assert broker_size(git) == 3


def test_links_submodules_and_huge_files_are_reported_and_never_read(git: GitHouse) -> None:
    git.push(
        {
            "orders.yaml": ORDERS,
            "huge.yaml": TreeEntry("huge.yaml", "100644", "f" * 40, 10**9),
            "link.yaml": TreeEntry("link.yaml", "120000", "e" * 40, 11),
            "vendored": TreeEntry("vendored", "160000", "d" * 40, 0),
        }
    )
    assert git.problems() == [
        ("huge.yaml", 1, "KEDGE-GIT-003"),
        ("link.yaml", 1, "KEDGE-GIT-001"),
        ("vendored", 1, "KEDGE-GIT-002"),
    ]
    assert git.view().generation == 1


def test_a_look_that_fails_as_nobody_foresaw_is_told_of_the_source(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS})

    def broken(commit: str) -> list[TreeEntry]:
        raise KeyError("\x1b[31mno such field")

    git.repository.entries = broken  # type: ignore[method-assign]
    with pytest.raises(KeyError):
        git.push({"orders.yaml": f"{ORDERS}# more\n"})
    assert (git.status.state, git.status.reason) == ("OutOfSync", "LookFailed")
    assert git.status.message.startswith("the look failed: KeyError")
    assert git.status.message.isprintable()


@pytest.mark.parametrize("path", ["red\x1b[31m.yaml", "two\nlines.yaml", f"{'x' * 200}.yaml"])
def test_a_file_with_a_name_nobody_should_print_is_refused(git: GitHouse, path: str) -> None:
    git.push({path: ORDERS})
    assert [(p.code, p.file.isprintable()) for p in git.status.problems] == [("KEDGE-GIT-009", True)]
    assert git.events() == 1


def test_other_files_and_hidden_ones_are_left_alone(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS, "README.md": "# specs", ".github/workflows/ci.yaml": "on: push"})
    assert (git.problems(), git.status.state) == ([], "Synced")


# --- files that go away -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("left", [{}, {"README.md": "moved"}, {"ads.yaml": named("ads")}])
def test_a_file_that_goes_away_destroys_nothing_and_is_told(git: GitHouse, left: dict[str, str]) -> None:
    git.push({"orders.yaml": ORDERS, "ads.yaml": named("ads")})
    commit = git.push(left)
    view = git.view()
    assert (view.generation, view.requests.tombstone, view.requests.paused) == (1, "", "")
    assert git.condition() == (False, "NotDeclared")
    message = view.conditions["Synced"].message
    assert commit[:7] in message
    assert "orders.yaml" in message
    assert "kedge delete orders" in message
    assert "orders" in git.status.missing
    assert git.status.state == "OutOfSync"


def test_a_file_that_comes_back_is_in_sync_again(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS})
    git.push({})
    git.push({"orders.yaml": ORDERS})
    assert (git.condition(), git.view().generation) == ((True, "Synced"), 1)


def test_a_renamed_file_goes_on_with_the_same_cluster(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS})
    uid = git.view().uid
    git.push({"production/orders.yaml": ORDERS})
    view = git.view()
    assert view.declaration.source is not None
    assert (view.uid, view.generation, view.declaration.source.origin.path) == (uid, 1, "production/orders.yaml")
    assert git.condition() is None


def test_a_cluster_is_deleted_only_after_its_file_is_gone(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS})
    delete = DeleteCluster(name="orders", actor="person:ann", command_id="d1", confirm="orders", reason="")
    with pytest.raises(CommandRefused, match="still declared by") as refused:
        git.house.services.cluster.commands.handle(delete)
    assert refused.value.code == "still-declared"
    git.push({})
    assert git.house.services.cluster.commands.handle(delete).changed
    before = git.events()
    git.poll()
    assert git.events() == before


# --- a rewritten history ----------------------------------------------------------------------------------------


def test_after_a_force_push_the_old_specs_stay_and_a_person_is_asked(git: GitHouse) -> None:
    applied = git.push({"orders.yaml": ORDERS})
    found = git.force_push({"orders.yaml": LARGER})
    assert (git.view().generation, broker_size(git)) == (1, 3)
    assert git.condition() == (False, "HistoryRewritten")
    command = f"kedge sources accept teams --commit {found}"
    assert git.view().conditions["Synced"].message.endswith(f"Next: {command}")
    assert (git.status.reason, git.status.next_step, git.status.applied) == ("HistoryRewritten", command, applied)
    before = git.events()
    git.restarted().poll()
    assert git.events() == before


def test_an_accepted_history_comes_into_force(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS})
    found = git.force_push({"orders.yaml": LARGER})
    git.service.accept("teams", found, reason="cleaned", actor="person:ann")
    assert git.rung == ["teams"]
    git.poll()
    assert (git.view().generation, git.condition(), git.status.applied) == (2, (True, "Synced"), found)


def test_accepting_is_about_one_commit_alone(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS})
    found = git.force_push({"orders.yaml": LARGER})
    with pytest.raises(CommandRefused, match="asks about"):
        git.service.accept("teams", "0" * 40, reason="", actor="person:ann")
    git.service.accept("teams", found, reason="", actor="person:ann")
    another = git.force_push({"orders.yaml": BROKEN})
    assert git.status.next_step.endswith(another)
    assert git.view().conditions["Synced"].message.endswith(another)
    assert git.view().generation == 1


def test_a_force_push_that_is_undone_needs_nobody(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS})
    kept = list(git.repository.history)
    found = git.force_push({"orders.yaml": LARGER})
    git.repository.history[:] = kept
    git.poll()
    assert (git.condition(), git.status.state, git.view().generation) == ((True, "Synced"), "Synced", 1)
    with pytest.raises(CommandRefused, match="asks about none"):
        git.service.accept("teams", found, reason="too late", actor="person:ann")


def test_a_commit_that_was_accepted_once_is_asked_about_again_when_it_comes_back(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS})
    found = git.force_push({"orders.yaml": LARGER})
    git.service.accept("teams", found, reason="", actor="person:ann")
    git.poll()
    git.push({"orders.yaml": ORDERS})
    git.repository.history.remove(git.repository.history[-1])
    assert git.repository.history[-1] == found
    assert git.poll().reason == "HistoryRewritten"
    assert git.view().generation == 3


# --- a repository that cannot be asked --------------------------------------------------------------------------


def test_a_repository_that_does_not_answer_changes_nothing_and_is_told(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS})
    before, reached = git.events(), git.status.reached_at
    git.repository.fault = SourceFault("Unreachable", "git: connection refused", "Look at the address.")
    git.house.pass_time(minutes=5)
    git.poll()
    assert git.events() == before
    assert (git.status.state, git.status.reason, git.status.is_reached) == ("OutOfSync", "Unreachable", False)
    assert (git.status.reached_at, git.status.clusters) == (reached, ("orders",))
    began = git.status.since
    git.house.pass_time(minutes=5)
    assert git.poll().since == began


# --- one source a cluster ---------------------------------------------------------------------------------------


def api_declares(git: GitHouse, edits: dict[int, str] | None = None, command_id: str = "api-1") -> None:
    command = DeclareCluster(
        name="orders", actor="person:ann", command_id=command_id, document=document(edits), source="orders.yaml"
    )
    git.house.services.cluster.commands.handle(command)


def test_a_change_through_the_api_is_refused_with_the_address_of_the_file(git: GitHouse) -> None:
    git.push({"kafka/orders.yaml": ORDERS})
    with pytest.raises(CommandRefused, match=r"kafka/orders\.yaml in https://git\.example\.org/specs\.git") as refused:
        api_declares(git, {19: "      size: 6"})
    assert refused.value.code == "other-source"
    assert "kedge take-over orders --to api" in refused.value.what_next
    api_declares(git, command_id="the same spec is not a change")


def test_pausing_and_resuming_stay_open_to_everybody(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS})
    commands = git.house.services.cluster.commands
    assert commands.handle(PauseCluster(name="orders", actor="person:ann", command_id="p1", reason="lunch")).changed
    git.poll()
    assert git.view().requests.paused == "lunch"
    assert commands.handle(ResumeCluster(name="orders", actor="person:ann", command_id="p2", reason="")).changed


def test_a_file_that_declares_a_cluster_of_the_api_is_refused_until_somebody_takes_over(git: GitHouse) -> None:
    api_declares(git)
    commit = git.push({"orders.yaml": LARGER})
    assert git.problems() == [("orders.yaml", 4, "KEDGE-GIT-005")]
    assert (git.view().generation, git.condition()) == (1, None)
    take_over(git, "git:teams")
    git.poll()
    view = git.view()
    assert view.declaration.source is not None
    assert (view.generation, view.declaration.source.origin.commit, git.status.state) == (2, commit, "Synced")


def test_a_cluster_taken_over_by_the_api_and_handed_back_gets_the_file_again(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS})
    take_over(git, "api")
    api_declares(git, {19: "      size: 6"}, "mine now")
    git.poll()
    assert (broker_size(git), git.status.state) == (6, "Refused")
    take_over(git, "git:teams")
    git.poll()
    # Of the very commit that declared it the first time: that command is not taken for done.
    assert (git.view().generation, broker_size(git), git.status.state) == (3, 3, "Synced")


def test_taking_over_forgets_what_the_source_said_before(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS})
    git.push({})
    assert git.condition() == (False, "NotDeclared")
    take_over(git, "api")
    assert git.condition() is None
    git.poll()
    assert (git.condition(), git.status.missing) == (None, ())


def test_a_cluster_of_another_binding_is_refused_with_the_address_of_its_file() -> None:
    first = GitHouse()
    second = GitHouse(first.house, binding("others", repository="https://git.example.org/others.git"), FakeRepository())
    first.push({"orders.yaml": ORDERS})
    second.push({"mine.yaml": LARGER})
    assert second.problems() == [("mine.yaml", 4, "KEDGE-GIT-005")]
    assert "https://git.example.org/specs.git" in second.status.problems[0].message
    assert broker_size(first) == 3


# --- rights of a binding ----------------------------------------------------------------------------------------


def test_a_binding_speaks_for_its_team_alone() -> None:
    git = GitHouse(binding=binding(team="payments"))
    owned = ORDERS.replace("  name: orders\n", "  name: orders\n  owner: payments\n")
    git.push({"orders.yaml": owned, "ads.yaml": named("ads", owned.replace("payments", "ads"))})
    assert git.problems() == [("ads.yaml", 5, "KEDGE-GIT-006")]
    assert git.status.clusters == ("orders",)


def test_a_binding_with_accounts_puts_no_vm_into_another_one_by_no_commit() -> None:
    git = GitHouse(binding=binding(accounts=("local/default", "aws/payments")))
    git.push({"orders.yaml": ORDERS})
    assert git.poll().state == "Synced"
    elsewhere = ORDERS.replace("{cloud: local, ", "{cloud: local, account: search, ")
    git.push({"orders.yaml": elsewhere, "ads.yaml": named("ads", elsewhere)})
    code = "KEDGE-GIT-011"
    assert git.problems() == [(file, line, code) for file in ("ads.yaml", "orders.yaml") for line in (16, 22)]
    assert "`local/search`" in git.status.problems[0].message
    kept = git.view().document
    assert kept is not None
    assert {pool.place.account for pool in kept.spec.pools} == {"default"}


def test_a_binding_that_may_only_change_creates_nothing() -> None:
    git = GitHouse(binding=binding(verbs=("change",)))
    git.push({"orders.yaml": ORDERS})
    assert git.problems() == [("orders.yaml", 4, "KEDGE-GIT-007")]
    assert git.events() == 1
    assert git.house.store.read_all()[0].type == "source.applied"


def test_a_binding_that_may_only_create_changes_nothing() -> None:
    git = GitHouse(binding=binding(verbs=("create",)))
    git.push({"orders.yaml": ORDERS})
    assert git.poll().state == "Synced"
    git.push({"orders.yaml": LARGER})
    assert (git.problems(), broker_size(git)) == ([("orders.yaml", 4, "KEDGE-GIT-007")], 3)


def test_what_was_looked_at_is_recorded_once_a_commit(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS, "bad.yaml": named("bad", BROKEN)})
    git.push({"bad.yaml": named("bad", BROKEN)})
    git.poll()
    told = [decode(e) for e in git.house.store.read_all() if e.stream == "source-teams"]
    first, second = (e for e in told if isinstance(e, facts.SourceApplied))
    assert (first.clusters, first.refused, first.missing) == (("orders",), ("bad.yaml",), ())
    assert (second.clusters, second.refused, second.missing) == ((), ("bad.yaml",), ("orders",))
    assert replace(first, clusters=(), refused=(), commit="") == replace(
        second, clusters=(), refused=(), missing=(), commit=""
    )
