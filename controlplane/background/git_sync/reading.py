"""The files of one commit as what they declare. Pure: bytes in, declarations and problems out."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from controlplane.background.git_sync import problems as g
from controlplane.background.git_sync.repository import LINK, TreeEntry
from controlplane.cluster.commands import TopicDeclared, UserDeclared
from events.spec.birth import settled_with_problems
from events.spec.document import LoadResult, load_documents
from events.spec.failover_model import KafkaFailoverDocument
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from events.spec.problems import Problem, has_errors, shorten
from events.spec.yaml_tree import MAX_BYTES
from planner.rollout.fleet_order import PRODUCTION, stage_of

_SUBMODULE = "160000"
_ENDINGS = (".yaml", ".yml")

MAX_PATH = 200


@dataclass(frozen=True, slots=True)
class DeclaredDocument:
    """One document of a file."""

    name: str
    document: KafkaClusterDocument
    positions: Positions

    @property
    def stage(self) -> int:
        """The rank of its stage in the fleet's order."""
        return stage_of(self.document.metadata.labels)


@dataclass(frozen=True, slots=True)
class DeclaredPair:
    """A pair of clusters that a file declares, and where it stands there."""

    document: KafkaFailoverDocument
    positions: Positions

    @property
    def name(self) -> str:
        return self.document.pair


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file. With an error none of its documents comes into force; `documents` are those that could be read."""

    path: str
    documents: tuple[DeclaredDocument, ...]
    problems: tuple[Problem, ...]
    topics: tuple[TopicDeclared, ...] = ()
    users: tuple[UserDeclared, ...] = ()
    pairs: tuple[DeclaredPair, ...] = ()

    @property
    def ok(self) -> bool:
        return not has_errors(self.problems)

    @property
    def beside(self) -> tuple[TopicDeclared | UserDeclared | DeclaredPair, ...]:
        """What it declares beside clusters."""
        return (*self.topics, *self.users, *self.pairs)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(d.name for d in self.documents)

    @property
    def stage(self) -> int:
        """The earliest of its clusters' stages."""
        return min((d.stage for d in self.documents), default=PRODUCTION)

    def refused(self, *found: Problem) -> "SourceFile":
        """The same file with more that is wrong with it."""
        return replace(self, problems=(*self.problems, *found))


@dataclass
class CommitReader:
    """Reads commits. Files that were read before, by content and path, are not parsed again."""

    _parsed: dict[tuple[str, str], LoadResult] = field(default_factory=dict)

    def read(
        self, entries: Iterable[TreeEntry], contents: Callable[[Iterable[str]], Mapping[str, bytes]]
    ) -> tuple[SourceFile, ...]:
        """Every file that is, or looks like, a spec, by path. Hidden files and folders are left alone, and so are paths
        that git itself would never write: with `..`, an empty step or a NUL."""
        visible = [e for e in entries if not any(step.startswith(".") or not step for step in e.path.split("/"))]
        visible = [e for e in visible if "\0" not in e.path]
        plain = [e for e in visible if _is_spec(e) and _why_not(e) is None]
        fresh = contents({e.blob for e in plain if (e.blob, e.path) not in self._parsed})
        for entry in plain:
            if entry.blob in fresh:
                text = fresh[entry.blob]
                self._parsed[entry.blob, entry.path] = load_documents(text, file=entry.path, takes_pairs=True)
        kept = {(e.blob, e.path) for e in plain}
        self._parsed = {key: value for key, value in self._parsed.items() if key in kept}
        return tuple(file for entry in visible if (file := self._file(entry)) is not None)

    def _file(self, entry: TreeEntry) -> SourceFile | None:
        loaded = self._parsed.get((entry.blob, entry.path))
        if loaded is not None:
            pairs = zip(loaded.documents, loaded.positions, strict=True)
            topics = zip(loaded.topics, loaded.topic_positions, strict=True)
            users = zip(loaded.users, loaded.user_positions, strict=True)
            failovers = zip(loaded.failovers, loaded.failover_positions, strict=True)
            return SourceFile(
                entry.path,
                tuple(DeclaredDocument(d.metadata.name, d, at) for d, at in pairs),
                loaded.problems,
                tuple(TopicDeclared(t, at) for t, at in topics),
                tuple(UserDeclared(u, at) for u, at in users),
                tuple(DeclaredPair(pair, at) for pair, at in failovers),
            )
        problem = _why_not(entry)
        return SourceFile(entry.path, (), (problem,)) if problem is not None else None


def settle(files: Iterable[SourceFile], in_force: Mapping[str, str]) -> tuple[SourceFile, ...]:
    """Refuses the second of two files that declare one cluster: first is the one in force, else the first by path.

    `in_force` is the path in force by name of cluster.
    """
    by_path = {file.path: file for file in files}
    first: dict[str, str] = {}
    for path in sorted(by_path):
        for name in by_path[path].names:
            if in_force.get(name) == path or name not in first:
                first[name] = path
    return tuple(_without_taken(file, first) for file in by_path.values())


