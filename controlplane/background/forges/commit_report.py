"""What is said of a commit on its forge: one status a binding, and what is wrong at file:line as a comment. Pure."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.background.forges.forge import CommitStatus, State
from controlplane.background.git_sync.outcome import PAIR_WAITS
from controlplane.background.git_sync.second_person import waits_for_somebody
from controlplane.background.git_sync.status import REFUSED, SYNCED, UNKNOWN, SourceStatus
from controlplane.cluster.spec_source import NOT_DECLARED, git_source
from events.quantities import counted
from events.spec.problems import Problem, shorten

_MOST_LINES = 50


@dataclass(frozen=True, slots=True)
class CommitReport:
    """What is to be said of one commit. `comment` is "" where nothing is wrong; `mark` is in it and in no other."""

    commit: str
    status: CommitStatus
    comment: str = ""
    mark: str = ""


def verdict_of(source: SourceStatus, *, portal: str, longest: int) -> CommitReport | None:
    """None where the last look saw no commit: a repository that cannot be reached says nothing of its commits.

    `portal` is what the portal's addresses begin with, "" where people elsewhere cannot reach it. `longest` is how many
    characters a description may have.
    """
    if not source.tip or not source.is_reached or source.state == UNKNOWN:
        return None
    name = source.binding.name
    state, words = _words(source)
    link = f"{portal}/sources#{name}" if portal else ""
    status = CommitStatus(state, _cut(words, longest), f"kedge/{name}", link)
    wrong = [p for p in source.problems if p.is_error and not waits_for_somebody(p)]
    if source.state != REFUSED or not wrong:
        return CommitReport(source.tip, status)
    lines = [_plain(f"{p.where}: {p.code}: {p.message}. {p.fix}") for p in wrong]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]
    mark = f"<!-- kedge {name} {digest} -->"
    return CommitReport(source.tip, status, _comment(source, lines, mark, link), mark)


def _words(source: SourceStatus) -> tuple[State, str]:
    in_force = _counts(source)
    if source.state == SYNCED:
        return "success", f"{in_force} in force"
    if source.state == REFUSED:
        return _refused([p for p in source.problems if p.is_error], in_force)
    if source.reason == NOT_DECLARED:
        return "success", f"{in_force} in force; without a file, and as they were: {', '.join(_missing(source))}"
    if source.reason == PAIR_WAITS:
        return "pending", f"{in_force} in force; {source.message}"
    return "failure", f"{source.reason}: {source.message}"


def _counts(source: SourceStatus) -> str:
    pairs = [counted(len(source.failovers), "failover")] if source.failovers else []
    return " and ".join([counted(len(source.clusters), "cluster"), *pairs])


def _missing(source: SourceStatus) -> list[str]:
    return [*source.missing, *(f"failover {name}" for name in source.failovers_missing)]


def _refused(errors: Sequence[Problem], in_force: str) -> tuple[State, str]:
    waiting = [p for p in errors if waits_for_somebody(p)]
    if len(waiting) == len(errors):
        files = counted(len({p.file for p in waiting}), "file")
        return "pending", f"{files} waiting for a second person: {_places(waiting)}"
    wrong = [p for p in errors if not waits_for_somebody(p)]
    files = counted(len({p.file for p in wrong}), "file")
    return "failure", f"{counted(len(wrong), 'error')} in {files}: {_places(wrong)}. {in_force} in force"


def _places(problems: Sequence[Problem]) -> str:
    return "; ".join(f"{p.file}:{p.line} {p.code}" for p in problems)


def _comment(source: SourceStatus, lines: Sequence[str], mark: str, link: str) -> str:
    """Indented, so that nothing in it is taken for markup, and nobody is called by what a file says."""
    shown = [f"    {line}" for line in lines[:_MOST_LINES]]
    more = [f"    and {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
    head = f"Kedge, `{git_source(source.binding.name)}`: {counted(len(lines), 'error')}. The last good specs stay."
    return "\n".join([mark, head, "", *shown, *more, *(["", link] if link else [])])


def _cut(words: str, longest: int) -> str:
    words = _plain(words)
    return words if len(words) <= longest else f"{words[: longest - 1]}…"


def _plain(text: str) -> str:
    return shorten("".join(c if c.isprintable() else "?" for c in text), 1000)
