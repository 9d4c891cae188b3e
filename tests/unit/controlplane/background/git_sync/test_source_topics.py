"""Topics in the files of a source: brought into force beside clusters, never deleted by a file that is gone."""

import pytest

from controlplane.cluster.commands import DeclareTopics
from tests.sim.topics import declared, topic_text
from tests.unit.controlplane.background.git_sync.git_house import BROKEN, GitHouse, binding
from tests.unit.events.spec_texts import ORDERS


@pytest.fixture
def git() -> GitHouse:
    return GitHouse()


def _topics(git: GitHouse) -> dict[str, tuple[int, str, bool]]:
    found = git.view().topics.by_name
    return {n: (t.declared.partitions, t.path, t.undeclared) for n, t in found.items()}


def test_a_file_may_bring_a_cluster_and_its_topics(git: GitHouse) -> None:
    commit = git.push({"orders.yaml": f"{ORDERS}---\n{topic_text('a')}", "more.yaml": topic_text("b", partitions=9)})
    assert _topics(git) == {"a": (3, "orders.yaml", False), "b": (9, "more.yaml", False)}
    assert {t.source for t in git.view().topics.by_name.values()} == {"git:teams"}
    assert git.view().topics.by_name["a"].commit == commit
    before = git.events()
    git.poll()
    assert git.events() == before


def test_a_file_that_is_gone_deletes_no_topic(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS, "a.yaml": topic_text("a"), "b.yaml": topic_text("b")})
    git.push({"orders.yaml": ORDERS, "b.yaml": topic_text("b")})
    assert _topics(git) == {"a": (3, "a.yaml", True), "b": (3, "b.yaml", False)}
    before = git.events()
    git.poll()
    assert git.events() == before
    git.push({"orders.yaml": ORDERS, "a.yaml": topic_text("a"), "b.yaml": topic_text("b")})
    assert _topics(git)["a"] == (3, "a.yaml", False)


def test_a_file_with_a_slip_leaves_its_topics_as_they_are(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS, "a.yaml": topic_text("a")})
    git.push({"orders.yaml": ORDERS, "a.yaml": topic_text("a", partitionen=4)})
    assert _topics(git) == {"a": (3, "a.yaml", False)}
    assert [p[2] for p in git.problems()] == ["KEDGE-SPEC-020"]


def test_topics_are_refused_at_their_line_and_the_last_good_stays(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS, "a.yaml": topic_text("a", replicas=9)})
    assert _topics(git) == {}
    assert [(p[0], p[2]) for p in git.problems()] == [("a.yaml", "KEDGE-SPEC-046")]
    git.push({"orders.yaml": ORDERS, "a.yaml": topic_text("a", cluster="elsewhere")})
    assert [(p[0], p[2]) for p in git.problems()] == [("a.yaml", "KEDGE-GIT-008")]
    assert git.condition() == (True, "Synced") or git.condition() is None


def test_of_two_files_with_one_topic_the_second_is_refused(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS, "b.yaml": topic_text("a")})
    git.push({"orders.yaml": ORDERS, "a.yaml": topic_text("a", partitions=9), "b.yaml": topic_text("a")})
    assert _topics(git) == {"a": (3, "b.yaml", False)}
    assert [(p[0], p[2]) for p in git.problems()] == [("a.yaml", "KEDGE-GIT-004")]


def test_a_topic_of_the_api_is_not_taken_over_by_a_file(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS})
    command = DeclareTopics(
        name="orders", actor="person:ann", command_id="c", topics=declared(topic_text("a")), source="api", path="t.yaml"
    )
    git.house.services.cluster.commands.handle(command)
    git.push({"orders.yaml": ORDERS, "a.yaml": topic_text("a", partitions=9)})
    assert _topics(git) == {"a": (3, "t.yaml", False)}
    assert [(p[0], p[2]) for p in git.problems()] == [("a.yaml", "KEDGE-GIT-005")]


def test_a_team_declares_topics_in_its_own_clusters_only() -> None:
    git = GitHouse(binding=binding(team="payments"))
    git.house.apply(ORDERS)
    git.push({"a.yaml": topic_text("a")})
    assert _topics(git) == {}
    assert [p[2] for p in git.problems()] == ["KEDGE-GIT-008"]


def test_a_broken_cluster_file_says_nothing_of_topics_elsewhere(git: GitHouse) -> None:
    git.push({"orders.yaml": ORDERS, "a.yaml": topic_text("a")})
    git.push({"orders.yaml": BROKEN, "a.yaml": topic_text("a", partitions=9)})
    assert _topics(git) == {"a": (9, "a.yaml", False)}
