"""`kedge rebalance CLUSTER`: the server is asked to do it, or to do no more of it."""

from dataclasses import dataclass

from controlplane.api.schemas import moves as move_api, nodes as node_api
from controlplane.cli import errors, exits, moments, moves_order, state_options, waiter
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
    goals: tuple[str, ...] = ()
    exclude_topics: tuple[str, ...] = ()
    exclude_brokers: tuple[int, ...] = ()


def order_rebalance(
    session: Session, name: str, wanted: RebalanceOrder, *, yes: bool, wait: bool, timeout: str
) -> None:
    """Shows what would move, asks, says what came of it, and watches if wanted. Raises CliError, typer.Exit."""
    timeout_s = moments.seconds_of(timeout, option="--timeout")
    if wanted.cancel:
        answer = session.client.cancel_rebalance(name, node_api.CancelRebalanceIn(reason=wanted.reason))
    else:
        targets, per_day, throttle = list(wanted.onto), wanted.per_day_gib, wanted.throttle_mib_per_s
        goals, topics, brokers = list(wanted.goals), list(wanted.exclude_topics), list(wanted.exclude_brokers)
        planned = move_api.MovesPlanIn(
            kind="rebalance",
            targets=targets,
            per_day_gib=per_day,
            throttle_mib_per_s=throttle,
            goals=goals,
            exclude_topics=topics,
            exclude_brokers=brokers,
        )
        found = moves_order.agreed_moves(session, name, planned, yes=yes)
        if not found.changes:
            return  # nothing is recorded, and there is nothing to wait for
        order = node_api.RebalanceIn(
            reason=wanted.reason,
            targets=targets,
            per_day_gib=per_day,
            throttle_mib_per_s=throttle,
            goals=goals,
            exclude_topics=topics,
            exclude_brokers=brokers,
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
        why = "limits and files belong to a plan that is only printed"
        next_step = f"add --dry-run, or leave them out: kedge rebalance {name}"
        raise errors.CliError("these options do not go together", why=why, next_step=next_step, exit_code=exits.USAGE)


def choice_of(
    goals: str, exclude_topics: str, exclude_brokers: list[int] | None
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[int, ...]]:
    """Goals, topics and brokers as a server takes them. Raises CliError."""
    return goals_of(goals), state_options.names_in(exclude_topics), tuple(exclude_brokers or ())


def goals_of(text: str) -> tuple[str, ...]:
    """The goals named, for a server: it has each with its usual tolerance. Raises CliError for another one."""
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    special = next((name for name in names if "=" in name or name.endswith("!")), "")
    if special:
        why = f"`{special}`: a server takes goals with their usual tolerance and hardness"
        next_step = "leave `=T` and `!` out, or add --dry-run to plan and print"
        raise errors.CliError("these options do not go together", why=why, next_step=next_step, exit_code=exits.USAGE)
    return names


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
