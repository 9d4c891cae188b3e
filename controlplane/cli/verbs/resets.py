"""`kedge reset-offsets`: where a consumer group goes on reading, put elsewhere; wishes are named as in Kafka's tool."""

from typing import Annotated

import typer

from controlplane.api.schemas import resets as reset_api
from controlplane.cli import errors, exits, groups_view, moments, options, prompts
from controlplane.cli.output import Format, document, show_or_write
from controlplane.cli.session import Session, session_of
from controlplane.cli.verbs.groups import Group

_Topic = Annotated[
    list[str] | None,
    typer.Option(
        "--topic",
        metavar="TOPIC[:N,N]",
        show_default=False,
        help="Only this topic, or these partitions of it. Repeatable.",
    ),
]
_ToDatetime = Annotated[
    str,
    typer.Option(
        "--to-datetime",
        metavar="WHEN",
        show_default=False,
        help="To the first record at or after a time, or after a duration ago, as in 2h.",
    ),
]
_ToOffset = Annotated[
    int | None, typer.Option("--to-offset", metavar="N", min=0, show_default=False, help="To this offset.")
]
_ShiftBy = Annotated[
    int | None,
    typer.Option(
        "--shift-by", metavar="N", show_default=False, help="Shift by this number of records; negative goes back."
    ),
]


def reset_offsets(
    context: typer.Context,
    cluster: options.Cluster,
    name: Group,
    topic: _Topic = None,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="To the beginning of each log.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="To the end of each log.")] = False,
    to_datetime: _ToDatetime = "",
    to_offset: _ToOffset = None,
    shift_by: _ShiftBy = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the changes and exit.")] = False,
    yes: options.Yes = False,
    reason: options.Reason = "",
    output: options.Output = Format.TEXT,
) -> None:
    """Reset the offsets of a consumer group.

    Shows each offset before and after, and how many records are read again or skipped. A confirmation holds for
    exactly that plan: if the group has moved, or has members, nothing is recorded. An offset outside its log
    becomes the log's beginning or end, as with Kafka's own tool.

    Exit codes: 0 done, or nothing to do; 1 refused, or some offsets stayed as they were.

    \b
    Examples:
      kedge reset-offsets orders billing --to-earliest --dry-run
      kedge reset-offsets orders billing --topic payments --to-datetime 2h --reason "bad release"
      kedge reset-offsets orders billing --topic payments:0,1 --shift-by -1000
    """
    session = session_of(context)
    wanted = _wish(session, name, topic or [], to_earliest, to_latest, to_datetime, to_offset, shift_by)
    plan = session.client.plan_reset(cluster, wanted)
    if dry_run or not plan.changes:
        _shown(session, plan, output)
        return
    for line in groups_view.reset_lines(plan):
        session.err.print(line) if output is not Format.TEXT else session.show(line)
    if plan.refused:
        then = f"stop its consumers, wait until they have left (kedge group {cluster} {name}), and ask again"
        raise errors.CliError("nothing was changed", why=plan.refused, next_step=then)
    if not yes and not prompts.confirm(
        session, f"Reset these offsets of {name}?", unattended="add -y, or use a terminal"
    ):
        raise errors.CliError("not confirmed, nothing was changed")
    offsets = [reset_api.OffsetIn(**c.model_dump(include=set(reset_api.OffsetIn.model_fields))) for c in plan.changes]
    done = session.client.reset_offsets(cluster, reset_api.ResetIn(group=name, offsets=offsets, reason=reason))
    show_or_write(session, output, document("OffsetReset", done), done.sentence)
    if done.refused:
        raise typer.Exit(exits.FAILED)


def _shown(session: Session, plan: reset_api.ResetPlanOut, output: Format) -> None:
    show_or_write(session, output, document("OffsetResetPlan", plan), *groups_view.reset_lines(plan))


def _wish(
    session: Session,
    group: str,
    topics: list[str],
    to_earliest: bool,
    to_latest: bool,
    to_datetime: str,
    to_offset: int | None,
    shift_by: int | None,
) -> reset_api.ResetPlanIn:
    """Raises CliError unless exactly one wish was named, and for partitions that are no numbers."""
    wishes = {
        "earliest": to_earliest,
        "latest": to_latest,
        "time": bool(to_datetime),
        "offset": to_offset is not None,
        "shift": shift_by is not None,
    }
    named = [to for to, is_named in wishes.items() if is_named]
    if len(named) != 1:
        why = "exactly one of --to-earliest, --to-latest, --to-datetime, --to-offset and --shift-by is needed"
        raise errors.CliError("no target was given", why=why, exit_code=exits.USAGE)
    now = session.around.utc_now()
    at = moments.moment_ago(to_datetime, now=now, option="--to-datetime") if to_datetime else None
    whole = [t for t in topics if ":" not in t]
    parts = [p for t in topics if ":" in t for p in _partitions(t)]
    number = to_offset if to_offset is not None else shift_by or 0
    return reset_api.ResetPlanIn.model_validate(
        {"group": group, "to": named[0], "at": at, "number": number, "topics": whole, "partitions": parts}
    )


def _partitions(text: str) -> list[reset_api.PartitionIn]:
    topic, _, numbers = text.partition(":")
    found = numbers.split(",")
    if not topic or not all(n.isascii() and n.isdigit() for n in found):
        then = "write a topic, or a topic and its partitions as in payments:0,1"
        raise errors.CliError(f"`{text}` names no partitions", where="--topic", next_step=then, exit_code=exits.USAGE)
    return [reset_api.PartitionIn(topic=topic, partition=int(n)) for n in found]
