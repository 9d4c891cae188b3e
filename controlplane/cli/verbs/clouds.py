"""`kedge cloud`: one command against a cloud, before anybody relies on it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated

import typer

from controlplane.api.schemas import specs as spec_api
from controlplane.cli import exits
from controlplane.cli.cloud_verify.bound import CostBound, cost_bound
from controlplane.cli.cloud_verify.report import VerifyReport
from controlplane.cli.cloud_verify.stages import Ending, StageResult
from controlplane.cli.cloud_verify.trial import TrialCluster
from controlplane.cli.cloud_verify.walk import VerifyRun
from controlplane.cli.errors import CliError
from controlplane.cli.moments import seconds_of
from controlplane.cli.options import Output, Yes
from controlplane.cli.output import Format, document, write_document
from controlplane.cli.problems_view import refuse_problems
from controlplane.cli.progress import RollProgress
from controlplane.cli.prompts import confirm
from controlplane.cli.session import Session, session_of
from controlplane.cli.verbs.doctor import server_findings
from controlplane.runtime.quantities import human_seconds
from events.spec.releases import as_numbers, rolled_here

cloud = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

_UNATTENDED = "add -y to verify without being asked"
_STYLES = {Ending.PASSED: "green", Ending.FAILED: "red", Ending.LEFT_OUT: "yellow", Ending.NOT_REACHED: "dim"}


@cloud.callback()
def root() -> None:
    """Verify a cloud before you rely on it.

    \b
    Examples:
      kedge cloud verify --cloud hetzner --account production --region eu-central --zone fsn1
    """


@cloud.command()
def verify(
    context: typer.Context,
    cloud_name: Annotated[str, typer.Option("--cloud", metavar="NAME", show_default=False, help="Which cloud.")],
    region: Annotated[str, typer.Option("--region", metavar="REGION", show_default=False, help="Where.")],
    zone: Annotated[str, typer.Option("--zone", metavar="ZONE", show_default=False, help="Where in the region.")],
    account: Annotated[
        str, typer.Option("--account", metavar="PROFILE", show_default=False, help="Profile of <cloud>.yaml.")
    ] = "",
    machine: Annotated[str, typer.Option("--machine", metavar="TYPE", help="Of both VMs.")] = "small",
    kafka: Annotated[
        str, typer.Option("--kafka", metavar="VERSION", show_default="the newest", help="Kafka version.")
    ] = "",
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", show_default="verify-CLOUD", help="Of the cluster that is made.")
    ] = "",
    max_cost: Annotated[
        str, typer.Option("--max-cost", metavar="AMOUNT", show_default=False, help="Refuse what may cost more.")
    ] = "",
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="DURATION", help="For the walk, and once more for the deletion.")
    ] = "20m",
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", show_default=False, help="Write a report that may be sent to others."),
    ] = None,
    yes: Yes = False,
    output: Output = Format.TEXT,
) -> None:
    """Verify a cloud with a cluster that is made for it, and deleted.

    One controller and one broker live a whole life there: network, VMs, agents, a broker that serves, disks that grow,
    a replaced broker, a controller whose disk and address pass on, deletion. They are deleted whatever happened; what a
    killed run left the next one deletes first. What it may cost at most is told before anything is made.

    \b
    Exit codes: 0 all passed and nothing is left, 1 a stage failed or something is left,
    130 Ctrl-C (the server goes on deleting).

    \b
    Examples:
      kedge cloud verify --cloud aws --account production --region eu-west-1 --zone eu-west-1a
      kedge cloud verify --cloud hetzner --account production --region eu-central --zone fsn1 --max-cost 1.00 -y
      kedge cloud verify --cloud local --region local-1 --zone a     # on this machine, to see how it goes
    """
    limit_s = seconds_of(timeout, option="--timeout")
    if limit_s <= 0:
        raise CliError("a walk has an end", where="--timeout", next_step="--timeout 20m", exit_code=exits.USAGE)
    version = kafka or max(rolled_here("kraft"), key=as_numbers)
    trial = TrialCluster(name or f"verify-{cloud_name}", cloud_name, account, region, zone, machine, version)
    session = session_of(context)
    told = _verified(session, trial, limit_s, _amount(max_cost), yes=yes)
    if report is not None:
        report.write_text("\n".join(told.lines()) + "\n")
        session.tell(f"written: {report}")
    if output is not Format.TEXT:
        write_document(session, output, document("CloudVerification", told.record()))
    if not told.passed:
        failed = next(one for one in told.results if one.ending is Ending.FAILED)
        raise CliError(f"{trial.cloud} did not pass: {failed.stage}", why=failed.told, next_step=failed.next_step)
    session.tell(f"{trial.cloud} passed, and nothing is left of it", "green")


def _verified(
    session: Session, trial: TrialCluster, limit_s: float, ceiling: Decimal | None, *, yes: bool
) -> VerifyReport:
    """Raises CliError where nothing was made: refused, or not agreed to."""
    began, bound, kedge = session.around.utc_now(), None, session.client.version().version
    walk, progress = _walk(session, trial, limit_s, yes=yes)
    with progress:
        if _prepared(session, walk):
            bound = _agreed_cost(session, trial, limit_s, ceiling, yes=yes)
            _run(session, walk)
    return VerifyReport(kedge, trial, began, bound, walk.results)


def _walk(
    session: Session, trial: TrialCluster, limit_s: float, *, yes: bool
) -> tuple[VerifyRun, AbstractContextManager[RollProgress]]:
    around = session.around
    progress = RollProgress(session.err, animated=session.can_animate, monotonic=around.monotonic)
    walk = VerifyRun(
        session.client,
        trial,
        limit_s,
        examine=lambda: server_findings(session, trial.cloud),
        monotonic=around.monotonic,
        sleep=around.sleep,
        tell=_teller(session),
        watch=progress.show,
        agreed=lambda question: yes or confirm(session, question, unattended=_UNATTENDED),
    )
    return walk, progress


def _teller(session: Session) -> Callable[[StageResult], None]:
    def tell(one: StageResult) -> None:
        word = f"{one.ending:<8} {one.stage}" if one.ending is not Ending.LEFT_OUT else f"{one.ending} {one.stage}"
        session.tell(f"{word} ({human_seconds(one.seconds)}): {one.told}", _STYLES[one.ending])

    return tell


def _prepared(session: Session, walk: VerifyRun) -> bool:
    try:
        return walk.prepare()
    except KeyboardInterrupt:
        session.tell("\nended; nothing was made")
        raise typer.Exit(exits.INTERRUPTED) from None


def _run(session: Session, walk: VerifyRun) -> None:
    try:
        walk.run()
    except KeyboardInterrupt:
        session.tell("\nended; the server deletes what was made. To see it gone:")
        session.tell(f"  kedge wait {walk.trial.name} --for=deleted")
        session.tell("and to have a network that was made for it removed, too: the same command again")
        raise typer.Exit(exits.INTERRUPTED) from None


def _agreed_cost(
    session: Session, trial: TrialCluster, limit_s: float, ceiling: Decimal | None, *, yes: bool
) -> CostBound | None:
    """What it may cost, told and agreed to. Raises CliError: refused by its spec, by the ceiling, or by a no."""
    spec = spec_api.SpecIn(text=trial.text(trial.disk_gib), file=f"{trial.name}.yaml")
    planned = session.client.plan(spec)
    if not planned.ok:
        raise refuse_problems(session, planned.problems, file=spec.file)
    if planned.reserved:
        why = f"a second person must approve it: {'; '.join(planned.reserved)}"
        raise CliError("nothing was made", why=why, next_step="have an exception made for it in the policy")
    bound = cost_bound(planned.plans[0].cost, limit_s=limit_s)
    session.tell(f"cost: {bound}" if bound is not None else "cost: this cloud sells nothing")
    if bound is not None and ceiling is not None:
        _refuse_dear(bound, ceiling)
    question = f"Make the cluster {trial.name} at {trial.cloud}, {trial.region}, and delete it?"
    if not yes and not confirm(session, question, unattended=_UNATTENDED):
        raise CliError("not confirmed, nothing was changed")
    return bound


def _refuse_dear(bound: CostBound, ceiling: Decimal) -> None:
    if bound.exceeds(ceiling):
        raise CliError(f"it may cost more than {ceiling}: {bound}", next_step="a shorter --timeout, or more --max-cost")
    if not bound.is_whole:
        why = f"nobody has a price for {', '.join(bound.unknown)}"
        raise CliError(
            f"it may cost more than {ceiling}", why=why, next_step="kedge machines refresh, or no --max-cost"
        )


def _amount(text: str) -> Decimal | None:
    if not text:
        return None
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise CliError(f"`{text}` is no amount", where="--max-cost", next_step="--max-cost 2.50", exit_code=exits.USAGE)
    return amount
