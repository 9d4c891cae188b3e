"""Verbs of freezes: declare one, list them, end one before its time."""

from typing import Annotated

import typer
from pydantic import ValidationError

from controlplane.api.schemas import freezes as api
from controlplane.cli import completion, errors, exits, freeze_view, moments, options
from controlplane.cli.output import Format, document, show_or_write, write_document
from controlplane.cli.session import Session, session_of

Why = Annotated[
    str, typer.Option("--reason", metavar="TEXT", show_default=False, help="Reason, recorded and shown to others.")
]

Silence = Annotated[bool, typer.Option("--silence", help="Keep notices back until it ends, but critical ones.")]
Label = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="KEY=VALUE", show_default=False, help="Clusters that carry all of these."),
]


def freeze(
    context: typer.Context,
    until: Annotated[
        str,
        typer.Option("--until", metavar="WHEN", show_default=False, help="A duration or an ISO time, 30 days at most."),
    ],
    reason: Why,
    cluster: Annotated[
        list[str] | None,
        typer.Option(
            "--cluster",
            metavar="NAME",
            show_default=False,
            help="This cluster; may be repeated.",
            autocompletion=completion.cluster_names,
        ),
    ] = None,
    team: Annotated[
        list[str] | None,
        typer.Option("--team", metavar="TEAM", show_default=False, help="Clusters of this owner; may be repeated."),
    ] = None,
    label: Label = None,
    everything: Annotated[bool, typer.Option("--all", help="The whole fleet.")] = False,
    silence: Silence = False,
    output: options.Output = Format.TEXT,
) -> None:
    """Hold everything that can wait on clusters until a time.

    Work in hand is finished, and repairs never wait. A freeze ends at its time, or with `kedge thaw`.

    \b
    Examples:
      kedge freeze --cluster orders --until 4h --reason "audit"
      kedge freeze --cluster orders --until 2h --silence --reason "load test"
      kedge freeze --team payments --label stage=production --until 2d --reason "release"
      kedge freeze --all --until 2026-12-01T06:00:00+01:00 --reason "black friday"
    """
    session = session_of(context)
    order = {
        "until": moments.moment_of(until, now=session.around.utc_now(), option="--until"),
        "reason": reason,
        "clusters": cluster or [],
        "teams": team or [],
        "labels": dict(_pair(text) for text in label or []),
        "everything": everything,
        "silence": silence,
    }
    named = bool(cluster or team or label)
    if named == everything:
        why = "--all goes alone" if named else "nothing says which clusters are meant"
        raise _not(why, "give --cluster, --team or --label, or --all for the whole fleet")
    try:
        wanted = api.FreezeIn.model_validate(order)
    except ValidationError as error:
        first = error.errors()[0]
        raise _not(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}", "correct it") from None
    answer = session.client.freeze(wanted)
    _show(session, answer, output)
    session.tell(f"to end it before: kedge thaw {answer.id} --reason TEXT")


def thaw(
    context: typer.Context,
    freeze: Annotated[
        str, typer.Argument(metavar="ID", show_default=False, help="The freeze, as `kedge freezes` names it.")
    ],
    reason: Why,
    output: options.Output = Format.TEXT,
) -> None:
    """End a freeze before its time.

    Held work goes on unless another freeze holds it. Freezes of the server's settings are ended there.

    \b
    Examples:
      kedge thaw freeze-3 --reason "the audit is over"
    """
    session = session_of(context)
    if not reason.strip():
        raise _not("a reason is missing", "give --reason TEXT", what="nothing was thawed")
    _show(session, session.client.thaw(freeze, api.ThawIn(reason=reason)), output)


def freezes(
    context: typer.Context,
    past: Annotated[bool, typer.Option("--all", help="Include ended ones.")] = False,
    output: options.Output = Format.TEXT,
) -> None:
    """List freezes: those people declared and those of the server's settings.

    \b
    Examples:
      kedge freezes
      kedge freezes --all
      kedge freezes -o json | jq '.items[] | select(.everything) | .id'
    """
    session = session_of(context)
    found = session.client.freezes(past=past)
    if output is not Format.TEXT:
        write_document(session, output, document("FreezeList", found))
    elif not found.items:
        session.tell("no freeze" if past else "no freeze is in force or to come")
    else:
        session.show(freeze_view.freeze_table(found.items, now=session.around.utc_now()))


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise _not(f"`{text}` is not a label", "write --label KEY=VALUE")
    return key, value


def _show(session: Session, answer: api.FreezeSaidOut, output: Format) -> None:
    show_or_write(session, output, document("Freeze", answer), answer.sentence)


def _not(why: str, next_step: str, *, what: str = "nothing was frozen") -> errors.CliError:
    return errors.CliError(what, why=why, next_step=next_step, exit_code=exits.USAGE)
