"""Verbs about the server and this installation: server, backup, restore, demo, version."""

import importlib.metadata
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from controlplane.api.schemas import system as system_api
from controlplane.cli.errors import CliError, Unreachable
from controlplane.cli.options import Output
from controlplane.cli.output import Format, document, show_or_write, write_document
from controlplane.cli.session import session_of

if TYPE_CHECKING:
    from controlplane.server.settings import Settings

_VERSION_TIMEOUT_S = 2.0


class Only(StrEnum):
    """The parts of a server."""

    LOOP = "loop"
    PORTAL = "portal"
    AGENTS = "agents"
    RELAY = "relay"


_Home = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", show_default="KEDGE_HOME or ./.kedge", help="Where it keeps its files."),
]
_Host = Annotated[
    str | None,
    typer.Option("--host", metavar="ADDRESS", show_default="127.0.0.1", help="A loopback address to listen on."),
]
_Port = Annotated[
    int | None,
    typer.Option("--port", metavar="N", min=0, max=65535, show_default="8428", help="0 lets the system choose."),
]
_AgentHost = Annotated[
    str | None,
    typer.Option(
        "--agent-host", metavar="ADDRESS", show_default="none", help="Serve agents of VMs elsewhere here, over TLS."
    ),
]
_AgentPort = Annotated[
    int | None,
    typer.Option("--agent-port", metavar="N", min=0, max=65535, show_default="8443", help="The port for it."),
]
_AgentName = Annotated[
    str | None,
    typer.Option(
        "--agent-name", metavar="NAME", show_default="the agent host", help="Host name or address VMs call it by."
    ),
]
_DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database-url", metavar="URL", show_default="SQLite in the home", help="As in postgresql://HOST/NAME."
    ),
]
_Only = Annotated[
    Only | None,
    typer.Option("--only", show_default="all", help="Run one part as a process of its own. Needs PostgreSQL."),
]
_TakeOverHome = Annotated[
    bool, typer.Option("--take-over-home", help="Once: accept that the home known to the database is lost.")
]
_MoveTerraformState = Annotated[
    bool,
    typer.Option("--move-terraform-state", help="Once: move Terraform's states to where terraform.state says."),
]


def server(
    home: _Home = None,
    host: _Host = None,
    port: _Port = None,
    agent_host: _AgentHost = None,
    agent_port: _AgentPort = None,
    agent_name: _AgentName = None,
    database_url: _DatabaseUrl = None,
    only: _Only = None,
    take_over_home: _TakeOverHome = False,
    move_terraform_state: _MoveTerraformState = False,
) -> None:
    """Run the server: ticks and API, until Ctrl-C.

    Other settings are KEDGE_... variables or kedge.toml in its home; options take precedence. At first start it
    writes a token (mode 0600) into its home, which every other verb reads.

    \b
    Examples:
      kedge server
      kedge server --home /var/lib/kedge --database-url postgresql://kedge@db/kedge
      kedge server --agent-host 10.0.0.5 --agent-name kedge.example.com
      kedge server --only portal --home /var/lib/kedge-portal
      kedge server --only agents --agent-host 10.0.0.6 --port 8431
      kedge server --only relay --home /etc/kedge-relay
    """
    agents = {"agent_host": agent_host, "agent_port": agent_port, "agent_name": agent_name}
    part = only.value if only is not None else None
    settings = settings_of(home=home, host=host, port=port, database_url=database_url, only=part, **agents)
    if settings.process.only == "relay":
        from controlplane.server.split.relay import run_relay

        raise typer.Exit(run_relay(settings))
    if settings.telemetry.lake or settings.telemetry.pipeline:
        import deltalake  # noqa: F401 - missing, it is told now, and not when the first plan asks the lake
    # Imported here, because the server is large and every other verb, and a relay, does without it.
    from controlplane.server.process import run

    raise typer.Exit(run(settings, take_over_home=take_over_home, move_states=move_terraform_state))


def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help="Where the server writes it.")],
    output: Output = Format.TEXT,
) -> None:
    """Write a backup on the server while it runs.

    It holds all that cannot be rebuilt. The file is written on the server's machine, completely or not at all,
    readable by its owner only.

    \b
    Examples:
      kedge backup /var/backups/kedge-$(date +%F).jsonl
    """
    session = session_of(context)
    path = session.around.cwd / file.expanduser()
    answer = session.client.backup(system_api.BackupIn(path=str(path)))
    show_or_write(
        session, output, document("Backup", answer), f"{answer.path}: {answer.events} events, sha256 {answer.sha256}"
    )


