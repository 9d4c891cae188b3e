"""`kedge agent-bundle`: the agent as an archive for VMs of a plain image."""

from pathlib import Path
from typing import Annotated

import typer

from controlplane.cli.errors import CliError
from controlplane.cli.session import session_of


def agent_bundle(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the archive is written.")] = Path(),
) -> None:
    """Write the agent as an archive for VMs of a plain Debian image.

    They fetch it from your mirror. It is made from this installation, offline, and the same installation gives the
    same bytes. VMs need the Python version and the processor of this machine. What it prints belongs into the section
    `software` of `<cloud>.yaml`.

    \b
    Examples:
      kedge agent-bundle --out mirror/
    """
    from controlplane.agentbundle import BundleRefused, write_bundle

    session = session_of(context)
    try:
        made = write_bundle(out)
    except (BundleRefused, OSError) as error:
        raise CliError("no archive was written", where=str(out), why=str(error)) from None
    session.tell(f"wrote {made.path}, {made.size_bytes / 2**20:.1f} MiB")
    session.write(f"agent:\n  url: https://YOUR-MIRROR/{made.path.name}\n  sha256: {made.sha256}")
