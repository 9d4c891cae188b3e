"""`apply`: plan, confirm, and then exactly that plan or nothing."""

from typing import Annotated

import typer

from controlplane.api.presenters.plan_text import plan_lines, summary
from controlplane.api.schemas import commands as command_api, specs as spec_api
from controlplane.cli import exits
from controlplane.cli.errors import CliError, Refused
from controlplane.cli.moments import seconds_of
from controlplane.cli.options import DEFAULT_TIMEOUT, Output, Timeout, Yes
from controlplane.cli.output import Format, document, write_document
from controlplane.cli.plan_file import SavedPlan, moved, moved_lines, saved_plan_in
from controlplane.cli.problems_view import refuse_problems, tell_problems
from controlplane.cli.prompts import confirm
from controlplane.cli.session import Session, session_of
from controlplane.cli.spec_file import SpecFile, read_spec
from controlplane.cli.topics_view import answer_topics
from controlplane.cli.verbs.specs import planned_or_refused
from controlplane.cli.wait_reports import wait_for
from controlplane.cli.waiter import Target
from controlplane.cli.waiting import Converged
from events.quantities import counted

_PlanPath = Annotated[
    str, typer.Argument(metavar="PLAN", show_default=False, help="A plan saved with `kedge plan -o PLAN`.")
]
_File = Annotated[
    str,
    typer.Option("-f", "--file", metavar="FILE", show_default=False, help="The spec; - reads standard input."),
]
_DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Check it on the server and show the result without recording it.")
]
_Wait = Annotated[
    bool, typer.Option("--wait/--detach", help="Wait until it has converged, or return once it is recorded.")
]
_Now = Annotated[
    bool,
    typer.Option("--now", help="Begin at once, outside windows and before earlier stages; as `kedge roll --now`."),
]


def apply(
    context: typer.Context,
    plan_path: _PlanPath = "",
    file: _File = "",
    yes: Yes = False,
    dry_run: _DryRun = False,
    wait: _Wait = False,
    timeout: Timeout = DEFAULT_TIMEOUT,
    message: Annotated[str, typer.Option("-m", "--message", metavar="TEXT", help="Reason, recorded with it.")] = "",
    now: _Now = False,
    output: Output = Format.TEXT,
) -> None:
    """Declare what a file says: plan, question, then that plan.

    Shows the plan and asks; then exactly that plan is recorded, or nothing.

    A confirmed or saved plan is refused if it has changed meanwhile; the message names the difference. With -y the
    file is declared whatever its plan is then. Ctrl-C while waiting only detaches: the server goes on, and the
    command to attach again is printed.

    \b
    Exit codes: 0 recorded (with --wait: converged), 1 refused, not confirmed or failed,
    3 --timeout was up, 4 it needs a person (also: it became a proposal), 130 Ctrl-C.

    \b
    Examples:
      kedge apply -f orders.yaml
      kedge apply -f orders.yaml -y --wait --timeout 30m
      kedge plan -f orders.yaml -o orders.plan && kedge apply orders.plan
      kedge apply -f orders.yaml --dry-run
    """
    session, timeout_s = session_of(context), seconds_of(timeout, option="--timeout")
    spec, saved = _declaration(plan_path, file)
    if dry_run:
        _dry_run(session, spec, message, output)
        return
    planned = planned_or_refused(session, spec)
    if saved is not None:
        _refuse_moved(saved.shown(planned), planned, saved.file)
    _tell_plan(session, planned)
    agreed = _agreed(session, planned, yes=yes)
    order = spec_api.ApplyIn(
        text=spec.text,
        file=spec.name,
        # Nobody judged the plan when -y was given without a saved one: then there is nothing to hold on to.
        plan_digest=saved.digest if saved else planned.digest if agreed else None,
        message=message,
    )
    answer = _recorded(session, order, planned)
    _show(session, answer, output)
    _refuse_proposed(answer)
    if now:
        _begin_at_once(session, answer, message)
    if wait:
        wait_for(session, _targets(answer), timeout_s=timeout_s, is_text=output is Format.TEXT)
        return
    for recorded in answer.applied:
        if recorded.changed:
            session.tell(f"to follow it: kedge wait {recorded.cluster} --for=converged")


def _tell_plan(session: Session, planned: spec_api.PlansOut) -> None:
    for one in planned.plans:
        session.tell_all(*plan_lines(one))
    session.tell_all(*answer_topics(planned))
    for reason in planned.reserved:
        session.tell(f"a second person must approve: {reason}", "yellow")


def _refuse_proposed(answer: spec_api.ApplyOut) -> None:
    if answer.proposal:
        why, then = "; ".join(answer.reserved), f"somebody else: kedge proposal approve {answer.proposal}"
        what = f"a second person must approve: proposal {answer.proposal} is recorded, nothing is declared yet"
        raise CliError(what, why=why, next_step=then, exit_code=exits.BLOCKED)


