"""What a look at a source came to, in its status: state, reason, message and next step. Pure."""

from collections.abc import Sequence

from controlplane.background.git_sync import problems as g
from controlplane.background.git_sync.binding import GitBinding
from controlplane.background.git_sync.reading import SourceFile
from controlplane.background.git_sync.status import OUT_OF_SYNC, REFUSED, SYNCED
from controlplane.cluster.spec_source import NOT_DECLARED, SPEC_REFUSED
from events.quantities import counted
from events.spec.problems import has_errors

PAIR_WAITS = "PairWaits"
_PUT_BACK = "Put the files back; to delete a cluster: kedge delete CLUSTER; a pair: kedge failovers withdraw PAIR"


def outcome_of(binding: GitBinding, files: Sequence[SourceFile], missing: Sequence[str]) -> tuple[str, str, str, str]:
    """Of `files` as they stand once all was tried. `missing`: what of this source is in no file any more."""
    problems = [problem for file in files for problem in file.problems]
    bad = [file for file in files if not file.ok]
    if has_errors(problems):
        errors = sum(problem.is_error for problem in problems)
        message = f"{counted(errors, 'error')} in {counted(len(bad), 'file')}"
        return REFUSED, SPEC_REFUSED, message, "Fix the files and push; valid documents of other files are in force."
    if not files:
        message = f"no spec lies under `{binding.path or '.'}`"
        if not missing:
            return OUT_OF_SYNC, "NothingFound", message, "Push a spec there, or name another `path`."
        return OUT_OF_SYNC, NOT_DECLARED, f"{message}: {', '.join(missing)} stay as they are", _PUT_BACK
    waiting = [problem.message for problem in problems if problem.code == g.PAIR_WAITS.code]
    if waiting:
        return OUT_OF_SYNC, PAIR_WAITS, "; ".join(waiting), "Nothing, once what it waits for is there: each poll tries."
    if missing:
        message = f"without a file any more, and as they were: {', '.join(missing)}"
        return OUT_OF_SYNC, NOT_DECLARED, message, _PUT_BACK
    names = [counted(sum(len(file.names) for file in files), "cluster")]
    pairs = sum(len(file.pairs) for file in files)
    return SYNCED, SYNCED, ", ".join([*names, *([counted(pairs, "failover")] if pairs else [])]), ""
