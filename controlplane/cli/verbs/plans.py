"""`kedge plans`: the roll in hand step by step, and those that are over."""

from typing import Annotated

import typer

from controlplane.cli import options, past_view, progress, rolls_view
from controlplane.cli.output import Format, document, write_document
from controlplane.cli.session import session_of


def plans(
    context: typer.Context,
    cluster: options.Cluster,
    last: Annotated[int, typer.Option("--last", metavar="N", min=1, max=200, help="How many rolls, newest first.")] = 5,
    steps: Annotated[bool, typer.Option("--steps", help="Include the steps of ended rolls.")] = False,
    at: options.At = "",
    output: options.Output = Format.TEXT,
) -> None:
    """Show a cluster's rolls: the current one and earlier ones.

    The current rebalance is shown above them.

    For the one in hand each step with its state, reason, since when, and the estimate of what waits. They are read from
    the events, which are kept for ever.

    To hold it: kedge pause. To go on, or to retry what failed: kedge resume. To end it: kedge abort. No step is
    forced past a gate: a topic that may be unavailable is named in the spec (rollout.allowUnavailable).

    \b
    Examples:
      kedge plans orders
      kedge plans orders --last 20 --steps
      kedge plans orders -o json | jq '.rolls[0].steps[] | select(.state == "failed")'
    """
    session = session_of(context)
    found = session.client.rolls(cluster, limit=last, at=at)
    if output is not Format.TEXT:
        write_document(session, output, document("Rolls", found))
        return
    if found.past is not None:
        session.tell(past_view.past_words(found.past))
    if found.rebalance is not None:
        session.show(progress.rebalance_words(found.rebalance))
    if not found.rolls:
        session.tell(f"{cluster} was never rolled")
        return
    now = found.past.at if found.past else session.around.utc_now()
    current = [roll for roll in found.rolls if roll.state in ("running", "waiting")]
    over = [roll for roll in found.rolls if roll.state not in ("running", "waiting")]
    for roll in [*current, *(over if steps else [])]:
        session.show(*rolls_view.roll_lines(roll, now=now, sentence=found.sentence if roll in current else ""))
    if over and not steps:
        session.show(rolls_view.roll_table(over))
    if found.total > len(found.rolls):
        session.tell(f"{found.total - len(found.rolls)} more before: kedge plans {cluster} --last {found.total}")