def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help="A file `kedge backup` wrote.")],
    home: Annotated[
        Path | None,
        typer.Option("--home", metavar="DIR", show_default="KEDGE_HOME or ./.kedge", help="Whose database it is."),
    ] = None,
    database_url: Annotated[
        str | None,
        typer.Option("--database-url", metavar="URL", show_default="SQLite in the home", help="The empty database."),
    ] = None,
) -> None:
    """Write a backup into an empty database. No server may run on it.

    The file is checked first, and a database that holds anything is refused. Put the files of the home back before.

    \b
    Examples:
      kedge restore /var/backups/kedge-2026-01-31.jsonl
    """
    # Imported here, because every other verb does without a database.
    from controlplane.storage.backup import BackupCorrupt, RestoreRefused, restore as restore_backup
    from controlplane.storage.migrate import MigrationError, upgrade
    from events.engine import build_engine
    from events.errors import EventsError

    settings = settings_of(home=home, database_url=database_url)
    engine = build_engine(settings.database_url)
    try:
        upgrade(settings.database_url)
        summary = restore_backup(file.expanduser(), engine)
    except (BackupCorrupt, RestoreRefused, MigrationError, EventsError, OSError) as error:
        raise CliError("nothing was restored", why=str(error), next_step="fix it and try again") from None
    finally:
        engine.dispose()
    session_of(context).show(f"{summary.head} events restored; start the server")


class DemoMode(StrEnum):
    """Where the demo's cluster keeps its metadata."""

    KRAFT = "kraft"
    ZOOKEEPER = "zookeeper"


def demo(
    mode: Annotated[
        DemoMode, typer.Option("--mode", help="kraft: Kafka 4.1.1 to 4.2.0; zookeeper: 3.8.1 to 3.9.1.")
    ] = DemoMode.KRAFT,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", show_default=False, help="Write the figures as JSON.")
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep running at the end, with the portal, until Ctrl-C.")
    ] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Plain lines even on a terminal.")] = False,
    short: Annotated[bool, typer.Option("--short", help="Use less data.")] = False,
    plaintext: Annotated[
        bool, typer.Option("--plaintext", help="Without TLS, users and rights, as `--mode zookeeper` always is.")
    ] = False,
) -> None:
    """Run a complete cluster lifecycle on this machine.

    A cluster whose nodes speak TLS and whose clients sign in is declared, filled, rolled to a new Kafka and scaled, and
    nothing is left running.

    \b
    Examples:
      kedge demo
      kedge demo --report demo.json --plain
      kedge demo --mode zookeeper
      kedge demo --short
      kedge demo --plaintext
    """
    from controlplane.cli.demo import DemoKind, run_demo

    kind: DemoKind = "plaintext" if plaintext else "secured"
    if mode is DemoMode.ZOOKEEPER:
        kind = "zookeeper"
    raise typer.Exit(run_demo(report, kind=kind, keep=keep, plain=plain, short=short))


def version(
    context: typer.Context,
    client_only: Annotated[bool, typer.Option("--client", help="Do not ask the server.")] = False,
    output: Output = Format.TEXT,
) -> None:
    """Print the version of this command and of the server.

    A server that does not answer is reported and is not an error.

    \b
    Examples:
      kedge version
      kedge version --client -o json
    """
    session = session_of(context)
    client = client_version()
    there, problem = (None, "") if client_only else _server_version(context)
    if output is not Format.TEXT:
        found = None if there is None else there.model_dump(mode="json")
        write_document(session, output, document("Version", {"client": client, "server": found}))
        return
    session.show(f"kedge {client}")
    if there is not None:
        apart = {"portal": "serves people", "agents": "serves agents"}
        role = apart.get(there.part, "leads" if there.leader else "stands by")
        session.show(f"server {there.version} (API {there.api}, {role}, epoch {there.epoch}, planner: {there.planner})")
        session.show(f"installation {there.installation_id}")
    elif problem:
        session.tell(f"server: {problem}")


def tell_version(asked: bool) -> None:
    """`kedge --version`: of this command alone."""
    if asked:
        typer.echo(f"kedge {client_version()}")
        raise typer.Exit


def client_version() -> str:
    """The version of the package this runs from."""
    try:
        return importlib.metadata.version("kedge")
    except importlib.metadata.PackageNotFoundError:
        return "0+checkout"


def settings_of(**given: object) -> "Settings":
    from sqlalchemy.exc import ArgumentError

    from controlplane.server.settings import load_settings
    from events.engine import build_engine

    try:
        settings = load_settings(**given)
        # Connects to nothing: an address of a database that cannot be one is told here, not by a traceback later.
        build_engine(settings.database_url).dispose()
    except (ValueError, ArgumentError) as error:
        raise CliError("the server was not started", why=str(error), next_step="fix it and start again") from None
    return settings


def _server_version(context: typer.Context) -> tuple[system_api.VersionOut | None, str]:
    try:
        return session_of(context).client.version(timeout_s=_VERSION_TIMEOUT_S), ""
    except Unreachable as error:
        return None, f"{error.what}" + (f" ({error.why})" if error.why else "")