def with_settled(file: SourceFile, in_force: Mapping[str, KafkaClusterDocument | None]) -> SourceFile:
    """The file with what its presets say of new clusters. `in_force`: documents of living clusters by name."""
    found: list[Problem] = []
    documents: list[DeclaredDocument] = []
    for one in file.documents:
        became, problems = settled_with_problems(one.document, in_force.get(one.name), one.positions)
        documents.append(replace(one, document=became))
        found += [problem for problem in problems if problem not in file.problems]
    return replace(file, documents=tuple(documents), problems=(*file.problems, *found))


def judge_rights(
    file: SourceFile,
    *,
    team: str,
    accounts: Collection[str],
    may_create: bool,
    may_change: bool,
    in_force: Mapping[str, KafkaClusterDocument | None],
) -> SourceFile:
    """What the binding may not do. `accounts` as in GitBinding, `in_force` the documents of living clusters by name."""
    found: list[Problem] = []
    for declared in file.documents:
        owner = declared.document.metadata.owner
        if team and owner != team:
            said = f"its owner is `{shorten(owner)}`" if owner else "it names no owner"
            message = f"the cluster `{declared.name}` is not of the team `{team}`: {said}"
            found.append(g.of_document(g.OTHER_TEAM, declared.positions, g.OWNER, message, f"Write `owner: {team}`."))
        found += _in_others_accounts(declared, accounts) if accounts else ()
        if declared.name not in in_force and not may_create:
            found.append(_not_granted("create", declared))
        if declared.name in in_force and in_force[declared.name] != declared.document and not may_change:
            found.append(_not_granted("change", declared))
    return file.refused(*found) if found else file


def _in_others_accounts(declared: DeclaredDocument, accounts: Collection[str]) -> Iterator[Problem]:
    for index, pool in enumerate(declared.document.spec.pools):
        account = f"{pool.place.cloud}/{pool.place.account}"
        if account not in accounts:
            message = f"the pool `{pool.name}` lies in the account `{account}`, which this binding may not use"
            fix = f"Use {' or '.join(sorted(accounts))}, or add it to the binding's accounts."
            yield g.of_document(g.ACCOUNT, declared.positions, ("spec", "pools", index, "place"), message, fix)


def _not_granted(verb: str, declared: DeclaredDocument) -> Problem:
    message = f"this binding may not {verb} clusters (`{declared.name}`)"
    fix = f"Add `{verb}` to the binding's verbs, or declare it elsewhere."
    return g.of_document(g.VERB, declared.positions, g.NAME, message, fix)


def _without_taken(file: SourceFile, first: Mapping[str, str]) -> SourceFile:
    taken = [
        g.of_document(
            g.TAKEN_NAME,
            declared.positions,
            g.NAME,
            f"the cluster `{declared.name}` is declared by {first[declared.name]} already",
            "Keep one of the two files, or give this cluster its own name.",
        )
        for declared in file.documents
        if first[declared.name] != file.path
    ]
    return file.refused(*taken) if taken else file


def _is_spec(entry: TreeEntry) -> bool:
    return entry.mode not in (LINK, _SUBMODULE) and entry.path.lower().endswith(_ENDINGS)


def _why_no_link(entry: TreeEntry) -> Problem | None:
    """A link whose own name is no spec's, as README.md, and that leads to a file hides nothing."""
    if entry.path.lower().endswith(_ENDINGS):
        message = "this is a symbolic link: links are never followed"
        return g.of_file(g.LINK, entry.path, message, "Commit the file itself.")
    if entry.leads_to == "blob":
        return None
    where = "a folder" if entry.leads_to == "tree" else "nothing of this commit"
    message = f"this symbolic link leads to {where}: links are never followed, specs behind it are not read"
    return g.of_file(g.LINKED_FOLDER, entry.path, message, "Nothing, if no spec lies behind it; else commit the files.")


def _why_not(entry: TreeEntry) -> Problem | None:
    """What is said of an entry that is not read; None where it is none of our business."""
    if entry.mode == LINK:
        return _why_no_link(entry)
    if entry.mode == _SUBMODULE:
        message = "this is a submodule: its files are not read"
        return g.of_file(g.SUBMODULE, entry.path, message, "Commit the files here, or bind that repository.")
    if _is_spec(entry) and (len(entry.path) > MAX_PATH or not entry.path.isprintable()):
        message = f"the path is longer than {MAX_PATH} characters, or some of them cannot be printed"
        return g.of_file(g.ODD_NAME, entry.path, message, "Rename the file.")
    if _is_spec(entry) and entry.size > MAX_BYTES:
        message = f"the file has {entry.size} bytes; at most {MAX_BYTES} are read"
        return g.of_file(g.TOO_LARGE, entry.path, message, "Split it: one file per cluster.")
    return None
