"""`kedge db`: what the owner of a PostgreSQL database does for servers that may not: migrate it, give them rights."""

from pathlib import Path
from typing import Annotated

import typer

from controlplane.cli.errors import CliError
from controlplane.cli.session import session_of
from controlplane.cli.verbs.serve import settings_of

db = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@db.callback()
def root() -> None:
    """Work on a PostgreSQL database as its owner.

    For servers whose role may do less; none is asked.

    \b
    Examples:
      kedge db migrate --database-url postgresql://kedge_owner@db/kedge
      kedge db grants --app kedge_app --reader kedge_reader | psql postgresql://kedge_owner@db/kedge
    """


@db.command("migrate")
def migrate_database(
    context: typer.Context,
    home: Annotated[
        Path | None,
        typer.Option("--home", metavar="DIR", show_default="KEDGE_HOME or ./.kedge", help="Whose database it is."),
    ] = None,
    database_url: Annotated[
        str | None,
        typer.Option("--database-url", metavar="URL", show_default="of the home", help="The database, as its owner."),
    ] = None,
) -> None:
    """Bring the tables up to this release; nothing where they are.

    A server does so at its start, if its role may. Servers may run meanwhile.

    \b
    Examples:
      kedge db migrate --database-url postgresql://kedge_owner@db/kedge
    """
    from controlplane.storage.migrate import MigrationError, current, upgrade
    from events.errors import EventsError

    url = settings_of(home=home, database_url=database_url).database_url
    try:
        before = current(url)
        upgrade(url)
        after = current(url)
    except (MigrationError, EventsError) as error:
        raise CliError("nothing was migrated", why=str(error), next_step="fix it and try again") from None
    came = f"came from {before or 'nothing'}" if before != after else "was there already"
    session_of(context).show(f"the database is at {after}; it {came}")


@db.command("grants")
def print_grants(
    context: typer.Context,
    app: Annotated[str, typer.Option("--app", metavar="ROLE", show_default=False, help="The role servers have.")],
    reader: Annotated[
        str, typer.Option("--reader", metavar="ROLE", show_default="none", help="A role for reports, which reads.")
    ] = "",
    portal: Annotated[
        str, typer.Option("--portal", metavar="ROLE", show_default="none", help="The role of portals apart.")
    ] = "",
    relay: Annotated[
        str, typer.Option("--relay", metavar="ROLE", show_default="none", help="The role of relays apart.")
    ] = "",
    schema: Annotated[str, typer.Option("--schema", metavar="NAME", help="Where the tables are.")] = "public",
) -> None:
    """Print the SQL that gives a server's role the rights it needs, and no more.

    The roles have to be there; the owner of the tables runs it, after each release that brought a table. Servers
    may then add events and audit entries, and neither change nor delete them. A reader sees no hash of a secret
    and no Terraform state. A portal that is a process of its own (`kedge server --only portal`) adds the events
    people ask for and no others, and sees neither leases nor Terraform's states. A relay that is one
    (`kedge server --only relay`) reads the audit and nothing else.

    \b
    Examples:
      kedge db grants --app kedge_app | psql postgresql://kedge_owner@db/kedge
      kedge db grants --app kedge_app --portal kedge_portal | psql postgresql://kedge_owner@db/kedge
      kedge db grants --app kedge_app --relay kedge_relay | psql postgresql://kedge_owner@db/kedge
      kedge db grants --app kedge_app --reader kedge_reader > grants.sql
    """
    from controlplane.server.database_roles import grants

    session_of(context).write("\n".join(grants(app, reader, portal=portal, relay=relay, schema=schema)))
