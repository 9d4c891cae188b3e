"""Where specs come from: facts of a cluster's stream (`cluster.source_changed`), and of the stream of a git binding."""

from dataclasses import dataclass

from events.registry import fact


@fact("cluster.source_changed", schema=1)
@dataclass(frozen=True, slots=True)
class SourceChanged:
    """From here on the spec of this cluster comes from there: `source` is `git:BINDING` or `api`.

    Recorded before each declaration that comes from git, by itself where a file moved, and where a person hands the
    cluster over. `author` is whom the commit names: claimed, unless `signed_by` is the fingerprint of a listed key of
    theirs that signed it. The parts of a file's address are empty for `api`, and for git until the file is found.
    """

    source: str
    repository: str
    branch: str
    path: str
    commit: str
    author: str
    reason: str
    signed_by: str = ""


@fact("source.applied", schema=1)
@dataclass(frozen=True, slots=True)
class SourceApplied:
    """Every file of this commit was looked at. In the stream of the binding; the next commit must descend from it.

    `refused` are paths of files that did not come into force, `missing` clusters of this source without a file.
    `signed_by` as in `cluster.source_changed`.
    """

    repository: str
    branch: str
    path: str
    commit: str
    author: str
    clusters: tuple[str, ...]
    refused: tuple[str, ...]
    missing: tuple[str, ...]
    signed_by: str = ""


@fact("source.rewritten", schema=1)
@dataclass(frozen=True, slots=True)
class SourceRewritten:
    """The branch does not descend from what was applied: nothing of `found` is applied until a person accepts it."""

    applied: str
    found: str
    reason: str


@fact("source.accepted", schema=1)
@dataclass(frozen=True, slots=True)
class SourceAccepted:
    """A person accepts this commit, although it does not descend from what was applied."""

    commit: str
    reason: str
