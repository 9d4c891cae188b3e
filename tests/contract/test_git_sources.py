"""A source as a whole: the real `git`, the real handlers, and a commit that tries everything at once."""

import threading
from pathlib import Path

import pytest

from controlplane.background.git_sync.binding import GitBinding
from controlplane.background.git_sync.clone import Clone
from controlplane.background.git_sync.status import SourceStatuses
from controlplane.background.git_sync.sync import SourceSync, SyncParts
from controlplane.runtime.egress import Egress
from tests.changed_view import changed_view
from tests.contract.git_repositories import Upstream, git
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.background.git_sync.git_house import LARGER, named
from tests.unit.events.spec_texts import ORDERS


class World:
    """One binding of a real repository."""

    def __init__(self, folder: Path) -> None:
        self.upstream = Upstream(folder)
        self.house = House()
        self.binding = GitBinding(name="teams", repository=str(self.upstream.bare), path="kafka")
        self.statuses = SourceStatuses((self.binding,))
        clone = Clone(self.binding, folder / "clone", local_paths=(folder,), stop=threading.Event(), egress=Egress())
        parts = SyncParts(
            store=self.house.store,
            commands=self.house.services.cluster.commands,
            pairs=self.house.failovers,
            fleet=self.house.converger,
            wake=self.house.woken.append,
            may_act=lambda: True,
            statuses=self.statuses,
            clock=lambda: self.house.now,
        )
        self._sync = SourceSync(self.binding, clone, parts)

    def poll(self) -> tuple[str, str]:
        self._sync.poll()
        status = self.statuses.all()[0]
        return status.state, status.reason

    def names(self) -> list[str]:
        self.house.converger.catch_up()
        return [view.name for view in self.house.converger.views()]

    def problems(self) -> list[tuple[str, int, str]]:
        return [(p.file, p.line, p.code) for p in self.statuses.all()[0].problems]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_of_a_hostile_commit_only_what_is_sound_comes_into_force(world: World, tmp_path: Path) -> None:
    other = Upstream(tmp_path / "other")
    other.push({"evil.yaml": named("evil")})
    upstream = world.upstream
    files: dict[str, str | bytes] = {
        "kafka/orders.yaml": ORDERS,
        "kafka/z-again.yaml": LARGER,
        "kafka/latin.yaml": named("latin").replace("small", "sm\xe4ll").encode("latin-1"),
        "kafka/huge.yaml": "# padding\n" * 30_000 + named("huge"),
        "kafka/bomb.yaml": "a: &a [x]\nb: [*a, *a]\n",
        "kafka/empty.yaml": "",
        "outside.yaml": named("outside"),
        ".gitattributes": "*.yaml filter=evil\n",
    }
    for path, content in files.items():
        upstream.write(path, content)
    (upstream.work / "kafka" / "link.yaml").symlink_to("../outside.yaml")
    upstream.git("submodule", "--quiet", "add", str(other.bare), "kafka/vendored")
    upstream.commit()
    assert world.poll() == ("Refused", "SpecRefused")
    assert world.names() == ["orders"]
    assert set(world.problems()) == {
        ("kafka/bomb.yaml", 1, "KEDGE-SPEC-005"),
        ("kafka/bomb.yaml", 1, "KEDGE-SPEC-013"),
        ("kafka/bomb.yaml", 2, "KEDGE-SPEC-005"),
        ("kafka/empty.yaml", 1, "KEDGE-SPEC-010"),
        ("kafka/huge.yaml", 1, "KEDGE-GIT-003"),
        ("kafka/latin.yaml", 14, "KEDGE-SPEC-002"),
        ("kafka/link.yaml", 1, "KEDGE-GIT-001"),
        ("kafka/vendored", 1, "KEDGE-GIT-002"),
        ("kafka/z-again.yaml", 4, "KEDGE-GIT-004"),
    }


def test_nothing_that_happens_to_a_repository_destroys_or_changes_a_cluster(world: World) -> None:
    upstream, house = world.upstream, world.house
    upstream.push({"kafka/orders.yaml": ORDERS})
    assert world.poll() == ("Synced", "Synced")
    before = house.view()

    upstream.git("mv", "kafka", "clusters")
    upstream.commit("the folder is renamed")
    assert world.poll() == ("OutOfSync", "NotDeclared")

    upstream.git("rm", "--quiet", "-r", "clusters")
    upstream.commit("everything is removed")
    assert world.poll() == ("OutOfSync", "NotDeclared")

    git("-C", str(upstream.bare), "update-ref", "-d", "refs/heads/main")
    assert world.poll() == ("OutOfSync", "BranchMissing")

    upstream.bare.rename(upstream.bare.with_name("gone.git"))
    assert world.poll() == ("OutOfSync", "Unreachable")

    upstream.bare.with_name("gone.git").rename(upstream.bare)
    upstream.git("checkout", "--quiet", "--orphan", "fresh")
    upstream.push({"kafka/orders.yaml": LARGER})
    assert world.poll() == ("OutOfSync", "HistoryRewritten")

    after = house.view()
    kept = {"conditions": {}, "version": 0, "progressed_at": None}
    assert changed_view(after, **kept) == changed_view(before, **kept)
    told = [e.data["reason"] for e in house.store.read_all() if e.type == "condition.changed"]
    assert told == ["NotDeclared", "HistoryRewritten"]
    assert {e.type for e in house.store.read_all()} == {
        "name.taken",
        "cluster.source_changed",
        "cluster.declared",
        "condition.changed",
        "source.applied",
        "source.rewritten",
    }
