"""`kedge chaos`: faults on purpose, bounded in time, recorded before they are brought about; and whole game days."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import RenderableType

from controlplane.cli import exits
from controlplane.cli.chaos_game import FAULTS, KNOWN, EventReport, Game, GameReport
from controlplane.cli.errors import CliError
from controlplane.cli.moments import seconds_of
from controlplane.cli.options import Cluster, Output, Reason
from controlplane.cli.output import Format, document, write_document
from controlplane.cli.session import Session, session_of
from controlplane.cli.tables import listing
from controlplane.cli.terminal import styled
from controlplane.portal import chaosschemas as chaos_api

GAME = "game"

_Fault = Annotated[
    str,
    typer.Argument(
        metavar="FAULT",
        help="kill-broker, kill-zookeeper, kill-agent, kill-vm, kill-rack, pause, lose-volume, full-disk, slow-disk, "
        "split, packet-loss; or game.",
        show_default=False,
    ),
]
_Vms = Annotated[
    list[str] | None,
    typer.Option("--vm", metavar="VM", show_default=False, help="A VM by its key or its node. May be given again."),
]
_Rack = Annotated[
    str, typer.Option("--rack", metavar="RACK", show_default=False, help="Every VM of it that suits the fault.")
]
_For = Annotated[
    str,
    typer.Option("--for", metavar="DURATION", help="How long it lasts; of a game: the time in which faults begin."),
]
_Several = Annotated[bool, typer.Option("--several-racks", help="VMs of more than one rack at once.")]
_Force = Annotated[bool, typer.Option("--force", help="Though the cluster is not in full health.")]
_Confirm = Annotated[
    str,
    typer.Option("--confirm", metavar="NAME", show_default=False, help="The cluster's name, off the local cloud."),
]
_CutFrom = Annotated[
    str, typer.Option("--from", metavar="WHOM", help="Of a split: everyone, brokers (the others) or control-plane.")
]
_Way = Annotated[str, typer.Option("--way", metavar="WAY", help="Of split and packet-loss: both, in or out.")]
_Loss = Annotated[float, typer.Option("--loss", metavar="PERCENT", help="Of packet-loss: packets that are dropped.")]
_Rate = Annotated[
    float, typer.Option("--mib-per-s", metavar="MIB", help="Of slow-disk: what it still reads and writes.")
]
_Events = Annotated[int, typer.Option("--events", min=1, max=1000, help="Of a game: how many faults.")]
_Faults = Annotated[
    str,
    typer.Option(
        "--faults", metavar="FAULTS", show_default=", ".join(FAULTS), help="Of a game: what is drawn from, with commas."
    ),
]
_Seed = Annotated[int, typer.Option("--seed", help="Of a game: the same seed draws the same faults.")]


def chaos(
    context: typer.Context,
    cluster: Cluster,
    fault: _Fault,
    vm: _Vms = None,
    rack: _Rack = "",
    lasts: _For = "60s",
    several_racks: _Several = False,
    force: _Force = False,
    confirm: _Confirm = "",
    cut_from: _CutFrom = "everyone",
    way: _Way = "both",
    loss: _Loss = 20.0,
    mib_per_s: _Rate = 1.0,
    events: _Events = 5,
    seed: _Seed = 0,
    faults: _Faults = "",
    reason: Reason = "",
    output: Output = Format.TEXT,
) -> None:
    """Bring about a fault on purpose.

    Recorded before it is done, so that the history knows the cause of what follows. Refused while the cluster is not in
    full health, and for more than one rack at once. On the local cloud every fault may be had; elsewhere only kill-vm
    and kill-rack, only where the spec says `chaos: allowed`, and with the cluster's name typed out.

    `game` draws a series of faults, waits for full health between, and ends with a report.

    Exit codes: 0 done, 1 refused, or a fault of the game did not heal.

    \b
    Examples:
      kedge chaos orders kill-broker --vm brokers-a-0
      kedge chaos orders pause --vm brokers-b-0 --for 30s
      kedge chaos orders split --vm brokers-a-0 --from brokers --way out --for 60s
      kedge chaos orders packet-loss --rack a --loss 20 --for 2m
      kedge chaos orders slow-disk --vm brokers-c-0 --mib-per-s 2 --for 60s
      kedge chaos orders game --events 5 --seed 7 --for 10m -o json
      kedge chaos orders game --faults split,packet-loss,kill-broker
    """
    session = session_of(context)
    seconds = seconds_of(lasts, option="--for")
    if fault == GAME:
        _play(session, cluster, events, seed, seconds, _drawn_from(faults, confirm), confirm, force, output)
        return
    if not rack and fault != "kill-rack" and not vm:
        why = f"{fault} needs a VM"
        raise CliError("no VM was named", why=why, next_step=f"kedge describe {cluster}", exit_code=exits.USAGE)
    order = chaos_api.ChaosIn(
        fault=fault,
        for_s=seconds,
        vms=list(vm or ()),
        rack=rack,
        several_racks=several_racks,
        force=force,
        confirm=confirm,
        cut_from=cut_from,
        way=way,
        loss_percent=loss,
        mib_per_s=mib_per_s,
        reason=reason,
    )
    answer = session.client.inject_chaos(cluster, order)
    if output is Format.TEXT:
        session.show(answer.sentence)
    else:
        write_document(session, output, document("Chaos", answer))
    session.tell(f"to see what comes of it: kedge describe {cluster}, kedge events {cluster}")


def _drawn_from(faults: str, confirm: str) -> tuple[str, ...]:
    """Elsewhere than on the local cloud there is one kind. Raises CliError for what is no fault of a game."""
    asked = tuple(f.strip() for f in faults.split(",")) if faults else (("kill-vm",) if confirm else FAULTS)
    strange = [f for f in asked if f not in KNOWN]
    if strange:
        why = f"there are {', '.join(sorted(KNOWN))}"
        raise CliError(f"{strange[0]!r} is no fault of a game", why=why, where="--faults", exit_code=exits.USAGE)
    return asked


def _play(
    session: Session,
    cluster: str,
    events: int,
    seed: int,
    seconds: float,
    faults: tuple[str, ...],
    confirm: str,
    force: bool,
    output: Format,
) -> None:
    game = Game(
        cluster=session.client,
        name=cluster,
        seed=seed,
        sleep=session.around.sleep,
        now=session.around.monotonic,
        tell=session.tell,
        faults=faults,
        confirm=confirm,
        force=force,
    )
    report = game.play(events, seconds)
    if output is Format.TEXT:
        session.show(*report_lines(report))
    else:
        write_document(session, output, document("ChaosGame", report))
    if report.stopped.startswith("not in full health") or any(e.healed_s is None for e in report.events):
        raise typer.Exit(exits.FAILED)


def report_lines(report: GameReport) -> Iterator[RenderableType]:
    """A line a fault, then the quantiles."""
    rows = [_row(e) for e in report.events]
    yield listing(["FAULT", "VM", "NOTICED AFTER", "HEALTHY AFTER", "BELOW MIN ISR", "FIRST SIGN"], rows)
    noticed, healed = (
        f"p50 {_seconds(p50)}, p95 {_seconds(p95)}"
        for p50, p95 in (
            (report.detected_p50_s, report.detected_p95_s),
            (report.healed_p50_s, report.healed_p95_s),
        )
    )
    yield f"noticed {noticed}; healthy {healed}; below min ISR {report.under_min_isr_s:g} s in all; seed {report.seed}"
    if report.stopped:
        yield styled(f"ended early: {report.stopped}", "yellow")


def _row(event: EventReport) -> tuple[str, ...]:
    below = f"{event.under_min_isr_s:g} s"
    return event.fault, event.vm, _seconds(event.detected_s), _seconds(event.healed_s), below, event.first_sign


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:g} s"