def _begin_at_once(session: Session, answer: spec_api.ApplyOut, message: str) -> None:
    """What is recorded stays so where nothing waits for a window: that is no failure."""
    for recorded in answer.applied:
        try:
            sentence = session.client.command(
                recorded.cluster, "roll-now", command_api.ReasonIn(reason=message)
            ).sentence
        except Refused as refused:
            if refused.code not in ("no-window", "nothing-left"):
                raise
            sentence = refused.what
        session.tell(sentence)


def _declaration(plan_path: str, file: str) -> tuple[SpecFile, SavedPlan | None]:
    if bool(plan_path) == bool(file):
        what = "give either a saved plan or -f FILE" if not file else "a saved plan brings its own spec: leave out -f"
        raise CliError(what, next_step="kedge apply -f FILE", exit_code=exits.USAGE)
    read = read_spec(plan_path or file)
    saved = saved_plan_in(read)
    if saved is not None:
        return SpecFile(saved.file, saved.spec.encode()), saved
    if plan_path:
        raise CliError("this is not a saved plan", where=plan_path, next_step=f"for a spec: kedge apply -f {plan_path}")
    return read, None


def _dry_run(session: Session, spec: SpecFile, message: str, output: Format) -> None:
    order = spec_api.ApplyIn(text=spec.text, file=spec.name, message=message, dry_run=True)
    answer = session.client.apply(order)
    if not answer.ok:
        raise refuse_problems(session, answer.problems, file=spec.name)
    tell_problems(session, answer.problems)
    for reason in answer.reserved:
        session.tell(f"a second person must approve: {reason}", "yellow")
    if output is Format.TEXT:
        for one in answer.plans:
            session.show(*plan_lines(one))
        session.show(*answer_topics(session.client.plan(spec_api.SpecIn(text=spec.text, file=spec.name))))
        session.tell("dry run: nothing was recorded")
    else:
        write_document(session, output, document("DryRun", answer))


def _agreed(session: Session, planned: spec_api.PlansOut, *, yes: bool) -> bool:
    """Whether this very plan was agreed to; an empty one needs no question. Raises CliError on a no."""
    if all(one.is_empty for one in planned.plans) and not planned.beside:
        return True
    if yes:
        return False
    counts = [summary(planned.plans)] if planned.plans else []
    counts += [counted(len(planned.topics), "topic")] if planned.topics else []
    counts += [counted(len(planned.users), "user")] if planned.users else []
    counts += [counted(len(planned.failovers), "failover")] if planned.failovers else []
    question = f"Apply this? ({', '.join(counts)})"
    if not confirm(session, question, unattended="add -y to apply without asking, or use a terminal"):
        raise CliError("not confirmed, nothing was changed")
    return True


def _recorded(session: Session, order: spec_api.ApplyIn, planned: spec_api.PlansOut) -> spec_api.ApplyOut:
    try:
        answer = session.client.apply(order)
    except Refused as refused:
        if order.plan_digest is not None and refused.status == 409:
            now = session.client.plan(spec_api.SpecIn(text=order.text, file=order.file))
            _refuse_moved(planned, now, order.file)
        raise
    if not answer.ok:
        raise refuse_problems(session, answer.problems, file=order.file)
    return answer


def _refuse_moved(before: spec_api.PlansOut, now: spec_api.PlansOut, file: str) -> None:
    """Raises CliError naming each cluster whose plan is no longer what was agreed to, and in what."""
    current = {plan.cluster: plan for plan in now.plans}
    reasons = []
    for plan in before.plans:
        fresh = current.get(plan.cluster)
        changes = moved(plan, fresh) if fresh else ["it is not planned any more"]
        reasons += [f"{plan.cluster}: {reason}" for reason in changes]
    reasons += [f"topics: {reason}" for reason in moved_lines(before.topics, now.topics)]
    reasons += [f"users: {reason}" for reason in moved_lines(before.users, now.users)]
    reasons += [f"failovers: {reason}" for reason in moved_lines(before.failovers, now.failovers)]
    if not reasons and before.digest != now.digest:
        reasons = [f"what is in force is not what it was ({before.digest} -> {now.digest})"]
    if reasons:
        raise CliError(
            "the plan has moved, nothing was changed",
            why="; ".join(reasons),
            next_step=f"look again: kedge plan -f {file}",
        )


def _show(session: Session, answer: spec_api.ApplyOut, output: Format) -> None:
    if output is not Format.TEXT:
        write_document(session, output, document("Applied", answer))
        return
    for one in answer.applied:
        if not one.changed:
            session.show(f"{one.cluster} unchanged (generation {one.generation})")
        else:
            what = "declared" if one.created else "changed"
            session.show(f"{one.cluster} {what} (generation {one.generation})")
    session.show(*(one.sentence for one in (*answer.topics, *answer.users)))
    session.show(*(one.sentence for one in answer.failovers))


def _targets(answer: spec_api.ApplyOut) -> list[Target]:
    return [Target(one.cluster, Converged(one.generation, one.uid)) for one in answer.applied]
