"""`kedge doctor`: is a cloud ready for clusters? Asked before the first of them, by whoever holds the credentials."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from controlplane.cli.errors import CliError
from controlplane.cli.options import Output
from controlplane.cli.output import Format, document, write_document
from controlplane.cli.session import session_of
from controlplane.cli.terminal import styled
from controlplane.cli.verbs.serve import settings_of

if TYPE_CHECKING:
    from providers.doctor import Finding

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
    """Look whether a cloud is ready: account, regions, images, quota.

    It reads `<cloud>.yaml` in the home and asks the cloud with this shell's credentials; nothing is changed, and no
    server is needed. One line each, with what to do where something is wrong.

    Exit codes: 0 nothing is wrong, 1 something is.

    \b
    Examples:
      kedge doctor --cloud aws
      kedge doctor --cloud aws -o json
    """
    from controlplane.clouds import Clouds, settings_file_of
    from controlplane.home import Home
    from providers.doctor import examine

    session = session_of(context)
    settings = settings_of(home=home, database_url=None)
    installation = Home(settings.home).installation_id() or "none-yet"
    found = list(examine(cloud, settings_file_of(settings, cloud), lambda: Clouds(settings, installation)(cloud)))
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


def _line(word: str, finding: "Finding") -> str:
    what_next = f"  -> {finding.what_next}" if finding.what_next and not finding.well else ""
    return f"{word:8} {finding.what}: {finding.told}{what_next}"
