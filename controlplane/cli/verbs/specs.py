"""Verbs that read a spec file and change nothing: validate, plan, diff."""

from pathlib import Path
from typing import Annotated

import typer

from controlplane.api.presenters.plan_text import change_line, plan_lines
from controlplane.api.schemas import specs as spec_api
from controlplane.cli import exits
from controlplane.cli.errors import CliError
from controlplane.cli.options import Output, SpecPath
from controlplane.cli.output import Format, document, write_document
from controlplane.cli.plan_file import save_plan
from controlplane.cli.problems_view import problem_lines, refuse_problems, tell_problems
from controlplane.cli.session import Session, session_of
from controlplane.cli.spec_file import SpecFile, read_spec
from controlplane.cli.topics_view import answer_topics
from controlplane.runtime.styled_text import styled
from events.quantities import counted


def validate(
    context: typer.Context,
    files: Annotated[list[str] | None, typer.Argument(metavar="FILE", show_default=False, help="Spec files.")] = None,
    file: Annotated[
        list[str] | None,
        typer.Option("-f", "--file", metavar="FILE", show_default=False, help="A spec; - reads standard input."),
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Check the file without a server. For hooks and editors.")
    ] = False,
    output: Output = Format.TEXT,
) -> None:
    """Check spec files: every problem, its place and its fix.

    Exit codes: 0 no errors (warnings are allowed), 1 errors.

    \b
    Examples:
      kedge validate -f orders.yaml
      kedge validate --offline specs/*.yaml     # as a pre-commit hook
      kedge validate -f orders.yaml -o json | jq '.problems[].code'
    """
    session = session_of(context)
    names = [*(files or []), *(file or [])]
    if not names:
        raise CliError("no file was given", next_step="kedge validate -f FILE", exit_code=exits.USAGE)
    answers = [_offline(read_spec(name)) if offline else _validated(session, read_spec(name)) for name in names]
    whole = spec_api.ValidateOut(
        ok=all(answer.ok for answer in answers),
        clusters=[cluster for answer in answers for cluster in answer.clusters],
        topics=[topic for answer in answers for topic in answer.topics],
        users=[user for answer in answers for user in answer.users],
        failovers=[pair for answer in answers for pair in answer.failovers],
        problems=[problem for answer in answers for problem in answer.problems],
    )
    if output is Format.TEXT:
        _show_validation(session, whole, files=len(names))
    else:
        write_document(session, output, document("Validation", whole))
    if not whole.ok:
        raise typer.Exit(exits.FAILED)


def plan(
    context: typer.Context,
    file: SpecPath,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", show_default=False, help="Save the plan for `kedge apply FILE`."),
    ] = None,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 2 if there are changes.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write the plan to stdout as JSON.")] = False,
) -> None:
    """Show what applying a file would do. Changes nothing.

    Which VMs, in which order, why, bytes to move, time.

    \b
    Exit codes: 0 planned, 1 refused or failed;
    with --detailed-exitcode 0 nothing to do, 1 refused or failed, 2 something to do.

    \b
    Examples:
      kedge plan -f orders.yaml
      kedge plan -f orders.yaml -o orders.plan && kedge apply orders.plan
      kedge plan -f orders.yaml --detailed-exitcode   # in CI: 2 asks for a review
    """
    session = session_of(context)
    spec = read_spec(file)
    planned = planned_or_refused(session, spec)
    if as_json:
        write_document(session, Format.JSON, document("Plans", planned))
    else:
        for one in planned.plans:
            session.show(*plan_lines(one))
        session.show(*answer_topics(planned))
    if out is not None:
        save_plan(out, spec, planned, now=session.around.utc_now())
        session.tell(f"saved to {out}; to do exactly this: kedge apply {out}")
    if detailed_exitcode and (planned.beside or not all(one.is_empty for one in planned.plans)):
        raise typer.Exit(exits.CHANGES)


def diff(context: typer.Context, file: SpecPath, output: Output = Format.TEXT) -> None:
    """Compare a file with what is declared, field by field.

    Changes nothing.

    Exit codes: 0 the same, 1 it differs, 2 it could not be told.

    \b
    Examples:
      kedge diff -f orders.yaml
      kedge diff -f orders.yaml -o json | jq -r '.clusters[].changes[].path'
    """
    session = session_of(context)
    try:
        planned = planned_or_refused(session, read_spec(file))
    except CliError as error:
        error.exit_code = exits.DIFF_FAILED
        raise
    different = [one for one in planned.plans if one.changes or not one.exists]
    if output is Format.TEXT:
        _show_differences(session, different)
    else:
        write_document(session, output, document("Diff", {"clusters": [_difference(one) for one in planned.plans]}))
    if different:
        raise typer.Exit(exits.DIFFERS)


def planned_or_refused(session: Session, spec: SpecFile) -> spec_api.PlansOut:
    """The plans of a file, its warnings told. Raises CliError, its problems told, when the spec is refused."""
    planned = session.client.plan(spec_api.SpecIn(text=spec.text, file=spec.name))
    if not planned.ok:
        raise refuse_problems(session, planned.problems, file=spec.name)
    tell_problems(session, planned.problems)
    return planned


def _validated(session: Session, spec: SpecFile) -> spec_api.ValidateOut:
    return session.client.validate(spec_api.SpecIn(text=spec.text, file=spec.name))


def _offline(spec: SpecFile) -> spec_api.ValidateOut:
    from events.spec.document import load_documents

    loaded = load_documents(spec.content, file=spec.name, takes_pairs=True)
    return spec_api.ValidateOut(
        ok=loaded.ok,
        clusters=[found.metadata.name for found in loaded.documents],
        topics=[f"{found.spec.cluster}/{found.topic}" for found in loaded.topics],
        users=[f"{found.spec.cluster}/{found.user}" for found in loaded.users],
        failovers=[found.pair for found in loaded.failovers],
        problems=[spec_api.ProblemOut.like(p) for p in loaded.problems],
    )


def _show_validation(session: Session, answer: spec_api.ValidateOut, *, files: int) -> None:
    # The problems are what was asked for: they are data here.
    for problem in answer.problems:
        session.show(*problem_lines(problem))
    errors = sum(problem.severity == "error" for problem in answer.problems)
    warnings = len(answer.problems) - errors
    found = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
    is_beside = answer.topics or answer.users or answer.failovers
    counts = [counted(len(answer.clusters), "cluster")] if answer.clusters or not is_beside else []
    counts += [counted(len(answer.topics), "topic")] if answer.topics else []
    counts += [counted(len(answer.users), "user")] if answer.users else []
    counts += [f"{counted(len(answer.failovers), 'failover')}"] if answer.failovers else []
    names = ", ".join([*answer.clusters, *answer.topics, *answer.users, *answer.failovers])
    sound = f"{', '.join(counts)} in {counted(files, 'file')}: {names}"
    session.tell(f"{sound if answer.ok else counted(files, 'file')}; {found}", "green" if answer.ok else "red")


def _show_differences(session: Session, different: list[spec_api.PlanOut]) -> None:
    if not different:
        session.tell("no difference")
    for one in different:
        what = "" if one.exists else " (not declared yet)"
        session.show(styled(f"{one.cluster}{what}", "bold"), *(change_line(change) for change in one.changes))


def _difference(plan: spec_api.PlanOut) -> dict[str, object]:
    changes = [change.model_dump(mode="json") for change in plan.changes]
    return {
        "cluster": plan.cluster,
        "exists": plan.exists,
        "differs": bool(changes) or not plan.exists,
        "changes": changes,
    }
