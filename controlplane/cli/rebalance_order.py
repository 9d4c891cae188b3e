"""`kedge rebalance CLUSTER`: the server is asked to do it, or to do no more of it."""

from dataclasses import dataclass

from controlplane.api.schemas import moves as move_api, nodes as node_api
from controlplane.cli import errors, exits, moments, moves_order, waiter
from controlplane.cli.session import Session
from controlplane.cli.wait_reports import wait_for
from controlplane.cli.waiting import Rebalanced


@dataclass(frozen=True, slots=True)
class RebalanceOrder:
    """What is asked for. `onto` are the brokers that receive, none for all; 0 leaves the throttle as it is."""

    cancel: bool
    reason: str
    onto: tuple[int, ...]
    per_day_gib: int | None
    throttle_mib_per_s: int


def order_rebalance(
    session: Session, name: str, wanted: RebalanceOrder, *, yes: bool, wait: bool, timeout: str
) -> None:
    """Shows what would move, asks, says what came of it, and watches if wanted. Raises CliError, typer.Exit."""
    timeout_s = moments.seconds_of(timeout, option="--timeout")
    if wanted.cancel:
        answer = session.client.cancel_rebalance(name, node_api.CancelRebalanceIn(reason=wanted.reason))
    else:
        targets, per_day, throttle = list(wanted.onto), wanted.per_day_gib, wanted.throttle_mib_per_s
        planned = move_api.MovesPlanIn(
            kind="rebalance", targets=targets, per_day_gib=per_day, throttle_mib_per_s=throttle
        )
        found = moves_order.agreed_moves(session, name, planned, yes=yes)
        if not found.changes:
            return  # nothing is recorded, and there is nothing to wait for
        order = node_api.RebalanceIn(
            reason=wanted.reason,
            targets=targets,
            per_day_gib=per_day,
            throttle_mib_per_s=throttle,
            digest=found.digest,
        )
        answer = session.client.rebalance(name, order)
    session.show(answer.sentence)
    if wait:
        uid = session.client.cluster(name).uid
        wait_for(session, [waiter.Target(name, Rebalanced(uid))], timeout_s=timeout_s, is_text=True)
    elif not wanted.cancel:
        session.tell(f"to see how far it is: kedge describe {name}; to end it early: kedge rebalance {name} --cancel")


def refuse_plan_options(name: str, given: bool) -> None:
    """Options of a plan that is only printed say nothing to the server."""
    if given:
        why = "goals, limits and files belong to a plan that is only printed; the server uses all goals"
        next_step = f"add --dry-run, or leave them out: kedge rebalance {name}"
        raise errors.CliError("these options do not go together", why=why, next_step=next_step, exit_code=exits.USAGE)


def refuse_order_options(given: bool) -> None:
    """What is only asked of the server says nothing to a plan."""
    if given:
        why = (
            "--cancel, --wait, --yes, --per-day-gib, --throttle-mib-per-s and --reason are for a cluster that is "
            "rebalanced by its server"
        )
        raise errors.CliError(
            "these options do not go together",
            why=why,
            next_step="kedge rebalance CLUSTER, without --dry-run, --state and --cluster",
            exit_code=exits.USAGE,
        )
