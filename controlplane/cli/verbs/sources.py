"""Verbs of git sources: how they stand, look now, accept a rewritten history; and handing a cluster over."""

from typing import Annotated

import typer

from controlplane.api.schemas import sources as source_api
from controlplane.cli import errors, options, prompts, source_view
from controlplane.cli.output import Format, document, show_or_write, write_document
from controlplane.cli.session import session_of

sources = typer.Typer(no_args_is_help=False, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="SOURCE", show_default=False, help="Name of the binding.")]


@sources.callback(invoke_without_command=True)
def root(context: typer.Context, output: options.Output = Format.TEXT) -> None:
    """Show the git repositories that declare clusters.

    For each: its state, the commit whose files were looked at last, the last poll, and every problem at file:line.

    \b
    Examples:
      kedge sources
      kedge sources -o json | jq '.items[].problems'
      kedge sources poll teams
    """
    if context.invoked_subcommand is not None:
        return
    session = session_of(context)
    found = session.client.sources()
    if output is not Format.TEXT:
        items = [source.model_dump(mode="json") for source in found]
        write_document(session, output, document("SourceList", {"items": items}))
        return
    if not found:
        session.tell("no git source is set: see [[git]] in the server's settings")
        return
    now = session.around.utc_now()
    session.show(source_view.source_table(found, now=now))
    for source in found:
        session.show(*source_view.source_lines(source))


@sources.command()
def poll(context: typer.Context, source: Name) -> None:
    """Poll a repository now.

    \b
    Examples:
      kedge sources poll teams
    """
    session = session_of(context)
    session.show(session.client.poll_source(_plain(source)).sentence)


@sources.command()
def accept(
    context: typer.Context,
    source: Name,
    commit: Annotated[
        str, typer.Option("--commit", metavar="ID", show_default=False, help="The whole id, as `kedge sources` says.")
    ],
    reason: options.Reason = "",
    yes: options.Yes = False,
) -> None:
    """Accept a rewritten history.

    A branch that no longer descends from the commit applied last is ignored, and clusters stay as they are. This
    accepts the new history: its files come into force at the next poll.

    \b
    Examples:
      kedge sources accept teams --commit 4f2a91c07be3d6a85b1f0e9c2d7a6b58c1e3f490
    """
    session = session_of(context)
    unattended = "add -y to accept without asking, or use a terminal"
    if not yes and not prompts.confirm(session, f"Bring {commit[:12]} of {source} into force?", unattended=unattended):
        raise errors.CliError("not confirmed, nothing was changed")
    session.show(
        session.client.accept_source(_plain(source), source_api.AcceptIn(commit=commit, reason=reason)).sentence
    )


def take_over(
    context: typer.Context,
    cluster: options.Cluster,
    to: Annotated[
        str, typer.Option("--to", metavar="SOURCE", show_default=False, help="`api`, or `git:NAME` of a binding.")
    ],
    reason: options.Reason = "",
    output: options.Output = Format.TEXT,
) -> None:
    """Hand the spec of a cluster over to another source.

    The spec in force stays. Afterwards only the new source changes it: `kedge apply` (`api`), or a file in git.

    \b
    Examples:
      kedge take-over orders --to api --reason "the repository is down"
      kedge take-over orders --to git:teams
    """
    session = session_of(context)
    answer = session.client.take_over(cluster, source_api.SourceIn(source=to, reason=reason))
    show_or_write(session, output, document("Command", answer), answer.sentence)


def _plain(source: str) -> str:
    """People also type what `kedge get` shows: `git:teams`."""
    return source.removeprefix("git:")
