"""`kedge doctor`: is a cloud ready for clusters? Asked before the first of them, by whoever holds the credentials: this
shell, or a server that was chosen."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from controlplane.cli.address import names_server
from controlplane.cli.errors import CliError
from controlplane.cli.options import Output
from controlplane.cli.output import Format, document, write_document
from controlplane.cli.session import Session, session_of
from controlplane.cli.verbs.serve import settings_of
from controlplane.runtime.styled_text import styled

if TYPE_CHECKING:
    from providers.finding import Finding

_LONGEST_S, _PAUSE_S = 300.0, 1.0
"""So long is waited for a server that asks a cloud, and so long between two looks."""

_WORDS = {True: ("ok", "green"), False: ("WRONG", "red"), None: ("unknown", "yellow")}


def doctor(
    context: typer.Context,
    cloud: Annotated[str, typer.Option("--cloud", metavar="NAME", show_default=False, help="Which cloud to look at.")],
    home: Annotated[
        Path | None,
        typer.Option("--home", metavar="DIR", show_default="KEDGE_HOME or ./.kedge", help="Where its settings are."),
    ] = None,
    output: Output = Format.TEXT,
) -> None:
    """Check whether a cloud is ready: account, images, quota, routes to brokers.

    It reads `<cloud>.yaml` in the home and asks the cloud with this shell's credentials; nothing is changed, and no
    server is needed. With KEDGE_SERVER set and no --home that server asks, with its own (`GET /v1/doctor`, for
    administrators): answers are cached for five minutes. One line for each check, with what to do if it fails.
    Running VMs are dialled at port 9092, by the server at the ports of its brokers: no answer means a firewall or a
    missing route, a refused connection does not.

    Exit codes: 0 nothing is wrong, 1 something is, or the server cannot be asked.

    \b
    Examples:
      kedge doctor --cloud aws
      kedge doctor --cloud aws -o json
    """
    session = session_of(context)
    asks_server = home is None and names_server(session.around.environ)
    found = server_findings(session, cloud) if asks_server else _from_here(session, home, cloud)
    if output is not Format.TEXT:
        listed = [{"what": f.what, "well": f.well, "told": f.told, "whatNext": f.what_next} for f in found]
        write_document(session, output, document("Examination", {"cloud": cloud, "findings": listed}))
    else:
        for finding in found:
            word, style = _WORDS[finding.well]
            session.show(styled(_line(word, finding), style))
    wrong = [f for f in found if f.well is False]
    if wrong:
        raise CliError(f"{cloud} is not ready", why=wrong[0].told, next_step=wrong[0].what_next)


def server_findings(session: Session, cloud: str) -> "list[Finding]":
    """What a server finds, which is waited for. Raises CliError where it does not come to an end."""
    from providers.finding import Finding

    until = session.around.monotonic() + _LONGEST_S
    answer = session.client.doctor(cloud)
    for one in (*answer.database, *answer.server):
        _warn(session, Finding(one.what, one.well, one.told, one.what_next))
    (examination,) = answer.items
    while examination.asking:
        if session.around.monotonic() >= until:
            why = f"it has asked for {_LONGEST_S:.0f} s"
            raise CliError(f"the server does not know yet how {cloud} is", why=why, next_step="ask again later")
        session.around.sleep(_PAUSE_S)
        (examination,) = session.client.doctor(cloud).items
    if examination.ended_at is not None:
        session.tell(f"asked by the server at {examination.ended_at:%Y-%m-%d %H:%M:%S} UTC", "dim")
    return [Finding(f.what, f.well, f.told, f.what_next) for f in examination.findings]


def _from_here(session: Session, home: Path | None, cloud: str) -> "list[Finding]":
    from controlplane.server.clouds import Clouds, settings_file_of
    from controlplane.server.own_authority_findings import own_authority_findings
    from controlplane.server.terraform_runs import mirrored
    from controlplane.storage.certificates.own_authorities import OwnAuthorities
    from controlplane.storage.home import Home
    from events.clock import utc_now
    from providers.doctor import examine
    from providers.reach import Reach

    settings = settings_of(home=home, database_url=None)
    for one in own_authority_findings(OwnAuthorities(settings.kafka.own_cas), now=utc_now()):
        _warn(session, one)
    installation = Home(settings.home).installation_id() or "none-yet"
    file = settings_file_of(settings, cloud)
    clouds = Clouds(settings, installation)
    return list(examine(cloud, file, lambda: clouds(cloud), mirrored=mirrored(settings), reach=Reach()))


def _warn(session: Session, one: "Finding") -> None:
    """Of what is no check of the cloud; what has no end in sight, or is unknown, with it where it says what next."""
    if one.well is False or (one.well is None and one.what_next):
        session.tell(f"warning: {one.what}: {one.told}  -> {one.what_next}", "yellow")


def _line(word: str, finding: "Finding") -> str:
    what_next = f"  -> {finding.what_next}" if finding.what_next and not finding.well else ""
    return f"{word:8} {finding.what}: {finding.told}{what_next}"
