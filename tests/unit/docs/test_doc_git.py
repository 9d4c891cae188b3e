"""docs/git.md lists all there is: keys of a binding, reasons, codes, limits."""

import ast

from controlplane.background.git_sync import problems
from controlplane.background.git_sync.binding import GitBinding
from controlplane.background.git_sync.child import GitLimits
from tests.unit.docs.doc_pages import ROOT, bare, table_headed, text

PAGE = text("docs/git.md")


def test_every_key_of_a_binding_is_explained_with_its_default() -> None:
    told = {bare(row[0]): row[1].replace("`", "") for row in table_headed(PAGE, "key")}
    assert told == {name: _default(field) for name, field in GitBinding.model_fields.items()}


def _default(field: object) -> str:
    if field.is_required():  # type: ignore[attr-defined]
        return ""
    value = field.default  # type: ignore[attr-defined]
    if value is None:
        return "none"
    return (", ".join(value) if isinstance(value, tuple) else str(value)) or "empty"


def test_every_code_of_a_file_is_in_the_table() -> None:
    told = [(bare(row[0]), row[1]) for row in table_headed(PAGE, "code")]
    assert told == [(kind.code, kind.title) for kind in problems.KINDS]


def test_every_reason_is_explained_and_none_that_is_gone() -> None:
    told = [bare(row[0]) for row in table_headed(PAGE, "reason")]
    assert sorted(told) == sorted(_reasons())


def _reasons() -> set[str]:
    """First arguments of faults, those a message of git is sorted under, and the words of statuses."""
    found = {"NoBinding"}
    for file in sorted((ROOT / "controlplane" / "background" / "git_sync").glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "SourceFault":
                first = node.args[0]
                found |= {first.value} if isinstance(first, ast.Constant) and isinstance(first.value, str) else set()
    from controlplane.background.git_sync import git_faults, outcome, status as source_status
    from controlplane.cluster import spec_source

    found |= {*git_faults.REASONS, outcome.PAIR_WAITS}
    found |= {spec_source.NOT_DECLARED, spec_source.SPEC_REFUSED, spec_source.HISTORY_REWRITTEN}
    return found | {source_status.NOT_POLLED, source_status.HELD_BY_LEADER, source_status.LOOK_FAILED, "NothingFound"}


def test_the_limits_are_those_of_the_code() -> None:
    limits = GitLimits()
    assert f"longer than {limits.seconds:g} s" in PAGE
    assert f"more than {limits.clone_bytes // 2**20} MiB, or more than {limits.files} files" in PAGE
    assert f"{limits.commits:,} commits back" in PAGE
