"""Verbs that steer a cluster: pause, resume, abort, delete. Each records a command; the server carries it out."""

from typing import Annotated

import typer

from controlplane.api.schemas import clusters as api, commands as command_api
from controlplane.cli import exits
from controlplane.cli.errors import CliError
from controlplane.cli.moments import moment_of
from controlplane.cli.options import Cluster, Output, Reason, Yes
from controlplane.cli.output import Format, show_answer
from controlplane.cli.prompts import typed_name
from controlplane.cli.session import Session, session_of
from events.quantities import counted


def pause(
    context: typer.Context,
    cluster: Cluster,
    reason: Reason = "",
    until: Annotated[
        str,
        typer.Option(
            "--until", metavar="WHEN", show_default=False, help="A duration or an ISO time after which it resumes."
        ),
    ] = "",
    output: Output = Format.TEXT,
) -> None:
    """Begin no new step on a cluster.

    The step in hand is finished.

    \b
    Examples:
      kedge pause orders --reason "release day"
      kedge pause orders --until 2h
      kedge pause orders --until 2026-01-31T18:00:00+01:00
    """
    session = session_of(context)
    then = moment_of(until, now=session.around.utc_now(), option="--until") if until else None
    _command(session, cluster, "pause", command_api.ReasonIn(reason=reason, until=then), output)
    session.tell(f"to go on: kedge resume {cluster}")


def resume(context: typer.Context, cluster: Cluster, reason: Reason = "", output: Output = Format.TEXT) -> None:
    """Go on after a pause, an abort, or too many failures.

    \b
    Examples:
      kedge resume orders
      kedge resume orders --reason "quota raised" && kedge wait orders --for=converged
    """
    _command(session_of(context), cluster, "resume", command_api.ReasonIn(reason=reason), output)


def roll(
    context: typer.Context,
    cluster: Cluster,
    now: Annotated[
        bool, typer.Option("--now", help="Begin at once, outside windows and before earlier stages.")
    ] = False,
    reason: Reason = "",
    output: Output = Format.TEXT,
) -> None:
    """Begin at once what waits for a window or for earlier stages.

    It covers the rest of the generation in force: its roll, restarts, evacuations, a rebalance. Gates, the fleet's
    limits and freezes still apply. The permission is recorded, and ends when the generation is reached or another
    is declared.

    \b
    Examples:
      kedge roll orders --now --reason "the fix cannot wait"
      kedge describe orders                     # says what it waits for
    """
    if not now:
        why = "Kedge rolls by itself, inside the windows of the spec"
        raise CliError("nothing was changed", why=why, next_step=f"kedge roll {cluster} --now", exit_code=exits.USAGE)
    _command(session_of(context), cluster, "roll-now", command_api.ReasonIn(reason=reason), output)


def abort(context: typer.Context, cluster: Cluster, reason: Reason = "", output: Output = Format.TEXT) -> None:
    """End a roll after the broker in hand.

    The cluster then stays paused, healthy, with both versions. Applying the old spec rolls back, until feature
    levels are finalised.

    \b
    Examples:
      kedge abort orders --reason "latency doubled"
      kedge apply -f orders-before.yaml && kedge resume orders     # and back
    """
    session = session_of(context)
    _command(session, cluster, "abort", command_api.ReasonIn(reason=reason), output)
    session.tell(f"it is paused then; to roll back apply the old spec, and: kedge resume {cluster}")


def delete(
    context: typer.Context,
    cluster: Cluster,
    confirm: Annotated[
        str,
        typer.Option("--confirm", metavar="NAME", show_default=False, help="The cluster's name, to skip the question."),
    ] = "",
    reason: Reason = "",
    despite_freeze: Annotated[
        bool, typer.Option("--despite-freeze", help="Destroy its VMs even if the cluster is frozen.")
    ] = False,
    yes: Yes = False,
    output: Output = Format.TEXT,
) -> None:
    """Delete a cluster for good.

    Asks for its name to be typed; -y alone is not enough.

    The spec decides about VMs and disks: `deletionPolicy: retain` keeps them, `destroy` destroys them. In a freeze
    nothing is destroyed without --despite-freeze.

    \b
    Examples:
      kedge delete orders
      kedge delete orders --confirm orders --reason "moved to orders-eu"
      kedge wait orders --for=deleted
    """
    session = session_of(context)
    detail = session.client.cluster(cluster)
    for line in _what_is_lost(detail):
        session.tell(line, "bold")
    by_hand = f"kedge delete {cluster} --confirm {cluster}"
    if yes and not confirm:
        why = "deleting a cluster needs its name, -y alone is not enough"
        raise CliError("not confirmed, nothing was changed", why=why, next_step=by_hand)
    typed = confirm or typed_name(session, f"Type the name of the cluster to delete it ({cluster})", unattended=by_hand)
    if typed != cluster:
        raise CliError("not confirmed, nothing was changed", why=f"`{typed}` is not `{cluster}`", next_step=by_hand)
    order = command_api.DeleteIn(confirm=typed, reason=reason, despite_freeze=despite_freeze)
    answer = session.client.delete(cluster, order)
    show_answer(session, answer, output)
    if answer.proposal:
        session.tell(f"somebody else: kedge proposal approve {answer.proposal}")
        return
    session.tell(f"to wait for its deletion: kedge wait {cluster} --for=deleted")


def _command(session: Session, cluster: str, verb: str, reason: command_api.ReasonIn, output: Format) -> None:
    show_answer(session, session.client.command(cluster, verb, reason), output)


def _what_is_lost(detail: api.ClusterDetailOut) -> list[str]:
    alive = sum(instance.phase != "retired" for instance in detail.instances)
    spec = detail.document.get("spec")
    policy = spec.get("deletionPolicy", "retain") if isinstance(spec, dict) else "retain"
    fate = (
        "are destroyed with all their data" if policy == "destroy" else "stay where they are and are no longer managed"
    )
    return [f"{detail.name} has {counted(alive, 'VM')}; deletionPolicy is `{policy}`: VMs and disks {fate}"]
