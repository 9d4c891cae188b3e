"""Verbs of agents: list, publish, withdraw, resume."""

from pathlib import Path
from typing import Annotated

import typer

from controlplane.api.schemas import agents as api
from controlplane.cli.agent_view import agent_lines
from controlplane.cli.errors import CliError
from controlplane.cli.options import Output, Reason
from controlplane.cli.output import Format, document, write_document
from controlplane.cli.session import session_of

agents = typer.Typer(no_args_is_help=False, rich_markup_mode=None)

Everything = Annotated[bool, typer.Option("--all", help="Include upgraded VMs.")]


@agents.callback(invoke_without_command=True)
def root(context: typer.Context, everything: Everything = False, output: Output = Format.TEXT) -> None:
    """Show the published agent, and the VMs that do not run it yet.

    \b
    Examples:
      kedge agents
      kedge agents --all
      kedge agents -o json | jq '.clusters[].vms[] | select(.state == "unable")'
    """
    if context.invoked_subcommand is not None:
        return
    session = session_of(context)
    found = session.client.agents()
    if output is not Format.TEXT:
        write_document(session, output, document("Agents", found))
    elif not found.releases:
        session.tell("no agent was published yet: VMs keep the one they were born with (docs/agents.md)")
    else:
        session.show(*agent_lines(found, now=session.around.utc_now(), everything=everything))


@agents.command()
def publish(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", show_default=False, help="What `kedge agent-bundle` wrote, one a processor."),
    ],
    url: Annotated[
        str, typer.Option("--url", metavar="URL", show_default=False, help="The folder of your mirror it lies in.")
    ],
    notes: Annotated[str, typer.Option("--notes", metavar="TEXT", help="Notes.")] = "",
) -> None:
    """Publish a version of the agent: every VM upgrades to it, one first.

    The files stay on your mirror: VMs fetch them from there, and check bytes and signature. Kafka is not touched.

    \b
    Examples:
      kedge agent-bundle --out mirror/
      kedge agents publish mirror/kedge-agent-0.2.0-*.tar.gz --url https://mirror.example/
    """
    from controlplane.server.agent_bundle import BundleRefused, read_bundle

    session = session_of(context)
    read = []
    for file in files:
        try:
            read.append((file, read_bundle(file)))
        except (BundleRefused, OSError) as error:
            raise CliError("no agent was published", where=str(file), why=str(error)) from None
    versions = sorted({bundle.version for _, bundle in read})
    if len(versions) > 1:
        raise CliError("no agent was published", why=f"the files are of several versions: {', '.join(versions)}")
    builds = [
        {"platform": b.platform, "url": f"{url.rstrip('/')}/{f.name}", "sha256": b.sha256, "size_bytes": b.size_bytes}
        for f, b in read
    ]
    try:
        order = api.AgentReleaseIn.model_validate({"version": versions[0], "builds": builds, "notes": notes})
    except ValueError as error:
        raise CliError("no agent was published", why=str(error)) from None
    session.show(session.client.publish_agent(order).sentence)


@agents.command()
def withdraw(
    context: typer.Context,
    version: Annotated[str, typer.Argument(metavar="VERSION", show_default=False, help="As in 0.2.0.")],
    reason: Reason = "",
) -> None:
    """Withdraw a version of the agent.

    VMs go back to the version published before it, if there is one.

    \b
    Examples:
      kedge agents withdraw 0.2.0 --reason "it forgets disks"
    """
    session = session_of(context)
    session.show(session.client.withdraw_agent(version, api.AgentReasonIn(reason=reason)).sentence)


@agents.command()
def resume(context: typer.Context, reason: Reason = "") -> None:
    """Go on with the upgrade after a VM whose upgrade failed.

    That VM is asked again, and the others after it.

    \b
    Examples:
      kedge agents resume --reason "the mirror is back"
    """
    session = session_of(context)
    session.show(session.client.resume_agents(api.AgentReasonIn(reason=reason)).sentence)
