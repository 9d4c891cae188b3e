"""Verbs for single nodes: restart, restart-check, replace. The commands wait for the same gates as a roll."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from controlplane.api.schemas import commands as command_api, moves as move_api, nodes as node_api
from controlplane.cli import exits
from controlplane.cli.errors import CliError
from controlplane.cli.moves_order import agreed_moves
from controlplane.cli.options import Cluster, Output, Reason, Throttle, Yes
from controlplane.cli.output import Format, document, show_answer, show_or_write
from controlplane.cli.previewed_order import preview_first
from controlplane.cli.session import session_of
from controlplane.cli.tables import listing
from controlplane.runtime.quantities import human_seconds
from controlplane.runtime.styled_text import styled
from events.quantities import counted

_NAMED = 20
"""Partitions listed for one service; of the others only how many."""

Broker = Annotated[
    int | None, typer.Option("--broker", metavar="ID", show_default=False, help="The broker with this id.")
]

Brokers = Annotated[
    list[int],
    typer.Option("--broker", metavar="ID", show_default=False, help="A broker by its id. Repeatable."),
]


def restart(
    context: typer.Context,
    cluster: Cluster,
    rolling: Annotated[
        bool,
        typer.Option("--rolling", help="All services, or those of --pool: one at a time, the active controller last."),
    ] = False,
    broker: Annotated[
        list[int] | None,
        typer.Option("--broker", metavar="ID", show_default=False, help="Only this broker. Repeatable."),
    ] = None,
    pool: Annotated[
        str, typer.Option("--pool", metavar="NAME", show_default=False, help="Only services of this pool.")
    ] = "",
    reason: Reason = "",
    output: Output = Format.TEXT,
) -> None:
    """Restart services in place, one at a time.

    Each waits until the one before is back in every ISR, leadership is given back, and no partition would fall below
    its min ISR. Needs --rolling, or the brokers by id.

    \b
    Examples:
      kedge restart orders --rolling --reason "new certificates"
      kedge restart orders --rolling --pool controllers
      kedge restart orders --broker 1001 && kedge wait orders --for=converged
    """
    if rolling == bool(broker):
        why = "name the brokers, or say --rolling for all services" if not rolling else "--rolling means all brokers"
        raise CliError(
            "nothing was requested", why=why, next_step=f"kedge restart {cluster} --rolling", exit_code=exits.USAGE
        )
    session = session_of(context)
    order = node_api.RestartIn(reason=reason, brokers=list(broker or ()), pool=pool)
    show_answer(session, session.client.restart(cluster, order), output)
    session.tell(f"to follow it: kedge wait {cluster} --for=converged; to end it early: kedge abort {cluster}")


def restart_check(
    context: typer.Context, cluster: Cluster, broker: Broker = None, output: Output = Format.TEXT
) -> None:
    """Check whether services may be restarted now.

    The server makes the same check before each restart. Partitions that block it are listed.

    Exit codes: 0 each may be restarted now, 1 at least one may not.

    \b
    Examples:
      kedge restart-check orders
      kedge restart-check orders --broker 1001
      kedge restart-check orders -o json | jq '.services[] | select(.safe | not)'
    """
    session = session_of(context)
    found = session.client.restart_check(cluster)
    services = [s for s in found.services if broker is None or (s.service, s.service_id) == ("broker", broker)]
    if broker is not None and not services:
        known = ", ".join(str(s.service_id) for s in found.services if s.service == "broker") or "none"
        raise CliError(f"{cluster} has no broker {broker} that serves", why=f"those that do: {known}")
    chosen = found.model_copy(update={"services": services})
    show_or_write(session, output, document("RestartCheck", chosen), *check_lines(chosen))
    if not all(s.safe for s in services):
        raise typer.Exit(exits.FAILED)


def replace(
    context: typer.Context,
    cluster: Cluster,
    broker: Broker = None,
    node: Annotated[
        str, typer.Option("--node", metavar="NAME", show_default=False, help="The node of this name, a controller too.")
    ] = "",
    new_disk: Annotated[
        bool, typer.Option("--new-disk", help="Replace the disk too, where the strategy would hand it over.")
    ] = False,
    disks: Annotated[
        list[str] | None,
        typer.Option(
            "--disk",
            metavar="DIR",
            show_default=False,
            help="Replace only this disk of a broker with several; its id and other disks are kept. Repeatable.",
        ),
    ] = None,
    reason: Reason = "",
    output: Output = Format.TEXT,
) -> None:
    """Replace the VM of one node.

    As in a roll: the new VM first, then the drain or the handover, then the old VM is deleted. Refused while the
    cluster is unhealthy, unless this node is the cause.

    \b
    Examples:
      kedge replace orders --broker 1001 --reason "slow disk"
      kedge replace orders --node controllers-a-0
      kedge replace orders --broker 1001 --new-disk
      kedge replace orders --broker 1001 --disk data2
    """
    if (broker is None) == (not node):
        why = "name one node, by its broker's id or by its own name"
        next_step = f"kedge replace {cluster} --broker ID"
        raise CliError("nothing was requested", why=why, next_step=next_step, exit_code=exits.USAGE)
    session = session_of(context)
    order = node_api.ReplaceIn(reason=reason, broker=broker, node=node, new_disk=new_disk, disks=disks or [])
    show_answer(session, session.client.replace(cluster, order), output)
    session.tell(f"to follow it: kedge wait {cluster} --for=converged; to end it early: kedge abort {cluster}")


def evacuate(
    context: typer.Context,
    cluster: Cluster,
    brokers: Brokers,
    targets: Annotated[
        list[int] | None,
        typer.Option(
            "--target",
            metavar="ID",
            show_default=False,
            help="Only these receive. Repeatable; without it every other broker may.",
        ),
    ] = None,
    throttle: Throttle = 0,
    reason: Reason = "",
    yes: Yes = False,
    output: Output = Format.TEXT,
) -> None:
    """Empty brokers and keep them empty.

    They stay and serve; their replicas move to other brokers, and Kedge moves nothing to them. Kafka may place new
    topics there: those are moved off again. Refused, with the numbers, if the others have no room.

    The moves are shown first. A confirmation holds for the brokers and replica lists of the plan: if they have
    changed, nothing is recorded.

    \b
    Examples:
      kedge evacuate orders --broker 1001 --reason "strange noises"
      kedge evacuate orders --broker 1001 --target 1005 --target 1006 --throttle-mib-per-s 20
      kedge evacuate orders --broker 1001 --broker 1004 --yes && kedge wait orders --for=converged
      kedge drain plan --cluster orders --brokers 1001     # what would be moved
    """
    session = session_of(context)
    takers = targets or []
    wanted = move_api.MovesPlanIn(kind="drain", brokers=brokers, targets=takers, throttle_mib_per_s=throttle)
    found = agreed_moves(session, cluster, wanted, yes=yes, aside=output is not Format.TEXT)
    order = move_api.EvacuateIn(
        brokers=brokers, reason=reason, targets=takers, throttle_mib_per_s=throttle, digest=found.digest
    )
    show_answer(session, session.client.evacuate(cluster, order), output)
    first = f"kedge readmit {cluster} --broker {brokers[0]}"
    session.tell(f"to follow it: kedge wait {cluster} --for=converged; to take it back: {first}")


def readmit(
    context: typer.Context, cluster: Cluster, brokers: Brokers, reason: Reason = "", output: Output = Format.TEXT
) -> None:
    """Let evacuated brokers receive replicas again.

    Nothing is moved back by itself: kedge rebalance plans that.

    \b
    Examples:
      kedge readmit orders --broker 1001
    """
    session = session_of(context)
    show_answer(session, session.client.readmit(cluster, node_api.BrokersIn(brokers=brokers, reason=reason)), output)


def fix_offline(
    context: typer.Context,
    cluster: Cluster,
    brokers: Brokers,
    reason: Reason = "",
    yes: Yes = False,
    output: Output = Format.TEXT,
) -> None:
    """Make replicas of brokers that do not serve anew on others.

    For brokers that do not come back, or not soon: Kedge itself gives a lost VM a successor, and waits for one that is
    away. Of a broker that serves, what is in log directories that Kafka has taken offline is made anew.

    Each replica is copied from one in sync to a broker that lacks it; zones are kept. What has no replica in sync
    stays: only the broker itself can bring it back. It ends when no replica is on them, or they serve again; what was
    moved by then stays where it is.

    What would be done is shown first, and asked about.

    \b
    Examples:
      kedge fix-offline orders --broker 1001 --reason "the host burned"
    """
    session = session_of(context)

    def send(*, dry_run: bool) -> command_api.CommandOut:
        order = node_api.FixOfflineIn(brokers=brokers, reason=reason, dry_run=dry_run)
        return session.client.fix_offline(cluster, order)

    show_answer(session, preview_first(session, cluster, send, yes=yes), output)
    session.tell(f"to follow it: kedge describe {cluster}, condition Misplaced")


def demote(
    context: typer.Context, cluster: Cluster, brokers: Brokers, reason: Reason = "", output: Output = Format.TEXT
) -> None:
    """Take leadership off brokers, and keep it off them.

    They go last in the replica lists they head; no byte is copied, and their replicas stay. It holds until kedge
    undemote, through rolls (the next VM of the node takes it over), preferred elections and rebalances. A partition
    that no other replica in sync could lead stays, and is counted in the answer.

    kedge brokers demote plans the same for a state file and prints it.

    \b
    Examples:
      kedge demote orders --broker 1001 --reason "a slow disk"
      kedge demote orders --broker 1001 --broker 1004 && kedge wait orders --for=converged
    """
    session = session_of(context)
    show_answer(session, session.client.demote(cluster, node_api.BrokersIn(brokers=brokers, reason=reason)), output)
    session.tell(f"to take it back: kedge undemote {cluster} --broker {brokers[0]}")


def undemote(
    context: typer.Context, cluster: Cluster, brokers: Brokers, reason: Reason = "", output: Output = Format.TEXT
) -> None:
    """Let demoted brokers lead again; they get their share of leaders back.

    One that is demoted as it is slow stays so until it is as fast as the others: kedge anomalies shows it.

    \b
    Examples:
      kedge undemote orders --broker 1001
    """
    session = session_of(context)
    show_answer(session, session.client.undemote(cluster, node_api.BrokersIn(brokers=brokers, reason=reason)), output)


def check_lines(found: node_api.RestartCheckOut) -> Iterator[RenderableType]:
    """A line a service, then the partitions that are in somebody's way, each once."""
    rows = [_row(service) for service in found.services]
    yield listing(["SERVICE", "INSTANCE", "RACK", "NOW", "WHY"], rows)
    blocking = {(b.topic, b.partition): b for s in found.services for b in s.blocking}
    if blocking:
        yield Text()
        yield listing(
            ["PARTITION", "ISR", "OF", "MIN ISR", "WHY"], [_partition_row(b) for b in _first(blocking.values())]
        )
        if len(blocking) > _NAMED:
            yield styled(f"and {counted(len(blocking) - _NAMED, 'partition')} more", "dim")
    for step in dict.fromkeys(s.next for s in found.services if s.next):
        yield styled(f"next: {step}", "bold")
    yield styled(f"by metadata read {human_seconds(round(found.metadata_age_s))} ago", "dim")


def _row(service: node_api.RestartSafetyOut) -> Sequence[Text | str]:
    word = styled("safe", "green") if service.safe else styled("not now", "red")
    return f"{service.service} {service.service_id}", service.key, service.rack, word, service.reason


def _partition_row(blocking: node_api.BlockingPartitionOut) -> Sequence[Text | str]:
    isr, replicas = (", ".join(map(str, ids)) or "none" for ids in (blocking.isr, blocking.replicas))
    return f"{blocking.topic}-{blocking.partition}", isr, replicas, str(blocking.min_isr), blocking.why


def _first(blocking: Iterable[node_api.BlockingPartitionOut]) -> list[node_api.BlockingPartitionOut]:
    return sorted(blocking, key=lambda b: (b.topic, b.partition))[:_NAMED]
