"""The `kedge` command: wires verbs to names and nothing more."""

import sys
from typing import Annotated

import typer

from controlplane.cli.group import KedgeGroup
from controlplane.cli.session import open_session
from controlplane.cli.surroundings import Surroundings, of_this_process
from controlplane.cli.verbs import (
    certificates,
    disks,
    imports,
    look,
    losses,
    nodes,
    requests,
    resets,
    serve,
    specs,
    steer,
)
from controlplane.cli.verbs.access import audit, login, token
from controlplane.cli.verbs.acls import acls
from controlplane.cli.verbs.agent_bundle import agent_bundle
from controlplane.cli.verbs.agents import agents
from controlplane.cli.verbs.anomalies import anomalies, healing, notifiers
from controlplane.cli.verbs.apply import apply
from controlplane.cli.verbs.balance import brokers, rebalance
from controlplane.cli.verbs.chaos import chaos
from controlplane.cli.verbs.clouds import cloud
from controlplane.cli.verbs.database import db
from controlplane.cli.verbs.dependents import dependents
from controlplane.cli.verbs.doctor import doctor
from controlplane.cli.verbs.drain import drain
from controlplane.cli.verbs.drift import drift
from controlplane.cli.verbs.events import events
from controlplane.cli.verbs.failovers import failover, failovers
from controlplane.cli.verbs.find import find
from controlplane.cli.verbs.freezes import freeze, freezes, thaw
from controlplane.cli.verbs.groups import group, groups
from controlplane.cli.verbs.images import images
from controlplane.cli.verbs.kafka_users import users
from controlplane.cli.verbs.logs import logs
from controlplane.cli.verbs.loop import loop
from controlplane.cli.verbs.machines import machines
from controlplane.cli.verbs.moves import moves
from controlplane.cli.verbs.networks import networks
from controlplane.cli.verbs.plans import plans
from controlplane.cli.verbs.policies import policy
from controlplane.cli.verbs.proposals import proposal, proposals
from controlplane.cli.verbs.rebuild import rebuild
from controlplane.cli.verbs.rollback import rollback
from controlplane.cli.verbs.sources import sources, take_over
from controlplane.cli.verbs.state import state
from controlplane.cli.verbs.topics import replication_factor, topic, topics
from controlplane.cli.verbs.wait import wait
from controlplane.runtime.redaction import tell_uncaught

VERBS = (
    serve.server,
    specs.validate,
    specs.plan,
    apply,
    specs.diff,
    drift,
    look.get,
    find,
    look.describe,
    plans,
    wait,
    events,
    steer.pause,
    steer.resume,
    steer.roll,
    failover,
    freeze,
    freezes,
    thaw,
    steer.abort,
    nodes.restart,
    nodes.restart_check,
    nodes.replace,
    certificates.certificates,
    certificates.replace_ca,
    certificates.revoke_certificates,
    nodes.evacuate,
    nodes.readmit,
    nodes.fix_offline,
    disks.empty_disk,
    disks.even_disks,
    nodes.demote,
    nodes.undemote,
    moves,
    chaos,
    look.endpoints,
    take_over,
    requests.pull_request,
    rollback,
    topics,
    replication_factor,
    proposals,
    groups,
    group,
    resets.reset_offsets,
    dependents,
    logs,
    anomalies,
    losses.confirm_loss,
    steer.delete,
    serve.backup,
    serve.restore,
    rebalance,
    rebuild,
    doctor,
    loop,
    agent_bundle,
    serve.demo,
    login,
    audit,
    serve.version,
)

GROUPS = {
    "drain": drain,
    "state": state,
    "brokers": brokers,
    "sources": sources,
    "machines": machines,
    "token": token,
    "failovers": failovers,
    "networks": networks,
    "images": images,
    "agents": agents,
    "topic": topic,
    "acls": acls,
    "users": users,
    "proposal": proposal,
    "healing": healing,
    "notifiers": notifiers,
    "policy": policy,
    "db": db,
    "cloud": cloud,
}
"""Verbs of a noun."""

app = typer.Typer(
    name="kedge",
    cls=KedgeGroup,
    no_args_is_help=True,
    # Plain help: the same in a pipe, in docs/cli.md and on any terminal.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def root(
    context: typer.Context,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colour; so does NO_COLOR. Stands anywhere.")] = False,
    _: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=serve.tell_version, help="Print the version, and nothing else."
        ),
    ] = False,
) -> None:
    """Control plane for Kafka clusters on plain VMs.

    Data goes to stdout, everything else to stderr. The server is found by KEDGE_SERVER, else by server.json in
    KEDGE_HOME, else in ./.kedge; the token is the one of `kedge login`, else, on the server's machine, that of the
    same home.

    \b
    Examples:
      kedge server                              # run the server (another terminal)
      kedge plan -f orders.yaml                 # what would happen
      kedge apply -f orders.yaml --wait         # apply it, and watch
      kedge get -w                              # status of all clusters
      kedge describe orders                     # what one waits for, and the next command
    """
    around = context.obj if isinstance(context.obj, Surroundings) else of_this_process()
    context.obj = session = open_session(around, no_color=no_color)
    context.call_on_close(session.client.close)


for verb in VERBS:
    app.command()(verb)
app.command("import")(imports.import_cluster)  # a word Python keeps to itself
for name, of_noun in GROUPS.items():
    app.add_typer(of_noun, name=name)


def main() -> None:
    """Entry point of the `kedge` script."""
    sys.excepthook = tell_uncaught
    app(prog_name="kedge")
