"""Users in the files of a source: brought into force beside clusters and topics, never deleted by a lost file."""

import pytest

from tests.sim.topics import topic_text
from tests.unit.controlplane.background.git_sync.git_house import GitHouse, binding
from tests.unit.events.spec_texts import ORDERS
from tests.user_texts import READ_PAY, user_text


@pytest.fixture
def git() -> GitHouse:
    return GitHouse()


def _users(git: GitHouse) -> dict[str, tuple[str, bool]]:
    return {name: (user.path, user.undeclared) for name, user in git.view().users.by_name.items()}


def test_a_file_may_bring_a_cluster_its_topics_and_its_users(git: GitHouse) -> None:
    whole = f"{ORDERS}---\n{topic_text('a')}---\n{user_text('alice')}"
    commit = git.push({"orders.yaml": whole, "more.yaml": user_text("bob", type_="none")})
    assert _users(git) == {"alice": ("orders.yaml", False), "bob": ("more.yaml", False)}
    assert {(u.source, u.commit) for u in git.view().users.by_name.values()} == {("git:teams", commit)}
    assert list(git.view().topics.by_name) == ["a"]
    before = git.events()
    git.poll()
    assert git.events() == before


def test_a_file_that_is_gone_deletes_no_user(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS, "a.yaml": user_text("alice"), "b.yaml": user_text("bob")})
    git.push({"orders.yaml": ORDERS, "b.yaml": user_text("bob")})
    assert _users(git) == {"alice": ("a.yaml", True), "bob": ("b.yaml", False)}
    git.push({"orders.yaml": ORDERS, "a.yaml": user_text("alice"), "b.yaml": user_text("bob")})
    assert _users(git)["alice"] == ("a.yaml", False)


def test_users_are_refused_at_their_line_and_the_last_good_stays(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS, "a.yaml": user_text("alice")})
    git.push({"orders.yaml": ORDERS, "a.yaml": user_text("alice", acls=READ_PAY)})
    assert git.view().users.by_name["alice"].declared.acls == ()
    assert ("a.yaml", "KEDGE-SPEC-104") in [(p[0], p[2]) for p in git.problems()]


def test_of_two_files_with_one_user_the_second_is_refused(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS, "b.yaml": user_text("alice")})
    git.push(
        {
            "orders.yaml": ORDERS,
            "a.yaml": user_text("alice", quotas="{producerByteRate: 9}"),
            "b.yaml": user_text("alice"),
        }
    )
    assert _users(git) == {"alice": ("b.yaml", False)}
    assert ("a.yaml", "KEDGE-GIT-004") in [(p[0], p[2]) for p in git.problems()]


def test_a_team_declares_users_in_its_own_clusters_only() -> None:
    git = GitHouse(binding=binding(team="payments"))
    git.house.apply(ORDERS)
    git.push({"a.yaml": user_text("alice")})
    assert _users(git) == {}
    assert "KEDGE-GIT-008" in [p[2] for p in git.problems()]
