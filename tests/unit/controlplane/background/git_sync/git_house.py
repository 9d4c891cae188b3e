"""A source over a repository in memory, beside a whole portal on memory stores: commits are dicts, nothing runs git."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha1

from controlplane.api.approvals import approves_still
from controlplane.background.git_sync.binding import GitBinding
from controlplane.background.git_sync.faults import SourceFault
from controlplane.background.git_sync.repository import Tip, TreeEntry
from controlplane.background.git_sync.service import SourceService
from controlplane.background.git_sync.status import SourceStatus, SourceStatuses
from controlplane.background.git_sync.sync import SourceSync, SyncParts
from controlplane.cluster.view import ClusterView
from controlplane.fleet.proposals.from_git import GitProposals
from controlplane.fleet.proposals.stream import ProposalFold
from tests.unit.controlplane.api.portal_house import House
from tests.unit.events.spec_texts import ORDERS, edited

AUTHOR = "Ada <ada@example.org>"
LARGER = edited({19: "      size: 6"})
BROKEN = edited({7: "    version: 9.9.9"})


def named(name: str, text: str = ORDERS) -> str:
    """The spec of another cluster."""
    return text.replace("name: orders", f"name: {name}")


def binding(name: str = "teams", **changes: object) -> GitBinding:
    """A binding of a repository nobody asks."""
    return GitBinding(**{"name": name, "repository": "https://git.example.org/specs.git", **changes})


@dataclass
class FakeRepository:
    """A branch as a list of commits. `rewrite` starts a history that knows nothing of the one before."""

    history: list[str] = field(default_factory=list)
    trees: dict[str, dict[str, str | TreeEntry]] = field(default_factory=dict)
    fault: SourceFault | None = None
    asked_for_files: int = 0

    def commit(self, files: Mapping[str, str | TreeEntry]) -> str:
        """A commit with exactly these files; returns its id."""
        commit = sha1(f"{len(self.trees)}".encode()).hexdigest()
        self.history.append(commit)
        self.trees[commit] = dict(files)
        return commit

    def rewrite(self, files: Mapping[str, str | TreeEntry]) -> str:
        """A force-push."""
        self.history.clear()
        return self.commit(files)

    def tip(self, since: str | None) -> Tip:
        if self.fault is not None:
            raise self.fault
        return Tip(self.history[-1], AUTHOR, since is None or since in self.history)

    def entries(self, commit: str) -> list[TreeEntry]:
        self.asked_for_files += 1
        return [_entry(path, file) for path, file in sorted(self.trees[commit].items())]

    def contents(self, blobs: Iterable[str]) -> Mapping[str, bytes]:
        wanted = set(blobs)
        texts = (file for tree in self.trees.values() for file in tree.values() if isinstance(file, str))
        return {_blob(text): text.encode() for text in texts if _blob(text) in wanted}


def _entry(path: str, file: str | TreeEntry) -> TreeEntry:
    return file if isinstance(file, TreeEntry) else TreeEntry(path, "100644", _blob(file), len(file.encode()))


def _blob(text: str) -> str:
    return sha1(text.encode()).hexdigest()


@dataclass
class GitHouse:
    """One source, polled by `push` and `poll`. Two houses on one `house` are two bindings of one server."""

    house: House = field(default_factory=House)
    binding: GitBinding = field(default_factory=binding)
    repository: FakeRepository = field(default_factory=FakeRepository)
    leads: bool = True

    def __post_init__(self) -> None:
        self.statuses = SourceStatuses((self.binding,))
        self.rung: list[str] = []
        self.service = SourceService(self.statuses, self.house.store, self._ring)
        self.sync = self.restarted()

    def restarted(self) -> SourceSync:
        """The same source in a fresh process: what it remembers is what was recorded."""
        house = self.house
        parts = SyncParts(
            store=house.store,
            commands=house.services.cluster.commands,
            pairs=house.failovers,
            fleet=house.converger,
            wake=house.woken.append,
            may_act=lambda: self.leads,
            statuses=self.statuses,
            clock=lambda: house.now,
            proposals=GitProposals(
                ProposalFold(house.store, lambda: house.now),
                partial(
                    approves_still,
                    house.services.access.people,
                    house.services.cluster.commands.current,
                    lambda: house.now,
                ),
                lambda: house.now,
            ),
        )
        self.sync = SourceSync(self.binding, self.repository, parts)
        return self.sync

    def push(self, files: Mapping[str, str | TreeEntry]) -> str:
        commit = self.repository.commit(files)
        self.sync.poll()
        return commit

    def force_push(self, files: Mapping[str, str | TreeEntry]) -> str:
        commit = self.repository.rewrite(files)
        self.sync.poll()
        return commit

    def poll(self) -> SourceStatus:
        self.sync.poll()
        return self.status

    @property
    def status(self) -> SourceStatus:
        found = self.statuses.of(self.binding.name)
        assert found is not None
        return found

    def view(self, name: str = "orders") -> ClusterView:
        return self.house.view(name)

    def condition(self, name: str = "orders") -> tuple[bool, str] | None:
        told = self.view(name).conditions.get("Synced")
        return None if told is None else (told.status, told.reason)

    def events(self) -> int:
        return self.house.store.head()

    def problems(self) -> list[tuple[str, int, str]]:
        return [(p.file, p.line, p.code) for p in self.status.problems]

    def _ring(self, name: str) -> bool:
        self.rung.append(name)
        return True
