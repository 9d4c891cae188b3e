"""The verb for the worst day: the database is lost, there is no backup, and the clusters run."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from controlplane.cli.errors import CliError
from controlplane.cli.options import Output, Yes
from controlplane.cli.output import Format, document, write_document
from controlplane.cli.prompts import confirm
from controlplane.cli.session import Session, session_of
from controlplane.cli.verbs.serve import settings_of
from events.quantities import counted

if TYPE_CHECKING:
    from controlplane.server.rebuild.conclude import Rebuild
    from controlplane.server.settings import Settings


_Files = Annotated[
    list[str],
    typer.Option("-f", "--file", metavar="PATH", show_default=False, help="Spec files, or folders of them."),
]
_Place = Annotated[
    list[str] | None,
    typer.Option(
        "--place",
        metavar="CLOUD/REGION",
        show_default=False,
        help="Also search this place; CLOUD/ACCOUNT/REGION names one.",
    ),
]
_LeaveOut = Annotated[
    list[str] | None,
    typer.Option("--leave-out", metavar="UID", show_default=False, help="Ignore VMs of this cluster."),
]
_Installation = Annotated[
    str,
    typer.Option("--installation", metavar="ID", show_default=False, help="For a home that has lost its id."),
]
_Home = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", show_default="KEDGE_HOME or ./.kedge", help="Whose clusters they are."),
]
_DatabaseUrl = Annotated[
    str | None,
    typer.Option("--database-url", metavar="URL", show_default="SQLite in the home", help="The empty database."),
]


def rebuild(
    context: typer.Context,
    files: _Files,
    place: _Place = None,
    leave_out: _LeaveOut = None,
    installation: _Installation = "",
    home: _Home = None,
    database_url: _DatabaseUrl = None,
    write: Annotated[bool, typer.Option("--write", help="Write it. Without this it only reads and reports.")] = False,
    yes: Yes = False,
    output: Output = Format.TEXT,
) -> None:
    """Rebuild a lost database from VM tags, agents, Kafka and your specs.

    For use without a backup. It reads and reports; with --write it fills an empty database. No VM, broker or agent
    is touched: every rebuilt cluster is held until you type `kedge resume` for it.

    Exit codes: 0 reported or written, 1 something refuses.

    \b
    Examples:
      kedge rebuild -f specs/                   # look
      kedge rebuild -f specs/ --write           # write, no server running
      kedge server                              # agents come back by themselves
      kedge describe orders && kedge resume orders
    """
    session = session_of(context)
    settings = settings_of(home=home, database_url=database_url)
    _refuse_history(settings)
    report = _report(settings, files, place or [], leave_out or [], installation)
    events = 0
    if output is Format.TEXT:
        _show(session, report)
    if report.refused:
        if output is not Format.TEXT:
            _write_document(session, output, report, events)
        raise CliError("nothing was written", why="see what `refuses` above", next_step="fix it and try again")
    if write:
        from events.engine import shown_url

        question = f"Write {counted(len(report.clusters), 'cluster')} into {shown_url(settings.database_url)}?"
        if not yes and not confirm(session, question, unattended="the same command with --write -y"):
            raise CliError("nothing was written", why="not confirmed")
        events = _write(settings, report)
    if output is not Format.TEXT:
        _write_document(session, output, report, events)
    _say_what_next(session, report, written=write, events=events)


def _show(session: Session, report: "Rebuild") -> None:
    from controlplane.cli.rebuild_view import report_lines

    session.show(*report_lines(report))


def _write_document(session: Session, output: Format, report: "Rebuild", events: int) -> None:
    from controlplane.cli.rebuild_view import report_document

    content = report_document(report, written=events > 0, events=events)
    write_document(session, output, document("Rebuild", content))


def _say_what_next(session: Session, report: "Rebuild", *, written: bool, events: int) -> None:
    names = [c.name for c in report.clusters]
    if not written:
        session.tell("nothing was written; nothing was touched. To write this: the same command with --write")
        return
    session.tell(f"{counted(events, 'event')} written; {', '.join(names)} held: nothing is done to them", "green")
    session.tell("now start the server; then, cluster by cluster:")
    for name in names:
        session.tell(f"  kedge describe {name}      # look, and then: kedge resume {name}")


def _report(
    settings: "Settings", files: Sequence[str], places: Sequence[str], leave_out: Sequence[str], installation: str
) -> "Rebuild":
    from controlplane.cli.rebuild_inputs import declared_specs, installation_of, place_named
    from controlplane.server.clouds import Clouds
    from controlplane.server.rebuild.brokers import RebuildDialer
    from controlplane.server.rebuild.conclude import conclude
    from controlplane.server.rebuild.read import places_asked, read_evidence
    from controlplane.storage.certificates.authority_copy import CopyDamaged, copied_authorities, copied_rows
    from controlplane.storage.home import Home
    from events.clock import utc_now
    from providers.errors import ProviderError

    home = Home(settings.home)
    specs = declared_specs(files)
    asked = places_asked(specs, [place_named(text) for text in places])
    ours = installation_of(settings, home.installation_id(), installation, asked)
    key = home.server_key()
    try:
        rows = copied_rows(settings.home) if key is not None else []
        with (
            copied_authorities(rows, key.get_secret_value() if key is not None else b"") as authorities,
            closing(RebuildDialer(authorities, specs)) as dialer,
        ):
            evidence = read_evidence(
                asked,
                specs,
                cloud=Clouds(settings, ours),
                dial=dialer,
                installation_id=ours,
                server_key=key,
                authorities=authorities,
            )
    except CopyDamaged as error:
        raise CliError("the CAs of clusters cannot be read, nothing was written", why=str(error)) from None
    except ProviderError as error:
        why = f"{error}. What cannot be read is unknown, not empty"
        raise CliError("an inventory cannot be read, nothing was written", why=why, next_step="try again") from None
    return conclude(evidence, leave_out=leave_out, now=utc_now())


def _write(settings: "Settings", report: "Rebuild") -> int:
    from controlplane.runtime.process_lock import LeaderLock
    from controlplane.server.clouds import Clouds
    from controlplane.server.rebuild.write import RebuildRefused, set_states_aside, write_rebuild
    from controlplane.storage.certificates.authority_copy import CopyDamaged, copied_rows
    from controlplane.storage.home import Home
    from controlplane.storage.home_binding import LOCAL, HomeRefused, claim_home
    from controlplane.storage.migrate import MigrationError, upgrade
    from events.clock import utc_now
    from events.engine import build_engine
    from events.errors import EventsError
    from providers.errors import ProviderError
    from providers.tf.state_file import LocalStates

    home = Home(settings.home)
    home.keep_installation_id(report.installation_id)
    lock = LeaderLock(home.leader_lock)
    engine = build_engine(settings.database_url)
    try:
        if not lock.take():
            raise RebuildRefused(f"a server runs on {settings.home}: stop it first")
        upgrade(settings.database_url)
        files = LocalStates(settings.home / "terraform").keys()
        claim_home(engine, home.identity(), state=LOCAL if files else settings.terraform.state)
        events = write_rebuild(report, engine, lock=lock, authorities=copied_rows(settings.home))
    except (RebuildRefused, HomeRefused, MigrationError, CopyDamaged, EventsError, OSError) as error:
        engine.dispose()
        lock.give_back()
        raise CliError("nothing was written", why=str(error), next_step="fix it and try again") from None
    # From here on all is held: there is time to put the files of the home in order.
    try:
        if home.agent_url() is None and report.agent_addresses:
            url, ca_sha256 = report.agent_addresses[0]
            home.keep_agent_url(url, ca_sha256=ca_sha256)
        cloud = Clouds(settings, report.installation_id)
        set_states_aside(report.clusters, state_root=settings.home / "terraform", cloud=cloud, now=utc_now())
        return events
    except (ProviderError, OSError) as error:
        what = "the history is written, but Terraform's old states are not set aside"
        next_step = f"before you resume: rename each terraform.tfstate and runs/ below {settings.home}/terraform"
        raise CliError(what, why=str(error), next_step=next_step) from None
    finally:
        engine.dispose()
        lock.give_back()


def _refuse_history(settings: "Settings") -> None:
    """A database that holds a history is not lost: told before anything else is looked at."""
    from events.engine import build_engine
    from events.errors import EventsError
    from events.sql_store import SqlEventStore

    path = settings.database_url.removeprefix("sqlite:///")
    if path != settings.database_url and not Path(path).exists():
        return
    engine = build_engine(settings.database_url)
    try:
        head = SqlEventStore(engine).head()
    except EventsError:
        return  # no tables yet, or not there: writing will tell
    finally:
        engine.dispose()
    if head:
        why = f"{engine.url.render_as_string(hide_password=True)} holds {counted(head, 'event')}"
        next_step = "start the server; or move that database away, or name an empty one with --database-url"
        raise CliError("there is a history: nothing is to be rebuilt", why=why, next_step=next_step)
